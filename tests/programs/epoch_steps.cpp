// SPDX-License-Identifier: MIT
// A debugger's view: after each single instruction of virtual calls, calls through pointers and their returns, a signal
// handler's backtrace finds the caller's frame: entries, marks and the stubs of functions have descriptions, too.
// variants: -O0 | -O2 | -O2 -fcf-protection
#include <csignal>
#include <cstdint>
#include <ucontext.h>
#include <unwind.h>

#include "hazard.h"
#include "stabilizer.h"

namespace {

constexpr greg_t trap_flag = 0x100;

volatile sig_atomic_t stepping;
volatile long steps;
volatile long lost;  // backtraces that did not find it
std::uintptr_t wanted;

struct Search {
  int frame = 0;
  bool found = false;
  std::uintptr_t callers = 0;  // stack pointer of the caller of whoever asks, before that call
};

_Unwind_Reason_Code look(_Unwind_Context *context, void *search_pointer) {
  auto *search = static_cast<Search *>(search_pointer);
  const std::uintptr_t frame = _Unwind_GetCFA(context);
  if (search->frame++ == 2) search->callers = frame;
  search->found |= frame == wanted;
  return _URC_NO_REASON;
}

void on_step(int, siginfo_t *, void *context) {
  if (!stepping) {
    static_cast<ucontext_t *>(context)->uc_mcontext.gregs[REG_EFL] &= ~trap_flag;
    return;
  }
  Search search;
  _Unwind_Backtrace(look, &search);
  steps = steps + 1;
  if (!search.found) lost = lost + 1;
}

void begin_to_step(int, siginfo_t *, void *context) {
  stepping = 1;
  static_cast<ucontext_t *>(context)->uc_mcontext.gregs[REG_EFL] |= trap_flag;
}

NOINLINE std::uintptr_t frame_of_caller() {
  Search search;
  _Unwind_Backtrace(look, &search);
  return search.callers;
}

struct Shape {
  virtual ~Shape() = default;
  virtual long area(long factor) const = 0;
};
struct Square : Shape {
  NOINLINE long area(long factor) const override { return factor * 9; }
};
struct Line : Shape {
  NOINLINE long area(long factor) const override { return factor + 1; }
};

NOINLINE long twice(long x) { return 2 * x; }
NOINLINE long half(long x) { return x / 2; }

NOINLINE long walk_through(const Shape *const shapes[2], long (*const volatile calls[2])(long), long i) {
  wanted = frame_of_caller();
  raise(SIGUSR1);
  const long sum = shapes[i % 2]->area(i) + calls[i % 2](i);
  stepping = 0;
  return sum;
}

}  // namespace

int main() {
  struct sigaction action = {};
  action.sa_flags = SA_SIGINFO;
  action.sa_sigaction = on_step;
  CHECK(sigaction(SIGTRAP, &action, nullptr) == 0);
  action.sa_sigaction = begin_to_step;
  CHECK(sigaction(SIGUSR1, &action, nullptr) == 0);
  const Square square;
  const Line line;
  const Shape *const shapes[2] = {&square, &line};
  long (*const volatile calls[2])(long) = {twice, half};
  long sum = 0;
  for (long i = 0; i < 400; ++i) sum += walk_through(shapes, calls, i);
  CHECK(steps > 400 * 10);
  CHECK(lost == 0);
  printf("%ld\n", sum);
}
