// SPDX-License-Identifier: MIT
#include "runtime/start/crash.h"

#include <signal.h>
#include <ucontext.h>

#include "runtime/arch/private_stack.h"
#include "runtime/arch/signal_return.h"
#include "runtime/base/os.h"
#include "runtime/image/images.h"
#include "runtime/start/report.h"

namespace stab::rt {
namespace {

constexpr int watched[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};

alignas(16) uint8_t stack[16 << 10];
bool stack_taken;

struct Crash {
  int number;
  uint64_t pc;
};

void tell(void* argument) {
  const auto* crash = static_cast<const Crash*>(argument);
  report_signal(crash->number, crash->pc, locate(crash->pc));
}

// The program's alternate stack may hold the kernel's frame and little more.
void tell_on_own_stack(Crash crash) {
  if (__atomic_exchange_n(&stack_taken, true, __ATOMIC_RELAXED)) return tell(&crash);
  call_on_stack(stack + sizeof stack, tell, &crash);
}

// A fault happens again when the handler returns, now with the default action. Sent signals are
// sent again.
void on_crash(int number, void* info, void* context) {
  const auto* ucontext = static_cast<const ucontext_t*>(context);
  const auto pc = static_cast<uint64_t>(ucontext->uc_mcontext.gregs[REG_RIP]);
  if (report_wanted()) tell_on_own_stack({number, pc});
  const os::SignalAction standard = {nullptr, os::flag_restorer, return_from_signal, 0};
  os::signal_action(number, &standard, nullptr);
  if (static_cast<siginfo_t*>(info)->si_code <= 0) os::queue_to_self(number, info);
}

// On the alternate stack only where the other may be the reason: if it is too small for the kernel's
// frame, the signal becomes SIGSEGV.
uint64_t flags_for(int number) {
  const bool by_bad_stack = number == SIGSEGV || number == SIGBUS;
  return os::flag_siginfo | os::flag_restorer | (by_bad_stack ? os::flag_onstack : 0);
}

}  // namespace

void watch_crashes() {
  for (const int number : watched) {
    os::SignalAction old = {};
    // No signal of epochs comes in between: nobody could walk from the stack of our own.
    const os::SignalAction ours = {on_crash, flags_for(number), return_from_signal, UINT64_MAX};
    if (os::failed(os::signal_action(number, nullptr, &old)) || old.handler != nullptr) continue;
    os::signal_action(number, &ours, nullptr);
  }
}

}  // namespace stab::rt
