// SPDX-License-Identifier: MIT
#include <cstdio>
struct InLibrary {
  InLibrary() { std::puts("+library"); }
  ~InLibrary() { std::puts("-library"); }
  int value = 12;
};
static InLibrary instance;
__attribute__((constructor(102))) static void early() { std::puts("library constructor"); }
int library_value() { return instance.value; }
