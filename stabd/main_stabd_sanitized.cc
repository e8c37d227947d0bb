// SPDX-License-Identifier: MIT
// stabd under AddressSanitizer: each fork copies what finds the use of a dead function's variables, which is half of all
// that its tests take. The tests of its libraries look for that.

extern "C" const char* __asan_default_options();
extern "C" const char* __asan_default_options() {
  return "detect_stack_use_after_return=0:malloc_context_size=1";
}
