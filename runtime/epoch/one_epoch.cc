// SPDX-License-Identifier: MIT
#include "runtime/epoch/one_epoch.h"

#include "runtime/arch/stacks.h"
#include "runtime/base/check.h"
#include "runtime/base/os.h"
#include "runtime/epoch/epoch_signal.h"
#include "runtime/epoch/libraries.h"
#include "runtime/epoch/migrate.h"
#include "runtime/epoch/threads.h"
#include "runtime/image/debugger.h"
#include "runtime/image/image.h"
#include "runtime/image/pads.h"

namespace stab::rt {

// Decides which layouts are free in one epoch, after the stopped threads were walked. No layout is
// free unless the whole thread that runs the epoch was seen, and neither images of ours nor
// libraries keep addresses of code where nobody looks.
class Reclamation {
 public:
  Reclamation(uint64_t epoch, bool own_seen, bool addresses_are_hidden, Libraries libraries)
      : epoch_(epoch),
        all_is_seen_(own_seen && !addresses_are_hidden && libraries == Libraries::harmless) {}

  // Returns false, and changes nothing, if something may refer to this old layout.
  [[nodiscard]] bool reclaim(Layout& layout) const {
    if (may_be_referred_to(layout)) return false;
    forget(layout, Unreferred(layout));
    return true;
  }

 private:
  // Whether the thread may have picked up a reference to the layout when it last ran, apart from
  // the references that are marked.
  [[nodiscard]] bool may_refer_to(const Thread& thread, const Layout& layout) const {
    if (thread.seen || thread.state() == ThreadState::gone) return false;
    if (layout.retired <= thread.clear_since) return false;
    return layout.born < thread.asleep_since() || layout.retired == epoch_;
  }

  [[nodiscard]] bool may_be_referred_to(const Layout& layout) const {
    if (layout.referred || layout.is_held() || !all_is_seen_) return true;
    for (uint32_t i = 0; i < thread_count(); ++i)
      if (may_refer_to(thread(i), layout)) return true;
    return false;
  }

  uint64_t epoch_;
  bool all_is_seen_;  // except for the threads that may_refer_to() checks
};

namespace one_epoch {
namespace {

constexpr uint32_t frames_walked = 4096;
constexpr uint32_t scarce_layouts = 8;

bool running;
bool poison;
bool
    alarms_wake_nobody;  // the kernel sends a thread's alarm when that thread returns to its program
bool too_old;            // the kernel is too old for epochs with several threads
bool returns_are_checked;  // a thread that we would move has a shadow stack
bool thread_is_lost;       // a thread may be changing at any time what epochs need unchanged
bool addresses_are_hidden;
bool threads_known;
uint64_t epoch_number;
uint64_t own_clear_since;
bool own_seen;
// The program runs at least as long as the last epoch took, however short the period is.
uint64_t not_before;
constinit EpochCounts counted;

// Several threads may call this at once, because refused calls come outside of epochs.
void give_up(const char* why) {
  __atomic_fetch_add(&counted.given_up, 1, __ATOMIC_RELAXED);
  __atomic_store_n(&counted.why, why, __ATOMIC_RELAXED);
}

constexpr const char* lost_thread =
    "a thread stayed in fork, dlopen or dlclose for too long, or left fork by siglongjmp";

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

// Makes layouts that nothing refers to unused, so they may be written again.
void reclaim(Image& image, void* context) {
  if (!image.board.in_use()) return;
  const auto& reclamation = *static_cast<const Reclamation*>(context);
  uint64_t kept = 0;
  for (uint32_t i = 1; i < image.used; ++i) {
    Layout& layout = image.layouts[i];
    if (layout.state() != LayoutState::old) continue;
    if (!reclamation.reclaim(layout)) {
      ++kept;
      continue;
    }
    if (poison) os::protect(reinterpret_cast<uint64_t>(layout.start), layout.size(), os::none);
  }
  if (kept > counted.layouts_kept) counted.layouts_kept = kept;
}

void look_for_hidden_addresses(Image& image, void* /*context*/) {
  if ((image.table->flags & abi::image_hides_addresses) == 0) return;
  addresses_are_hidden = true;
  if (const char* name = first_hider(*image.table)) layouts_stay_for.set(name);
}

uint32_t count_kept(const Image& image) {
  uint32_t kept = 0;
  for (uint32_t i = 1; i < image.used; ++i) kept += image.layouts[i].state() == LayoutState::old;
  return kept;
}

// Long walks are worth their time only when layouts run out.
void find_scarcity(Image& image, void* context) {
  const uint32_t last = image.layouts_at_most() - 2;  // minus the first one and the current one
  if (image.used >= (last < scarce_layouts ? last : scarce_layouts))
    *static_cast<uint32_t*>(context) = UINT32_MAX;
}

void find_half_kept(Image& image, void* context) {
  if (image.board.in_use() && count_kept(image) >= image.layouts_at_most() / 2)
    *static_cast<bool*>(context) = true;
}

// Returns false if some references of the stopped thread may not have been found. Otherwise the
// thread refers to no layout that was retired in or before the epoch `since`.
bool move_over(const InHandler& proof, ucontext_t& context, uint32_t most_frames, uint64_t& since) {
  Migration migration;
  migrate(proof, context, most_frames, migration);
  counted.frames_moved += migration.moved;
  if (!migration.complete) return false;
  const uint64_t clear = migration.oldest == UINT64_MAX ? epoch_number : migration.oldest - 1;
  since = clear > since ? clear : since;
  return true;
}

void migrate_threads(const InHandler& proof, ucontext_t& own) {
  uint32_t most_frames = frames_walked;
  for_each_image(find_scarcity, &most_frames);
  own_clear_since = 0;
  own_seen = move_over(proof, own, most_frames, own_clear_since);
  for (uint32_t i = 0; i < thread_count(); ++i) {
    Thread& other = thread(i);
    if (other.state() != ThreadState::stopped) continue;
    STAB_DEBUG(Epochs, 2, other.context != nullptr);
    other.seen = move_over(proof, *other.context, most_frames, other.clear_since);
  }
}

bool layouts_are_scarce() {
  bool half_kept = false;
  if (!addresses_are_hidden) for_each_image(find_half_kept, &half_kept);
  return half_kept;
}

// Threads that are asleep at every epoch keep the layouts that they may refer to, until they are
// stopped and walked. That wakes them, and then they count as having run. So it is not done at each
// epoch: some timeouts would never end, and every thread that ever ran would be woken.
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

// Existing frames keep their size, so their functions must be known.
PadChange find_active_functions(const InHandler& proof, ucontext_t& own) {
  bool padded = false;
  for_each_image(forget_active, &padded);
  if (!padded) return PadChange::none;
  ActiveFrames frames;
  mark_active_functions(proof, own, frames_walked, frames);
  for (uint32_t i = 0; i < thread_count(); ++i) {
    Thread& other = thread(i);
    if (other.state() == ThreadState::stopped)
      mark_active_functions(proof, *other.context, frames_walked, frames);
  }
  return frames.complete ? PadChange::all : PadChange::none;
}

// If all layouts are kept, that is the reason why there is no room.
const char* reason_for(const char* problem) {
  if (addresses_are_hidden && problem == no_room)
    return "no room for another layout: all layouts are kept, because the runtime cannot see "
           "whether code still runs in them";
  if (addresses_are_hidden && problem == no_bytes)
    return "no room for another layout within the limit of 256 MB: all layouts are kept, because "
           "the runtime cannot see whether code still runs in them";
  return problem;
}

// The handler's arguments, for the code on the private stack.
struct Interruption {
  const InHandler& proof;
  ucontext_t& context;
  bool asked;
};

void run_epoch(void* interruption) {
  const auto& [proof, context, asked] = *static_cast<const Interruption*>(interruption);
  const uint64_t start = os::monotonic_ns();
  threads_known = false;
  if (__atomic_load_n(&thread_is_lost, __ATOMIC_ACQUIRE)) return give_up(lost_thread);
  if (start < not_before && !asked) return;
  if (is_traced()) return give_up("a debugger is attached");
  const uint64_t epoch = epoch_number + 1;
  if (const char* problem =
          stop_others(proof, epoch_signal::number, &epoch_signal::stop, epoch, spared_since(epoch)))
    return give_up(problem);
  threads_known = true;
  if (thread_count() != 0 && !alarms_wake_nobody) {
    resume_others(proof);
    too_old = true;
    return give_up("new layouts in a program with several threads need Linux 5.10 or later");
  }
  if (__atomic_load_n(&returns_are_checked, __ATOMIC_ACQUIRE)) {
    resume_others(proof);
    return give_up(shadow_stack_is_on);
  }
  ++epoch_number;
  for_each_image(look_for_hidden_addresses, nullptr);
  const Libraries libraries = look_at_libraries();
  addresses_are_hidden |= libraries == Libraries::hide_addresses;
  Outcome outcome;
  outcome.change = find_active_functions(proof, context);
  for_each_image(begin_image, &outcome);
  migrate_threads(proof, context);
  Reclamation reclamation(epoch_number, own_seen, addresses_are_hidden, libraries);
  for_each_image(reclaim, &reclamation);
  remember_threads(epoch_number, own_clear_since);
  resume_others(proof);
  if (outcome.problem != nullptr) {
    name_holder();
    give_up(reason_for(outcome.problem));
  } else if (outcome.moved) {
    ++counted.layouts;
  }
  const uint64_t took = os::monotonic_ns() - start;
  not_before = start + 2 * took;
  counted.total_ns += took;
  counted.longest_ns = took > counted.longest_ns ? took : counted.longest_ns;
}

}  // namespace

void configure(bool poison_old_layouts) {
  poison = poison_old_layouts;
  alarms_wake_nobody = os::kernel_is_at_least(5, 10);
}

void run(const InHandler& proof, ucontext_t& interrupted, bool asked) {
  STAB_DEBUG(Epochs, 4, !running);
  running = true;
  Interruption interruption{proof, interrupted, asked};
  call_on_private_stack(run_epoch, &interruption);
  running = false;
}

bool all_listed() {
  return threads_known;
}

void note_shadow_stack() {
  __atomic_store_n(&returns_are_checked, true, __ATOMIC_RELEASE);
}

void note_refused_call() {
  give_up(
      "the program asked for a new layout while a thread was in fork, dlopen or dlclose, or was "
      "entering a sandbox");
}

void note_lost_thread() {
  __atomic_store_n(&thread_is_lost, true, __ATOMIC_RELEASE);
  give_up(lost_thread);
}

void end(const char* why) {
  give_up(why);
}

bool are_over() {
  return too_old || __atomic_load_n(&returns_are_checked, __ATOMIC_ACQUIRE) ||
         __atomic_load_n(&thread_is_lost, __ATOMIC_ACQUIRE);
}

const EpochCounts& counts() {
  return counted;
}

void forget() {
  counted = {};
  running = false;
  threads_known = false;
  too_old = false;
}

}  // namespace one_epoch
}  // namespace stab::rt
