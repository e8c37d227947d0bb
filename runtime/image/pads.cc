// SPDX-License-Identifier: MIT
#include "runtime/image/pads.h"

#include "runtime/base/check.h"

namespace stab::rt {
namespace {

bool pads_are_small;

#ifdef STAB_PADS_OF_2013
// The source of random bytes of the first STABILIZER, for part 8 of bench/evaluation. Four random
// bytes are drawn when the count is four, but the count is not reset. So the source returns what
// follows these bytes in memory, here zeros, until the count of eight bits overflows. Then it
// returns the four bytes that it drew long ago: four of 256 bytes are random.
class PadBytes {
 public:
  uint8_t next(Random& random) {
    if (count_ == 4) drawn_ = static_cast<uint32_t>(random.next());
    const uint8_t byte = count_ < 4 ? static_cast<uint8_t>(drawn_ >> (8 * count_)) : uint8_t{0};
    ++count_;
    return byte;
  }

 private:
  uint8_t count_ = 0;
  uint32_t drawn_ = 0;
};
PadBytes pad_bytes;

uint64_t draw_below(Random& random, uint64_t bound) {
  return (pad_bytes.next(random) * bound) >> 8;
}

uint64_t draw_eight_bytes(Random& random) {
  uint64_t drawn = 0;
  for (uint32_t b = 0; b < 8; ++b) drawn = drawn << 8 | pad_bytes.next(random);
  return drawn;
}
#else
uint64_t draw_below(Random& random, uint64_t bound) {
  return random.below(bound);
}

uint64_t draw_eight_bytes(Random& random) {
  return random.next();
}
#endif

uint32_t most_of(const abi::Frame& frame) {
  constexpr uint32_t few = abi::modest_pad / abi::pad_unit;
  const uint32_t least = few > frame.step ? few : frame.step;
  return pads_are_small && frame.most > least ? least : frame.most;
}

// Whether the code is a part of another function, whose frame it uses.
bool is_part_of_another(const Image& image, uint32_t f) {
  const abi::Frame* frame = frame_of(image, f);
  return frame != nullptr && frame->part_of != 0;
}

// The function whose frame a part uses.
uint32_t whole_of(const Image& image, uint32_t part) {
  return frame_of(image, part)->part_of - 1;
}

uint16_t draw(Image& image, uint32_t f) {
  const abi::Frame* frame = frame_of(image, f);
  if (!image.padded || frame == nullptr || is_part_of_another(image, f)) return 0;
  const uint64_t steps = most_of(*frame) / frame->step;
  return static_cast<uint16_t>(draw_below(image.pad_random, steps + 1) * frame->step);
}

}  // namespace

const abi::Frame* frame_of(const Image& image, uint32_t f) {
  if (image.table->frames.count == 0) return nullptr;
  const abi::Frame* frame = elements<abi::Frame>(*image.table, image.table->frames) + f;
  return frame->reason == 0 ? frame : nullptr;
}

// Functions that make their pads themselves are not among padded_functions.
bool has_pads(const Image& image) {
  bool found = image.padded_functions != 0;
  const auto* ranges = elements<abi::Range>(*image.table, image.table->ranges);
  for (uint32_t i = 0; image.padded && i < image.table->ranges.count; ++i)
    found |=
        ranges[i].size != 0 && ranges[i].kind == static_cast<uint32_t>(abi::RangeKind::pad_bytes);
  return found;
}

bool could_have_pads(const Image& image) {
  const auto* frames = elements<abi::Frame>(*image.table, image.table->frames);
  for (uint32_t i = 0; i < image.table->frames.count; ++i) {
    const auto reason = static_cast<abi::PadReason>(frames[i].reason);
    if (reason != abi::PadReason::calls_nothing && reason != abi::PadReason::no_description)
      return true;
  }
  return false;
}

void keep_pads_small() {
  pads_are_small = true;
}

void find_kept_pads(Image& image) {
  const auto* labels = elements<abi::Label>(*image.table, image.table->labels);
  for (uint32_t i = 0; i < image.table->labels.count; ++i)
    image.uses[labels[i].function] |= keeps_pad;
  for (uint32_t f = 0; f < image.count(); ++f) {
    if (!is_part_of_another(image, f)) continue;
    image.uses[f] |= keeps_pad;
    image.uses[whole_of(image, f)] |= keeps_pad;
  }
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
      if (b % 8 == 0) drawn = draw_eight_bytes(image.pad_random) & (modest ? few : all);
      __atomic_store_n(image.base + ranges[i].start + b, static_cast<uint8_t>(drawn),
                       __ATOMIC_RELAXED);
    }
  }
}

void draw_pads(Image& image, Layout& layout) {
  for (uint32_t f = 0; f < image.count(); ++f) {
    layout.pads[f] = layout.has(f) ? draw(image, f) : uint16_t{0};
    if (image.padded && layout.has(f) && frame_of(image, f) != nullptr &&
        !is_part_of_another(image, f))
      ++image.padded_functions;
  }
  // Without a copy, the part's original runs, which does not know of a pad.
  for (uint32_t f = 0; f < image.count(); ++f)
    if (is_part_of_another(image, f) && !layout.has(f)) layout.pads[whole_of(image, f)] = 0;
  for (uint32_t f = 0; f < image.count(); ++f)
    if (is_part_of_another(image, f)) layout.pads[f] = layout.pads[whole_of(image, f)];
}

void draw_pads_again(Image& image, Layout& layout, PadChange change) {
  for (uint32_t f = 0; f < image.count(); ++f) {
    if (!layout.has(f)) continue;
    const bool keeps = change == PadChange::none || (image.uses[f] & (is_active | keeps_pad)) != 0;
    // A pad is always drawn, so that the other functions' pads don't depend on which frames are
    // active.
    const uint16_t fresh = draw(image, f);
    layout.pads[f] = keeps ? image.layout_in_use(f).pads[f] : fresh;
    STAB_DEBUG(Pads, 2,
               (image.uses[f] & keeps_pad) == 0 || layout.pads[f] == image.first().pads[f]);
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
