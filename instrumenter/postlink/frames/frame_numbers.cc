// SPDX-License-Identifier: MIT
#include "instrumenter/postlink/frames/frame_numbers.h"

#include <algorithm>
#include <utility>

namespace stab::instrumenter {

FrameNumbers::FrameNumbers(const Program& program, std::span<Function* const> functions,
                           std::uint32_t alignment)
    : alignment_(alignment), code_(program, functions), described_(functions.size()) {}

abi::PadReason FrameNumbers::follow() {
  for (const FrameCode::Part& part : code_.parts) {
    const bool is_function = &part == &code_.parts.front();
    if (!part.function->decoded.complete) return abi::PadReason::unclear_flow;
    if (part.cfa.rows.empty())
      return is_function ? abi::PadReason::no_description : abi::PadReason::parts;
  }
  flow_ = follow_frame(code_);
  return flow_.reason;
}

abi::PadReason FrameNumbers::choose() {
  if (flow_.size > abi::largest_frame) return abi::PadReason::no_number;
  std::ranges::sort(flow_.fields, {},
                    [](const SizeField& field) { return std::pair(field.part, field.place); });
  if (flow_.fields.empty() || flow_.fields.size() > UINT16_MAX) return abi::PadReason::no_number;
  return choose_in_descriptions();
}

abi::PadReason FrameNumbers::choose_in_descriptions() {
  if (flow_.shape != FrameShape::plain) return abi::PadReason::none;
  for (std::size_t part = 0; part < code_.parts.size(); ++part)
    if (const auto reason = choose_in_description(part); reason != abi::PadReason::none)
      return reason;
  const bool any = std::ranges::any_of(described_, [](const auto& own) { return !own.empty(); });
  return any ? abi::PadReason::none : abi::PadReason::description;
}

// Chooses the numbers that hold while the stack pointer is inside. They must not hold outside, too.
abi::PadReason FrameNumbers::choose_in_description(std::size_t part) {
  enum class Holds : std::uint8_t { nowhere, inside, outside };
  const auto& [function, cfa, end] = code_.parts[part];
  // A pad lies between the CFA and everything in the lower part.
  if (cfa.has_expressions || cfa.deepest > flow_.upper + return_address)
    return abi::PadReason::description;
  // No other row holds within an instruction than at its beginning.
  for (const CfaRow& row : cfa.rows)
    if (row.from < function->size && !function->decoded.starts[row.from])
      return abi::PadReason::description;
  std::vector<Holds> holds(cfa.fields.size());
  for (std::size_t i = part == 0 ? 0 : code_.parts[part - 1].end; i < end; ++i) {
    if (!flow_.below_entry[i]) continue;
    const Holds here = flow_.depths[i] ? Holds::inside : Holds::outside;
    const std::size_t field = code_.row_at(i)->field;
    if (field == CfaRow::no_field) {
      if (here == Holds::inside) return abi::PadReason::description;
      continue;
    }
    if (holds[field] != Holds::nowhere && holds[field] != here) return abi::PadReason::description;
    holds[field] = here;
  }
  for (std::size_t field = 0; field < holds.size(); ++field) {
    if (holds[field] != Holds::inside) continue;
    if (cfa.fields[field].width > 4) return abi::PadReason::description_width;
    described_[part].push_back(cfa.fields[field]);
  }
  return abi::PadReason::none;
}

std::uint32_t FrameNumbers::step() const {
  return flow_.shape == FrameShape::realigned ? std::max(flow_.alignment, alignment_) : alignment_;
}

std::int64_t FrameNumbers::room() const {
  constexpr std::int64_t most_narrow = 127;
  std::int64_t least = std::min(abi::largest_pad - flow_.size, room_in_descriptions());
  for (const SizeField& field : flow_.fields)
    if (field.width == 1) least = std::min(least, most_narrow - field.value);
  return std::max<std::int64_t>(least, 0);
}

std::int64_t FrameNumbers::room_in_descriptions() const {
  std::int64_t least = abi::largest_pad;
  for (const auto& own : described_)
    for (const CfaField& field : own) {
      const std::int64_t largest = (std::int64_t{1} << (7 * field.width)) - 1;
      least = std::min(least, largest - static_cast<std::int64_t>(field.value));
    }
  return std::max<std::int64_t>(least, 0);
}

abi::PadReason FrameNumbers::set_pad(std::int64_t most) {
  const std::uint32_t count = static_cast<std::uint32_t>(most) / step();
  if (count == 0) return abi::PadReason::narrow_number;
  for (std::size_t part = 0; part < code_.parts.size(); ++part) {
    StackPad& pad = code_.parts[part].function->pad;
    pad.reason = abi::PadReason::none;
    pad.step = step();
    pad.most = count * step();
    pad.above = bytes_above();
    for (const SizeField& field : flow_.fields)
      if (field.part == part) pad.code_fields.push_back(abi::code_field(field.place, field.width));
    for (const CfaField& field : described_[part])
      pad.description_fields.push_back(abi::description_field(field.place, field.width));
  }
  return abi::PadReason::none;
}

// Returns the bytes from the end of a pad to the CFA, or 0. In other shapes it is not known where
// the lower part ends, as code may reach it by a copy of the stack pointer. Deep outside, other
// words lie where the pad would be.
std::int64_t FrameNumbers::bytes_above() const {
  const bool is_known = flow_.shape == FrameShape::plain && !flow_.deep_outside;
  return is_known ? return_address + flow_.upper : 0;
}

void keep_modest(StackPad& pad) {
  pad.most = std::min(pad.most, std::max(abi::modest_pad / pad.step, 1u) * pad.step);
}

}  // namespace stab::instrumenter
