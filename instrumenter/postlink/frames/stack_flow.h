// SPDX-License-Identifier: MIT
// Follows the stack pointer through a function, and finds the instructions that make its frame
// large and small again.
//
// At each instruction, a frame is either *outside* or *inside*. It is outside before `sub $K,
// %rsp` and after the instruction that undoes it, when the saved registers are on top of the
// stack. It is inside in between. The frame grows by P when P is added to each number K:
// everything that the stack pointer reaches then lies P lower, and everything that rbp reaches
// stays in place. That is right if the stack pointer reaches nothing in the upper part and rbp
// reaches nothing in the lower part, wherever the function divides them:
//   plain      no rbp: all locals belong to the lower part; the upper one is only pushed and popped
//   framed     rbp is the frame pointer: all locals belong to the upper part, and the arguments of
//              calls to the lower one
//   realigned  like plain, but rbp keeps the place of the upper part, and P is a multiple of the
//              alignment
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "instrumenter/postlink/decode/instruction.h"
#include "instrumenter/postlink/frames/cfa.h"

namespace stab::instrumenter {

enum class FrameShape : std::uint8_t { plain, framed, realigned };

struct FrameFlow {
  abi::PadReason reason = abi::PadReason::none;  // why the frame is not understood
  FrameShape shape = FrameShape::plain;
  std::int64_t size = 0;              // K
  std::int64_t upper = 0;             // bytes from the return address down to the lower part
  std::int64_t base = 0;              // bytes from the return address down to where rbp points
  std::uint32_t alignment = 16;       // of a realigned frame
  std::vector<std::uint32_t> fields;  // places of the numbers K, all 32 bits wide
  // The next five are places, in bytes from where the stack pointer is inside. This one is 1 more
  // than the highest direct access by the stack pointer, and lowest_by_rbp is the lowest direct
  // access by rbp.
  std::int64_t highest_by_rsp = INT64_MIN;
  std::int64_t highest_indexed_by_rsp = INT64_MIN;  // the same, with another register
  std::int64_t lowest_indexed_by_rsp = INT64_MAX;
  std::int64_t lowest_by_rbp = INT64_MAX;
  std::int64_t lowest_indexed = INT64_MAX;  // by rbp and another register
  // How far below that place the stack pointer is; nullopt if that is not known.
  std::vector<std::optional<std::int64_t>> depths;  // by step
};

FrameFlow follow_frame(const std::vector<Instruction>& steps, const Function& function,
                       const CfaTable& cfa);

}  // namespace stab::instrumenter
