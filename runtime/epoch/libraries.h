// SPDX-License-Identifier: MIT
// Libraries that szc did not link may keep addresses of code where the runtime cannot find them: in
// a jmp_buf that holds registers of their callers, or on stacks that no list of threads shows. A
// library whose calls pass our interposed functions (contexts.h) hides nothing until it makes a
// context.
#pragma once

#include <stdint.h>

#include "runtime/abi/abi.h"

namespace stab::rt {

enum class Libraries : uint8_t {
  harmless,
  hide_addresses,  // or it can't be known
  changing,        // one is being loaded or unloaded
};

// Finds the list of libraries. It must be called before any of them can change.
void prepare_libraries();

// Whether a loaded library makes stacks, as far as its table or its undefined symbols tell; then
// pads_small_for names it. The runtime asks this before it opens the first image.
bool libraries_make_stacks();

// The handler calls this: other threads may load and unload libraries meanwhile. Once a library
// hides addresses, later calls say so for as long as the process lives.
Libraries look_at_libraries();

// The handler calls this when layouts run out. It sets layouts_stay_for to the library that holds a
// layout in a jmp_buf.
void name_holder();

// The function or library that the report names as the cause of something. A cause holds a copy of
// the name, because its owner may be unmapped.
class Cause {
 public:
  // Keeps the first name that is set.
  void set(const char* name);
  // nullptr if no cause was set.
  [[nodiscard]] const char* text() const { return text_[0] == '\0' ? nullptr : text_; }

 private:
  static constexpr uint32_t longest = 160;
  char text_[longest];
};

extern Cause layouts_stay_for;
extern Cause pads_small_for;

// The first function of the table that hides addresses of code, or nullptr.
const char* first_hider(const abi::Header& table);
// The first function of the table that makes stacks or switches to them, or nullptr.
const char* first_with_stacks(const abi::Header& table);

}  // namespace stab::rt
