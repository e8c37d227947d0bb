// SPDX-License-Identifier: MIT
#include "runtime/arch/stacks.h"

#include "runtime/base/check.h"

namespace stab::rt {
namespace {

constexpr uint64_t stack_size = 64 << 10;
alignas(16) uint8_t stack[stack_size];

}  // namespace

// rdi: top of the new stack, rsi: function, rdx: argument.
__attribute__((naked)) void call_on_stack(uint8_t* /*top*/, void (* /*function*/)(void*),
                                          void* /*argument*/) {
  __asm__ volatile(
      "pushq %rbp\n"
      ".cfi_def_cfa_offset 16\n"
      ".cfi_offset %rbp, -16\n"
      "movq %rsp, %rbp\n"
      ".cfi_def_cfa_register %rbp\n"
      "movq %rdi, %rsp\n"
      "movq %rdx, %rdi\n"
      "callq *%rsi\n"
      "movq %rbp, %rsp\n"
      "popq %rbp\n"
      ".cfi_def_cfa %rsp, 8\n"
      "retq\n");
}

void call_on_private_stack(void (*function)(void*), void* argument) {
  static bool taken;
  const bool was_taken = __atomic_exchange_n(&taken, true, __ATOMIC_ACQUIRE);
  STAB_DEBUG(Epochs, 4, !was_taken);
  call_on_stack(stack + stack_size, function, argument);
  __atomic_store_n(&taken, false, __ATOMIC_RELEASE);
}

}  // namespace stab::rt
