// SPDX-License-Identifier: MIT
#include <setjmp.h>

static __thread struct {
  sigjmp_buf place;
} other;
static __thread sigjmp_buf *current;

// Room is made without pushing rax, which may hold a place in the caller's code: a layout that the stack names stays anyway.
#define ROOM volatile int room[6]; room[0] = 0

int guarded(int (*callback)(void *), void *argument) {
  ROOM;
  current = &other.place;
  const int value = sigsetjmp(other.place, 1);
  return value != 0 ? value : callback(argument);
}

// Through setjmp, which libc has under two names.
int guarded_deep(int (*callback)(void *), void *argument) {
  ROOM;
  current = &other.place;
  const int value = _setjmp(other.place);
  return value != 0 ? value : callback(argument);
}

void leave_guard(int value) { siglongjmp(*current, value); }
