// SPDX-License-Identifier: MIT
// Pads that a function allocates itself each time it is entered, by an alloca of variable size.
// They are for comparison with the frames that the runtime patches (static_pads.h). The size comes
// from bytes in the section stab_pads, in units of 16 bytes, which the runtime draws anew for each
// layout: one byte per function, or the paper's table of 256 bytes, from which each call takes the
// next one (Curtsinger and Berger, ASPLOS 2013).
//
// A record is | address in the function (8) | address of its bytes (8) | their number (4) |, in
// the section .stab_entries, which is not loaded. The post-link step limits the bytes of functions
// that may be on the stack many times.
#pragma once

#include <llvm/IR/Module.h>

namespace stab::pass {

// Gives each function that calls others `bytes` bytes: 1 or 256. Returns the number of functions.
unsigned add_entry_pads(llvm::Module& module, unsigned bytes);

}  // namespace stab::pass
