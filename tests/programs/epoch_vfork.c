// SPDX-License-Identifier: MIT
// Processes that run this program's code in this program's memory, beside its threads: a vfork child that works before
// its exec, and clones that share memory but are no threads.
// link: -pthread
// variants: -O0 | -O2
#include "hazard.h"
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>

static int wait_for(pid_t pid, int flags) {
  int status = 0;
  CHECK(pid > 0 && waitpid(pid, &status, flags) == pid);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}
// Counted, not timed: the CPU clock of a child is another one.
NOINLINE static void work_times(int count) {
  for (int i = 0; i < count; ++i) work_once();
}

NOINLINE static void vfork_once(int kind) {
  pid_t pid = vfork();
  if (pid == 0) {
    work_times(600);
    if (kind) execl("/proc/self/exe", "self", "7", (char *)NULL);
    _exit(9);
  }
  CHECK(wait_for(pid, 0) == (kind ? 7 : 9));
}

static volatile int progress;
static int in_clone(void *count) {
  work_times(*(int *)count);
  progress = 1;
  return 11;
}
NOINLINE static void clone_once(char *stack, size_t size, int flags) {
  int count = 600;
  progress = 0;
  pid_t pid = clone(in_clone, stack + size, CLONE_VM | SIGCHLD | flags, &count);
  work_ms(1);
  CHECK(wait_for(pid, 0) == 11);
  CHECK(progress == 1);
}

int main(int count, char **words) {
  if (count > 1) return atoi(words[1]);
  static char stack[65536] __attribute__((aligned(16)));
  int stop = 0;
  pthread_t burner = start_thread(burn, &stop);
  double end = section(0.5);
  for (int i = 0; before(end) && i < 200; ++i) vfork_once(i & 1);
  end = section(0.25);
  for (int i = 0; before(end) && i < 200; ++i) clone_once(stack, sizeof stack, CLONE_VFORK);
  end = section(0.25);
  for (int i = 0; before(end) && i < 200; ++i) clone_once(stack, sizeof stack, 0);
  end_burning(&stop, burner);
  puts("every process that shares memory ended");
  return 0;
}
