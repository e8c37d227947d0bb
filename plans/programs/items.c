/* SPDX-License-Identifier: MIT
 * Items of some bytes, ITEMS BYTES: each is filled and hashed, and then looked up in a list, which does not depend on its
 * size. A line of source a loop, so that a profile by lines tells them apart. */
#include <stdio.h>
#include <stdlib.h>
#include <stabilizer.h>

enum { most = 1 << 20, entries = 20000 };

static unsigned char item[most];
static unsigned keys[entries];

__attribute__((noinline)) static void fill(size_t size, unsigned seed) {
  for (size_t i = 0; i < size; ++i) item[i] = (unsigned char)(seed = seed * 1664525u + 1013904223u);
}

__attribute__((noinline)) static unsigned hash(size_t size) {
  unsigned sum = 2166136261u;
  for (size_t i = 0; i < size; ++i) sum = (sum ^ item[i]) * 16777619u;
  return sum;
}

__attribute__((noinline)) static unsigned look_up(unsigned key) {
  unsigned nearest = 0;
  for (unsigned i = 0; i < entries; ++i) nearest = (keys[i] ^ key) < (keys[nearest] ^ key) ? i : nearest;
  return nearest;
}

int main(int count, char** words) {
  if (count != 3) return 1;
  const long items = atol(words[1]);
  const size_t size = strtoul(words[2], NULL, 10);
  if (size > most) return 1;
  for (unsigned i = 0; i < entries; ++i) keys[i] = i * 2654435761u;
  unsigned sum = 0;
  for (long i = 0; i < items; ++i) {
    fill(size, (unsigned)i);
    sum += look_up(hash(size));
    STAB_PROGRESS("item");
  }
  printf("%u\n", sum);
  return 0;
}
