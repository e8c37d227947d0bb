// SPDX-License-Identifier: MIT
// The page that the process that becomes a trial's program shares with the measuring process.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <array>
#include <cstdint>
#include <type_traits>

namespace stab::machine {

// A set of CPUs in the format of the kernel's system calls.
using CpuWords = std::array<unsigned long, 8192 / 64>;

struct Note {
  std::int64_t exec_ns;  // monotonic time right before exec; 0 if not reached
  pid_t parent;          // the measuring process, which sets this field
  int error;             // errno of the failed step
  rusage before;         // the resources that the process used until exec
  std::array<char, 64> failed;
  std::array<char, 2048> sched;  // the beginning of its /proc/self/sched right before exec
  std::uint32_t sched_size;
  CpuWords starter_cpus;  // the CPUs of the measuring process, where the starter may run
};
static_assert(std::is_trivially_copyable_v<Note> && sizeof(Note) <= 4096);

// The numbers of the descriptors that the starter inherits.
enum StarterFd : int { note_fd = 3, told_fd = 4, gate_fd = 5 };

}  // namespace stab::machine
