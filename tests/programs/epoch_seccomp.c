// SPDX-License-Identifier: MIT
// Filters of system calls, installed after the start: some that forbid what moving code may need (EPERM), each call alone and
// all of them, and one that traps to the program's own SIGSYS handler. The program and its threads run on.
// link: -pthread
// variants: -O0 | -O2
#include "hazard.h"
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <ucontext.h>

static const int forbidden[] = {SYS_mprotect, SYS_timer_create, SYS_timer_settime, SYS_timer_delete, SYS_tgkill, SYS_rt_tgsigqueueinfo,
                                SYS_membarrier, SYS_process_vm_writev, SYS_memfd_create, SYS_setitimer, SYS_pkey_mprotect, SYS_tkill,
                                SYS_openat, SYS_getdents64, SYS_gettid, SYS_sched_yield};
enum { FORBIDDEN = sizeof forbidden / sizeof forbidden[0] };

static void install(const int *calls, int count, uint32_t action, int by_prctl) {
  struct sock_filter filter[64];
  int n = 0;
  filter[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
  for (int i = 0; i < count; ++i) {
    filter[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)calls[i], 0, 1);
    filter[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action);
  }
  filter[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  struct sock_fprog program = {(unsigned short)n, filter};
  CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
  if (by_prctl) CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
  else CHECK(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0);
}

static jmp_buf back;
NOINLINE static void leap(int depth) {
  if (depth == 0) longjmp(back, 1);
  leap(depth - 1);
}
static void live(double end) {
  while (before(end)) {
    if (setjmp(back) == 0) leap(30);
    work_once();
  }
}

static volatile int traps;
static void on_trap(int number, siginfo_t *info, void *context) {
  ucontext_t *at = context;
  CHECK(number == SIGSYS && info->si_syscall == SYS_getppid);
  work(200);
  traps += 1;
  at->uc_mcontext.gregs[REG_RAX] = 4711;
}
static void trapped(void) {
  static const int only[] = {SYS_getppid};
  struct sigaction action = {.sa_flags = SA_SIGINFO};
  action.sa_sigaction = on_trap;
  CHECK(sigaction(SIGSYS, &action, NULL) == 0);
  install(only, 1, SECCOMP_RET_TRAP, 1);
  int calls = 0;
  for (double end = section(0.2); before(end); ++calls) {
    CHECK(getppid() == 4711);
    work_once();
  }
  CHECK(traps == calls);
}

// Children that may do everything but one thing, or but all of them; the filter falls on a thread at work, too.
static void in_child(const int *calls, int count) {
  pid_t pid = fork();
  if (pid == 0) {
    int stop = 0;
    pthread_t burner = start_thread(burn, &stop);
    live(section(0.05));
    install(calls, count, SECCOMP_RET_ERRNO | EPERM, 0);
    live(section(0.15));
    CHECK(syscall(calls[0], -1, -1, -1, -1, -1, -1) == -1 && errno == EPERM);
    end_burning(&stop, burner);
    _exit(3);
  }
  int status = 0;
  CHECK(waitpid(pid, &status, 0) == pid);
  if (status != 3 << 8) dprintf(2, "without %d calls, the first %d: status %x\n", count, calls[0], (unsigned)status);
  CHECK(status == 3 << 8);
}

int main(void) {
  live(section(0.2));
  for (int i = 0; i < FORBIDDEN; ++i) in_child(&forbidden[i], 1);
  in_child(forbidden, FORBIDDEN);
  int stop = 0;
  pthread_t burner = start_thread(burn, &stop);
  trapped();
  install(forbidden, FORBIDDEN, SECCOMP_RET_ERRNO | EPERM, 0);
  live(section(0.4));
  end_burning(&stop, burner);
  live(section(0.1));
  puts("lived under filters");
  return 0;
}
