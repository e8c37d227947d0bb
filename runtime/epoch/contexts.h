// SPDX-License-Identifier: MIT
// Libraries that szc did not link keep registers of their callers in a jmp_buf or a context. These
// may hold an address in a layout (of a jump table), and contexts run on stacks that nobody walks.
//
// Calls of setjmp, getcontext, makecontext and similar functions come here first. Then they go on
// to libc's function with all registers, the stack and the return address unchanged.
//   1. If a register refers to a layout when it is stored, the layout is held: it is never
//      forgotten.
//   2. No epoch rewrites a word that refers to a held layout. So the words that libc stores after
//      our look, and all their copies, stay correct.
//   3. The first call that makes a context or changes to one is noted; all layouts stay from then
//      on.
//
// Most calls of setjmp come from the executable, whose functions save these registers themselves.
// They go straight on to libc's function.
#pragma once

#include <stdint.h>

#include "runtime/base/handler_proofs.h"

namespace stab::rt {

struct Layout;

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

// Finds libc's functions, before the program runs. If not `watched`, layouts stay anyway, so calls
// are not examined.
void prepare_contexts(bool watched, const OutsideHandlers& proof);

// From now on, calls of setjmp from this layout are not examined. It is the first layout of an
// image that stays until the process ends. Called at the start, after prepare_contexts().
void trust_callers_in(const Layout& layout);

const char* name_of(Interposed which);
// The address of our function, to which calls by other libraries must lead, or 0 if the program or
// a library defines its own before ours.
uint64_t entry_of(Interposed which);

// The handler calls this: from now on, registers that getcontext stores may be restored later.
// Other threads may run meanwhile. One of them may store a context before it sees this, so all
// layouts that exist now are held.
void expect_contexts();

// An address in the code that first made or entered a context, and an address in the code whose
// registers first referred to a layout. 0: no such code ran.
uint64_t first_maker();
uint64_t first_holder();

}  // namespace stab::rt
