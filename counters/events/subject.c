// SPDX-License-Identifier: MIT
// subject KIND COUNT: does something a known number of times, for counting_test.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

int watched_value;

__attribute__((noinline)) void called(int n) {
  __asm__ volatile("" : : "r"(n) : "memory");
}

static void touch_pages(int count) {
  const size_t page = 4096;
  char *memory = mmap(NULL, (count + 1) * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) exit(1);
  madvise(memory, (count + 1) * page, MADV_NOHUGEPAGE);
  for (int i = 0; i < count; ++i) memory[i * page] = 1;
}

int main(int argc, char **argv) {
  const char *kind = argc > 2 ? argv[1] : "";
  const int count = argc > 2 ? atoi(argv[2]) : 0;
  if (strcmp(kind, "calls") == 0) {
    for (int i = 0; i < count; ++i) called(i);
  } else if (strcmp(kind, "writes") == 0) {
    for (int i = 0; i < count; ++i) *(volatile int *)&watched_value = i;
  } else if (strcmp(kind, "reads") == 0) {
    int ends[2];
    if (pipe(ends) != 0) return 1;
    for (int i = 0; i < count; ++i)
      if (write(ends[1], &i, sizeof i) != sizeof i || read(ends[0], &watched_value, sizeof i) != sizeof i) return 1;
  } else if (strcmp(kind, "pages") == 0) {
    touch_pages(count);
  } else if (strcmp(kind, "sleeps") == 0) {
    const struct timespec short_time = {0, 1000000};
    for (int i = 0; i < count; ++i) nanosleep(&short_time, NULL);
  } else if (strcmp(kind, "tree") == 0) {
    // A chain of `count` processes: each of them calls once, starts the next one, and waits for it.
    for (int i = 0; i < count; ++i) {
      called(i);
      const pid_t child = fork();
      if (child != 0) {
        waitpid(child, NULL, 0);
        return 0;
      }
    }
  } else {
    printf("%p %p\n", (void *)called, (void *)&watched_value);
  }
  return 0;
}
