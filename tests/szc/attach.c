// SPDX-License-Identifier: MIT
// szc_attach PROGRAM...: runs the program, and until it ends a tracer stops each of its threads again and again and lets it
// go, as `gdb -p` and `strace -p` do. Ends as the program does; 77 where nobody may trace.
#define _GNU_SOURCE
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void sleep_us(long us) {
  struct timespec time = {0, us * 1000};
  nanosleep(&time, NULL);
}

// A thread that ends meanwhile is none.
static int stop(pid_t thread) {
  return ptrace(PTRACE_SEIZE, thread, NULL, NULL) == 0 && ptrace(PTRACE_INTERRUPT, thread, NULL, NULL) == 0;
}
// A signal that it stopped for is its own. The program's end is waited for elsewhere.
static void let_go(pid_t thread, pid_t program) {
  int status = 0;
  siginfo_t info = {0};
  if (waitid(P_PID, (id_t)thread, &info, WSTOPPED | WEXITED | WNOWAIT | __WALL) != 0) return;
  if (thread == program && info.si_code != CLD_TRAPPED && info.si_code != CLD_STOPPED) return;
  if (waitpid(thread, &status, __WALL) != thread || !WIFSTOPPED(status)) return;
  const int own = status >> 16 == 0 ? WSTOPSIG(status) : 0;
  ptrace(PTRACE_DETACH, thread, NULL, (void *)(long)own);
}

int main(int count, char **arguments) {
  enum { most = 100 };
  if (count < 2) return 2;
  char path[64];
  pid_t threads[most];
  const pid_t program = fork();
  if (program == 0) {
    execvp(arguments[1], arguments + 1);
    _exit(127);
  }
  snprintf(path, sizeof path, "/proc/%d/task", (int)program);
  siginfo_t info = {0};
  long stops = 0;
  while (waitid(P_PID, (id_t)program, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == 0) {
    int used = 0;
    DIR *folder = opendir(path);
    for (struct dirent *entry; folder && (entry = readdir(folder)) && used < most;) {
      const pid_t thread = atoi(entry->d_name);
      if (thread > 0 && stop(thread)) threads[used++] = thread;
    }
    if (folder) closedir(folder);
    sleep_us(500);
    // The first thread ends only when nobody has to wait for another one.
    for (int i = used; i-- > 0;) let_go(threads[i], program);
    stops += used;
    sleep_us(3000);
  }
  int status = 0;
  waitpid(program, &status, 0);
  if (stops == 0) return fputs("processes cannot be traced here\n", stderr), 77;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
