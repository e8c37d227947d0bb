// SPDX-License-Identifier: MIT
#include "runtime/start/crash.h"

#include <signal.h>
#include <ucontext.h>

#include "runtime/arch/signal_return.h"
#include "runtime/base/os.h"
#include "runtime/image/images.h"
#include "runtime/start/report.h"

namespace stab::rt {
namespace {

constexpr int watched[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};

// A fault happens again when the handler returns, now with the default action. Sent signals are
// sent again.
void on_crash(int number, void* info, void* context) {
  const auto* ucontext = static_cast<const ucontext_t*>(context);
  const auto pc = static_cast<uint64_t>(ucontext->uc_mcontext.gregs[REG_RIP]);
  if (report_wanted()) report_signal(number, pc, locate(pc));
  const os::SignalAction standard = {nullptr, os::flag_restorer, return_from_signal, 0};
  os::signal_action(number, &standard, nullptr);
  if (static_cast<siginfo_t*>(info)->si_code <= 0) os::queue_to_self(number, info);
}

}  // namespace

void watch_crashes() {
  for (const int number : watched) {
    os::SignalAction old = {};
    const os::SignalAction ours = {
        on_crash, os::flag_siginfo | os::flag_restorer | os::flag_onstack, return_from_signal, 0};
    if (os::failed(os::signal_action(number, nullptr, &old)) || old.handler != nullptr) continue;
    os::signal_action(number, &ours, nullptr);
  }
}

}  // namespace stab::rt
