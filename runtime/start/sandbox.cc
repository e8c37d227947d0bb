// SPDX-License-Identifier: MIT
#include "runtime/start/sandbox.h"

#include <dlfcn.h>
#include <linux/prctl.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>

#include "runtime/base/os.h"
#include "runtime/base/output_files.h"
#include "runtime/epoch/epoch.h"
#include "runtime/start/report.h"

namespace stab::rt {
struct BeforeSandbox {
  static OutsideHandlers outside() { return {}; }
};
}  // namespace stab::rt

namespace {

using Prctl = int (*)(int, unsigned long, unsigned long, unsigned long, unsigned long);
using Syscall = long (*)(long, long, long, long, long, long);
using SetKey = int (*)(void*, size_t, int, int);

// The header of Debian 11 does not define these.
constexpr int set_user_dispatch = 59;
constexpr unsigned long dispatch_off = 0;

Prctl prctl_of_libc;
SetKey set_key_of_libc;
bool entered;
bool going_in;  // or the program is in it

// The effect of a request for a sandbox on the runtime.
enum class Going {
  changes_nothing,
  ends_report,  // in a child of fork without epochs of its own
  pauses_epochs
};

// Pauses epochs and writes the report's last line before the program is in the sandbox. If the
// kernel refuses the sandbox, they go on, unless another thread has entered one meanwhile.
Going go_to_sandbox(bool by_filter, uint64_t filter) {
  __atomic_store_n(&going_in, true, __ATOMIC_SEQ_CST);
  if (entered) return Going::changes_nothing;
  // A child of vfork or clone may share its parent's memory, so it leaves the report alone.
  if (!stab::rt::is_own_process())
    return stab::rt::report_wanted_by_child() ? Going::ends_report : Going::changes_nothing;
  stab::rt::pause_epochs(stab::rt::BeforeSandbox::outside());
  // The kernel refuses a filter that can't be read: in this way a program asks whether filters are
  // supported.
  const bool asks = by_filter && !stab::os::readable(filter);
  if (!asks) stab::rt::report_sandbox(stab::rt::epoch_counts());
  return Going::pauses_epochs;
}

void arrive(Going going, bool refused) {
  if (going == Going::changes_nothing) return;
  const bool paused = going == Going::pauses_epochs;
  if (!refused) {
    entered = true;
    if (paused) stab::rt::stop_epochs(stab::rt::BeforeSandbox::outside());
    stab::rt::end_report();
  } else if (paused && stab::rt::resume_epochs(stab::rt::BeforeSandbox::outside())) {
    stab::rt::resume_report();
    __atomic_store_n(&going_in, false, __ATOMIC_SEQ_CST);
  }
}

// This may wait, because a program doesn't ask for a sandbox in a handler. A separate function, so
// that handler_test.sh can tell it from the rest of prctl.
__attribute__((noinline)) int set_seccomp(unsigned long mode, unsigned long filter, unsigned long c,
                                          unsigned long d) {
  const Going going = go_to_sandbox(mode == SECCOMP_MODE_FILTER, filter);
  const int result = prctl_of_libc(PR_SET_SECCOMP, mode, filter, c, d);
  arrive(going, result == -1);
  return result;
}

// From then on, system calls outside of a range go to a handler of the program, including ours.
__attribute__((noinline)) int set_dispatch(unsigned long mode, unsigned long b, unsigned long c,
                                           unsigned long d) {
  const Going going = go_to_sandbox(false, 0);
  const int result = prctl_of_libc(set_user_dispatch, mode, b, c, d);
  arrive(going, result == -1);
  return result;
}

// The kernel lets a handler use only memory with key 0, and a thread's stack may have another key.
__attribute__((noinline)) void note_memory_key(int key) {
  if (key > 0)
    stab::rt::end_epochs(
        "memory has a protection key, and the runtime's signal handlers cannot use such memory",
        stab::rt::BeforeSandbox::outside());
}

}  // namespace

extern "C" {
__attribute__((visibility("hidden"))) void* stab_syscall_of_libc;

__attribute__((visibility("hidden"), noinline)) void stab_find_syscall_before_start() {
  stab::rt::prepare_sandbox(stab::rt::BeforeStart::outside());
}

// The operations after the first two only ask questions.
__attribute__((visibility("hidden"))) long stab_seccomp(long number, long operation, long flags,
                                                        long filter, long d, long e) {
  if (stab_syscall_of_libc == nullptr) stab_find_syscall_before_start();
  const bool asks = operation == SECCOMP_GET_ACTION_AVAIL || operation == SECCOMP_GET_NOTIF_SIZES;
  const Going going =
      asks ? Going::changes_nothing
           : go_to_sandbox(operation == SECCOMP_SET_MODE_FILTER, static_cast<uint64_t>(filter));
  const long result =
      reinterpret_cast<Syscall>(stab_syscall_of_libc)(number, operation, flags, filter, d, e);
  // With TSYNC, which is for all threads at once, the number of a thread that can't enter is a
  // refusal.
  const bool refused = result == -1 || (result > 0 && (flags & SECCOMP_FILTER_FLAG_TSYNC) != 0 &&
                                        (flags & SECCOMP_FILTER_FLAG_NEW_LISTENER) == 0);
  arrive(going, refused);
  return result;
}

int prctl(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d);

// Handles the system calls that have functions of their own here, too.
__attribute__((visibility("hidden"))) long stab_watched_call(long number, long a, long b, long c,
                                                             long d, long e) {
  if (number == SYS_seccomp) return stab_seccomp(number, a, b, c, d, e);
  if (number == SYS_prctl)
    return prctl(static_cast<int>(a), static_cast<unsigned long>(b), static_cast<unsigned long>(c),
                 static_cast<unsigned long>(d), static_cast<unsigned long>(e));
  if (stab_syscall_of_libc == nullptr) stab_find_syscall_before_start();
  note_memory_key(static_cast<int>(d));
  return reinterpret_cast<Syscall>(stab_syscall_of_libc)(number, a, b, c, d, e);
}

// Weak, because a program may define its own.
__attribute__((weak, visibility("default"))) int prctl(int option, unsigned long a, unsigned long b,
                                                       unsigned long c, unsigned long d) {
  if (prctl_of_libc == nullptr) stab_find_syscall_before_start();
  if (option == PR_SET_SECCOMP) return set_seccomp(a, b, c, d);
  if (option == set_user_dispatch && a != dispatch_off) return set_dispatch(a, b, c, d);
  return prctl_of_libc(option, a, b, c, d);
}

__attribute__((weak, visibility("default"))) int pkey_mprotect(void* start, size_t size,
                                                               int protection, int key) {
  if (prctl_of_libc == nullptr) stab_find_syscall_before_start();
  note_memory_key(key);
  return set_key_of_libc != nullptr
             ? set_key_of_libc(start, size, protection, key)
             : static_cast<int>(reinterpret_cast<Syscall>(stab_syscall_of_libc)(
                   SYS_pkey_mprotect, reinterpret_cast<long>(start), static_cast<long>(size),
                   protection, key, 0));
}

// prctl (157), seccomp (317), which has no function in libc, and pkey_mprotect (329) are watched.
// For other calls all registers are kept.
static_assert(SYS_prctl == 157 && SYS_seccomp == 317 && SYS_pkey_mprotect == 329);
__attribute__((weak, naked, visibility("default"))) long syscall(long /*number*/, ...) {
  __asm__ volatile(
      "cmpq $317, %rdi\n"
      "je stab_watched_call\n"
      "cmpq $157, %rdi\n"
      "je stab_watched_call\n"
      "cmpq $329, %rdi\n"
      "je stab_watched_call\n"
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
      "pushq %r9\n"
      ".cfi_adjust_cfa_offset 8\n"
      "subq $8, %rsp\n"
      ".cfi_adjust_cfa_offset 8\n"
      "callq stab_find_syscall_before_start\n"
      "addq $8, %rsp\n"
      ".cfi_adjust_cfa_offset -8\n"
      "popq %r9\n"
      ".cfi_adjust_cfa_offset -8\n"
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

bool may_be_in_sandbox() {
  return __atomic_load_n(&going_in, __ATOMIC_SEQ_CST);
}

void prepare_sandbox(const OutsideHandlers& /*proof*/) {
  prctl_of_libc = reinterpret_cast<Prctl>(dlsym(RTLD_NEXT, "prctl"));
  stab_syscall_of_libc = dlsym(RTLD_NEXT, "syscall");
  set_key_of_libc = reinterpret_cast<SetKey>(dlsym(RTLD_NEXT, "pkey_mprotect"));
}

}  // namespace stab::rt
