// SPDX-License-Identifier: MIT
// What a program and its descendants may use together. Nothing here changes where the program's
// memory lies, and nothing counts what its user runs elsewhere (as RLIMIT_AS and RLIMIT_NPROC
// would): we look at the descendants from outside, every `look_interval`, only if there is a limit.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <string>

namespace stab::machine {

inline constexpr std::chrono::milliseconds look_interval{20};

// 0: no such limit.
struct Limits {
  // Bytes: each one's own, and all that they share in a group of theirs (trial_group.h), else what the largest one shares.
  std::uint64_t memory = 0;
  std::chrono::nanoseconds cpu{0};
  std::uint32_t processes = 0;
  std::uint64_t file = 0;  // bytes of each file that is written; the kernel's own limit

  [[nodiscard]] bool needs_looks() const {
    return memory != 0 || cpu.count() != 0 || processes != 0;
  }
  bool operator==(const Limits&) const = default;
};

struct Use {
  std::uint64_t memory = 0;
  // Of those that have ended, too, unless their parent ignores the end of its children.
  std::chrono::nanoseconds cpu{0};
  std::uint32_t processes = 0;
};

// Of all descendants of this process but one; 0: of all. `before` is what shared_memory_of_group() was without them.
Use use_of_descendants(pid_t but, std::uint64_t before);

// What has come to shared_memory_of_group() since then.
std::uint64_t shared_since(std::uint64_t before);

// "used more than its limit of 1000000 bytes of memory", or "".
std::string passed_limit(const Limits& limits, const Use& use);

}  // namespace stab::machine
