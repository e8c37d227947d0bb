// SPDX-License-Identifier: MIT
#include "runtime/image/pads.h"

#include "runtime/base/check.h"

namespace stab::rt {
namespace {

bool pads_are_small;

uint32_t most_of(const abi::Frame& frame) {
  constexpr uint32_t few = abi::modest_pad / abi::pad_unit;
  const uint32_t least = few > frame.step ? few : frame.step;
  return pads_are_small && frame.most > least ? least : frame.most;
}

uint16_t draw(Image& image, uint32_t f) {
  const abi::Frame* frame = frame_of(image, f);
  if (!image.padded || frame == nullptr) return 0;
  const uint64_t steps = most_of(*frame) / frame->step;
  return static_cast<uint16_t>(image.pad_random.below(steps + 1) * frame->step);
}

}  // namespace

const abi::Frame* frame_of(const Image& image, uint32_t f) {
  if (image.table->frames.count == 0) return nullptr;
  const abi::Frame* frame = elements<abi::Frame>(*image.table, image.table->frames) + f;
  return frame->reason == 0 ? frame : nullptr;
}

void keep_pads_small() {
  pads_are_small = true;
}

void find_stubs(Image& image) {
  const auto* labels = elements<abi::Label>(*image.table, image.table->labels);
  for (uint32_t i = 0; i < image.table->labels.count; ++i)
    image.uses[labels[i].function] |= has_stub;
}

void draw_pad_bytes(Image& image) {
  constexpr uint64_t all = UINT64_MAX;
  constexpr uint64_t few = 0x0707070707070707;
  const auto* ranges = elements<abi::Range>(*image.table, image.table->ranges);
  for (uint32_t i = 0; image.padded && i < image.table->ranges.count; ++i) {
    if (ranges[i].kind != static_cast<uint32_t>(abi::RangeKind::pad_bytes)) continue;
    const bool modest = pads_are_small || ranges[i].modest != 0;
    uint64_t drawn = 0;
    for (uint32_t b = 0; b < ranges[i].size; ++b, drawn >>= 8) {
      if (b % 8 == 0) drawn = image.pad_random.next() & (modest ? few : all);
      __atomic_store_n(image.base + ranges[i].start + b, static_cast<uint8_t>(drawn),
                       __ATOMIC_RELAXED);
    }
  }
}

void draw_pads(Image& image, Layout& layout) {
  for (uint32_t f = 0; f < image.count(); ++f) {
    layout.pads[f] = layout.has(f) ? draw(image, f) : uint16_t{0};
    if (image.padded && layout.has(f) && frame_of(image, f) != nullptr) ++image.padded_functions;
  }
}

void draw_pads_again(Image& image, Layout& layout, PadChange change) {
  for (uint32_t f = 0; f < image.count(); ++f) {
    if (!layout.has(f)) continue;
    const bool keeps = change == PadChange::none || (image.uses[f] & (is_active | has_stub)) != 0;
    // A pad is always drawn, so that the other functions' pads don't depend on which frames are
    // active.
    const uint16_t fresh = draw(image, f);
    layout.pads[f] = keeps ? image.layout_in_use(f).pads[f] : fresh;
    STAB_DEBUG(Pads, 2, (image.uses[f] & has_stub) == 0 || layout.pads[f] == image.first().pads[f]);
  }
}

void pad_description(const Image& image, uint32_t f, uint32_t pad, uint8_t* description) {
  const abi::Frame* frame = frame_of(image, f);
  if (frame == nullptr || pad == 0) return;
  const uint32_t* fields = elements<uint32_t>(*image.table, image.table->frame_fields) +
                           frame->first_field + frame->code_fields;
  for (uint32_t i = 0; i < frame->description_fields; ++i) {
    uint8_t* at = description + abi::description_offset(fields[i]);
    const uint32_t width = abi::description_width(fields[i]);
    uint64_t value = 0;
    for (uint32_t b = 0; b < width; ++b) value |= uint64_t{at[b] & 0x7fu} << (7 * b);
    value += uint64_t{pad} * abi::pad_unit;
    for (uint32_t b = 0; b < width; ++b, value >>= 7)
      at[b] = static_cast<uint8_t>((value & 0x7f) | (b + 1 < width ? 0x80 : 0));
  }
}

}  // namespace stab::rt
