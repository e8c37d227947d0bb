// SPDX-License-Identifier: MIT
// What the process that becomes a trial's program leaves for the one that measures it: both have this page.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <array>
#include <cstdint>
#include <type_traits>

namespace stab::machine {

// A set of CPUs as the kernel's calls have it.
using CpuWords = std::array<unsigned long, 8192 / 64>;

struct Note {
  std::int64_t exec_ns;  // monotonic, right before exec; 0: not reached
  pid_t parent;          // the measuring process, which sets it
  int error;             // errno of what failed
  rusage before;         // what the process has used until exec
  std::array<char, 64> failed;
  std::array<char, 2048> sched;  // its /proc/self/sched right before exec, or the beginning of it
  std::uint32_t sched_size;
  CpuWords
      starter_cpus;  // where the starter may run beside the program: where the measuring process does
};
static_assert(std::is_trivially_copyable_v<Note> && sizeof(Note) <= 4096);

// The descriptors that the starter is given, by their number.
enum StarterFd : int { note_fd = 3, told_fd = 4, gate_fd = 5 };

}  // namespace stab::machine
