// SPDX-License-Identifier: MIT
// Forks while functions move: storms, from threads, children with epochs of their own, grandchildren, fork handlers,
// vfork with exec, posix_spawn, system and popen.
// link: -pthread
// variants: -O0 | -O2
#include "hazard.h"
#include <spawn.h>
#include <sys/wait.h>

extern char **environ;
static int wait_for(pid_t pid) {
  int status = 0;
  CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}
static void child(int code, double ms) {
  work_ms(ms);
  _exit(code);
}
NOINLINE static void fork_below(int depth, int code, double ms) {
  volatile int mark = depth;
  if (depth > 0) {
    fork_below(depth - 1, code, ms);
  } else {
    pid_t pid = fork();
    if (pid == 0) child(code, ms);
    CHECK(wait_for(pid) == code);
  }
  CHECK(mark == depth);
}

static void storm(int count) {
  pid_t pids[10];
  for (int i = 0; i < count; i += 10) {
    for (int k = 0; k < 10; ++k) {
      pids[k] = fork();
      if (pids[k] == 0) child((i + k) & 63, 0.2);
    }
    work_ms(1);
    for (int k = 0; k < 10; ++k) CHECK(wait_for(pids[k]) == ((i + k) & 63));
  }
}
static void *fork_in_thread(void *number) {
  for (int i = 0; i < 8; ++i) {
    work_ms(1);
    fork_below(i * 3, (int)(intptr_t)number, 0.3);
  }
  return NULL;
}

// The child returns through the frames of its parent, moves by itself, and forks again.
static void generations(int depth) {
  pid_t pid = fork();
  CHECK(pid >= 0);
  if (pid > 0) {
    CHECK(wait_for(pid) == depth);
    return;
  }
  work_ms(whole_ms() / 10);
  if (depth < 4) generations(depth + 1);
  _exit(depth);
}

static int prepared, in_parent, in_child;
static void on_prepare(void) { work_once(), prepared += 1; }
static void on_parent(void) { work_once(), in_parent += 1; }
static void on_child(void) { work_once(), in_child += 1; }

static void programs(int count) {
  for (int i = 0; i < count; ++i) {
    pid_t pid = vfork();
    if (pid == 0) {
      execl("/proc/self/exe", "self", "7", (char *)NULL);
      _exit(99);
    }
    CHECK(wait_for(pid) == 7);
    char *const words[] = {(char *)"self", (char *)"8", NULL};
    CHECK(posix_spawn(&pid, "/proc/self/exe", NULL, NULL, words, environ) == 0);
    work_ms(0.5);
    CHECK(wait_for(pid) == 8);
  }
  CHECK(system("exit 5") == 5 << 8);
  FILE *pipe = popen("echo word", "r");
  char text[16] = "";
  CHECK(pipe && fgets(text, sizeof text, pipe) && strcmp(text, "word\n") == 0 && pclose(pipe) == 0);
}

int main(int count, char **words) {
  if (count > 1) {
    work_ms(1);
    return atoi(words[1]);
  }
  work_ms(5);
  storm(40);
  generations(1);
  int stop = 0;
  pthread_t burner = start_thread(burn, &stop);
  storm(20);
  programs(10);
  pthread_t threads[4];
  for (intptr_t i = 0; i < 4; ++i) threads[i] = start_thread(fork_in_thread, (void *)(i + 20));
  for (int i = 0; i < 4; ++i) join_thread(threads[i]);
  end_burning(&stop, burner);
  CHECK(pthread_atfork(on_prepare, on_parent, on_child) == 0);
  storm(10);
  printf("%d %d %d\n", prepared, in_parent, in_child);
  double end = section(0.2);
  for (int i = 0; i < 60 && before(end); ++i) fork_below(20, 9, 2);
  puts("every child did its work");
  return 0;
}
