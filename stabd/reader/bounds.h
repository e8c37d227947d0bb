// SPDX-License-Identifier: MIT
// What reading a file that anybody may have made may take of the machine.
#pragma once

#include <chrono>
#include <cstdint>

#include "base/error.h"

namespace stab::reader {

struct Bounds {
  std::uint64_t memory = 0;     // bytes of this process
  std::chrono::seconds cpu{0};  // then the kernel ends it
  std::uint64_t written = 0;    // bytes of each file that it writes
};

// For a file of this size. Those that stabd makes need a small part of it.
Bounds bounds_for(std::uint64_t bytes_of_file);

// Of this process until its end: memory beyond is refused to it (std::bad_alloc), and so is writing
// more, as on a full disk.
void keep_within(const Bounds& bounds);

// From here on this process has that user's rights and no capability, and of the kernel only memory, time and the
// descriptors that it has: every other system call fails.
Result<void> only_compute(std::uint32_t uid, std::uint32_t gid);

}  // namespace stab::reader
