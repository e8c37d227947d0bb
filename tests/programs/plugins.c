// SPDX-License-Identifier: MIT
// Libraries opened, used and closed again and again, with their constructors and destructors; symbols of the next one.
// module: plugins_module.cpp
// link: -ldl
// variants: -O0 | -O2
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

static int events;
void plugin_event(int what) { events = events * 3 + what; }
static size_t asked;
void *calloc(size_t n, size_t size) {
  static void *(*next)(size_t, size_t);
  if (!next) next = (void *(*)(size_t, size_t))dlsym(RTLD_NEXT, "calloc");
  asked += n * size == 12321;
  return next(n, size);
}
int main(void) {
  long sum = 0;
  for (int i = 0; i < 20; ++i) {
    void *module = dlopen("./plugins_module.so", RTLD_NOW | RTLD_LOCAL);
    if (!module) return puts(dlerror()), 1;
    int (*run)(int) = (int (*)(int))dlsym(module, "plugin_run");
    sum = sum * 7 + run(i);
    if (dlsym(module, "plugin_run") != (void *)run) return 2;
    dlclose(module);
    sum &= 0xffffff;
  }
  void *p = calloc(111, 111);
  printf("%ld %d %d\n", sum, events, (int)asked);
  free(p);
  return 0;
}
