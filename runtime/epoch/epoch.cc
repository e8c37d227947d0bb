// SPDX-License-Identifier: MIT
#include "runtime/epoch/epoch.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <ucontext.h>

#include "runtime/arch/private_stack.h"
#include "runtime/arch/restart.h"
#include "runtime/arch/shadow_stack.h"
#include "runtime/arch/signal_return.h"
#include "runtime/base/os.h"
#include "runtime/base/report_file.h"
#include "runtime/debug/debugger.h"
#include "runtime/epoch/causes.h"
#include "runtime/epoch/libraries.h"
#include "runtime/epoch/migrate.h"
#include "runtime/epoch/schedule.h"
#include "runtime/image/images.h"
#include "runtime/image/pads.h"
#include "runtime/threads/threads.h"

namespace stab::rt {
namespace {

// libc keeps this one for itself (to cancel threads) and never lets a program block, wait for or
// handle it; gdb passes it on without a word. What libc sends with it we hand on.
constexpr int signal_number = 32;
constexpr uint32_t frames_walked = 4096;
constexpr uint32_t scarce_layouts = 8;
constexpr const char* shadow_stack_is_on = "a shadow stack holds the return addresses (CET)";

// Their addresses are the values of our signals.
char timer_value;
char alarm_value;
char call_value;
char stop_value;

bool poison;
bool running;              // the schedule
uint32_t pauses;           // that have not ended
bool paused;               // and it ran before
bool alarms_interrupt;     // system calls, before 5.10
bool too_old;              // the kernel, for epochs with several threads
bool returns_are_checked;  // a thread that we would move over has a shadow stack
int owner;                 // the process that the schedule belongs to
uint32_t busy;
uint32_t in_handler;  // threads that answer a signal of ours
bool addresses_are_hidden;
bool timer_spares_sleepers;  // the kernel prefers the running thread for a process's signal
uint64_t epoch_number;
uint64_t own_clear_since;
bool own_seen;
bool all_listed;  // the threads, in this epoch
constinit EpochCounts counts;
uint64_t
    not_before;  // lets the program run as long as the last epoch took, however short the period
constinit os::SignalAction action_of_libc = {};

void give_up(const char* why) {
  ++counts.given_up;
  counts.why = why;
}

bool enter() {
  return __atomic_exchange_n(&busy, 1, __ATOMIC_ACQUIRE) == 0;
}

void leave() {
  __atomic_store_n(&busy, 0, __ATOMIC_RELEASE);
}

struct Outcome {
  PadChange change = PadChange::none;
  const char* problem = nullptr;
  bool moved = false;
};

void begin_image(Image& image, void* context) {
  auto* outcome = static_cast<Outcome*>(context);
  if (!image.board.in_use()) return;
  for (uint32_t i = 0; i < image.used; ++i) image.layouts[i].referred = false;
  if (const char* problem = randomize_again(image, epoch_number, outcome->change))
    outcome->problem = problem;
  else
    outcome->moved = true;
}

// Whether a thread can have met it when it ran last, beside what is marked.
bool may_refer_to(const Thread& thread, const Layout& layout) {
  if (thread.seen || thread.state() == ThreadState::gone) return false;
  if (layout.retired <= thread.clear_since) return false;
  return layout.born < thread.asleep_since() || layout.retired == epoch_number;
}

bool may_be_referred_to(const Layout& layout) {
  if (layout.referred || layout.is_held() || !own_seen) return true;
  for (uint32_t i = 0; i < thread_count(); ++i)
    if (may_refer_to(thread(i), layout)) return true;
  return false;
}

// Layouts that nothing refers to may be written again.
void reclaim(Image& image, void* /*context*/) {
  if (!image.board.in_use()) return;
  uint64_t kept = 0;
  for (uint32_t i = 1; i < image.used; ++i) {
    Layout& layout = image.layouts[i];
    if (layout.state != LayoutState::old) continue;
    if (may_be_referred_to(layout)) {
      ++kept;
      continue;
    }
    layout.state = LayoutState::unused;
    if (poison)
      os::protect(reinterpret_cast<uint64_t>(layout.start) + layout.homes_size,
                  layout.size() - layout.homes_size, os::none);
  }
  if (kept > counts.layouts_kept) counts.layouts_kept = kept;
}

void look_for_hidden_addresses(Image& image, void* /*context*/) {
  if ((image.table->flags & abi::image_hides_addresses) == 0) return;
  addresses_are_hidden = true;
  if (const char* name = first_hider(*image.table)) layouts_stay_for.set(name);
}

uint32_t count_kept(const Image& image) {
  uint32_t kept = 0;
  for (uint32_t i = 1; i < image.used; ++i) kept += image.layouts[i].state == LayoutState::old;
  return kept;
}

// Long walks are worth their time when layouts run out.
void find_scarcity(Image& image, void* context) {
  const uint32_t taken = image.leads ? count_kept(image) : image.used;
  if (taken >= scarce_layouts) *static_cast<uint32_t*>(context) = UINT32_MAX;
}

void find_most_kept(Image& image, void* context) {
  const uint32_t kept = count_kept(image);
  auto* most = static_cast<uint32_t*>(context);
  if (kept > *most) *most = kept;
}

// False: not all that the stopped thread refers to was found. `since` is the epoch by whose end it
// was clear of all that was retired.
bool move_over(ucontext_t& context, uint32_t most_frames, uint64_t& since) {
  Migration migration;
  migrate(context, most_frames, migration);
  counts.frames_moved += migration.moved;
  if (!migration.complete) return false;
  const uint64_t clear = migration.oldest == UINT64_MAX ? epoch_number : migration.oldest - 1;
  since = clear > since ? clear : since;
  return true;
}

void migrate_threads(ucontext_t& own) {
  uint32_t most_frames = frames_walked;
  for_each_image(find_scarcity, &most_frames);
  own_clear_since = 0;
  own_seen = move_over(own, most_frames, own_clear_since);
  for (uint32_t i = 0; i < thread_count(); ++i) {
    Thread& other = thread(i);
    if (other.state() == ThreadState::stopped)
      other.seen = move_over(*other.context, most_frames, other.clear_since);
  }
}

bool layouts_are_scarce() {
  uint32_t kept = 0;
  if (!addresses_are_hidden) for_each_image(find_most_kept, &kept);
  return kept >= most_layouts / 2;
}

// Threads that always sleep when an epoch comes keep what they may have met, until they are seen.
// That wakes them, and they count as having run: so not at each epoch, where some timeouts would
// never end, and all would be woken who ever were.
uint64_t spared_since(uint64_t epoch) {
  constexpr uint64_t between = 8;
  return epoch % between == 0 && layouts_are_scarce() ? epoch - between : spare_all;
}

void forget_active(Image& image, void* context) {
  if (!image.padded) return;
  *static_cast<bool*>(context) = true;
  for (uint32_t f = 0; f < image.count(); ++f)
    image.uses[f] = static_cast<uint8_t>(image.uses[f] & ~is_active);
}

// Frames that are there keep their size, so those functions must be known.
PadChange find_active_functions(ucontext_t& own) {
  bool padded = false;
  for_each_image(forget_active, &padded);
  if (!padded) return PadChange::none;
  ActiveFrames frames;
  mark_active_functions(own, frames_walked, frames);
  for (uint32_t i = 0; i < thread_count(); ++i) {
    Thread& other = thread(i);
    if (other.state() == ThreadState::stopped)
      mark_active_functions(*other.context, frames_walked, frames);
  }
  return frames.complete ? PadChange::all : PadChange::none;
}

void run_epoch(void* context) {
  const uint64_t start = os::monotonic_ns();
  all_listed = false;
  if (start < not_before) return;
  if (is_traced()) return give_up("a debugger is attached");
  const uint64_t epoch = epoch_number + 1;
  if (const char* problem = stop_others(signal_number, &stop_value, epoch, spared_since(epoch)))
    return give_up(problem);
  all_listed = true;
  if (thread_count() != 0 && !timer_spares_sleepers) {
    // The timer's signal goes to the first thread then, even if it sleeps.
    resume_others();
    too_old = true;
    return give_up("with several threads, epochs need Linux 6.4");
  }
  if (__atomic_load_n(&returns_are_checked, __ATOMIC_ACQUIRE)) {
    resume_others();
    return give_up(shadow_stack_is_on);
  }
  ++epoch_number;
  for_each_image(look_for_hidden_addresses, nullptr);
  const Libraries libraries = look_at_libraries();
  addresses_are_hidden |= libraries == Libraries::hide_addresses;
  Outcome outcome;
  outcome.change = find_active_functions(*static_cast<ucontext_t*>(context));
  for_each_image(begin_image, &outcome);
  migrate_threads(*static_cast<ucontext_t*>(context));
  if (!addresses_are_hidden && libraries == Libraries::harmless) for_each_image(reclaim, nullptr);
  remember_threads(epoch_number, own_clear_since);
  resume_others();
  if (outcome.problem != nullptr) {
    name_holder();
    give_up(
        addresses_are_hidden
            ? "no room for another layout: all are kept, for code may run where it cannot be seen"
            : outcome.problem);
  } else if (outcome.moved) {
    ++counts.layouts;
  }
  const uint64_t took = os::monotonic_ns() - start;
  not_before = start + 2 * took;
  counts.total_ns += took;
  counts.longest_ns = took > counts.longest_ns ? took : counts.longest_ns;
}

// As if the signal had come to libc's handler alone.
void hand_on(int number, void* info, void* context) {
  constexpr uintptr_t ignored = 1;  // SIG_IGN; below it, SIG_DFL
  if (reinterpret_cast<uintptr_t>(action_of_libc.handler) <= ignored) return;
  uint64_t mask = 0;
  __builtin_memcpy(&mask, &static_cast<ucontext_t*>(context)->uc_sigmask, sizeof mask);
  os::set_signal_mask(mask | uint64_t{1} << (signal_number - 1));
  action_of_libc.handler(number, info, context);
}

void plan_next_epoch(bool by_timer, uint64_t cost_ns) {
  if (too_old || returns_are_checked)
    schedule::stop();
  else
    schedule::plan_next(by_timer, all_listed, cost_ns);
}

void answer(const siginfo_t& about, ucontext_t* interrupted) {
  const void* value = about.si_value.sival_ptr;
  if (has_shadow_stack()) __atomic_store_n(&returns_are_checked, true, __ATOMIC_RELEASE);
  if (value == &stop_value) return stop_here(interrupted);
  const bool by_alarm = value == &alarm_value;
  if (by_alarm && !schedule::is_due(about.si_timerid)) return;
  if (enter()) {
    const uint64_t before = os::clock_ns(os::thread_cpu_clock);
    call_on_private_stack(run_epoch, interrupted);
    plan_next_epoch(value == &timer_value, os::clock_ns(os::thread_cpu_clock) - before);
    leave();
  } else if (by_alarm) {
    schedule::put_off(about.si_timerid);
  } else {
    schedule::put_off();
  }
}

void on_signal(int number, void* info, void* context) {
  const auto* about = static_cast<const siginfo_t*>(info);
  auto* interrupted = static_cast<ucontext_t*>(context);
  const void* value = about->si_value.sival_ptr;
  const bool ours = (about->si_code == SI_TIMER || about->si_code == SI_QUEUE) &&
                    (value == &timer_value || value == &alarm_value || value == &call_value ||
                     value == &stop_value);
  if (!ours) return hand_on(number, info, context);
  const bool interrupts = value != &alarm_value || alarms_interrupt;
  if (interrupts) restart_system_call(*interrupted, signal_number);
  // Once epochs have ended no system call may be made here: the program may have forbidden it.
  __atomic_fetch_add(&in_handler, 1, __ATOMIC_SEQ_CST);
  if (__atomic_load_n(&running, __ATOMIC_SEQ_CST)) {
    if (!interrupts) restart_uninterrupted_call(*interrupted, signal_number);
    answer(*about, interrupted);
  }
  __atomic_fetch_sub(&in_handler, 1, __ATOMIC_SEQ_CST);
}

bool install_handler() {
  const os::SignalAction ours = {on_signal, os::flag_siginfo | os::flag_restorer | os::flag_restart,
                                 return_from_signal, UINT64_MAX};
  os::SignalAction before = {};
  if (os::failed(os::signal_action(signal_number, &ours, &before))) return false;
  if (before.handler != on_signal) action_of_libc = before;
  return true;
}

const char* start_schedule() {
  owner = os::process_id();
  running = true;  // before the first signal
  const char* problem = schedule::start(all_listed);
  if (problem != nullptr) running = false;
  return problem;
}

void before_fork() {
  while (!enter()) os::yield();
}

void after_fork_in_parent() {
  leave();
}

// The child has our memory and none of our timers.
void after_fork_in_child() {
  note_fork();
  counts = {};
  in_handler = 0;
  all_listed = false;
  too_old = false;
  forget_threads();
  schedule::forget_alarms();
  // The thread that asked for a sandbox is not here.
  const bool was_paused = paused;
  paused = false;
  pauses = 0;
  if (was_paused) resume_report();
  if (running || was_paused) running = start_schedule() == nullptr;
  leave();
}

}  // namespace

extern "C" __attribute__((weak)) int __register_atfork(void (*)(), void (*)(), void (*)(), void*);

const char* start_epochs(const Options& options, const OutsideHandlers& /*proof*/) {
  if (has_shadow_stack()) return shadow_stack_is_on;
  timer_spares_sleepers = os::kernel_is_at_least(6, 4);
  alarms_interrupt = !os::kernel_is_at_least(5, 10);
  poison = options.poison;
  schedule::configure(options, {signal_number, &timer_value, &alarm_value});
  if (!install_handler()) return "there is no signal (sigaction was refused)";
  if (&__register_atfork != nullptr)
    __register_atfork(before_fork, after_fork_in_parent, after_fork_in_child, nullptr);
  return start_schedule();
}

namespace {

// While epochs are kept out. Nothing of ours makes a system call in a handler any more afterwards.
void stop_running() {
  __atomic_store_n(&running, false, __ATOMIC_SEQ_CST);
  if (owner != os::process_id()) return;
  while (__atomic_load_n(&in_handler, __ATOMIC_SEQ_CST) != 0) os::yield();
  schedule::stop();
}

void run_again() {
  __atomic_store_n(&running, true, __ATOMIC_SEQ_CST);
  schedule::go_on(all_listed);
}

}  // namespace

void stop_epochs(const OutsideHandlers& proof) {
  paused = false;
  if (!running) return;
  NoEpochs guard(proof);
  stop_running();
}

void pause_epochs(const OutsideHandlers& proof) {
  __atomic_fetch_add(&pauses, 1, __ATOMIC_SEQ_CST);
  NoEpochs guard(proof);
  if (!running) return;
  stop_running();
  paused = true;
}

bool resume_epochs(const OutsideHandlers& proof) {
  if (__atomic_sub_fetch(&pauses, 1, __ATOMIC_SEQ_CST) != 0) return false;
  NoEpochs guard(proof);
  if (__atomic_load_n(&pauses, __ATOMIC_SEQ_CST) != 0) return false;  // who came waits for us
  if (paused && !too_old && !returns_are_checked && owner == os::process_id()) run_again();
  paused = false;
  return true;
}

bool is_own_process() {
  const auto own = owner != 0 ? static_cast<uint64_t>(owner) : report_owner();
  return own == static_cast<uint64_t>(os::process_id());
}

EpochCounts epoch_counts() {
  EpochCounts all = counts;
  if (owner == 0) return all;
  all.period_ns = schedule::asked_period();
  if (all.layouts > 1) all.achieved_ns = schedule::time_until_last() / (all.layouts - 1);
  return all;
}

void randomize_now() {
  if (running && owner == os::process_id())
    os::queue_to_thread(os::thread_id(), signal_number, &call_value);
}

NoEpochs::NoEpochs(const OutsideHandlers& /*proof*/) {
  // A child that was made by a bare system call may have inherited an epoch that nobody will end.
  while (!enter() && owner == os::process_id()) os::yield();
}
NoEpochs::~NoEpochs() {
  leave();
}

}  // namespace stab::rt

// libc installs its own handler when a thread is cancelled for the first time: ours goes before it
// again. Weak: a program may have its own.
extern "C" __attribute__((weak, visibility("default"))) int pthread_cancel(pthread_t thread) {
  using namespace stab::rt;
  using Cancel = int (*)(pthread_t);
  static Cancel next;
  if (next == nullptr) next = reinterpret_cast<Cancel>(dlsym(RTLD_NEXT, "pthread_cancel"));
  if (next == nullptr) return ENOSYS;
  const int result = next(thread);
  if (running) install_handler();
  return result;
}
