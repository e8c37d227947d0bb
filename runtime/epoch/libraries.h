// SPDX-License-Identifier: MIT
// Libraries that szc did not link may keep addresses of code where the runtime cannot find them: in
// a jmp_buf that holds registers of their callers, or on stacks that no list of threads shows. A
// library whose calls pass our interposed functions (contexts.h) hides nothing until it makes a
// context.
#pragma once

#include <stdint.h>

namespace stab::rt {

enum class Libraries : uint8_t {
  harmless,
  hide_addresses,  // or it cannot be known
  changing,        // one is being loaded or unloaded
};

// Finds the list of libraries. Before any of them can change.
void prepare_libraries();

// Whether a loaded library makes stacks, as far as its table or its undefined symbols tell; then
// pads_small_for names it. The runtime asks this before it opens the first image.
bool libraries_make_stacks();

// The handler calls this: other threads may load and unload libraries meanwhile. Once a library
// hides addresses, later calls say so for as long as the process lives.
Libraries look_at_libraries();

// The handler calls this when layouts run out: it sets layouts_stay_for to whoever holds some of
// them in a jmp_buf.
void name_holder();

}  // namespace stab::rt
