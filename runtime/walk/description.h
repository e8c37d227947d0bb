// SPDX-License-Identifier: MIT
// The two descriptions in .eh_frame of a function: its own (FDE), and what it has in common
// with others (CIE).
#pragma once

#include <stdint.h>

#include "runtime/abi/byte_reader.h"
#include "runtime/walk/walk.h"

namespace stab::rt {

constexpr uint32_t return_column = 16;

struct Common {
  uint64_t code_align = 0;
  int64_t data_align = 0;
  uint8_t encoding = 0;  // of addresses in the FDE
  bool augmented = false;
  bool signal_frame = false;
};

// Leave the reader at the instructions. It has failed if the description is corrupt, or of a kind that is
// not used for this machine.
ByteReader read_common(const FrameDescription& description, Common& common);
ByteReader read_description(const FrameDescription& description, const Common& common);

}  // namespace stab::rt
