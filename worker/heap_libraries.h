// SPDX-License-Identifier: MIT
// The libraries that LD_PRELOAD brings into trials: libstabheap.so, the heap of programs that szc
// did not build, and libstabnew.so, which makes operator new of some allocators use that heap.
#pragma once

#include <string>

#include "protocol/work.h"

namespace stab::worker {

// The installed path of libstabheap.so; "" if it is not installed or LD_PRELOAD can't name it.
std::string heap_library();

// The library's path if this trial needs it: if the plan sets the heap in any arm, and the program
// is an ELF file without our runtime. A shell does not need it, because it only starts the program.
// Returns "" otherwise, or if the library is not installed.
std::string heap_library_for(const protocol::RunRequest& request);

// The path of libstabnew.so if the plan sets the heap, and if the program (szc's or not) or the
// trial's LD_PRELOAD names jemalloc, tcmalloc or mimalloc, which have their own operator new.
std::string new_library_for(const protocol::RunRequest& request);

}  // namespace stab::worker
