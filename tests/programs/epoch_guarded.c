// SPDX-License-Identifier: MIT
// A library that szc did not build comes back to a jmp_buf of its own, across epochs, while the jump table's address of its
// caller waits in a register (TABLES: the layouts it points to stay) or none does.
// plain_library: epoch_guarded_library.c
// variants: -O0 | -O2 | -O2 -DTABLES | -O3 -Wl,--as-needed -DLATE -ldl | -O2 -Wl,--as-needed -DLATE -DTABLES -ldl | -O2 -Wl,--as-needed -DLATE -DDEEP -DTABLES -ldl
// compilers: szc gcc
#include "hazard.h"
#include <dlfcn.h>

#ifndef DEEP
#define DEEP 0
#else
#undef DEEP
#define DEEP RTLD_DEEPBIND
#endif

typedef int Guard(int (*)(void *), void *);
#ifndef LATE
int guarded(int (*callback)(void *), void *argument);
int guarded_deep(int (*callback)(void *), void *argument);
void leave_guard(int value);
#endif
static Guard *guard, *guard_deep;
static void (*leave)(int);

NOINLINE static int callback(void *argument) {
  work_ms(10);  // several epochs
  if (*(int *)argument % 2 != 0) leave(*(int *)argument);
  return *(int *)argument;
}

// The table's address may lie in a register while the library runs.
NOINLINE static uint32_t turns(const unsigned char *codes, int count) {
  uint32_t a = 1, b = 2, c = 3;
  for (int i = 0; i < count; ++i) {
    int argument = i % 7;
    switch (codes[i]) {
    case 0: a += b * 3; break;
    case 1: b ^= a << 3; break;
    case 2: c += a ^ b; break;
    case 3: a = c * 5 + 1; break;
    case 4: CHECK(guard(callback, &argument) == argument); break;
    case 5: CHECK(guard_deep(callback, &argument) == argument); break;
    case 6: c ^= 0x55; break;
    default: a -= 7;
    }
  }
  return a ^ b ^ c;
}

// Registers hold nothing but numbers.
NOINLINE static uint32_t round_trip(Guard *by, uint32_t x) {
  int argument = (int)(x % 9);
  CHECK(by(callback, &argument) == argument);
  return x * 0x01000193u + (uint32_t)argument;
}

NOINLINE static uint32_t numbers(void) {
  uint32_t x = 1;
  for (int i = 0; i < 8; ++i) x = round_trip(i % 2 ? guard : guard_deep, x);
  return x;
}

int main(void) {
#ifdef LATE
  work_ms(20);
  void *library = dlopen("epoch_guarded_library.so", RTLD_NOW | DEEP);
  if (library == NULL) library = dlopen("./epoch_guarded_library.so", RTLD_NOW | DEEP);
  CHECK(library != NULL);
  *(void **)&guard = dlsym(library, "guarded");
  *(void **)&guard_deep = dlsym(library, "guarded_deep");
  *(void **)&leave = dlsym(library, "leave_guard");
#else
  guard = guarded, guard_deep = guarded_deep, leave = leave_guard;
#endif
  static const unsigned char codes[] = {0, 1, 2, 4, 3, 5, 4, 6, 7, 0, 5, 2, 4, 1, 3, 6};
#ifdef TABLES
  const uint32_t first = turns(codes, sizeof codes);
  for (double end = section(1); before(end);) CHECK(turns(codes, sizeof codes) == first);
#else
  const uint32_t first = numbers();
  for (double end = section(1); before(end);) CHECK(numbers() == first);
  CHECK(codes[0] == 0);
#endif
  printf("%x\n", first);
  return 0;
}
