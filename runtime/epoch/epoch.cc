// SPDX-License-Identifier: MIT
#include "runtime/epoch/epoch.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>

#include "runtime/arch/stacks.h"
#include "runtime/base/os.h"
#include "runtime/base/output_files.h"
#include "runtime/epoch/epoch_signal.h"
#include "runtime/epoch/one_epoch.h"
#include "runtime/epoch/schedule.h"
#include "runtime/epoch/threads.h"

namespace stab::rt {
namespace {

uint32_t pauses;  // pause_epochs() calls that were not resumed
bool paused;      // epochs ran before the pause
int owner;        // the process that the schedule belongs to
__thread char mark __attribute__((tls_model("initial-exec")));  // its address identifies the thread
// The handler's mark. The handler has no thread-local data: a program may run with another FS base.
const char of_handler = 0;
const char* inside;  // the mark of the thread that runs an epoch or keeps epochs out; or nullptr

bool replace_inside(const char* before, const char* after) {
  return __atomic_compare_exchange_n(&inside, &before, after, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_RELAXED);
}

bool enter(const char* who) {
  return replace_inside(nullptr, who);
}

// Does nothing if another thread has taken over meanwhile.
void leave(const char* who) {
  replace_inside(who, nullptr);
}

// Whether a handler of the program interrupted this thread while it keeps epochs out. Such a
// handler must not wait.
bool is_inside() {
  return __atomic_load_n(&inside, __ATOMIC_RELAXED) == &mark;
}

// Enters, after the thread that is inside has left. That thread may never leave: a handler of the
// program left fork by siglongjmp, or calls exit, which waits for this thread. So this thread takes
// over after a while, and functions stay from then on, because the other thread may be just slow.
// An epoch always ends.
void wait_and_enter() {
  constexpr uint64_t longest_ns = uint64_t{2} * 1000 * 1000 * 1000;
  const char* other = nullptr;
  uint64_t since = 0;
  while (!enter(&mark)) {
    // A child made by a bare system call may have inherited an epoch that nobody will end.
    if (owner != os::process_id()) return;
    const char* now_inside = __atomic_load_n(&inside, __ATOMIC_RELAXED);
    // CPU time, because it doesn't count while the process is stopped.
    const uint64_t now = os::clock_ns(os::thread_cpu_clock);
    if (now_inside != other) since = now;
    other = now_inside;
    const bool waited = other != nullptr && other != &of_handler && now - since > longest_ns;
    if (waited && replace_inside(other, &mark)) return one_epoch::note_lost_thread();
    os::yield();
  }
}

void plan_next_epoch(bool by_timer, uint64_t cost_ns) {
  if (one_epoch::are_over())
    schedule::stop();
  else
    schedule::plan_next(by_timer, one_epoch::all_listed(), cost_ns);
}

void answer(const InHandler& proof, const siginfo_t& about, ucontext_t* interrupted) {
  const void* value = about.si_value.sival_ptr;
  if (has_shadow_stack()) one_epoch::note_shadow_stack();
  if (value == &epoch_signal::stop) return stop_here(proof, interrupted);
  const bool by_alarm = value == &epoch_signal::alarm;
  if (by_alarm && !schedule::is_due(about.si_timerid)) return;
  if (enter(&of_handler)) {
    schedule::hold();
    const uint64_t before = os::clock_ns(os::thread_cpu_clock);
    one_epoch::run(proof, *interrupted, value == &epoch_signal::call);
    plan_next_epoch(value == &epoch_signal::timer, os::clock_ns(os::thread_cpu_clock) - before);
    leave(&of_handler);
  } else if (by_alarm) {
    schedule::put_off(about.si_timerid);
  } else if (value == &epoch_signal::begin) {
    schedule::set_own_alarm();
  } else {
    const bool is_epoch = __atomic_load_n(&inside, __ATOMIC_RELAXED) == &of_handler;
    if (value == &epoch_signal::call && !is_epoch) one_epoch::note_refused_call();
    schedule::put_off();
  }
}

const char* start_schedule() {
  owner = os::process_id();
  epoch_signal::be_answered(true);  // before the first signal
  const char* problem = schedule::start(one_epoch::all_listed());
  if (problem != nullptr) epoch_signal::be_answered(false);
  return problem;
}

// Counts forks by handlers of the program that interrupted this thread while it was inside.
__thread uint32_t forks_inside __attribute__((tls_model("initial-exec")));

void before_fork() {
  if (is_inside()) {
    ++forks_inside;
    return;
  }
  forks_inside = 0;  // a handler may have left such a fork by siglongjmp
  wait_and_enter();
}

void leave_after_fork() {
  if (forks_inside != 0)
    --forks_inside;
  else
    leave(&mark);
}

// The child has our memory, but none of our timers.
void after_fork_in_child() {
  one_epoch::forget();
  epoch_signal::forget();
  forget_threads();
  schedule::forget_alarms();
  // The thread that asked for a sandbox does not exist in the child.
  const bool was_paused = paused;
  paused = false;
  pauses = 0;
  if (was_paused) {
    resume_report();
    note_fork();
  }
  if (epoch_signal::is_answered() || was_paused) start_schedule();
  leave_after_fork();
  // The child has no other thread that could be inside.
  if (!is_inside()) __atomic_store_n(&inside, nullptr, __ATOMIC_RELEASE);
}

}  // namespace

extern "C" __attribute__((weak)) int __register_atfork(void (*)(), void (*)(), void (*)(), void*);

const char* start_epochs(const Options& options, const OutsideHandlers& /*proof*/) {
  if (has_shadow_stack()) return one_epoch::shadow_stack_is_on;
  one_epoch::configure(options.poison);
  schedule::configure(options, {epoch_signal::number, &epoch_signal::timer, &epoch_signal::alarm});
  if (!epoch_signal::install(answer))
    return "the runtime cannot install its signal handler (sigaction was refused)";
  if (&__register_atfork != nullptr)
    __register_atfork(before_fork, leave_after_fork, after_fork_in_child, nullptr);
  return start_schedule();
}

namespace {

// Called while epochs are kept out. Afterwards our handlers make no system calls any more.
bool stop_answering() {
  epoch_signal::be_answered(false);
  if (owner != os::process_id()) return false;
  epoch_signal::wait_for_handlers();
  return true;
}

void run_again() {
  epoch_signal::be_answered(true);
  schedule::go_on();
}

}  // namespace

void stop_epochs(const OutsideHandlers& proof) {
  paused = false;
  if (!epoch_signal::is_answered()) return;
  NoEpochs guard(proof);
  if (stop_answering()) schedule::stop();
}

void end_epochs(const char* why, const OutsideHandlers& proof) {
  if (!epoch_signal::is_answered() || owner != os::process_id()) return;
  stop_epochs(proof);
  one_epoch::end(why);
}

void pause_epochs(const OutsideHandlers& proof) {
  __atomic_fetch_add(&pauses, 1, __ATOMIC_SEQ_CST);
  NoEpochs guard(proof);
  if (!epoch_signal::is_answered()) return;
  if (stop_answering()) schedule::pause();
  paused = true;
}

bool resume_epochs(const OutsideHandlers& proof) {
  if (__atomic_sub_fetch(&pauses, 1, __ATOMIC_SEQ_CST) != 0) return false;
  NoEpochs guard(proof);
  if (__atomic_load_n(&pauses, __ATOMIC_SEQ_CST) != 0) return false;  // another caller waits for us
  if (paused && !one_epoch::are_over() && owner == os::process_id()) run_again();
  paused = false;
  return true;
}

bool is_own_process() {
  const auto own = owner != 0 ? static_cast<uint64_t>(owner) : report_owner();
  return own == static_cast<uint64_t>(os::process_id());
}

EpochCounts epoch_counts() {
  EpochCounts all = one_epoch::counts();
  if (owner == 0) return all;
  all.period_ns = schedule::asked_period();
  if (all.layouts > 1) all.achieved_ns = schedule::time_until_last() / (all.layouts - 1);
  all.without_alarm = schedule::most_without_alarm();
  all.late_ns = all.without_alarm == 0 ? 0 : schedule::time_late();
  return all;
}

void randomize_now() {
  if (epoch_signal::is_answered() && owner == os::process_id())
    os::queue_to_thread(os::thread_id(), epoch_signal::number, &epoch_signal::call);
}

namespace {

void begin_thread_unless_stopped() {
  const epoch_signal::Answering answering;
  if (!answering || owner != os::process_id() || one_epoch::are_over()) return;
  if (!schedule::set_own_alarm_unless_due())
    os::queue_to_thread(os::thread_id(), epoch_signal::number, &epoch_signal::begin);
}

}  // namespace

void begin_thread() {
  // Without epochs no system call may be made here, either.
  if (!epoch_signal::is_answered()) return;
  // The program's handlers are blocked here: one might never return, or fork, and then this thread
  // would count as answering for ever.
  const uint64_t mask = os::exchange_signal_mask(UINT64_MAX);
  begin_thread_unless_stopped();
  os::set_signal_mask(mask);
}

NoEpochs::NoEpochs(const OutsideHandlers& /*proof*/) : is_nested_(is_inside()) {
  if (!is_nested_) wait_and_enter();
}
NoEpochs::~NoEpochs() {
  if (!is_nested_) leave(&mark);
}

}  // namespace stab::rt

// Cancelling a thread: libc installs its own handler of our signal when it first cancels one, and
// then our handler goes before libc's again. Weak, because a program may define its own.
extern "C" __attribute__((weak, visibility("default"))) int pthread_cancel(pthread_t thread) {
  using Cancel = int (*)(pthread_t);
  static Cancel next;
  if (next == nullptr) next = reinterpret_cast<Cancel>(dlsym(RTLD_NEXT, "pthread_cancel"));
  if (next == nullptr) return ENOSYS;
  if (stab::rt::epoch_signal::is_answered()) stab::rt::epoch_signal::remember_flags();
  const int result = next(thread);
  if (stab::rt::epoch_signal::is_answered()) stab::rt::epoch_signal::install_again();
  return result;
}
