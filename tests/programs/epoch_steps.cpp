// SPDX-License-Identifier: MIT
// A debugger's view: after each single instruction of virtual calls, calls through pointers and their returns, and of
// jumps to labels and landing pads, a signal handler's backtrace finds the caller's frame: entries, marks and stubs have
// descriptions, too. And each instruction is known to be one of the file's, or to lead there.
// gcc puts the throw in a part of its own (.cold), to which its function jumps when it has a frame.
// variants: -O0 | -O2 | -O2 -fcf-protection
// compilers: szc gcc
#include <csignal>
#include <cstdint>
#include <link.h>
#include <ucontext.h>
#include <unwind.h>

#include "hazard.h"
#include "stabilizer.h"

extern "C" __attribute__((weak)) const void *stab_original_address_1(const void *pc);

namespace {

constexpr greg_t trap_flag = 0x100;

volatile sig_atomic_t stepping;
volatile long steps;
volatile long lost;     // backtraces that did not find it
volatile long unknown;  // instructions that are none of a file's
volatile sig_atomic_t throwing;
std::uintptr_t wanted;

// Of files: moved code lies elsewhere.
struct Mapped {
  std::uintptr_t start, end;
};
Mapped mapped[256];
int mapped_count;

int note_mapped(dl_phdr_info *info, size_t, void *) {
  for (int i = 0; i < info->dlpi_phnum && mapped_count < 256; ++i) {
    const ElfW(Phdr) &part = info->dlpi_phdr[i];
    const std::uintptr_t start = info->dlpi_addr + part.p_vaddr;
    if (part.p_type == PT_LOAD) mapped[mapped_count++] = {start, start + part.p_memsz};
  }
  return 0;
}

bool in_file(std::uintptr_t pc) {
  for (int i = 0; i < mapped_count; ++i)
    if (pc >= mapped[i].start && pc < mapped[i].end) return true;
  return false;
}

struct Search {
  int frame = 0;
  bool found = false;
  std::uintptr_t callers = 0;  // stack pointer of the caller of whoever asks, before that call
  bool has_exceptions = false;  // the frame two below that: of a handler it is what the signal interrupted
  bool is_own = false;          // and is the frame whose caller is wanted
};

_Unwind_Reason_Code look(_Unwind_Context *context, void *search_pointer) {
  auto *search = static_cast<Search *>(search_pointer);
  const std::uintptr_t frame = _Unwind_GetCFA(context);
  if (search->frame == 2) {
    search->callers = frame;
    search->has_exceptions = _Unwind_GetLanguageSpecificData(context) != nullptr;
  }
  if (search->frame == 3) search->is_own = frame == wanted;
  ++search->frame;
  search->found |= frame == wanted;
  return _URC_NO_REASON;
}

void on_step(int, siginfo_t *, void *context_pointer) {
  auto &registers = static_cast<ucontext_t *>(context_pointer)->uc_mcontext.gregs;
  if (!stepping) {
    registers[REG_EFL] &= ~trap_flag;
    return;
  }
  const auto pc = static_cast<std::uintptr_t>(registers[REG_RIP]);
  // While it installs a frame, the unwinder itself cannot be unwound.
  if (throwing && in_file(pc)) return;
  Search search;
  _Unwind_Backtrace(look, &search);
  steps = steps + 1;
  if (stab_original_address_1) {
    const void *original = stab_original_address_1(reinterpret_cast<const void *>(pc));
    if (!in_file(reinterpret_cast<std::uintptr_t>(original))) unknown = unknown + 1;
  }
  if (!search.found || (throwing && search.is_own && !search.has_exceptions)) lost = lost + 1;
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

// Its labels stand in a table, and its frame is larger than that of who was only just called.
NOINLINE long interpret(const unsigned char *program, long (*const volatile calls[2])(long), long value) {
  static const void *const labels[] = {&&add, &&call, &&swap, &&done};
  wanted = frame_of_caller();
  raise(SIGUSR1);
  long other = 3;
  goto *labels[*program++];
add:
  value += other;
  goto *labels[*program++];
call:
  value = calls[value & 1](value) + other;
  goto *labels[*program++];
swap:
  value ^= other;
  other ^= value;
  value ^= other;
  goto *labels[*program++];
done:
  stepping = 0;
  return value - other;
}

NOINLINE long give(long x) {
  if (x != 0) throw x;
  return 1;
}

NOINLINE long take(long x) {
  wanted = frame_of_caller();
  throwing = 1;
  raise(SIGUSR1);
  long sum = twice(x);
  try {
    sum += give(x);
  } catch (long thrown) {
    sum -= half(thrown);
  }
  stepping = 0;
  throwing = 0;
  return sum;
}

}  // namespace

int main() {
  dl_iterate_phdr(note_mapped, nullptr);
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
  const unsigned char *volatile program = reinterpret_cast<const unsigned char *>("\0\1\2\0\2\1\3");
  for (long i = 0; i < 100; ++i) sum += interpret(program, calls, i);
  for (long i = 1; i <= 2; ++i) sum += take(i);
  CHECK(steps > 500 * 10);
  CHECK(lost == 0);
  CHECK(unknown == 0);
  printf("%ld\n", sum);
}
