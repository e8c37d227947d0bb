// SPDX-License-Identifier: MIT
// stabctl under AddressSanitizer, as stabd (stabd_asan_options.cc). It ends after each command, and the search for
// leaks would take nearly half of its time.

extern "C" const char* __asan_default_options();
extern "C" const char* __asan_default_options() {
  return "detect_stack_use_after_return=0:detect_leaks=0:malloc_context_size=1";
}
