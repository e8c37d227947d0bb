// SPDX-License-Identifier: MIT
// The program profiles itself while functions move: SIGPROF handlers take backtraces through moved frames, from any instruction,
// and each reaches the bottom of its thread.
// link: -pthread
// variants: -O0 | -O2 | -O2 -fno-omit-frame-pointer -DFRAME_POINTERS
#include "hazard.h"
#include <execinfo.h>
#include <signal.h>
#include <sys/time.h>
#include <ucontext.h>

enum { DEPTH = 30 };
static __thread volatile int inside;
static int samples, shallow;

static void on_profile(int number, siginfo_t *info, void *context) {
  void *frames[200];
  const int saved = errno;
  (void)context;
  CHECK(number == SIGPROF && info->si_signo == SIGPROF);
  const int was_inside = inside, count = backtrace(frames, 200);
  __atomic_add_fetch(&samples, 1, __ATOMIC_RELAXED);
  // The handler, the signal's frame, and what runs below it.
  if (was_inside && count < DEPTH) __atomic_add_fetch(&shallow, 1, __ATOMIC_RELAXED);
  for (int i = 0; i < count; ++i) CHECK(frames[i] != NULL || i == count - 1);
  errno = saved;
}

#ifdef FRAME_POINTERS
// The same by frame pointers, in the program's own code.
struct Frame {
  struct Frame *above;
  void *returns_to;
};
NOINLINE static void walk(int at_least) {
  int count = 0;
  struct Frame *frame = __builtin_frame_address(0);
  for (; count < at_least; ++count) {
    CHECK(frame->above > frame && frame->returns_to != NULL);
    frame = frame->above;
  }
}
#else
NOINLINE static void walk(int at_least) {
  void *frames[200];
  CHECK(backtrace(frames, 200) >= at_least);
}
#endif

NOINLINE static int descend(int depth) {
  volatile int mark = depth;
  if (depth > 0) {
    int below = descend(depth - 1);
    CHECK(mark == depth);
    return below + 1;
  }
  inside = 1;
  for (int i = 0; i < 200; ++i) work(100);
  inside = 0;
  walk(DEPTH);
  return 0;
}
static double all_end;
static void *live(void *unused) {
  while (before(all_end)) CHECK(descend(DEPTH) == DEPTH);
  return unused;
}

int main(void) {
  void *first[4];
  backtrace(first, 4);
  struct sigaction action = {.sa_flags = SA_SIGINFO | SA_RESTART};
  action.sa_sigaction = on_profile;
  sigaction(SIGPROF, &action, NULL);
  struct itimerval set = {{0, 1000}, {0, 1000}}, off = {{0, 0}, {0, 0}};
  CHECK(setitimer(ITIMER_PROF, &set, NULL) == 0);
  all_end = section(0.5);
  live(NULL);
  all_end = section(0.5);
  pthread_t threads[3];
  for (int i = 0; i < 3; ++i) threads[i] = start_thread(live, NULL);
  for (int i = 0; i < 3; ++i) join_thread(threads[i]);
  CHECK(setitimer(ITIMER_PROF, &off, NULL) == 0);
  CHECK(samples > 0);
  if (getenv("HAZARD_VERBOSE")) dprintf(2, "%d samples, %d too short\n", samples, shallow);
  CHECK(shallow == 0);
  puts("every backtrace reached the bottom");
  return 0;
}
