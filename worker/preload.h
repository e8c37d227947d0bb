// SPDX-License-Identifier: MIT
// What LD_PRELOAD brings into trials: libstabheap.so, the heap of programs that szc did not build, and
// libstabnew.so, which leads operator new of some allocators to it.
#pragma once

#include <string>

#include "protocol/work.h"

namespace stab::worker {

// Where it is installed; "" if it is not, or where LD_PRELOAD cannot name it.
std::string heap_library();

// The library's path if this trial is to have it: the plan says something of the heap, in whichever
// arm, and the program is an ELF file without our runtime, and no shell, which would only start the
// program. "" otherwise, or if the library is not installed.
std::string heap_library_for(const protocol::RunRequest& request);

// The path of libstabnew.so if the plan says something of the heap, and the program (szc's or not), or
// the trial's LD_PRELOAD, names jemalloc, tcmalloc or mimalloc, which have an operator new of their own.
std::string new_library_for(const protocol::RunRequest& request);

}  // namespace stab::worker
