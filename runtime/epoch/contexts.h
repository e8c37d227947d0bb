// SPDX-License-Identifier: MIT
// What libraries that szc did not link keep in a jmp_buf or a context: registers of their callers,
// which may hold an address in a layout (of a jump table), and stacks that nobody walks.
//
// setjmp, getcontext, makecontext and their like lead here first, and then to libc's with all
// registers, the stack and the return address as they were.
//   1. A layout that a register refers to when it is stored is held: it is never forgotten.
//   2. No epoch rewrites a word that refers to a held layout: what libc stores after our look, and
//      every copy of it, refers to the layout that is held.
//   3. The first call that makes a context or changes to one is noted; all layouts stay from then
//      on.
#pragma once

#include <stdint.h>

#include "runtime/base/outside_handlers.h"

namespace stab::rt {

enum class Interposed : uint32_t {
  setjmp,
  underscore_setjmp,
  sigsetjmp,
  getcontext,
  makecontext,
  swapcontext,
  setcontext,
  count,
};

// Finds libc's functions, before the program runs. Not `watched`: layouts stay anyway, so calls are
// not looked at.
void prepare_contexts(bool watched, const OutsideHandlers& proof);

const char* name_of(Interposed which);
// The address of our function, to which calls by other libraries must lead; 0: the program or a
// library defines its own before ours.
uint64_t entry_of(Interposed which);

// The handler calls this: from now on, what getcontext stores may come back into registers. Other
// threads may run meanwhile; for one that stores a context before it sees this, all layouts of this
// moment are held.
void expect_contexts();

// An address in the code that first made or entered a context, and one in the code whose registers
// first referred to a layout. 0: there is none.
uint64_t first_maker();
uint64_t first_holder();

}  // namespace stab::rt
