// SPDX-License-Identifier: MIT
// stabd under AddressSanitizer: without what finds the use of a dead function's variables, which costs time at each start
// and fork, and for which the tests of its libraries look; and without the stacks of allocations, which takes a third of
// the page faults of a start (ASAN_OPTIONS=malloc_context_size=30 shows them).

extern "C" const char* __asan_default_options();
extern "C" const char* __asan_default_options() {
  return "detect_stack_use_after_return=0:malloc_context_size=1";
}
