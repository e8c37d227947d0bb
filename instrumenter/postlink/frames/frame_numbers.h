// SPDX-License-Identifier: MIT
// The numbers that hold the size of a function's frame, in the code and in the frame descriptions
// of the function and its parts: all of them must grow when the frame gets a pad.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "instrumenter/postlink/frames/frames.h"

namespace stab::instrumenter {

constexpr std::int64_t return_address = 8;  // bytes between the CFA and what a function pushes

class FrameNumbers {
 public:
  // Takes a function, then its parts. Pads will be multiples of `alignment`.
  FrameNumbers(const Program& program, std::span<Function* const> functions,
               std::uint32_t alignment);

  // Follows the stack pointer through all parts. Returns why that failed.
  abi::PadReason follow();
  // Chooses the numbers, after follow(). Returns why the frame cannot grow.
  abi::PadReason choose();

  [[nodiscard]] const FrameCode& code() const { return code_; }
  [[nodiscard]] const FrameFlow& flow() const { return flow_; }
  // The numbers of a part's frame description. FrameFlow::fields has the numbers of the code.
  [[nodiscard]] const std::vector<CfaField>& described(std::size_t part) const {
    return described_[part];
  }

  // Every pad is a multiple of this many bytes.
  [[nodiscard]] std::uint32_t step() const;
  // Returns how large a pad the numbers have room for. The whole frame stays smaller than a page,
  // so that a function that does not touch each page of its stack still meets the guard page.
  [[nodiscard]] std::int64_t room() const;
  [[nodiscard]] std::int64_t room_in_descriptions() const;

  // Lets the function and its parts have pads of up to `most` bytes. Returns why they have no room.
  abi::PadReason set_pad(std::int64_t most);

 private:
  abi::PadReason choose_in_descriptions();
  abi::PadReason choose_in_description(std::size_t part);
  [[nodiscard]] std::int64_t bytes_above() const;

  std::uint32_t alignment_;
  FrameCode code_;
  FrameFlow flow_;
  std::vector<std::vector<CfaField>> described_;  // by part
};

// Makes the pads small, for a function that may have many frames at once.
void keep_modest(StackPad& pad);

}  // namespace stab::instrumenter
