// SPDX-License-Identifier: MIT
// A sandbox, installed after the start, that kills the process for every system call but the few that the program makes.
// link: -pthread
// variants: -O0 | -O2 | -O2 -DEVERY_THREAD | -O2 -DEVERY_THREAD -DLATE
#include "hazard.h"
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>

static const int allowed[] = {SYS_read, SYS_write, SYS_exit_group, SYS_exit, SYS_clock_gettime, SYS_futex, SYS_brk, SYS_mmap, SYS_munmap,
                              SYS_rt_sigreturn, SYS_newfstatat, SYS_restart_syscall, SYS_rt_sigprocmask};
enum { ALLOWED = sizeof allowed / sizeof allowed[0] };

static void close_down(void) {
  struct sock_filter filter[64];
  int n = 0;
  filter[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
  for (int i = 0; i < ALLOWED; ++i) {
    filter[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)allowed[i], 0, 1);
    filter[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  }
  filter[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
  struct sock_fprog program = {(unsigned short)n, filter};
  CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
#ifdef EVERY_THREAD
  CHECK(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0);
#else
  CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
#endif
}

static jmp_buf back;
NOINLINE static void leap(int depth) {
  if (depth == 0) longjmp(back, 1);
  leap(depth - 1);
}
static void live(double part) {
  for (double end = section(part); before(end);) {
    if (setjmp(back) == 0) leap(30);
    work_once();
    free(malloc(300000));
  }
}

static int started, closed, stop;
static void *other(void *unused) {
#ifdef LATE
  // A signal that comes before the sandbox is there is taken in it. libc would not block all of them.
  uint64_t all = UINT64_MAX, none = 0;
  CHECK(syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, NULL, sizeof all) == 0);
  __atomic_store_n(&started, 1, __ATOMIC_RELEASE);
  burn(&closed);
  CHECK(syscall(SYS_rt_sigprocmask, SIG_SETMASK, &none, NULL, sizeof none) == 0);
#endif
  __atomic_store_n(&started, 1, __ATOMIC_RELEASE);
  burn(&stop);
  return unused;
}

int main(void) {
  live(0.3);
  start_thread(other, NULL);
  while (!__atomic_load_n(&started, __ATOMIC_ACQUIRE)) work_once();
#ifdef LATE
  live(0.3);
#endif
  close_down();
  __atomic_store_n(&closed, 1, __ATOMIC_RELEASE);
  live(0.7);
  // The other thread is still at work: ending it would take system calls that are not allowed.
  puts("lived in the sandbox");
  return 0;
}
