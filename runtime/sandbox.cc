// SPDX-License-Identifier: MIT
#include "runtime/sandbox.h"

#include <asm/unistd.h>
#include <dlfcn.h>
#include <linux/prctl.h>

#include "runtime/epoch.h"
#include "runtime/report.h"

namespace {

using Prctl = int (*)(int, unsigned long, unsigned long, unsigned long, unsigned long);

Prctl prctl_of_libc;
bool entered;

}  // namespace

extern "C" {
__attribute__((visibility("hidden"))) void* stab_syscall_of_libc;

__attribute__((visibility("hidden"))) void stab_enter_sandbox() {
  if (entered || !stab::rt::is_own_process()) return;
  stab::rt::stop_epochs();
  stab::rt::report_sandbox(stab::rt::epoch_counts());
  entered = true;
}

__attribute__((visibility("hidden"))) void stab_before_syscall(long number) {
  if (stab_syscall_of_libc == nullptr) stab::rt::prepare_sandbox();
  if (number == __NR_seccomp) stab_enter_sandbox();
}

// Weak: a program may have its own.
__attribute__((weak, visibility("default"))) int prctl(int option, unsigned long a, unsigned long b,
                                                       unsigned long c, unsigned long d) {
  if (prctl_of_libc == nullptr) stab::rt::prepare_sandbox();
  if (option == PR_SET_SECCOMP) stab_enter_sandbox();
  return prctl_of_libc(option, a, b, c, d);
}

// seccomp(2), number 317, has no function in libc. All registers of the call are kept.
__attribute__((weak, naked, visibility("default"))) long syscall(long /*number*/, ...) {
  __asm__ volatile(
      "cmpq $317, %rdi\n"
      "je 1f\n"
      "cmpq $0, stab_syscall_of_libc(%rip)\n"
      "je 1f\n"
      "jmpq *stab_syscall_of_libc(%rip)\n"
      "1:\n"
      "pushq %rdi\n"
      ".cfi_adjust_cfa_offset 8\n"
      "pushq %rsi\n"
      ".cfi_adjust_cfa_offset 8\n"
      "pushq %rdx\n"
      ".cfi_adjust_cfa_offset 8\n"
      "pushq %rcx\n"
      ".cfi_adjust_cfa_offset 8\n"
      "pushq %r8\n"
      ".cfi_adjust_cfa_offset 8\n"
      "callq stab_before_syscall\n"
      "popq %r8\n"
      ".cfi_adjust_cfa_offset -8\n"
      "popq %rcx\n"
      ".cfi_adjust_cfa_offset -8\n"
      "popq %rdx\n"
      ".cfi_adjust_cfa_offset -8\n"
      "popq %rsi\n"
      ".cfi_adjust_cfa_offset -8\n"
      "popq %rdi\n"
      ".cfi_adjust_cfa_offset -8\n"
      "jmpq *stab_syscall_of_libc(%rip)\n");
}
}

namespace stab::rt {

void prepare_sandbox() {
  prctl_of_libc = reinterpret_cast<Prctl>(dlsym(RTLD_NEXT, "prctl"));
  stab_syscall_of_libc = dlsym(RTLD_NEXT, "syscall");
}

}  // namespace stab::rt
