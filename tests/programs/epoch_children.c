// SPDX-License-Identifier: MIT
// Children that end while functions move: SIGCHLD handlers that wait, wait in main while threads work, waitid, and children
// that are stopped and continued.
// link: -pthread
// variants: -O0 | -O2
#include "hazard.h"
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>

static pid_t spawn(int code, double ms) {
  pid_t pid = fork();
  if (pid == 0) {
    signal(SIGCHLD, SIG_DFL);
    work_ms(ms);
    _exit(code);
  }
  CHECK(pid > 0);
  return pid;
}

// Two threads may be in the handler at a time: SIGCHLD is blocked only in the one that handles it.
static atomic_int reaped, codes;
static void on_child(int number) {
  const int saved = errno;
  int status;
  CHECK(number == SIGCHLD);
  while (waitpid(-1, &status, WNOHANG) > 0) {
    work(200);
    CHECK(WIFEXITED(status));
    codes += WEXITSTATUS(status);
    reaped += 1;
  }
  errno = saved;
}
static void by_handler(int rounds) {
  struct sigaction action = {.sa_handler = on_child, .sa_flags = SA_RESTART | SA_NOCLDSTOP};
  CHECK(sigaction(SIGCHLD, &action, NULL) == 0);
  for (int i = 0; i < rounds; ++i) {
    reaped = codes = 0;
    for (int k = 0; k < 5; ++k) spawn(k + 1, 0.3);
    while (reaped < 5) work_once();
    CHECK(codes == 15);
  }
  signal(SIGCHLD, SIG_DFL);
}

static void by_wait(int rounds) {
  for (int i = 0; i < rounds; ++i) {
    int status = 0, sum = 0;
    pid_t pids[4];
    for (int k = 0; k < 4; ++k) pids[k] = spawn(k + 1, 2);
    for (int k = 0; k < 3; ++k) {
      pid_t pid = wait(&status);
      CHECK(pid > 0 && WIFEXITED(status) && pids[WEXITSTATUS(status) - 1] == pid);
      sum += WEXITSTATUS(status);
    }
    siginfo_t info;
    memset(&info, 0, sizeof info);
    CHECK(waitid(P_ALL, 0, &info, WEXITED) == 0 && info.si_code == CLD_EXITED);
    CHECK(sum + info.si_status == 10);
    CHECK(wait(&status) == -1 && errno == ECHILD);
  }
}

// The child works until it has been stopped and continued.
static void stopped(int rounds) {
  volatile int *may_end = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  CHECK(may_end != MAP_FAILED);
  for (int i = 0; i < rounds; ++i) {
    int status = 0;
    *may_end = 0;
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
      while (!*may_end) work_once();
      work_ms(2);
      _exit(9);
    }
    work_ms(1);
    CHECK(kill(pid, SIGSTOP) == 0);
    CHECK(waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP);
    work_ms(1.5);
    *may_end = 1;
    CHECK(kill(pid, SIGCONT) == 0);
    CHECK(waitpid(pid, &status, WCONTINUED) == pid && (WIFCONTINUED(status) || WIFEXITED(status)));
    if (!WIFEXITED(status)) CHECK(waitpid(pid, &status, 0) == pid);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 9);
  }
}

int main(void) {
  work_ms(whole_ms() / 4);
  by_handler(15);
  int stop = 0;
  pthread_t burner = start_thread(burn, &stop);
  by_wait(20);
  by_handler(10);
  stopped(8);
  end_burning(&stop, burner);
  work_ms(whole_ms() / 4);
  by_wait(3);
  puts("every child was waited for");
  return 0;
}
