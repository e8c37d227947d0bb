// SPDX-License-Identifier: MIT
// A library that szc did not build stores registers of its callers, among them the address of a jump table, on the stack,
// lets epochs pass, keeps a copy elsewhere, lets more pass, and comes back by the copy. CONTEXT: by getcontext, first of all
// right after it was loaded.
// plain_library: epoch_copied_jumps_library.c
// variants: -O1 | -O2 | -O3 | -O2 -DCONTEXT -Wl,--as-needed -ldl | -O3 -DCONTEXT -Wl,--as-needed -ldl
#include "hazard.h"
#include <dlfcn.h>

typedef int Guard(int (*)(void *), void *);
#ifdef CONTEXT
static Guard *guard;
static void (*keep)(void), (*leave)(int);
#else
int guarded(int (*callback)(void *), void *argument);
void keep_guard(void);
void leave_guard(int value);
static Guard *const guard = guarded;
static void (*const keep)(void) = keep_guard, (*const leave)(int) = leave_guard;
#endif

NOINLINE static int callback(void *argument) {
  work_ms(5);  // several epochs
  keep();
  work_ms(10);
  leave(*(int *)argument);
  return 0;
}

static int calls_nothing(int (*unused)(void *), void *argument) {
  (void)unused;
  work_ms(1);
  return *(int *)argument;
}

#ifdef CONTEXT
static void load(void) {
  void *library = dlopen("epoch_copied_jumps_library.so", RTLD_NOW);
  if (library == NULL) library = dlopen("./epoch_copied_jumps_library.so", RTLD_NOW);
  CHECK(library != NULL);
  *(void **)&guard = dlsym(library, "guarded_context");
  *(void **)&keep = dlsym(library, "keep_context");
  *(void **)&leave = dlsym(library, "leave_context");
}
#endif

// The table's address lies in a register while the library runs.
NOINLINE static uint32_t turns(uint32_t x, int count, Guard *first_guard) {
  uint32_t all = 1;
  Guard *now = first_guard;
  for (int i = 0; i < count; ++i) {
    x = x * 1664525u + 1013904223u;
    int argument = (int)(x >> 20) | 1;
#ifdef CONTEXT
    if (i == count / 2 && guard == NULL) load();
#endif
    if (i >= count / 2) now = guard;
    const uint32_t got = (uint32_t)now(callback, &argument);
    switch ((x >> 8) % 9) {
    case 0: all += got; break;
    case 1: all = all * 31 + got; break;
    case 2: all ^= got << 7; break;
    case 3: all -= got * 3; break;
    case 4: all = (all << 5 | all >> 27) + 1; break;
    case 5: all *= 17; break;
    case 6: all += 5; break;
    case 7: all = ~all + got; break;
    default: all ^= 0x1234;
    }
  }
  return all;
}

int main(void) {
  const uint32_t first = turns(1, 12, calls_nothing);
  for (double end = section(1); before(end);) CHECK(turns(1, 12, calls_nothing) == first);
  printf("%x\n", first);
  return 0;
}
