// SPDX-License-Identifier: MIT
// One library, which may be unmapped at any moment: so the kernel copies its memory for us, and
// what cannot be read counts as dangerous. If szc linked the library, its table tells what it does,
// else its undefined symbols do.
#pragma once

#include <link.h>

#include "runtime/base/os.h"
#include "runtime/epoch/causes.h"

namespace stab::rt {

template <class T>
__attribute__((always_inline)) inline bool fetch(const void* from, T& to) {
  const os::Piece piece = {const_cast<void*>(from), sizeof to};
  return os::copy_own_memory(&to, sizeof to, &piece, 1);
}

// Whether the library keeps addresses of code where the runtime cannot find them (libraries.h).
// `late`: it was not there at the start, when every symbol is looked up in the program first. If it
// uses contexts, contexts.h is told to expect them.
bool hides_addresses(const link_map& library, bool late);

// Whether it makes stacks, or says in its table that those it runs on are small.
bool uses_small_stacks(const link_map& library);

// The cause is this library, by its name.
void blame(Cause& cause, const link_map& library);

}  // namespace stab::rt
