// SPDX-License-Identifier: MIT
// A library that szc did not build keeps a jmp_buf, with registers of moved callers, and runs a callback on a stack of its
// own. It is there from the start, or comes by dlopen.
// plain_library: epoch_plain_jumps_library.c
// variants: -O0 | -O2 | -O3 -Wl,--as-needed -DLATE -ldl
#include "hazard.h"
#include <dlfcn.h>

#ifndef LATE
int guarded(int (*callback)(void *), void *argument);
void leave_guard(int value);
int on_other_stack(int (*callback)(void *), void *argument);
#endif

static int (*guard)(int (*)(void *), void *), (*elsewhere)(int (*)(void *), void *);
static void (*leave)(int);

NOINLINE static int callback(void *argument) {
  work_ms(1);
  if (*(int *)argument >= 2) leave(*(int *)argument);
  return *(int *)argument;
}
// The jump table's address may wait in a register while the library runs.
NOINLINE static uint32_t turns(const unsigned char *codes, int count) {
  uint32_t a = 1, b = 2, c = 3;
  for (int i = 0; i < count; ++i) {
    int argument = i % 4;
    switch (codes[i]) {
    case 0: a += b * 3; break;
    case 1: b ^= a << 3; break;
    case 2: c += a ^ b; break;
    case 3: a = c * 5 + 1; break;
    case 4: CHECK(elsewhere(callback, &(int){1}) == 1); break;
    case 5: CHECK(guard(callback, &argument) == argument); break;
    case 6: c ^= 0x55; break;
    default: a -= 7;
    }
  }
  return a ^ b ^ c;
}

int main(void) {
#ifdef LATE
  work_ms(20);
  void *library = dlopen("epoch_plain_jumps_library.so", RTLD_NOW);
  if (library == NULL) library = dlopen("./epoch_plain_jumps_library.so", RTLD_NOW);
  CHECK(library != NULL);
  *(void **)&guard = dlsym(library, "guarded");
  *(void **)&elsewhere = dlsym(library, "on_other_stack");
  *(void **)&leave = dlsym(library, "leave_guard");
#else
  guard = guarded, elsewhere = on_other_stack, leave = leave_guard;
#endif
  static const unsigned char codes[] = {0, 1, 2, 5, 3, 4, 5, 6, 7, 0, 5, 2, 4, 1, 3, 6};
  const uint32_t first = turns(codes, sizeof codes);
  for (double end = section(1); before(end);) CHECK(turns(codes, sizeof codes) == first);
  printf("%x\n", first);
  return 0;
}
