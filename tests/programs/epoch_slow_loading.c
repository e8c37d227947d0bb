// SPDX-License-Identifier: MIT
// A module that jumps back needs long to load: epochs come when it is in the list of libraries and none of its constructors has
// run yet. Layouts are forgotten all the same.
// module: epoch_slow_loading_module.c
// variants: -O0 -ldl | -O2 -ldl
#include "hazard.h"
#include <dlfcn.h>

int main(void) {
  work_ms(5);
  void *module = dlopen("./epoch_slow_loading_module.so", RTLD_LAZY);
  CHECK(module != NULL);
  int (*jump)(int);
  *(void **)&jump = dlsym(module, "jump_back");
  CHECK(jump != NULL);
  for (double end = section(1); before(end);) {
    CHECK(jump(41) == 42);
    work_once();
  }
  puts("back each time");
  return 0;
}
