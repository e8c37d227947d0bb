// SPDX-License-Identifier: MIT
// The numbers that hold the size of a function's frame, in its code and in its frame description:
// all of them must grow when the frame gets a pad.
#pragma once

#include <cstdint>
#include <vector>

#include "instrumenter/postlink/frames/frames.h"

namespace stab::instrumenter {

constexpr std::int64_t return_address = 8;  // bytes between the CFA and what a function pushes

class FrameNumbers {
 public:
  // Pads will be multiples of `alignment`.
  FrameNumbers(const Program& program, Function& function, std::uint32_t alignment);

  // Follows the stack pointer through the function. Returns why that failed.
  abi::PadReason follow();
  // Chooses the numbers, after follow(). Returns why the frame cannot grow.
  abi::PadReason choose();

  [[nodiscard]] const std::vector<Instruction>& steps() const { return steps_; }
  [[nodiscard]] const CfaTable& cfa() const { return cfa_; }
  [[nodiscard]] const FrameFlow& flow() const { return flow_; }
  // The numbers of the frame description. FrameFlow::fields has the numbers of the code.
  [[nodiscard]] const std::vector<CfaField>& described() const { return described_; }

  // Every pad is a multiple of this many bytes.
  [[nodiscard]] std::uint32_t step() const;
  // Returns how large a pad the numbers have room for. The whole frame stays smaller than a page,
  // so that a function that does not touch each page of its stack still meets the guard page.
  [[nodiscard]] std::int64_t room() const;
  [[nodiscard]] std::int64_t room_in_description() const;

  // Lets the function have pads of up to `most` bytes.
  void set_pad(std::int64_t most);

 private:
  abi::PadReason choose_in_description();
  [[nodiscard]] std::int64_t bytes_above() const;

  Function& function_;
  std::uint32_t alignment_;
  std::vector<Instruction> steps_;
  CfaTable cfa_;
  FrameFlow flow_;
  std::vector<CfaField> described_;
};

// Makes the pads small, for a function that may have many frames at once.
void keep_modest(StackPad& pad);

}  // namespace stab::instrumenter
