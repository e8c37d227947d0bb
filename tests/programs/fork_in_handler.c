// SPDX-License-Identifier: MIT
// Handlers fork, with one thread in the program and whatever they interrupt: malloc and free, where the child goes on, too, and
// parent and child have a whole heap; or the loading of a module, where the child cannot go on by libc's locks. Alarms come until
// they have met PLACES places of the heap's code, however fast the machine is; a line on standard error says where they did not.
// module: fork_in_handler_module.c
// variants: -O0 -ldl | -O2 -ldl
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

enum { FORKS = 150, MOST_FORKS = 20000, PLACES = 40, BLOCKS = 100 };
static volatile int forks, is_child, is_loading, is_in_heap, failures;
static int place_count;
static long places[PLACES];

static int is_done(int only_module) {
  return forks >= FORKS && (only_module || place_count == PLACES || forks >= MOST_FORKS);
}

static void note_place(long pc) {
  for (int i = 0; i < place_count; ++i)
    if (places[i] == pc) return;
  if (place_count < PLACES) places[place_count++] = pc;
}

// One alarm, not after the same time as the last one, and later where that came before its handler had returned.
static void expect_alarm(int came_early) {
  static long span = 200, time;
  if (came_early && span < 100000) span *= 2;
  time = (time * 31 + 17) % span;
  const struct itimerval soon = {{0, 0}, {0, 1 + time}};
  setitimer(ITIMER_REAL, &soon, NULL);
}

static void on_alarm(int number, siginfo_t *info, void *context) {
  (void)number;
  (void)info;
  static long last;
  const long pc = ((const ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
  const pid_t child = fork();
  int status = 0;
  if (child == 0) {
    if (is_loading) _exit(0);
    is_child = 1;
    return;
  }
  failures += child < 0 || waitpid(child, &status, 0) != child || status != 0;
  ++forks;
  if (is_in_heap) note_place(pc);
  expect_alarm(pc == last);
  last = pc;
}

static void use_blocks(void) {
  for (int i = 0; i < 200; ++i) {
    is_in_heap = 1;
    char *volatile block = malloc((size_t)(i * 977 % 60000));
    free(block);
    is_in_heap = 0;
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
  const struct sigaction action = {.sa_sigaction = on_alarm, .sa_flags = SA_SIGINFO | SA_RESTART};
  const struct itimerval never = {{0, 0}, {0, 0}};
  const int only_module = count > 1 && strcmp(arguments[1], "module") == 0;
  forks = failures = place_count = 0;
  sigaction(SIGALRM, &action, NULL);
  expect_alarm(0);
  while (!is_done(only_module) && !is_child) {
    if (only_module || forks % 2 != 0) use_module(); else use_blocks();
  }
  if (is_child) _exit(failures != 0 || !heap_is_whole());
  setitimer(ITIMER_REAL, &never, NULL);
  if (!only_module && place_count < PLACES) fprintf(stderr, "only %d places of the heap's code in %d forks\n", place_count, forks);
  printf("%d failures, the heap is %s\n", failures, heap_is_whole() ? "whole" : "not");
  return 0;
}
