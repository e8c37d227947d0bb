// SPDX-License-Identifier: MIT
// Restartable sequences: libc's registration stays valid while functions move, and the program's own critical sections are
// still restarted when they are interrupted: counters of each processor lose nothing.
// link: -pthread
// variants: -O0 | -O2 | -O2 -fno-pie -no-pie
#include "hazard.h"
#include <sched.h>
#include <sys/rseq.h>

static struct rseq *own_area(void) { return (struct rseq *)((char *)__builtin_thread_pointer() + __rseq_offset); }
static unsigned kernel_cpu(void) {
  unsigned cpu = 0;
  CHECK(syscall(SYS_getcpu, &cpu, NULL, NULL) == 0);
  return cpu;
}

// The processor that the area names is the one that the kernel names, but for the moments of a migration.
static void names_agree(double part) {
  long equal = 0, all = 0;
  for (double end = section(part); before(end); ++all) {
    unsigned first = own_area()->cpu_id;
    equal += first == kernel_cpu();
    work(100);
  }
  CHECK(equal * 10 >= all * 9);
}
static void names_agree_where_bound(double part) {
  cpu_set_t old, one;
  CHECK(sched_getaffinity(0, sizeof old, &old) == 0);
  int last = 0;
  for (int i = 0; i < CPU_SETSIZE; ++i)
    if (CPU_ISSET(i, &old)) last = i;
  CPU_ZERO(&one);
  CPU_SET(last, &one);
  CHECK(sched_setaffinity(0, sizeof one, &one) == 0);
  for (double end = section(part); before(end);) {
    CHECK(own_area()->cpu_id == (unsigned)last && sched_getcpu() == last);
    work(100);
  }
  CHECK(sched_setaffinity(0, sizeof old, &old) == 0);
}

// Adds one to the counter of this processor by a slow, plain read and write: 0 when it was done, 1 when it has to be tried again.
struct Counter { long value; char apart[120]; };
static struct Counter counters[1024];
NOINLINE static int add_once(struct rseq *area, unsigned cpu, long *value) {
  __asm__ goto(".pushsection .data.own_rseq, \"aw\"\n  .balign 32\n3:\n  .long 0, 0\n  .quad 1f, 2f - 1f, 4f\n  .popsection\n"
               "  leaq 3b(%%rip), %%rax\n  movq %%rax, 8(%0)\n"
               "1:\n  cmpl %1, 4(%0)\n  jne %l[again]\n"
               "  movq (%2), %%rax\n  movl $300, %%ecx\n5:\n  decl %%ecx\n  jnz 5b\n  incq %%rax\n  movq %%rax, (%2)\n"
               "2:\n  jmp 6f\n"
               "  .byte 0x0f, 0xb9, 0x3d\n  .long 0x53053053\n"
               "4:\n  jmp %l[again]\n"
               "6:\n"
               :
               : "r"(area), "r"(cpu), "r"(value)
               : "rax", "rcx", "memory", "cc"
               : again);
  return 0;
again:
  return 1;
}
static double adding_end;
static long aborted;
static void *add(void *done) {
  struct rseq *area = own_area();
  long count = 0, again = 0;
  while (before(adding_end)) {
    for (int i = 0; i < 100; ++i) {
      for (;;) {
        unsigned cpu = *(volatile uint32_t *)&area->cpu_id_start;
        if (add_once(area, cpu, &counters[cpu].value) == 0) break;
        ++again;
      }
      ++count;
    }
  }
  *(volatile uint64_t *)&area->rseq_cs = 0;
  *(long *)done = count;
  __atomic_add_fetch(&aborted, again, __ATOMIC_RELAXED);
  return NULL;
}
static void own_sections(double part) {
  pthread_t threads[4];
  long done[4], sum = 0, all = 0;
  adding_end = section(part);
  for (int i = 0; i < 4; ++i) threads[i] = start_thread(add, &done[i]);
  for (int i = 0; i < 4; ++i) join_thread(threads[i]);
  for (int i = 0; i < 4; ++i) all += done[i];
  for (int i = 0; i < 1024; ++i) sum += counters[i].value;
  if (getenv("HAZARD_VERBOSE")) dprintf(2, "%ld additions, %ld aborted, %ld lost\n", all, aborted, all - sum);
  CHECK(sum == all);
}

int main(void) {
  if (__rseq_size == 0) return puts("no restartable sequences here"), 0;
  names_agree(0.25);
  names_agree_where_bound(0.25);
  own_sections(0.5);
  puts("nothing was lost");
  return 0;
}
