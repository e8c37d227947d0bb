// SPDX-License-Identifier: MIT
// A process that gives up what a runtime may lean on, and lives on while functions move: file descriptors, room for more,
// signals in the queue, address space, being looked at, its directory, and its identity, which libc changes in every
// thread by a signal of its own.
// link: -pthread
// variants: -O0 | -O2
#include "hazard.h"
#include <setjmp.h>
#include <sys/prctl.h>
#include <sys/resource.h>

static jmp_buf back;
NOINLINE static void leap(int depth) {
  if (depth == 0) longjmp(back, 1);
  leap(depth - 1);
}
static void *nothing(void *unused) {
  work(300);
  return unused;
}
static void live(double part) {
  for (double end = section(part); before(end);) {
    if (setjmp(back) == 0) leap(30);
    work_once();
    join_thread(start_thread(nothing, NULL));
  }
}
static void limit(int which, rlim_t value) {
  struct rlimit now;
  CHECK(getrlimit(which, &now) == 0);
  now.rlim_cur = value;
  if (now.rlim_max != RLIM_INFINITY && value > now.rlim_max) now.rlim_cur = now.rlim_max;
  CHECK(setrlimit(which, &now) == 0);
}
static rlim_t in_use(void) {
  long pages = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  CHECK(file && fscanf(file, "%ld", &pages) == 1);
  fclose(file);
  return (rlim_t)pages * 4096;
}
static void identities(double part) {
  const uid_t user = getuid(), effective = geteuid();
  const gid_t group = getgid();
  for (double end = section(part); before(end);) {
    CHECK(setresgid(group, (gid_t)-1, (gid_t)-1) == 0);
    CHECK(setresuid(user, effective, (uid_t)-1) == 0);
    work_once();
  }
}

int main(void) {
  int stop = 0;
  pthread_t burner = start_thread(burn, &stop);
  live(0.1);
  identities(0.2);
  for (int fd = 3; fd < 64; ++fd) close(fd);
  CHECK(syscall(SYS_close_range, 3, ~0u, 0) == 0);
  live(0.1);
  limit(RLIMIT_AS, in_use() + (64u << 20));
  live(0.1);
  limit(RLIMIT_NOFILE, 4);
  limit(RLIMIT_SIGPENDING, 0);
  live(0.15);
  CHECK(prctl(PR_SET_DUMPABLE, 0) == 0 && chdir("/") == 0);
  live(0.15);
  identities(0.1);
  live(0.1);
  end_burning(&stop, burner);
  puts("lived with little");
  return 0;
}
