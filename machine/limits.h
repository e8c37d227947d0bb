// SPDX-License-Identifier: MIT
// Limits of what a program and its descendants may use together. They don't change where the
// program's memory is and don't count what its user runs elsewhere, as RLIMIT_AS and RLIMIT_NPROC
// would: we check the descendants from outside, every `look_interval`, and only if there is a
// limit.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <string>

namespace stab::machine {

inline constexpr std::chrono::milliseconds look_interval{20};

// 0 means no limit.
struct Limits {
  // Bytes: the sum of each process's own memory, plus the shared memory. That is what their group
  // shares (trial_group.h), or what the process with most of it shares if that is more.
  std::uint64_t memory = 0;
  std::chrono::nanoseconds cpu{0};
  std::uint32_t processes = 0;
  std::uint64_t file = 0;  // bytes of each written file; enforced by the kernel

  [[nodiscard]] bool needs_looks() const {
    return memory != 0 || cpu.count() != 0 || processes != 0;
  }
  bool operator==(const Limits&) const = default;
};

struct Use {
  std::uint64_t memory = 0;
  // Includes processes that have ended, unless their parent ignores the end of its children.
  std::chrono::nanoseconds cpu{0};
  std::uint32_t processes = 0;
};

// The use of all descendants of this process except for `but` (0: all). `before` is the value of
// shared_memory_of_group() before they started.
Use use_of_descendants(pid_t but, std::uint64_t before);

// The increase of shared_memory_of_group() since it was `before`.
std::uint64_t shared_since(std::uint64_t before);

// "used more memory than its limit of 1000000 bytes", or "".
std::string passed_limit(const Limits& limits, const Use& use);

}  // namespace stab::machine
