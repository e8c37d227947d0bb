// SPDX-License-Identifier: MIT
// Functions that look at their own return address while functions move: to count their callers, to look at the call that made
// them, and to compare the address that they began with to the one that they end with.
// variants: -O0 | -O2 | -O2 -fno-omit-frame-pointer -DABOVE
#include "hazard.h"

// Counts by address: each call is counted once, whatever the address was.
enum { SITES = 4096 };
static struct { const void *site; long count; } sites[SITES];
static long overflowed;
NOINLINE static void count_caller(void) {
  const void *site = __builtin_return_address(0);
  for (uintptr_t i = (uintptr_t)site * 0x9e3779b97f4a7c15ull >> 52, n = 0; n < SITES; ++n) {
    uintptr_t at = (i + n) % SITES;
    if (sites[at].site == NULL) sites[at].site = site;
    if (sites[at].site != site) continue;
    sites[at].count += 1;
    return;
  }
  overflowed += 1;
}

// The bytes before the return address are a call: direct, or through a register or memory.
NOINLINE static int called_by_call(void) {
  const unsigned char *site = __builtin_extract_return_addr(__builtin_return_address(0));
  if (site[-5] == 0xe8) return 1;
  for (int i = 2; i <= 7; ++i)
    if (site[-i] == 0xff && (site[-i + 1] & 0x38) == 0x10) return 1;
  return 0;
}
static int (*volatile indirectly)(void) = called_by_call;

// The address in the frame stays what it was when the function began.
NOINLINE static int same_at_end(double ms) {
  const void *volatile begun = __builtin_return_address(0);
  work_ms(ms);
  return begun == __builtin_return_address(0);
}
#ifdef ABOVE
NOINLINE static int above(void) { return __builtin_return_address(1) != NULL && __builtin_frame_address(1) != NULL; }
#else
static int above(void) { return 1; }
#endif

int main(void) {
  long calls = 0, all = 0, changed = 0;
  for (double end = section(1); before(end);) {
    for (int i = 0; i < 100; ++i) {
      count_caller();
      work(20);
      count_caller();
      calls += 2;
    }
    CHECK(called_by_call());
    CHECK(indirectly());
    CHECK(above() == 1);
    changed += !same_at_end(1.5);
  }
  for (int i = 0; i < SITES; ++i) all += sites[i].count;
  CHECK(all + overflowed == calls);
  printf("return addresses changed: %s\n", changed ? "yes" : "no");
  return 0;
}
