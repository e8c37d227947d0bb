// SPDX-License-Identifier: MIT
// Pads that a function takes itself each time it is entered, by an alloca of variable size: for
// comparison with the frames that the runtime patches (static_pads.h). What decides the size lies
// in the section stab_pads, in units of 16 bytes, and the runtime draws it anew with each layout:
// one byte a function, or the paper's table of 256 bytes, from which each call takes the next
// (Curtsinger and Berger, ASPLOS 2013).
//
// A record is | address in the function (8) | of its bytes (8) | their number (4) |, in the section
// .stab_entries, which is not loaded: the post-link step caps the bytes of functions that may be on
// the stack many times.
#pragma once

#include <llvm/IR/Module.h>

namespace stab::pass {

// `bytes` for each function that calls others: 1 or 256. The number of functions.
unsigned add_entry_pads(llvm::Module& module, unsigned bytes);

}  // namespace stab::pass
