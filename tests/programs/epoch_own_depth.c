// SPDX-License-Identifier: MIT
// Programs that watch their own stack while functions move: a parser that refuses what is nested too deeply, by the limit
// that the system names, by the thread's own attributes, and by a constant of its own.
// link: -pthread
// variants: -O0 | -O2 -fno-optimize-sibling-calls | -O2 -flto
#include "hazard.h"
#include <sys/resource.h>

static __thread const char *outermost; // address of a local of the function that began
static __thread size_t allowed;        // bytes below it
static __thread size_t deepest;

static size_t used(void) {
  const char *here = __builtin_frame_address(0);
  CHECK(here < outermost);
  return (size_t)(outermost - here);
}

// '(' one* ')', where a level is also closed by the end of the text; -1: too deep.
struct text {
  size_t left;
  size_t turns; // '(' while it is not 0
};
NOINLINE static long one(struct text *text) {
  const size_t bytes = used();
  if (bytes > deepest) deepest = bytes;
  if (bytes > allowed) return -1;
  if (text->left % 50000 == 1) work_once();
  if (text->turns == 0) return 0;
  --text->turns;
  --text->left;
  const long inner = one(text);
  return inner < 0 ? inner : inner + 1;
}
NOINLINE static long parse(size_t levels) {
  struct text text = {2 * levels, levels};
  char first;
  outermost = &first;
  deepest = 0;
  return one(&text);
}

static void check(const char *who, size_t limit) {
  enum { SAFE = 20000, ENDLESS = 20000000 };
  allowed = limit - limit / 4;
  const long safe = parse(SAFE);
  const long endless = parse(ENDLESS);
  CHECK(deepest > allowed && deepest < limit);
  allowed = 1u << 20; // as an interpreter's own limit
  const long few = parse(1000);
  if (who) printf("%s: %ld %s %ld\n", who, safe, endless < 0 ? "too deep" : "all", few);
  CHECK(safe == SAFE && endless == -1 && few == 1000);
}

static size_t main_limit(void) {
  struct rlimit limit;
  CHECK(getrlimit(RLIMIT_STACK, &limit) == 0);
  return limit.rlim_cur > (64u << 20) ? 64u << 20 : limit.rlim_cur;
}

// Between here and the end of its stack, as libc tells it.
static size_t thread_limit(void) {
  pthread_attr_t attributes;
  void *start;
  size_t size;
  char here;
  CHECK(pthread_getattr_np(pthread_self(), &attributes) == 0);
  CHECK(pthread_attr_getstack(&attributes, &start, &size) == 0);
  CHECK(pthread_attr_destroy(&attributes) == 0);
  CHECK(&here > (char *)start && &here < (char *)start + size);
  return (size_t)(&here - (char *)start);
}
static void *in_thread(void *name) {
  check(name, thread_limit());
  for (double end = section(0.4); before(end);) check(NULL, thread_limit());
  return NULL;
}

int main(void) {
  check("main", main_limit());
  for (double end = section(0.4); before(end);) check(NULL, main_limit());
  join_thread(start_thread(in_thread, "thread"));
  puts("nobody fell off the end");
  return 0;
}
