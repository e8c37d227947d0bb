// SPDX-License-Identifier: MIT
// stabctl under AddressSanitizer: it ends after each command, and the search for leaks would take nearly half of its time.
// That of stabd, which stays, is searched.

extern "C" const char* __asan_default_options();
extern "C" const char* __asan_default_options() {
  return "detect_leaks=0";
}
