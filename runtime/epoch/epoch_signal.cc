// SPDX-License-Identifier: MIT
#include "runtime/epoch/epoch_signal.h"

#include "runtime/arch/signals.h"
#include "runtime/base/os.h"

namespace stab::rt {

struct EpochHandler {
  static InHandler proof() { return {}; }
};

}  // namespace stab::rt

namespace stab::rt::epoch_signal {

char timer;
char alarm;
char call;
char begin;
char stop;

namespace {

Answer answer;
bool answered;
bool alarms_interrupt;  // alarms interrupt system calls, before Linux 5.10
bool on_alternate_stack;
uint32_t now_answering;
constinit os::SignalAction action_of_libc = {};

// Calls libc's handler with the signal mask that it would have without ours.
void hand_on(int number, void* info, void* context) {
  constexpr uintptr_t ignored = 1;  // SIG_IGN; below it, SIG_DFL
  if (reinterpret_cast<uintptr_t>(action_of_libc.handler) <= ignored) return;
  uint64_t mask = 0;
  __builtin_memcpy(&mask, &static_cast<ucontext_t*>(context)->uc_sigmask, sizeof mask);
  os::set_signal_mask(mask | uint64_t{1} << (epoch_signal::number - 1));
  action_of_libc.handler(number, info, context);
}

void on_signal(int number, void* info, void* context) {
  const auto* about = static_cast<const siginfo_t*>(info);
  auto* interrupted = static_cast<ucontext_t*>(context);
  const void* value = about->si_value.sival_ptr;
  const bool ours =
      (about->si_code == SI_TIMER || about->si_code == SI_QUEUE) &&
      (value == &timer || value == &alarm || value == &call || value == &begin || value == &stop);
  if (!ours) return hand_on(number, info, context);
  const bool interrupts = value != &alarm || alarms_interrupt;
  if (interrupts) restart_system_call(*interrupted, epoch_signal::number);
  // Once epochs have ended, no system call may be made here: the program may have forbidden it.
  const Answering answering;
  if (!answering) return;
  if (!interrupts) restart_uninterrupted_call(*interrupted, epoch_signal::number);
  answer(EpochHandler::proof(), *about, interrupted);
}

bool install_handler() {
  const uint64_t flags = os::flag_siginfo | os::flag_restorer | os::flag_restart |
                         (on_alternate_stack ? os::flag_onstack : 0);
  const os::SignalAction ours = {on_signal, flags, return_from_signal, UINT64_MAX};
  os::SignalAction before = {};
  if (os::failed(os::signal_action(epoch_signal::number, &ours, &before))) return false;
  if (before.handler != on_signal) action_of_libc = before;
  return true;
}

}  // namespace

bool install(Answer by) {
  answer = by;
  alarms_interrupt = !os::kernel_is_at_least(5, 10);
  return install_handler();
}

void remember_flags() {
  os::SignalAction present = {};
  if (!os::failed(os::signal_action(epoch_signal::number, nullptr, &present)) &&
      present.handler == on_signal)
    on_alternate_stack = (present.flags & os::flag_onstack) != 0;
}

void install_again() {
  install_handler();
}

void be_answered(bool yes) {
  __atomic_store_n(&answered, yes, __ATOMIC_SEQ_CST);
}

bool is_answered() {
  return __atomic_load_n(&answered, __ATOMIC_SEQ_CST);
}

void wait_for_handlers() {
  while (__atomic_load_n(&now_answering, __ATOMIC_SEQ_CST) != 0) os::yield();
}

Answering::Answering() {
  __atomic_fetch_add(&now_answering, 1, __ATOMIC_SEQ_CST);
}
Answering::~Answering() {
  __atomic_fetch_sub(&now_answering, 1, __ATOMIC_SEQ_CST);
}

void forget() {
  now_answering = 0;
}

}  // namespace stab::rt::epoch_signal
