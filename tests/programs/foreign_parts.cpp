// SPDX-License-Identifier: MIT
// gcc moves blocks that rarely run into a part of their own (.cold), which works in the function's
// frame. Here such parts throw, catch, jump by tables, call setjmp, allocate, recurse, end with
// calls that never return, and jump to other functions. Each backtrace from a part finds main.
// variants: -O2 | -O3 | -Os | -O2 -fno-omit-frame-pointer | -O2 -fno-pie -no-pie | -O2 -fstack-protector-all | -O2 -fstack-clash-protection | -O2 -falign-functions=1 | -O2 -fcf-protection=full
// compilers: gcc
#include <alloca.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <unwind.h>

#include <stdexcept>
#include <vector>

#define NOINLINE extern "C" __attribute__((noinline, noclone))
// Blocks that call such a function are rare.
#define RARE extern "C" __attribute__((noinline, noclone, cold))

static uintptr_t stack_of_main;
struct Walk {
  int frames = 0;
  uintptr_t stack = 0;  // of the first frame's caller, before its call
  bool finds_main = false;
};
static _Unwind_Reason_Code look(_Unwind_Context *context, void *data) {
  Walk *walk = static_cast<Walk *>(data);
  if (walk->frames == 1) walk->stack = _Unwind_GetCFA(context);
  walk->finds_main |= stack_of_main != 0 && _Unwind_GetCFA(context) == stack_of_main;
  if (walk->finds_main) return _URC_END_OF_STACK;
  ++walk->frames;
  return _URC_NO_REASON;
}
NOINLINE uintptr_t stack_of_caller() {
  Walk walk;
  _Unwind_Backtrace(look, &walk);
  return walk.stack;
}
// The number of frames from here up to main's, or -1 if main's is not found.
NOINLINE long frames_to_main() {
  Walk walk;
  _Unwind_Backtrace(look, &walk);
  return walk.finds_main ? walk.frames : -1;
}

NOINLINE long id(long x) {
  __asm__ volatile("" : "+r"(x));
  return x;
}
NOINLINE void shown(void *object) { __asm__ volatile("" : : "r"(object) : "memory"); }
RARE long rare(long x) {
  __asm__ volatile("" : "+r"(x));
  return 3 * x + frames_to_main();
}
NOINLINE long ten(long a, long b, long c, long d, long e, long f, long g, long h, long i, long j) {
  return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * id(g) + 8 * h + 9 * id(i) + 10 * j;
}

NOINLINE long comes_back(long n) {
  long some[5];
  shown(some);
  some[1] = id(n);
  for (long i = 0; i < 6; ++i) {
    some[2] = id(i);
    if (__builtin_expect(some[2] == n, 0)) some[1] += rare(i) + ten(1, 2, 3, 4, 5, 6, n, 8, i, 10);
  }
  return some[1] + some[2];
}

NOINLINE long throws(long n) {
  long some[6];
  shown(some);
  some[2] = id(n);
  if (__builtin_expect(some[2] == 3, 0)) {
    some[3] = rare(n);
    throw some[2] + some[3];
  }
  return some[2] + id(1);
}
struct Guard {
  long *sum;
  ~Guard() { *sum += frames_to_main() + id(2); }
};
// Its landing pads are rare, too.
NOINLINE long cleans(long n, long *sum) {
  Guard guard{sum};
  long some[3];
  shown(some);
  some[0] = throws(n);
  return some[0] + id(n);
}
NOINLINE long catches(long n) {
  long sum = id(n);
  try {
    const long got = cleans(n, &sum);
    sum += got;
  } catch (long thrown) {
    sum += thrown + rare(n);
  }
  return sum;
}
NOINLINE long at(const std::vector<long> &all, size_t n) {
  long some[4];
  shown(some);
  some[0] = id(7);
  return all.at(n) + some[0];
}

// Its labels stand in a table, in both parts.
NOINLINE long interprets(const unsigned char *program, long value) {
  static const void *const labels[] = {&&add, &&twice, &&odd, &&done};
  long some[3];
  shown(some);
  goto *labels[*program++];
add:
  some[0] = id(3);
  value += some[0];
  goto *labels[*program++];
twice:
  value = 2 * id(value);
  goto *labels[*program++];
odd:
  value = rare(value) - rare(1);
  goto *labels[*program++];
done:
  return value + id(1);
}
NOINLINE long chooses(long n, long other) {
  long some[4];
  shown(some);
  some[3] = id(other);
  switch (n) {
  case 0: return id(some[3]) + 1;
  case 1: return rare(some[3]) + id(2);
  case 2: return id(3) - some[3];
  case 3: return rare(some[3] + id(4));
  case 4: return id(5) * some[3];
  case 5: return id(some[3]) ^ 6;
  case 6: return rare(7) - id(some[3]);
  default: return some[3];
  }
}

static jmp_buf place;
RARE __attribute__((noreturn)) void leaves(long n) {
  char some[48];
  shown(some);
  longjmp(place, static_cast<int>(id(n)));
}
NOINLINE long returns_twice(long n) {
  volatile long sum = id(n);
  if (__builtin_expect(n == 5, 0)) {
    sum = sum + rare(n);
    const int seen = setjmp(place);
    if (seen != 0) return sum + seen + rare(1);
    leaves(n);
  }
  return sum + id(n);
}
// The part ends with the call.
NOINLINE long ends(long n) {
  long some[7];
  shown(some);
  some[6] = id(n);
  if (__builtin_expect(some[6] == 6, 0)) leaves(some[6]);
  return some[6] + id(2);
}
// Parts are entered before the frame is made, and in it.
NOINLINE long early(const long *from) {
  if (__builtin_expect(from == nullptr, 0)) leaves(9);
  long some[4];
  shown(some);
  some[1] = id(*from);
  if (__builtin_expect(some[1] == 2, 0)) leaves(some[1]);
  return some[1] + id(1);
}
NOINLINE long tail(long a, long b, long c, long d, long e, long f) {
  const long x = id(a), y = id(b), z = id(c), u = id(d), v = id(e), w = id(f), s = id(a + b), t = id(c + d);
  const long sum = id(x) + id(y) + id(z) + id(u) + id(v) + id(w) + id(s) + id(t);
  if (__builtin_expect(x == 4, 0)) return rare(sum + x + y + z + u + v + w + s + t);
  return sum + x - y + z - u + v - w + s - t;
}

NOINLINE long deep(long n) {
  long some[3];
  shown(some);
  some[1] = id(n);
  if (n == 0) return frames_to_main();
  if (__builtin_expect(n % 3 == 0, 0)) return some[1] + rare(0) % 100 + deep(n - 1);
  return some[1] + deep(n - 1) % 1000;
}
NOINLINE long allocates(long n) {
  long sum = id(n);
  if (__builtin_expect(n == 1, 0)) {
    char *some = static_cast<char *>(alloca(static_cast<size_t>(id(n)) * 40));
    shown(some);
    memset(some, 2, static_cast<size_t>(n) * 40);
    sum += rare(some[id(5)]);
  }
  return sum + id(3);
}
NOINLINE long aligned(long n) {
  alignas(64) long some[16];
  shown(some);
  some[4] = id(n);
  if (__builtin_expect(n == 7, 0)) some[4] += rare(n);
  return some[4] + static_cast<long>(reinterpret_cast<uintptr_t>(some) % 64) + id(1);
}

static volatile long signals;
static void on_alarm(int) {
  volatile char some[300];
  for (unsigned i = 0; i < sizeof some; ++i) some[i] = 0x55;
  signals = signals + 1;
}

int main() {
  struct sigaction action = {};
  action.sa_handler = on_alarm;
  action.sa_flags = SA_RESTART;
  sigaction(SIGALRM, &action, nullptr);
  const itimerval each_millisecond = {{0, 1000}, {0, 1000}};
  setitimer(ITIMER_REAL, &each_millisecond, nullptr);

  stack_of_main = 0;
  stack_of_main = stack_of_caller();
  const std::vector<long> all = {1, 2, 3, 4, 5, 6};
  unsigned long sum = 0;
  for (long round = 0; round < 800; ++round) {
    const long n = round % 8;
    const unsigned char program[] = {0, 1, static_cast<unsigned char>(n == 3 ? 2 : 0), 0, 3};
    long left = 0;
    if (const int seen = setjmp(place))
      left = seen;
    else
      left = n == 5 ? early(nullptr) : ends(n) + early(&all[static_cast<size_t>(n % 4)]);
    long missing = 0;
    try {
      missing = at(all, static_cast<size_t>(n));
    } catch (const std::out_of_range &) {
      missing = -frames_to_main();
    }
    const long results[] = {left, missing, comes_back(n), catches(n), interprets(program, n), chooses(n, round),
                            returns_twice(n), tail(n, 2, 3, 4, 5, 6), deep(n * 5), allocates(n), aligned(n)};
    for (const long result : results) {
      sum = sum * 31 + static_cast<unsigned long>(result);
      if (round < 8) printf("%ld ", result);
    }
  }
  const itimerval never = {};
  setitimer(ITIMER_REAL, &never, nullptr);
  printf("\n%lu\n", sum);
  return 0;
}
