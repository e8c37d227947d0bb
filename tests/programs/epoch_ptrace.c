// SPDX-License-Identifier: MIT
// A tracer follows this program's child while functions move in it: from system call to system call, instruction by
// instruction, and only its signals, which it passes on. The child works on as if nobody looked.
// variants: -O0 | -O2
#include "hazard.h"
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>

static volatile sig_atomic_t handled;
static void on_usr1(int number) { handled += number == SIGUSR1; }
static int child(double ms) {
  struct sigaction action = {.sa_handler = on_usr1};
  sigaction(SIGUSR1, &action, NULL);
  int raised = 0;
  for (double end = cpu_ms() + ms; before(end); ++raised) {
    work_once();
    raise(SIGUSR1);
  }
  CHECK(handled == raised);
  return 13;
}

// Runs the child with one kind of request, for a number of stops, and then as it likes.
static void follow(enum __ptrace_request how, int stops, double ms) {
  int status = 0;
  pid_t pid = fork();
  CHECK(pid >= 0);
  if (pid == 0) {
    CHECK(ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0);
    raise(SIGSTOP);
    _exit(child(ms));
  }
  CHECK(waitpid(pid, &status, 0) == pid && WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP);
  CHECK(ptrace(PTRACE_SETOPTIONS, pid, NULL, (void *)(PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL)) == 0);
  long pass_on = 0;
  for (int i = 0;; ++i) {
    if (ptrace(i < stops ? how : PTRACE_CONT, pid, NULL, (void *)pass_on) != 0) CHECK(errno == ESRCH);
    CHECK(waitpid(pid, &status, 0) == pid);
    if (!WIFSTOPPED(status)) break;
    siginfo_t info;
    struct user_regs_struct registers;
    const int signal = WSTOPSIG(status);
    // A step or a system call is the tracer's own stop; everything else is the child's signal.
    const int own = signal == (SIGTRAP | 0x80) ||
                    (signal == SIGTRAP && ptrace(PTRACE_GETSIGINFO, pid, NULL, &info) == 0 && info.si_code != SI_TKILL);
    CHECK(ptrace(PTRACE_GETREGS, pid, NULL, &registers) == 0 && registers.rip != 0);
    pass_on = own ? 0 : signal;
  }
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 13);
}

// Attached from outside, and let go again, many times.
static void seize(int rounds, double ms) {
  int status = 0;
  pid_t pid = fork();
  CHECK(pid >= 0);
  if (pid == 0) _exit(child(ms));
  int ended = 0;
  for (int i = 0; i < rounds && !ended; ++i) {
    if (ptrace(PTRACE_SEIZE, pid, NULL, NULL) != 0) {  // it has ended
      CHECK(i > 0);
      break;
    }
    work_ms(0.5);
    ptrace(PTRACE_INTERRUPT, pid, NULL, NULL);
    for (;;) {
      CHECK(waitpid(pid, &status, 0) == pid);
      ended = !WIFSTOPPED(status);
      if (ended) break;
      const int of_interrupt = status >> 16 == PTRACE_EVENT_STOP, signal = of_interrupt ? 0 : WSTOPSIG(status);
      if (ptrace(of_interrupt ? PTRACE_DETACH : PTRACE_CONT, pid, NULL, (void *)(long)signal) != 0) CHECK(errno == ESRCH);
      if (of_interrupt) break;
    }
    work_ms(0.5);
  }
  if (!ended) CHECK(waitpid(pid, &status, 0) == pid);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 13);
}

int main(void) {
  const double ms = whole_ms();
  work_ms(2);
  follow(PTRACE_CONT, 0, ms / 4);
  follow(PTRACE_SYSCALL, 4000, ms / 4);
  follow(PTRACE_SINGLESTEP, 10000, ms / 4);
  seize(30, ms / 4);
  puts("nobody noticed the tracer");
  return 0;
}
