// SPDX-License-Identifier: MIT
#include "runtime/epoch/threads.h"

#include <asm/unistd.h>
#include <errno.h>

#include "runtime/base/line.h"
#include "runtime/base/memory.h"
#include "runtime/base/os.h"

namespace stab::rt {
namespace {

// Files of /proc tell what another thread of this process does. Reading one file costs as much as
// ten look-ups of CPU time.

enum class Activity : uint8_t {
  runs,
  sleeps,  // in the kernel, or is about to
  lends,   // sleeps, perhaps while a child runs in its memory (vfork, posix_spawn)
  unknown
};

// Reads a small file of /proc and ends it with a zero. Returns its size, or the kernel's error.
long read_task_file(int thread, const char* file, char* buffer, size_t size) {
  Line path;
  path.text("/proc/self/task/").number(static_cast<uint64_t>(thread)).text(file);
  const long fd = os::open_read(path.c_string());
  if (os::failed(fd)) return fd;
  const long got = os::read_some(static_cast<int>(fd), buffer, size - 1);
  os::close_file(static_cast<int>(fd));
  if (!os::failed(got)) buffer[got] = '\0';
  return got;
}

bool makes_child(uint64_t call) {
  return call == __NR_vfork || call == __NR_clone || call == __NR_clone3;
}

// The state letter in "id (name) state ...", or 0 if the line has none.
char state_of(int thread, long& size) {
  char text[128];
  size = read_task_file(thread, "/stat", text, sizeof text);
  for (long i = size; i-- > 1;)
    if (text[i - 1] == ')' && text[i] == ' ') return text[i + 1];
  return 0;
}

// Uses only files that every process may read, for a process that has given up privileges. A parent
// that waits for vfork is in state D, in which other threads are for a moment only.
Activity activity_by_state(int thread) {
  long size = 0;
  const char state = state_of(thread, size);
  if (state == 'R') return Activity::runs;
  if (state == 'D') return Activity::lends;
  return state == 'S' ? Activity::sleeps : Activity::unknown;
}

// The file contains "running", or the number of the system call and its arguments.
Activity activity_of(int thread) {
  char text[256];
  const long size = read_task_file(thread, "/syscall", text, sizeof text);
  if (size == -EACCES || size == -EPERM) return activity_by_state(thread);
  if (size <= 1) return Activity::unknown;
  if (text[0] == 'r') return Activity::runs;
  const char* at = text;
  uint64_t call = 0;
  return read_decimal(at, call) && makes_child(call) ? Activity::lends : Activity::sleeps;
}

// A thread that has ended may stay in the list; the first thread often does.
bool has_ended(int thread) {
  long size = 0;
  const char state = state_of(thread, size);
  if (size <= 0)
    return size == 0 || size == -ENOENT || size == -ESRCH;  // not: no descriptor is free
  return state == 'Z' || state == 'X';
}

// The number of threads in the list, or 0 if it is unknown. Threads that have ended but stay in the
// list count.
uint32_t threads_in_process() {
  const long links = os::links_of("/proc/self/task");
  return links > 2 ? static_cast<uint32_t>(links - 2) : 0;
}

// The time that a thread has for its answer. It is shorter after an answer that did not come,
// because that answer may never come.
constexpr uint64_t most_patience_ns = 20000000;
constexpr uint64_t least_patience_ns = 1000000;
constexpr uint64_t look_again_ns = 2000000;

constinit Thread threads[most_threads];
uint32_t count;
constinit IdIndex<most_threads> places;
// The variables below describe the last epoch in which all threads were listed.
struct Known {
  int id = 0;
  bool asleep = false;
  uint64_t clear_since = 0;
  uint64_t ran_ns = 0;
  uint64_t still_since = 0;
  uint64_t now_ns = 0;  // its CPU time in the current epoch
};
constinit Known known[most_threads + 1];
uint32_t known_count;
constinit IdIndex<most_threads + 1> known_places;
uint64_t listed_epoch;

uint64_t patience_ns = most_patience_ns;
uint32_t rounds;    // how often threads were stopped
uint32_t released;  // changes when the stopped threads may continue

constexpr uint32_t name_at = 19;

struct Entry {  // struct linux_dirent64, followed by the name
  uint64_t inode;
  int64_t next;
  uint16_t size;
  uint8_t type;
};

// If the kernel counts CPU time in ticks or not at all, CPU time can't tell whether a thread has
// run.
bool clock_is_exact(int own) {
  for (int attempt = 0; attempt < 3; ++attempt)
    if (os::thread_cpu_ns(own) < os::thread_cpu_ns(own)) return true;
  return false;
}

// The kernel refuses a signal if the queue is full. The thread is not gone then.
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
  uint32_t first_looks;  // the number that may still be taken
};

bool is_spared(const Thread& thread, Activity activity, const Request& request) {
  if (activity == Activity::lends) return true;
  return activity == Activity::sleeps && thread.asleep_since() <= request.spared_since;
}

// Finds the thread's state. A thread has not run since it was seen asleep if its CPU time is the
// same as then: the kernel updates the time of a running thread when it is asked. (A later thread
// with the same number has another time.) An epoch looks at only some of the threads that are new
// or have not run since they were; it leaves the others alone.
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

// Copies what was known about the thread at the end of the last epoch. A thread that began later,
// or while the list was made, can refer only to layouts that were present before that epoch or are
// newer.
void recall(Thread& thread, const Known* before, uint64_t epoch) {
  const bool still = before != nullptr && thread.ran_ns != 0 && before->ran_ns == thread.ran_ns;
  if (before != nullptr)
    thread.clear_since = before->clear_since;
  else
    thread.clear_since = listed_epoch == 0 ? 0 : listed_epoch - 1;
  thread.still_since = still ? before->still_since : epoch;
  thread.asleep = still && before->asleep;
}

// `ran_ns` was read before, and the state of the thread is read after it.
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

// Whether the threads of the last epoch are all threads: their number is the number of threads when
// this epoch began, and each of them existed in the last epoch (a younger thread with the same
// number would have less CPU time).
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

// Adds new threads only. `found` counts the threads in the list, which must contain the calling
// thread.
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

// Whether all threads are listed, to judge by how many there are. A thread that was made while
// another thread ended can be missed. The thread that ended was not stopped, so the layouts it may
// refer to are kept, and the younger thread can refer to no others.
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

// The first write to a page costs a child of fork a page fault.
void forget_threads() {
  if (known_count == 0 && listed_epoch == 0) return;
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
  // A thread that was asked but has not answered will find that it is too late.
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
