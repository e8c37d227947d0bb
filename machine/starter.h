// SPDX-License-Identifier: MIT
// Starts a trial's program in a process that begins in the memory of stab-starter (starter_main.cc)
// and not as a copy of our process. stab-starter is embedded in this program as a file in memory.
#pragma once

#include <sys/types.h>

#include <array>
#include <functional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/fd.h"
#include "machine/starter_note.h"

namespace stab::machine {

// Lower descriptors may be needed for the streams of other processes.
inline constexpr int first_free = 10;

// Creates a file in memory that can be sealed, with a descriptor of at least first_free. `flags`
// are passed to memfd_create(). If the kernel refuses, the result is not open and errno is set.
Fd sealable_file(const char* name, unsigned flags);

// A descriptor for executing stab-starter, the same at each call. If the kernel refuses, returns -1
// and sets errno.
int starter_image();

struct Start {
  std::string program;  // path of the program
  const std::vector<std::string>& argv;
  const std::vector<std::string>& environment;
  std::array<int, 3> streams;  // stdin, stdout and stderr of the program
  int gate = -1;  // an eventfd for which the process waits right before exec; -1: it does not wait
  // Which of two notes the processes use, so that a second program can start while the first one's
  // note is still in use.
  enum class Which : unsigned { first, second };
  Which which = Which::first;
  // Called in the new process, which still shares our memory, before it executes anything. Sets up
  // what the program inherits, and returns nullptr, or says what failed and sets errno. It must not
  // change our memory.
  std::function<const char*()> become;
};

struct Started {
  pid_t starter = 0;
  pid_t program = 0;  // 0 if the start failed; the note says where
  // The note of these two processes. It is final when both have ended, and valid until the next
  // start() with the same `which`.
  const Note* note = nullptr;
};

// Both processes are our children. Returns an error if no process could be started.
Result<Started> start(const Start& start);

}  // namespace stab::machine
