// SPDX-License-Identifier: MIT
// Fills a hash table with open addresses and looks keys up, half of them missing. Prints what only the program knows: how
// long each of its two phases took, and how many slots a lookup visits on average.
#define _POSIX_C_SOURCE 200809L
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { slots = 1 << 18 };

static uint32_t table[slots];  // 0: free
static uint64_t visited;

static uint32_t mixed(uint32_t x) {
  x = (x ^ (x >> 16)) * 0x7feb352dU;
  x = (x ^ (x >> 15)) * 0x846ca68bU;
  return x ^ (x >> 16);
}

// The slot of the key, or the free one where it would be. `stride` is odd, so that it comes to all of them.
static uint32_t find(uint32_t key, int linear) {
  const uint32_t stride = linear ? 1 : mixed(key ^ 0x9e3779b9U) | 1;
  uint32_t at = mixed(key) % slots;
  for (++visited; table[at] != 0 && table[at] != key; ++visited) at = (at + stride) % slots;
  return at;
}

static long long now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000000000LL + time.tv_nsec;
}

int main(int argc, char** argv) {
  const int linear = argc > 1 && strcmp(argv[1], "linear") == 0;
  const uint32_t keys = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : slots / 2;
  if (keys == 0 || keys >= slots)
    return fputs("the number of keys must be 1 to 262143\n", stderr), 1;
  const long long start = now();
  for (uint32_t key = 1; key <= keys; ++key) table[find(key, linear)] = key;
  const long long filled = now();
  visited = 0;
  uint32_t there = 0;
  for (uint32_t key = 1; key <= 2 * keys; ++key) there += table[find(key, linear)] != 0;
  const long long end = now();
  if (there != keys) return fputs("a key is lost\n", stderr), 1;
  printf("filled in %lld ns\nlooked up in %lld ns\n%.4f slots a lookup\n", filled - start,
         end - filled, (double)visited / (2.0 * keys));
  return 0;
}
