// SPDX-License-Identifier: MIT
// Coroutines that all run at the same place: a switch copies the stack of one into the heap and that of the other back, as
// greenlet does for Python. Return addresses lie where no walk finds them, and the stack pointer moves before its stack is there.
// variants: -O0 | -O2 | -O3 -fno-omit-frame-pointer | -O2 -fno-pie -no-pie
#include "hazard.h"

enum { TASKS = 12, DEPTHS = 7 };
typedef struct Task {
  char *low, *copy;  // what lies from the stack pointer up to `top`
  long turns;
} Task;
static Task tasks[TASKS], scheduler;
static Task *leaving, *coming;
static char *top;

// How far the stack pointer has to move, which is nowhere for a task that begins.
NOINLINE static long save(char *stack_pointer) {
  const size_t size = (size_t)(top - stack_pointer);
  free(leaving->copy);
  leaving->copy = malloc(size);
  CHECK(leaving->copy != NULL);
  leaving->low = stack_pointer;
  memcpy(leaving->copy, stack_pointer, size);
  return coming->copy == NULL ? 0 : coming->low - stack_pointer;
}
// Runs below what it writes. The time makes it likely that an epoch finds the stack half written.
NOINLINE static void restore(void) {
  const size_t size = (size_t)(top - coming->low);
  memcpy(coming->low, coming->copy, size / 2);
  work(20);
  memcpy(coming->low + size / 2, coming->copy + size / 2, size - size / 2);
}

// 1 for a task that begins, which runs below whoever called it. The registers that a call preserves lie in this frame.
NOINLINE static int change(Task *from, Task *to) {
  void *frame, *stack_pointer;
  leaving = from, coming = to;
  const int begins = to->copy == NULL;
  __asm__ volatile("" ::: "rbx", "r12", "r13", "r14", "r15", "memory");
  __asm__ volatile("movq %%rbp, %0" : "=m"(frame)::"memory");
  __asm__ volatile("movq %%rsp, %0" : "=r"(stack_pointer)::"memory");
  const long distance = save(stack_pointer);
  if (begins) return 1;
  __asm__ volatile("addq %0, %%rsp\n\taddq %0, %%rbp" ::"r"(distance) : "memory");
  restore();
  __asm__ volatile("movq %0, %%rbp" ::"m"(frame) : "memory");
  return 0;
}

NOINLINE static void wait_below(int depth, Task *task) {
  volatile int mark = depth;
  const uint32_t before = work(100 + depth);
  if (depth == 0) change(task, &scheduler);
  else wait_below(depth - 1, task);
  CHECK(work(100 + depth) == before);
  CHECK(mark == depth);
}
__attribute__((noreturn)) NOINLINE static void live(Task *task) {
  for (;;) {
    wait_below((int)(task - tasks) % DEPTHS, task);
    task->turns += 1;
  }
}
NOINLINE static void resume(Task *task, int depth) {
  volatile int mark = depth;
  if (depth > 0) resume(task, depth - 1);
  else if (change(&scheduler, task) == 1) live(task);
  CHECK(mark == depth);
}
NOINLINE static void schedule(char *above) {
  static long asked[TASKS];
  uint32_t state = 7;
  top = above;
  for (double end = section(1); before(end);) {
    const uint32_t next = draw(&state) % TASKS;
    asked[next] += 1;
    resume(&tasks[next], (int)(draw(&state) % DEPTHS));
    work_once();
  }
  for (int i = 0; i < TASKS; ++i) CHECK(asked[i] == 0 || tasks[i].turns == asked[i] - 1);
}

int main(void) {
  char mark[64] = {0};
  schedule(mark);
  puts("every task was where it had been");
  return mark[0];
}
