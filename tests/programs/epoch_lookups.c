// SPDX-License-Identifier: MIT
// Threads look up code of one library, as an unwinder does for each frame, while another library is opened, used and
// closed again and again.
// module: epoch_lookups_module.c epoch_lookups_other.c
// link: -ldl -pthread
// variants: -O0 | -O2
#include "hazard.h"
#include "stabilizer.h"
#include <dlfcn.h>

static int (*run)(void *(**)(void));
static int stop;

NOINLINE static void look_up(void *pc) {
  struct dl_find_object found;
  CHECK(_dl_find_object(pc, &found) == 0);
  CHECK((char *)found.dlfo_map_start <= (char *)pc && (char *)pc < (char *)found.dlfo_map_end);
  CHECK(found.dlfo_eh_frame != NULL);
}

static void *reader(void *unused) {
  void *(*where)(void);
  CHECK(run(&where) == 7);
  while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE)) {
    void *pc = where();
    for (int i = 0; i < 500; ++i) look_up(pc);
  }
  return unused;
}

static void *open_library(const char *name) {
  void *handle = dlopen(name, RTLD_NOW);
  CHECK(handle != NULL);
  return handle;
}

int main(void) {
  // The one that stays comes behind the other.
  void *other = open_library("./epoch_lookups_other.so");
  void *module = open_library("./epoch_lookups_module.so");
  run = (int (*)(void *(**)(void)))dlsym(module, "module_run");
  CHECK(run != NULL && dlclose(other) == 0);
  pthread_t readers[4];
  for (int i = 0; i < 4; ++i) readers[i] = start_thread(reader, NULL);
  for (double end = section(1); before(end);) {
    other = open_library("./epoch_lookups_other.so");
    int (*use)(int) = (int (*)(int))dlsym(other, "other_use");
    CHECK(use != NULL && use(3) == 6);
    // Several layouts, far from each other.
    for (int i = 0; i < 3; ++i) {
      stab_randomize_now();
      CHECK(use(3) == 6);
    }
    CHECK(dlclose(other) == 0);
  }
  __atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
  for (int i = 0; i < 4; ++i) join_thread(readers[i]);
  puts("found everything");
  return 0;
}
