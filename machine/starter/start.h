// SPDX-License-Identifier: MIT
// Starts a trial's program in a process that begins in the memory of stab-starter (main.cc), not as a copy of ours.
#pragma once

#include <sys/types.h>

#include <array>
#include <functional>
#include <string>
#include <vector>

#include "base/error.h"
#include "machine/starter/note.h"

namespace stab::machine {

struct Start {
  std::string program;  // its path
  const std::vector<std::string>& argv;
  const std::vector<std::string>& environment;
  std::array<int, 3> streams;  // its stdin, stdout and stderr
  int gate = -1;               // an eventfd: the process waits for it right before exec
  // Called in the process while it has our memory and before it executes anything: sets up what it inherits, or says what
  // failed, with errno. It must leave our memory as it was.
  std::function<const char*()> become;
};

struct Started {
  pid_t starter = 0;
  pid_t program = 0;  // 0: the starter or the process before it failed; the note says at what
  // What they leave there, for good when both have ended; until the next start.
  const Note* note = nullptr;
};

// Both processes are children of ours. Fails if there is none.
Result<Started> start(const Start& start);

}  // namespace stab::machine
