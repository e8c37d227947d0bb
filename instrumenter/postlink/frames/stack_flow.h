// SPDX-License-Identifier: MIT
// Follows the stack pointer through a function and finds the instructions that make its frame large
// and small again.
//
// A frame is either *outside* or *inside* at each instruction: outside before `sub $K, %rsp` and
// after what undoes it, where the saved registers are on top of the stack; inside between. The
// frame grows by P when P is added to each number K: what is reached by the stack pointer then lies
// P lower, what is reached by rbp where it was. That is right if nothing in the upper part is
// reached by the stack pointer and nothing in the lower one by rbp, wherever the function divides
// them:
//   plain      no rbp: all locals belong to the lower part, the upper one is only pushed and popped
//   framed     rbp is the frame pointer: all locals belong to the upper part, the arguments of
//              calls to the lower one
//   realigned  as plain, but rbp remembers where the upper part is; P is a multiple of the
//   alignment
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "instrumenter/postlink/decode/decoder.h"
#include "instrumenter/postlink/frames/cfa.h"

namespace stab::instrumenter {

enum class FrameShape : std::uint8_t { plain, framed, realigned };

struct FrameFlow {
  abi::PadReason reason = abi::PadReason::none;  // why it is not understood
  FrameShape shape = FrameShape::plain;
  std::int64_t size = 0;              // K
  std::int64_t upper = 0;             // bytes above: return address excluded
  std::int64_t base = 0;              // of rbp, in the same way
  std::uint32_t alignment = 16;       // of a realigned frame
  std::vector<std::uint32_t> fields;  // of the numbers K, all 32 bits wide
  // In bytes from where the stack pointer is inside: one more than the highest direct access by the
  // stack pointer, the lowest direct one by rbp below it.
  std::int64_t highest_by_rsp = INT64_MIN;
  std::int64_t highest_indexed_by_rsp = INT64_MIN;  // the same, with another register
  std::int64_t lowest_indexed_by_rsp = INT64_MAX;
  std::int64_t lowest_by_rbp = INT64_MAX;
  std::int64_t lowest_indexed = INT64_MAX;  // by rbp and another register
  // How far an operand at `offset` lies from there; nullopt: that is not known.
  std::vector<std::optional<std::int64_t>> depths;  // by step
};

FrameFlow follow_frame(const std::vector<StackStep>& steps, const Function& function,
                       const CfaTable& cfa);

}  // namespace stab::instrumenter
