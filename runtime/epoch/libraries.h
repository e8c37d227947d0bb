// SPDX-License-Identifier: MIT
// Libraries that szc did not link, as far as they keep addresses of code where nobody finds them:
// in a jmp_buf with registers of their callers, or on stacks that no list of threads shows. Those
// whose calls come by our entries (contexts.h) hide nothing until one makes a context.
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

// Before the first image is taken in: whether one that is loaded makes stacks, as far as its table
// or what it asks of others tells. Then it is in pads_small_for.
bool libraries_make_stacks();

// The handler calls this: other threads may load and unload libraries meanwhile. Once a library
// hides addresses, later calls say so for as long as the process lives.
Libraries look_at_libraries();

// In the handler, when layouts run out: who keeps some in a jmp_buf, as layouts_stay_for.
void name_holder();

}  // namespace stab::rt
