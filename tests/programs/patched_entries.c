// SPDX-License-Identifier: MIT
// A program that reads the list of -fpatchable-function-entry and writes a jump over the entry of one function of the list.
// variants: -O2 -fpatchable-function-entry=8,3 | -O0 -fpatchable-function-entry=8,3 | -O2 -fpatchable-function-entry=6
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

extern const uintptr_t __start___patchable_function_entries[], __stop___patchable_function_entries[];

__attribute__((noinline)) long once(long x) {
  __asm__ volatile("");
  return x + 1;
}
__attribute__((noinline)) long twice(long x) {
  __asm__ volatile("");
  return 2 * x;
}

static int patch(long (*from)(long), long (*to)(long)) {
  const uintptr_t place = (uintptr_t)from;
  for (const uintptr_t *entry = __start___patchable_function_entries; entry != __stop___patchable_function_entries; ++entry) {
    if (*entry > place || place - *entry > 3) continue;
    const int32_t distance = (int32_t)((uintptr_t)to - (place + 5));
    unsigned char jump[5] = {0xe9};
    memcpy(jump + 1, &distance, sizeof distance);
    void *page = (void *)(place & -(uintptr_t)4096);
    if (mprotect(page, 8192, PROT_READ | PROT_WRITE | PROT_EXEC) != 0) return 0;
    memcpy((void *)place, jump, sizeof jump);
    return 1;
  }
  return 0;
}

int main(void) {
  const char *repeat = getenv("REPEAT");
  long (*volatile pointer)(long) = once;
  unsigned long sum = 0;
  const long end = 2000 * (repeat ? atol(repeat) : 1);
  for (long i = 0; i < end; ++i) {
    if (i == end / 2) printf("patched %d\n", patch(once, twice));
    sum = sum * 31 + (unsigned long)(once(i) + pointer(i));
  }
  printf("%lu\n", sum);
  return 0;
}
