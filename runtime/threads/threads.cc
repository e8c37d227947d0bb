// SPDX-License-Identifier: MIT
#include "runtime/threads/threads.h"

#include <errno.h>

#include "runtime/base/memory.h"
#include "runtime/base/os.h"
#include "runtime/threads/activity.h"
#include "runtime/threads/id_index.h"

namespace stab::rt {
namespace {

// How long a thread has for its answer: less after one that did not come, for it may never come.
constexpr uint64_t most_patience_ns = 20000000;
constexpr uint64_t least_patience_ns = 1000000;
constexpr uint64_t look_again_ns = 2000000;

constinit Thread threads[most_threads];
uint32_t count;
constinit IdIndex<most_threads> places;
// Of the last epoch in which all threads were listed.
struct Known {
  int id = 0;
  bool asleep = false;
  uint64_t clear_since = 0;
  uint64_t ran_ns = 0;
  uint64_t still_since = 0;
  uint64_t now_ns = 0;  // its CPU time in the present epoch
};
constinit Known known[most_threads + 1];
uint32_t known_count;
constinit IdIndex<most_threads + 1> known_places;
uint64_t listed_epoch;

uint64_t patience_ns = most_patience_ns;
uint32_t rounds;    // of stopping
uint32_t released;  // changes when the stopped ones may go on

constexpr uint32_t name_at = 19;

struct Entry {  // struct linux_dirent64, ended by the name
  uint64_t inode;
  int64_t next;
  uint16_t size;
  uint8_t type;
};

// CPU time that comes in ticks, or not at all, does not tell that a thread has run.
bool clock_is_exact(int own) {
  for (int attempt = 0; attempt < 3; ++attempt)
    if (os::thread_cpu_ns(own) < os::thread_cpu_ns(own)) return true;
  return false;
}

// The kernel may refuse for want of room in the queue: that thread is not gone.
void ask(Thread& thread, int signal, const void* value) {
  const long result = os::queue_to_thread(thread.id, signal, value);
  if (os::failed(result))
    thread.change_state(ThreadState::asked,
                        result == -ESRCH ? ThreadState::gone : ThreadState::unreachable);
}

struct Request {
  int signal;
  const void* value;
  uint64_t epoch;
  uint64_t spared_since;
  int own;
  bool exact_clock;
  uint32_t first_looks;  // that may still be taken
};

bool is_spared(const Thread& thread, Activity activity, const Request& request) {
  if (activity == Activity::lends) return true;
  return activity == Activity::sleeps && thread.asleep_since() <= request.spared_since;
}

// The thread's state. One whose CPU time is what it was when it was seen asleep has not run since:
// that of a running thread is exact, for the kernel brings it up to date when it is asked. (Another
// thread that has got the same number has another time.) Of those that are new, or have not run
// since they were, only some are looked at in an epoch; the others are left alone until then.
const char* look_at(Thread& thread, bool may_wait, Request& request) {
  Activity activity = Activity::sleeps;
  if (!thread.asleep && may_wait && request.first_looks == 0) {
    thread.change_state(ThreadState::asked, ThreadState::asleep);
    return nullptr;
  }
  if (!thread.asleep) {
    if (may_wait) --request.first_looks;
    activity = activity_of(thread.id);
    thread.asleep = activity == Activity::sleeps && thread.ran_ns != 0;
  }
  // The signal would wake it if it sleeps.
  if (activity == Activity::unknown && !has_ended(thread.id))
    return "the state of threads cannot be read";
  if (is_spared(thread, activity, request))
    thread.change_state(ThreadState::asked, ThreadState::asleep);
  else if (activity == Activity::unknown || has_ended(thread.id))
    thread.change_state(ThreadState::asked, ThreadState::gone);
  return nullptr;
}

// What was known of it at the end of the last epoch. A thread that was not there then, or was made
// while the list was, has met nothing older than what was present before that epoch.
void recall(Thread& thread, const Known* before, uint64_t epoch) {
  const bool still = before != nullptr && thread.ran_ns != 0 && before->ran_ns == thread.ran_ns;
  if (before != nullptr)
    thread.clear_since = before->clear_since;
  else
    thread.clear_since = listed_epoch == 0 ? 0 : listed_epoch - 1;
  thread.still_since = still ? before->still_since : epoch;
  thread.asleep = still && before->asleep;
}

// `ran_ns` was read before: what it does, is looked at after.
const char* add(int id, uint64_t ran_ns, const Known* before, Request& request) {
  if (!places.add(id, count)) return "too many threads";
  Thread& thread = threads[count];
  __atomic_store_n(&thread.id, 0, __ATOMIC_RELEASE);
  const uint32_t fresh = rounds * (Thread::state_mask + 1);
  __atomic_store_n(&thread.state_word, fresh, __ATOMIC_RELEASE);
  __atomic_store_n(&thread.id, id, __ATOMIC_RELEASE);
  thread.seen = false;
  thread.ran_ns = ran_ns;
  recall(thread, before, request.epoch);
  const bool has_not_run = before == nullptr || before->ran_ns == ran_ns;
  if (const char* problem = look_at(thread, ran_ns != 0 && has_not_run, request)) return problem;
  __atomic_store_n(&count, count + 1, __ATOMIC_RELEASE);
  if (thread.state() == ThreadState::asked) ask(thread, request.signal, request.value);
  return nullptr;
}

// Whether those of the last epoch are all: they are as many as there were when this began, and each
// was there before (the time of a younger one with the same number would be less).
bool known_are_all(const Request& request) {
  if (!request.exact_clock || known_places.find(request.own) == nullptr ||
      threads_in_process() != known_count)
    return false;
  for (uint32_t i = 0; i < known_count; ++i) {
    known[i].now_ns = os::thread_cpu_ns(known[i].id);
    if (known[i].now_ns == 0 || known[i].now_ns < known[i].ran_ns) return false;
  }
  return true;
}

const char* list_known(Request& request, uint32_t& found) {
  for (uint32_t i = 0; i < known_count; ++i) {
    if (known[i].id == request.own) continue;
    ++found;
    if (const char* problem = add(known[i].id, known[i].now_ns, &known[i], request)) return problem;
  }
  return nullptr;
}

const char* list_new(int id, Request& request) {
  const uint32_t* place = known_places.find(id);
  return add(id, request.exact_clock ? os::thread_cpu_ns(id) : 0,
             place == nullptr ? nullptr : &known[*place], request);
}

// New ones only. `found` counts them; our own must be among those that exist.
const char* list_threads(Request& request, uint32_t& found) {
  const long fd = os::open_directory("/proc/self/task");
  if (os::failed(fd)) return "/proc cannot be read";
  alignas(8) char buffer[8192];
  bool own_seen = false;
  const char* problem = nullptr;
  long got = 0;
  while (problem == nullptr &&
         (got = os::read_directory(static_cast<int>(fd), buffer, sizeof buffer)) > 0) {
    for (long at = 0; at < got;) {
      const auto* entry = reinterpret_cast<const Entry*>(buffer + at);
      at += entry->size;
      const char* name = reinterpret_cast<const char*>(entry) + name_at;
      uint64_t number = 0;
      if (!read_decimal(name, number)) continue;
      const auto id = static_cast<int>(number);
      own_seen |= id == request.own;
      if (id == request.own || places.find(id) != nullptr) continue;
      ++found;
      if (problem == nullptr) problem = list_new(id, request);
    }
  }
  os::close_file(static_cast<int>(fd));
  if (problem == nullptr && !own_seen)
    return "/proc did not list this thread (threads ended, or the thread is in another namespace)";
  return problem;
}

// By number. One that was made while another ended is missed: what that one may have met is kept,
// for it was not stopped, and the younger one has met no more.
bool all_are_listed() {
  uint32_t there = 1;
  for (uint32_t i = 0; i < count; ++i) there += threads[i].state() != ThreadState::gone;
  return threads_in_process() == there;
}

bool exists(const Thread& thread) {
  return os::queue_to_thread(thread.id, 0, nullptr) != -ESRCH;
}

void wait_for(Thread& thread, uint64_t deadline) {
  while (thread.state() == ThreadState::asked || thread.state() == ThreadState::answering) {
    const uint32_t word = __atomic_load_n(&thread.state_word, __ATOMIC_ACQUIRE);
    os::wait_for_change(&thread.state_word, word, look_again_ns);
    if (thread.state() != ThreadState::asked) continue;
    if (!exists(thread)) {
      thread.change_state(ThreadState::asked, ThreadState::gone);
    } else if (os::monotonic_ns() > deadline) {
      thread.change_state(ThreadState::asked, ThreadState::unreachable);
    }
  }
}

void learn_patience() {
  bool missed = false;
  for (uint32_t i = 0; i < count; ++i) missed |= threads[i].state() == ThreadState::unreachable;
  patience_ns = missed ? patience_ns / 2 : patience_ns * 2;
  if (patience_ns < least_patience_ns) patience_ns = least_patience_ns;
  if (patience_ns > most_patience_ns) patience_ns = most_patience_ns;
}
}  // namespace

void forget_threads() {
  known_count = 0;
  known_places.clear();
  listed_epoch = 0;
}

namespace {
void remember(const Known& thread) {
  known_places.add(thread.id, known_count);
  known[known_count++] = thread;
}
}  // namespace

void remember_threads(uint64_t epoch, uint64_t own_clear_since) {
  forget_threads();
  remember({.id = os::thread_id(), .clear_since = own_clear_since});
  for (uint32_t i = 0; i < count; ++i) {
    const Thread& thread = threads[i];
    if (thread.state() != ThreadState::gone)
      remember({thread.id, thread.asleep, thread.clear_since, thread.ran_ns, thread.still_since});
  }
  listed_epoch = epoch;
}

const char* stop_others(const InHandler& proof, int signal, const void* stop_value, uint64_t epoch,
                        uint64_t spared_since) {
  constexpr uint32_t first_looks = 16;
  constexpr uint32_t most_epochs_of_first_looks = 24;  // there are 64 layouts
  const int own = os::thread_id();
  Request request = {signal,
                     stop_value,
                     epoch,
                     spared_since,
                     own,
                     clock_is_exact(own),
                     first_looks + threads_in_process() / most_epochs_of_first_looks};
  ++rounds;
  __atomic_store_n(&count, 0, __ATOMIC_RELEASE);
  places.clear();
  const uint64_t deadline = os::monotonic_ns() + patience_ns;
  for (;;) {
    uint32_t found = 0;
    const bool quick = count == 0 && known_are_all(request);
    const char* problem = quick ? list_known(request, found) : list_threads(request, found);
    if (problem != nullptr) {
      resume_others(proof);
      return problem;
    }
    if (found == 0) break;
    for (uint32_t i = 0; i < count; ++i) wait_for(threads[i], deadline);
    if (all_are_listed()) break;
  }
  learn_patience();
  return nullptr;
}

void resume_others(const InHandler& /*proof*/) {
  // Who was asked and has not answered finds that it is too late.
  for (uint32_t i = 0; i < count; ++i)
    threads[i].change_state(ThreadState::asked, ThreadState::unreachable);
  __atomic_fetch_add(&released, 1, __ATOMIC_RELEASE);
  if (count != 0) os::wake_all(&released);
}

uint32_t thread_count() {
  return count;
}
Thread& thread(uint32_t index) {
  return threads[index];
}
bool is_listed(int id) {
  const uint32_t* place = places.find(id);
  return place != nullptr && threads[*place].state() != ThreadState::gone;
}

void stop_here(const InHandler& /*proof*/, ucontext_t* context) {
  const uint32_t seen = __atomic_load_n(&released, __ATOMIC_ACQUIRE);
  const int own = os::thread_id();
  const uint32_t listed = __atomic_load_n(&count, __ATOMIC_ACQUIRE);
  for (uint32_t i = 0; i < listed; ++i) {
    Thread& thread = threads[i];
    const uint32_t word = __atomic_load_n(&thread.state_word, __ATOMIC_ACQUIRE);
    if (__atomic_load_n(&thread.id, __ATOMIC_ACQUIRE) != own) continue;
    const bool asked = (word & Thread::state_mask) == static_cast<uint32_t>(ThreadState::asked);
    if (!asked || !thread.change_word(word, ThreadState::answering)) return;
    thread.context = context;
    thread.change_state(ThreadState::answering, ThreadState::stopped);
    os::wake_all(&thread.state_word);
    while (__atomic_load_n(&released, __ATOMIC_ACQUIRE) == seen)
      os::wait_for_change(&released, seen, most_patience_ns);
    return;
  }
}

}  // namespace stab::rt
