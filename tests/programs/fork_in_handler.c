// SPDX-License-Identifier: MIT
// Handlers fork, with one thread in the program and whatever they interrupt: malloc and free, where the child goes on, too, and
// parent and child have a whole heap; or the loading of a module, where the child cannot go on by libc's locks.
// module: fork_in_handler_module.c
// variants: -O0 -ldl | -O2 -ldl
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FORKS = 150, BLOCKS = 100 };
static volatile int forks, is_child, is_loading, failures;

static void on_alarm(int number) {
  (void)number;
  if (is_child || forks == FORKS) return;
  const pid_t child = fork();
  int status = 0;
  if (child == 0) {
    if (is_loading) _exit(0);
    is_child = 1;
    return;
  }
  failures += child < 0 || waitpid(child, &status, 0) != child || status != 0;
  ++forks;
}

static void use_blocks(void) {
  for (int i = 0; i < 2000; ++i) {
    char *volatile block = malloc((size_t)(i * 977 % 60000));
    free(block);
  }
}

// No two blocks share a byte.
static int heap_is_whole(void) {
  static unsigned char *blocks[BLOCKS];
  int whole = 1;
  for (int i = 0; i < BLOCKS; ++i) {
    const size_t size = (size_t)(i * 977 % 60000);
    blocks[i] = malloc(size + 1);
    memset(blocks[i], i, size + 1);
  }
  for (int i = 0; i < BLOCKS; ++i) {
    const size_t size = (size_t)(i * 977 % 60000);
    whole &= blocks[i][0] == i && blocks[i][size] == i;
    free(blocks[i]);
  }
  return whole;
}

static void use_module(void) {
  is_loading = 1;
  void *module = dlopen("./fork_in_handler_module.so", RTLD_NOW);
  failures += module == NULL || dlclose(module) != 0;
  is_loading = 0;
}

int main(int count, char **arguments) {
  const struct itimerval often = {{0, 300}, {0, 300}}, never = {{0, 0}, {0, 0}};
  const int only_module = count > 1 && strcmp(arguments[1], "module") == 0;
  forks = failures = 0;
  signal(SIGALRM, on_alarm);
  setitimer(ITIMER_REAL, &often, NULL);
  for (int use = only_module; forks < FORKS; use = only_module || !use) {
    if (use) use_module(); else use_blocks();
    if (is_child) break;
  }
  if (is_child) _exit(failures != 0 || !heap_is_whole());
  setitimer(ITIMER_REAL, &never, NULL);
  printf("%d failures, the heap is %s\n", failures, heap_is_whole() ? "whole" : "not");
  return 0;
}
