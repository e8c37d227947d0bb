// SPDX-License-Identifier: MIT
#include "runtime/threads.h"

#include <asm/unistd.h>
#include <errno.h>

#include "runtime/line.h"
#include "runtime/memory.h"
#include "runtime/os.h"

namespace stab::rt {
namespace {

// How long a thread has for its answer: less after one that did not come, for it may never come.
constexpr uint64_t most_patience_ns = 20000000;
constexpr uint64_t least_patience_ns = 1000000;
constexpr uint64_t look_again_ns = 2000000;

constinit Thread threads[most_threads];
uint32_t count;
// Of the last epoch in which all threads were listed.
struct Known {
  int id = 0;
  uint64_t clear_since = 0;
  uint64_t asleep_since = never;
  uint64_t ran_ns = 0;
};
constinit Known known[most_threads + 1];
uint32_t known_count;
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

const char* task_path(Line& line, int thread, const char* file) {
  line.text("/proc/self/task/").number(static_cast<uint64_t>(thread)).text(file);
  return line.c_string();
}

// A small file of /proc, ended by a zero. Its size, or a failure.
long read_task_file(int thread, const char* file, char* buffer, size_t size) {
  Line path;
  const long fd = os::open_read(task_path(path, thread, file));
  if (os::failed(fd)) return fd;
  const long got = os::read_some(static_cast<int>(fd), buffer, size - 1);
  os::close_file(static_cast<int>(fd));
  if (!os::failed(got)) buffer[got] = '\0';
  return got;
}

bool read_decimal(const char*& at, uint64_t& value) {
  while (*at == ' ') ++at;
  const char* begin = at;
  for (value = 0; *at >= '0' && *at <= '9'; ++at)
    value = value * 10 + static_cast<uint64_t>(*at - '0');
  return at != begin;
}

enum class Activity : uint8_t {
  runs,
  sleeps,
  dozes,  // is about to sleep, perhaps: it may run on, and its run time is not up to date
  lends,  // sleeps while a child runs in its memory, perhaps (vfork, posix_spawn)
  unknown
};

bool makes_child(uint64_t call) {
  return call == __NR_vfork || call == __NR_clone || call == __NR_clone3;
}

// "id (name) state ...". 0: there is none.
char state_of(int thread, long& size) {
  char text[128];
  size = read_task_file(thread, "/stat", text, sizeof text);
  for (long i = size; i-- > 1;)
    if (text[i - 1] == ')' && text[i] == ' ') return text[i + 1];
  return 0;
}

// By what every process may read, for one that has given up privileges. The kernel names where a
// thread waits as soon as it is off the processor, and says "0" before. A parent that waits for
// vfork can only be killed: it is in state D, as others are for a moment.
Activity activity_by_state(int thread) {
  char place[8];
  long size = 0;
  const char state = state_of(thread, size);
  if (state == 'R') return Activity::runs;
  if (state == 'D') return Activity::lends;
  if (state != 'S') return Activity::unknown;
  return read_task_file(thread, "/wchan", place, sizeof place) > 1 ? Activity::sleeps
                                                                   : Activity::dozes;
}

// "running", or the number of the call and its arguments.
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

// "ns of running, ns of waiting, times": all 0 where the kernel does not count.
uint64_t run_time_of(int thread) {
  char text[128];
  const char* at = text;
  uint64_t ns = 0;
  return read_task_file(thread, "/schedstat", text, sizeof text) > 0 && read_decimal(at, ns) ? ns
                                                                                             : 0;
}

// A thread that has ended may stay in the list, the first one above all.
bool has_ended(int thread) {
  long size = 0;
  const char state = state_of(thread, size);
  if (size <= 0)
    return size == 0 || size == -ENOENT || size == -ESRCH;  // not: no descriptor is free
  return state == 'Z' || state == 'X';
}

bool is_known(int id) {
  for (uint32_t i = 0; i < count; ++i)
    if (threads[i].id == id) return true;
  return false;
}

// The kernel may refuse for want of room in the queue: that thread is not gone.
void ask(Thread& thread, int signal, const void* value) {
  const long result = os::queue_to_thread(thread.id, signal, value);
  if (os::failed(result))
    thread.change_state(ThreadState::asked,
                        result == -ESRCH ? ThreadState::gone : ThreadState::unreachable);
}

// What was known of it at the end of the last epoch. A thread that was not there then, or was made
// while the list was, has met nothing older than what was present before that epoch.
Known known_of(int id) {
  for (uint32_t i = 0; i < known_count; ++i)
    if (known[i].id == id) return known[i];
  return {id, listed_epoch == 0 ? 0 : listed_epoch - 1};
}

struct Request {
  int signal;
  const void* value;
  uint64_t epoch;
  Sleepers spared;
};

uint64_t asleep_since(const Thread& thread, Activity activity, const Known& before,
                      uint64_t epoch) {
  if (activity != Activity::sleeps || thread.ran_ns == 0) return never;
  return before.asleep_since != never && before.ran_ns == thread.ran_ns ? before.asleep_since
                                                                        : epoch;
}

bool is_spared(const Thread& thread, Activity activity, const Request& request) {
  if (activity == Activity::lends) return true;
  return (activity == Activity::sleeps || activity == Activity::dozes) &&
         (request.spared == Sleepers::all || thread.asleep_since < request.epoch);
}

const char* add(int id, const Request& request) {
  if (count == most_threads) return "too many threads";
  Thread& thread = threads[count];
  __atomic_store_n(&thread.id, 0, __ATOMIC_RELEASE);
  const uint32_t fresh = rounds * (Thread::state_mask + 1);
  __atomic_store_n(&thread.state_word, fresh, __ATOMIC_RELEASE);
  __atomic_store_n(&thread.id, id, __ATOMIC_RELEASE);
  const Known& before = known_of(id);
  thread.clear_since = before.clear_since;
  thread.seen = false;
  thread.ran_ns = run_time_of(id);  // before it is seen asleep
  const Activity activity = activity_of(id);
  thread.asleep_since = asleep_since(thread, activity, before, request.epoch);
  // The signal would wake it if it sleeps.
  if (activity == Activity::unknown && !has_ended(id)) return "what threads do cannot be read";
  if (is_spared(thread, activity, request))
    thread.change_state(ThreadState::asked, ThreadState::asleep);
  else if (activity == Activity::unknown || has_ended(id))
    thread.change_state(ThreadState::asked, ThreadState::gone);
  __atomic_store_n(&count, count + 1, __ATOMIC_RELEASE);
  if (thread.state() == ThreadState::asked) ask(thread, request.signal, request.value);
  return nullptr;
}

// New ones only. `found` counts them; `own` must be among those that exist.
const char* list_threads(const Request& request, int own, uint32_t& found) {
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
      uint64_t id = 0;
      if (!read_decimal(name, id)) continue;
      own_seen |= static_cast<int>(id) == own;
      if (static_cast<int>(id) == own || is_known(static_cast<int>(id))) continue;
      ++found;
      if (problem == nullptr) problem = add(static_cast<int>(id), request);
    }
  }
  os::close_file(static_cast<int>(fd));
  if (problem == nullptr && !own_seen) return "/proc belongs to another process namespace";
  return problem;
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
  listed_epoch = 0;
}

void remember_threads(uint64_t epoch, uint64_t own_clear_since) {
  known[0] = {os::thread_id(), own_clear_since};
  known_count = 1;
  for (uint32_t i = 0; i < count; ++i)
    if (threads[i].state() != ThreadState::gone)
      known[known_count++] = {threads[i].id, threads[i].clear_since, threads[i].asleep_since,
                              threads[i].ran_ns};
  listed_epoch = epoch;
}

const char* stop_others(int signal, const void* stop_value, uint64_t epoch, Sleepers spared) {
  const Request request = {signal, stop_value, epoch, spared};
  ++rounds;
  __atomic_store_n(&count, 0, __ATOMIC_RELEASE);
  const int own = os::thread_id();
  const uint64_t deadline = os::monotonic_ns() + patience_ns;
  for (;;) {
    uint32_t found = 0;
    if (const char* problem = list_threads(request, own, found)) {
      resume_others();
      return problem;
    }
    if (found == 0) break;
    for (uint32_t i = 0; i < count; ++i) wait_for(threads[i], deadline);
  }
  learn_patience();
  return nullptr;
}

void resume_others() {
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

void stop_here(ucontext_t* context) {
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
