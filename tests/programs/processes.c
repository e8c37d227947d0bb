// SPDX-License-Identifier: MIT
// fork, vfork with exec, posix_spawn, and a program that is started again with the same environment.
// variants: -O0 | -O2
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
__attribute__((noinline)) static int compute(int n) { return n < 2 ? 1 : compute(n - 1) + compute(n - 2); }
static int wait_for(pid_t pid) {
  int status = 0;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}
int main(int count, char **arguments) {
  if (count > 1) return compute(atoi(arguments[1])) & 127;
  pid_t child = fork();
  if (child == 0) exit(compute(9));
  printf("fork %d\n", wait_for(child));
  child = vfork();
  if (child == 0) {
    execl("/proc/self/exe", "self", "8", (char *)NULL);
    _exit(99);
  }
  printf("vfork %d\n", wait_for(child));
  char *const words[] = {(char *)"self", (char *)"7", NULL};
  if (posix_spawn(&child, "/proc/self/exe", NULL, NULL, words, environ) != 0) return 1;
  printf("spawn %d\n", wait_for(child));
  child = fork();
  if (child == 0) {
    pid_t grandchild = fork();
    if (grandchild == 0) exit(compute(5));
    exit(wait_for(grandchild) + 1);
  }
  printf("twice %d\n", wait_for(child));
  return 0;
}
