// SPDX-License-Identifier: MIT
#include "runtime/epoch/contexts.h"

#include <dlfcn.h>

#include "runtime/base/memory.h"
#include "runtime/base/os.h"
#include "runtime/image/image.h"

// The entries below read these: libc's functions, whether layouts may be forgotten, and the code
// whose calls of setjmp are not examined.
extern "C" {
__attribute__((visibility(
    "hidden"))) void* stab_next_functions[static_cast<uint32_t>(stab::rt::Interposed::count)];
__attribute__((visibility("hidden"))) bool stab_contexts_watched;
__attribute__((visibility("hidden"))) uint64_t stab_trusted_start;
__attribute__((visibility("hidden"))) uint64_t stab_trusted_size;
}

namespace stab::rt {
namespace {

constexpr uint32_t interposed_count = static_cast<uint32_t>(Interposed::count);
constexpr uint32_t setjmp_count = 3;  // the first three are setjmp by its names
constexpr uint32_t stored_count = 4;  // the first four store registers and change nothing
constexpr const char* names[interposed_count] = {
    "setjmp", "_setjmp", "__sigsetjmp", "getcontext", "makecontext", "swapcontext", "setcontext"};

constexpr uint32_t kept_count = 6;  // rbx, rbp, r12 to r15

uint64_t entries[interposed_count];
bool contexts_come_back;
uint64_t maker;
uint64_t holder;

void find_function(uint32_t which, const OutsideHandlers& /*proof*/) {
  stab_next_functions[which] = dlsym(RTLD_NEXT, names[which]);
}

__attribute__((noinline)) void find_function_before_start(uint32_t which) {
  find_function(which, BeforeStart::outside());
}

void* next_function(uint32_t which) {
  if (stab_next_functions[which] == nullptr) find_function_before_start(which);
  return stab_next_functions[which];
}

// The entries of setjmp don't check whether libc's functions were found.
void trust_callers(uint64_t start, uint64_t size) {
  for (uint32_t i = 0; i < setjmp_count; ++i)
    if (stab_next_functions[i] == nullptr) return;
  stab_trusted_start = start;
  stab_trusted_size = size;
}

// Does nothing if the address is 0.
void note_first(uint64_t& first, uint64_t address) {
  uint64_t none = 0;
  __atomic_compare_exchange_n(&first, &none, address, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

// The permanent layout counts, too: words that refer to it are rewritten like others.
bool is_in_use(const Layout& layout) {
  return layout.state() == LayoutState::permanent || layout.state() == LayoutState::current ||
         layout.state() == LayoutState::old;
}

void hold_all(Image& image, void* /*context*/) {
  for (uint32_t i = 0; i < image.used; ++i)
    if (is_in_use(image.layouts[i]))
      __atomic_store_n(&image.layouts[i].held, true, __ATOMIC_RELEASE);
}

// A layout ends at a page boundary, and a word may point to its very end.
const Layout* layout_with(uint64_t word) {
  if (word < os::page_size) return nullptr;
  Location location = locate(word);
  if (location.layout == nullptr && word % os::page_size == 0) location = locate(word - 1);
  const Layout* layout = location.layout;
  return layout != nullptr && is_in_use(*layout) ? layout : nullptr;
}

void hold(uint64_t word, uint64_t caller) {
  const Layout* layout = layout_with(word);
  if (layout == nullptr) return;
  __atomic_store_n(&const_cast<Layout*>(layout)->held, true, __ATOMIC_RELEASE);
  note_first(holder, caller);
}

// Callers of setjmp that szc compiled stay in the first layout, and have saved the registers'
// values on the stack. For other callers in our images, the image's table says that it hides
// addresses.
bool saves_registers(uint64_t caller) {
  const Layout* layout = locate(caller).layout;
  return layout != nullptr && layout->state() == LayoutState::permanent;
}

bool stores_for_good(Interposed which, uint64_t caller) {
  if (which == Interposed::getcontext)
    return __atomic_load_n(&contexts_come_back, __ATOMIC_RELAXED);
  return !saves_registers(caller);
}

}  // namespace

extern "C" {
extern __attribute__((visibility("hidden"))) const int32_t stab_contexts_entries[];

// Runs on any thread, also in signal handlers. Returns libc's function.
__attribute__((visibility("hidden"), used)) void* stab_look_at_registers(
    uint32_t which, uint64_t caller, const volatile uint64_t* registers) {
  if (which >= stored_count) {
    note_first(maker, caller);
  } else if (stores_for_good(static_cast<Interposed>(which), caller)) {
    hold(caller, caller);
    for (uint32_t i = 0; i < kept_count; ++i) hold(registers[i], caller);
  }
  return next_function(which);
}
}

void prepare_contexts(bool watched, const OutsideHandlers& proof) {
  stab_contexts_watched = watched;
  for (uint32_t i = 0; i < interposed_count; ++i) {
    find_function(i, proof);
    const auto own = reinterpret_cast<uint64_t>(stab_contexts_entries) +
                     static_cast<uint64_t>(int64_t{stab_contexts_entries[i]});
    const auto used = reinterpret_cast<uint64_t>(dlsym(RTLD_DEFAULT, names[i]));
    entries[i] = used == own ? own : 0;
  }
  if (!watched) trust_callers(0, UINT64_MAX);
}

// saves_registers() is true for all of these callers.
void trust_callers_in(const Layout& layout) {
  if (stab_contexts_watched && layout.state() == LayoutState::permanent)
    trust_callers(address_of(layout.start), layout.code_size);
}

const char* name_of(Interposed which) {
  return names[static_cast<uint32_t>(which)];
}

uint64_t entry_of(Interposed which) {
  return entries[static_cast<uint32_t>(which)];
}

// A context that the new library has stored already may refer to any layout that exists.
void expect_contexts() {
  if (__atomic_exchange_n(&contexts_come_back, true, __ATOMIC_SEQ_CST)) return;
  for_each_image(hold_all, nullptr);
}

uint64_t first_maker() {
  return __atomic_load_n(&maker, __ATOMIC_SEQ_CST);
}

uint64_t first_holder() {
  return __atomic_load_n(&holder, __ATOMIC_SEQ_CST);
}

}  // namespace stab::rt

// The entries are weak, because a program may define its own. Their common code pushes the
// arguments and then the registers that a call preserves: rbx, rbp, r12 to r15 from the stack
// pointer up.
#define STAB_ENTRY(name, number)                                                          \
  ".weak " name "\n.type " name ", @function\n.p2align 4\n" name ":\nstab_entry_" #number \
  ":\n"                                                                                   \
  ".cfi_startproc\n"                                                                      \
  "endbr64\n"                                                                             \
  "movl $" #number                                                                        \
  ", %r11d\n"                                                                             \
  "jmp stab_enter\n"                                                                      \
  ".cfi_endproc\n"                                                                        \
  ".size " name ", . - " name "\n"
// setjmp goes straight on if the return address lies in the trusted code.
#define STAB_SETJMP_ENTRY(name, number)                                                   \
  ".weak " name "\n.type " name ", @function\n.p2align 4\n" name ":\nstab_entry_" #number \
  ":\n"                                                                                   \
  ".cfi_startproc\n"                                                                      \
  "endbr64\n"                                                                             \
  "movq (%rsp), %r10\n"                                                                   \
  "subq stab_trusted_start(%rip), %r10\n"                                                 \
  "cmpq stab_trusted_size(%rip), %r10\n"                                                  \
  "jae 1f\n"                                                                              \
  "jmpq *stab_next_functions+8*" #number                                                  \
  "(%rip)\n"                                                                              \
  "1:\n"                                                                                  \
  "movl $" #number                                                                        \
  ", %r11d\n"                                                                             \
  "jmp stab_enter\n"                                                                      \
  ".cfi_endproc\n"                                                                        \
  ".size " name ", . - " name "\n"
#define STAB_PUSH(name) "pushq %" name "\n.cfi_adjust_cfa_offset 8\n"
#define STAB_POP(name) "popq %" name "\n.cfi_adjust_cfa_offset -8\n"
#define STAB_DISTANCE(number) ".long stab_entry_" #number " - stab_contexts_entries\n"

// clang-format off
__asm__(
    ".section stab_text,\"ax\",@progbits\n"
    STAB_SETJMP_ENTRY("setjmp", 0)
    STAB_SETJMP_ENTRY("_setjmp", 1)
    STAB_SETJMP_ENTRY("__sigsetjmp", 2)
    STAB_ENTRY("getcontext", 3)
    STAB_ENTRY("makecontext", 4)
    STAB_ENTRY("swapcontext", 5)
    STAB_ENTRY("setcontext", 6)
    ".p2align 4\n"
    ".type stab_enter, @function\n"
    "stab_enter:\n"
    ".cfi_startproc\n"
    "cmpb $0, stab_contexts_watched(%rip)\n"
    "jne 1f\n"
    "leaq stab_next_functions(%rip), %r10\n"
    "movq (%r10, %r11, 8), %r10\n"
    "testq %r10, %r10\n"
    "je 1f\n"
    "jmpq *%r10\n"
    "1:\n"
    STAB_PUSH("rax") STAB_PUSH("rdi") STAB_PUSH("rsi") STAB_PUSH("rdx") STAB_PUSH("rcx")
    STAB_PUSH("r8") STAB_PUSH("r9")
    STAB_PUSH("r15") STAB_PUSH("r14") STAB_PUSH("r13") STAB_PUSH("r12") STAB_PUSH("rbp")
    STAB_PUSH("rbx")
    "movl %r11d, %edi\n"
    "movq 104(%rsp), %rsi\n"
    "movq %rsp, %rdx\n"
    "callq stab_look_at_registers\n"
    "movq %rax, %r11\n"
    "addq $48, %rsp\n"
    ".cfi_adjust_cfa_offset -48\n"
    STAB_POP("r9") STAB_POP("r8") STAB_POP("rcx") STAB_POP("rdx") STAB_POP("rsi")
    STAB_POP("rdi") STAB_POP("rax")
    "jmpq *%r11\n"
    ".cfi_endproc\n"
    ".size stab_enter, . - stab_enter\n"
    ".previous\n"
    ".section .rodata.stab_contexts,\"a\",@progbits\n"
    ".p2align 2\n"
    ".hidden stab_contexts_entries\n.globl stab_contexts_entries\n"
    "stab_contexts_entries:\n"
    STAB_DISTANCE(0) STAB_DISTANCE(1) STAB_DISTANCE(2) STAB_DISTANCE(3) STAB_DISTANCE(4)
    STAB_DISTANCE(5) STAB_DISTANCE(6)
    ".previous\n");
// clang-format on
