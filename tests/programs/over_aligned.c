// SPDX-License-Identifier: MIT
// Arguments on the stack at multiples of 64 and vectors of 32 bytes, passed in loops of main and of a thread, whose stack
// pointers move with their pads.
// link: -pthread
// variants: -O0 | -O2 | -O2 -flto | -O0 -flto | -O1 -fno-omit-frame-pointer
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

struct __attribute__((aligned(64))) Line {
  char bytes[64];
};
typedef int Wide __attribute__((vector_size(32)));

__attribute__((noinline)) static int of_line(struct Line line, int i) {
  uintptr_t place = (uintptr_t)&line;
  __asm__ volatile("" : "+r"(place));
  return (int)(place % 64) + line.bytes[i & 63];
}
__attribute__((noinline)) static int of_vectors(Wide a, Wide b, Wide c, Wide d, Wide e, Wide f, Wide g, Wide h, Wide i) {
  return (a + b + c + d + e + f + g + h + i)[3];
}
static int rounds(void) {
  struct Line line = {{0}};
  Wide wide = {0};
  int wrong = 0;
  for (int i = 0; i < 300; ++i) {
    line.bytes[i & 63] = 3;
    wrong += of_line(line, i) != 3;
    line.bytes[i & 63] = 0;
    wide[3] = i;
    wrong += of_vectors(wide, wide, wide, wide, wide, wide, wide, wide, wide) != 9 * i;
  }
  return wrong;
}
static void *in_thread(void *unused) {
  struct Line line = {{0}};
  int wrong = rounds();
  for (int i = 0; i < 300; ++i) wrong += of_line(line, i);
  return (void *)((intptr_t)wrong + (unused != NULL));
}

int main(void) {
  struct Line line = {{0}};
  int wrong = rounds();
  for (int i = 0; i < 300; ++i) wrong += of_line(line, i);
  pthread_t thread;
  void *result = NULL;
  if (pthread_create(&thread, NULL, in_thread, NULL) != 0 || pthread_join(thread, &result) != 0) return 1;
  printf("%d and %d at the wrong place\n", wrong, (int)(intptr_t)result);
  return 0;
}
