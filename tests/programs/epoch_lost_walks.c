// SPDX-License-Identifier: MIT
// A thread spins in code without a frame description, on a stack that the program supplied, and another thread takes the memory
// above that stack away and gives it back. Nobody can walk this stack, so the runtime reads on above it, while that memory changes.
// link: -pthread
// variants: -O0 | -O2
#include "hazard.h"
#include <sys/mman.h>

enum { STACK = 64 << 10, ABOVE = 4 << 20, GUARD = 4096 };
static char *memory;
static int stop;

// Returns when the word is not 0.
void spin_undescribed(const int *word);
__asm__(".text\n.p2align 4\n.globl spin_undescribed\n.type spin_undescribed, @function\nspin_undescribed:\n"
        "1: movl (%rdi), %eax\n  testl %eax, %eax\n  je 1b\n  ret\n"
        ".size spin_undescribed, . - spin_undescribed\n");

static void *spin(void *unused) {
  spin_undescribed(&stop);
  return unused;
}

// Asleep most of the time, so epochs do not stop this thread.
static void *change(void *unused) {
  const struct timespec readable = in_ns(200000), unreadable = in_ns(50000);
  while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE)) {
    nanosleep(&readable, NULL);
    CHECK(mprotect(memory + STACK, ABOVE, PROT_NONE) == 0);
    nanosleep(&unreadable, NULL);
    CHECK(mprotect(memory + STACK, ABOVE, PROT_READ | PROT_WRITE) == 0);
  }
  return unused;
}

int main(void) {
  memory = mmap(NULL, STACK + ABOVE + GUARD, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(memory != MAP_FAILED && mprotect(memory + STACK + ABOVE, GUARD, PROT_NONE) == 0);
  memset(memory + STACK, 1, ABOVE);
  pthread_attr_t attributes;
  pthread_t spinner;
  CHECK(pthread_attr_init(&attributes) == 0 && pthread_attr_setstack(&attributes, memory, STACK) == 0);
  CHECK(pthread_create(&spinner, &attributes, spin, NULL) == 0);
  pthread_t changer = start_thread(change, NULL);
  for (double end = section(1); before(end);) work_once();
  __atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
  join_thread(spinner);
  join_thread(changer);
  puts("read no more than there was");
  return 0;
}
