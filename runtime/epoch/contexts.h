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

// Finds libc's functions. Before the program runs. Not `watched`: layouts stay anyway.
void prepare_contexts(bool watched);

const char* name_of(Interposed which);
// Where calls by other libraries must lead; 0: the program or a library has its own before ours.
uint64_t entry_of(Interposed which);

// What getcontext keeps comes back into registers from now on. In the handler; other threads may
// run: who stores a context before this is seen finds all layouts of this moment held.
void expect_contexts();

// Who made or entered a context first, and whose registers referred to a layout first: an address
// in its code. 0: nobody.
uint64_t first_maker();
uint64_t first_holder();

}  // namespace stab::rt
