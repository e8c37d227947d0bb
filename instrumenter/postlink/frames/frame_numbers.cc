// SPDX-License-Identifier: MIT
#include "instrumenter/postlink/frames/frame_numbers.h"

#include <algorithm>

namespace stab::instrumenter {

FrameNumbers::FrameNumbers(const Program& program, Function& function, std::uint32_t alignment)
    : function_(function),
      alignment_(alignment),
      steps_(read_instructions(function.code, function.start)),
      cfa_(read_cfa(program, function)) {}

abi::PadReason FrameNumbers::follow() {
  if (!function_.decoded.complete) return abi::PadReason::unclear_flow;
  if (cfa_.rows.empty()) return abi::PadReason::no_description;
  flow_ = follow_frame(steps_, function_, cfa_);
  return flow_.reason;
}

abi::PadReason FrameNumbers::choose() {
  if (flow_.size > abi::largest_frame) return abi::PadReason::no_number;
  std::ranges::sort(flow_.fields, {}, &SizeField::place);
  if (flow_.fields.empty() || flow_.fields.size() > UINT16_MAX) return abi::PadReason::no_number;
  return choose_in_description();
}

// Chooses the fields that hold while the frame is large.
abi::PadReason FrameNumbers::choose_in_description() {
  if (flow_.shape != FrameShape::plain) return abi::PadReason::none;
  // A pad lies between the CFA and everything in the lower part.
  if (cfa_.has_expressions || cfa_.deepest > flow_.upper + return_address)
    return abi::PadReason::description;
  for (const CfaField& field : cfa_.fields) {
    const auto value = static_cast<std::int64_t>(field.value);
    if (value <= flow_.upper + return_address) continue;
    if (value < flow_.upper + return_address + flow_.size) return abi::PadReason::description;
    if (field.width > 4) return abi::PadReason::description_width;
    described_.push_back(field);
  }
  return described_.empty() ? abi::PadReason::description : abi::PadReason::none;
}

std::uint32_t FrameNumbers::step() const {
  return flow_.shape == FrameShape::realigned ? std::max(flow_.alignment, alignment_) : alignment_;
}

std::int64_t FrameNumbers::room() const {
  constexpr std::int64_t most_narrow = 127;
  std::int64_t least = std::min(abi::largest_pad - flow_.size, room_in_description());
  for (const SizeField& field : flow_.fields)
    if (field.width == 1) least = std::min(least, most_narrow - field.value);
  return std::max<std::int64_t>(least, 0);
}

std::int64_t FrameNumbers::room_in_description() const {
  std::int64_t least = abi::largest_pad;
  for (const CfaField& field : described_) {
    const std::int64_t largest = (std::int64_t{1} << (7 * field.width)) - 1;
    least = std::min(least, largest - static_cast<std::int64_t>(field.value));
  }
  return std::max<std::int64_t>(least, 0);
}

void FrameNumbers::set_pad(std::int64_t most) {
  const std::uint32_t count = static_cast<std::uint32_t>(most) / step();
  if (count == 0) {
    function_.pad.reason = abi::PadReason::narrow_number;
    return;
  }
  function_.pad.step = step();
  function_.pad.most = count * step();
  function_.pad.above = bytes_above();
  for (const SizeField& field : flow_.fields)
    function_.pad.code_fields.push_back(abi::code_field(field.place, field.width));
  for (const CfaField& field : described_)
    function_.pad.description_fields.push_back(abi::description_field(field.place, field.width));
}

// Returns the bytes from the end of a pad to the CFA. In other shapes it is not known where the
// lower part ends, as code may reach it by a copy of the stack pointer.
std::int64_t FrameNumbers::bytes_above() const {
  return flow_.shape == FrameShape::plain ? return_address + flow_.upper : 0;
}

void keep_modest(StackPad& pad) {
  pad.most = std::min(pad.most, std::max(abi::modest_pad / pad.step, 1u) * pad.step);
}

}  // namespace stab::instrumenter
