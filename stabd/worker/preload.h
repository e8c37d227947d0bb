// SPDX-License-Identifier: MIT
// The heap of programs that szc did not build: libstabheap.so, brought in by LD_PRELOAD.
#pragma once

#include <string>

#include "stabd/protocol/work.h"

namespace stab::worker {

// Where it is installed; "" if it is not, or where LD_PRELOAD cannot name it.
std::string heap_library();

// The library's path if this trial is to have it: the plan says something of the heap, in whichever
// arm, and the program is an ELF file without our runtime, and no shell, which would only start the
// program. "" otherwise, or if the library is not installed.
std::string heap_library_for(const protocol::RunRequest& request);

}  // namespace stab::worker
