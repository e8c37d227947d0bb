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
uint64_t patience_ns = most_patience_ns;
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

// A small file of /proc, ended by a zero. -1: it can't be read.
long read_task_file(int thread, const char* file, char* buffer, size_t size) {
  Line path;
  const long fd = os::open_read(task_path(path, thread, file));
  if (os::failed(fd)) return -1;
  const long got = os::read_some(static_cast<int>(fd), buffer, size - 1);
  os::close_file(static_cast<int>(fd));
  if (os::failed(got)) return -1;
  buffer[got] = '\0';
  return got;
}

bool read_decimal(const char*& at, uint64_t& value) {
  while (*at == ' ') ++at;
  const char* begin = at;
  for (value = 0; *at >= '0' && *at <= '9'; ++at)
    value = value * 10 + static_cast<uint64_t>(*at - '0');
  return at != begin;
}

// "cpu_ns wait_ns times"
bool read_times_run(int thread, uint64_t& times) {
  char text[96];
  if (read_task_file(thread, "/schedstat", text, sizeof text) <= 0) return false;
  const char* at = text;
  return read_decimal(at, times) && read_decimal(at, times) && read_decimal(at, times);
}

bool read_hex_backwards(const char* begin, const char*& end, uint64_t& value) {
  value = 0;
  unsigned shift = 0;
  for (; end != begin && end[-1] != 'x'; --end, shift += 4) {
    const char c = end[-1];
    const uint64_t digit =
        c >= 'a' ? static_cast<uint64_t>(c - 'a' + 10) : static_cast<uint64_t>(c - '0');
    if (digit > 15 || shift > 60) return false;
    value |= digit << shift;
  }
  if (end - begin < 3) return false;
  end -= 3;  // " 0x"
  return shift != 0;
}

// A thread that sleeps in vfork, or in clone as posix_spawn uses it.
bool starts_child(const char* text) {
  const char* at = text;
  uint64_t call = 0;
  return read_decimal(at, call) &&
         (call == __NR_vfork || call == __NR_clone || call == __NR_clone3);
}

// "running", or "number arguments... sp pc" where it sleeps.
bool read_sleep(Thread& thread) {
  char text[256];
  if (!read_times_run(thread.id, thread.times_run)) return false;
  const long size = read_task_file(thread.id, "/syscall", text, sizeof text);
  if (size <= 1 || text[0] == 'r') return false;
  // Outside of a system call (a page that is not there, say) any register may matter.
  thread.uncertain = starts_child(text) || text[0] == '-';
  const char* end = text + size - 1;
  return read_hex_backwards(text, end, thread.pc) &&
         read_hex_backwards(text, end, thread.stack_pointer) && thread.stack_pointer != 0;
}

// "id (name) state ...": a thread that has ended may stay in the list, the first one above all.
bool has_ended(int thread) {
  char text[128];
  const long size = read_task_file(thread, "/stat", text, sizeof text);
  for (long i = size; i-- > 1;)
    if (text[i - 1] == ')' && text[i] == ' ') return text[i + 1] == 'Z' || text[i + 1] == 'X';
  return false;
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

const char* add(int id, int signal, const void* value) {
  if (count == most_threads) return "too many threads";
  Thread& thread = threads[count];
  thread = {};
  thread.id = id;
  const bool sleeps = read_sleep(thread);
  if (sleeps) thread.state_word = static_cast<uint32_t>(ThreadState::asleep);
  __atomic_store_n(&count, count + 1, __ATOMIC_RELEASE);
  if (sleeps) return nullptr;
  if (has_ended(id))
    thread.change_state(ThreadState::asked, ThreadState::gone);
  else
    ask(thread, signal, value);
  return nullptr;
}

// New ones only. `found` counts them; `own` must be among those that exist.
const char* list_threads(int signal, const void* value, int own, uint32_t& found) {
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
      if (problem == nullptr) problem = add(static_cast<int>(id), signal, value);
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
  while (thread.state() == ThreadState::asked) {
    os::wait_for_change(&thread.state_word, static_cast<uint32_t>(ThreadState::asked),
                        look_again_ns);
    if (thread.state() != ThreadState::asked) return;
    if (!exists(thread)) {
      thread.change_state(ThreadState::asked, ThreadState::gone);
    } else if (os::monotonic_ns() > deadline) {
      thread.change_state(ThreadState::asked, ThreadState::unreachable);
    }
  }
}

}  // namespace

namespace {
void learn_patience() {
  bool missed = false;
  for (uint32_t i = 0; i < count; ++i) missed |= threads[i].state() == ThreadState::unreachable;
  patience_ns = missed ? patience_ns / 2 : patience_ns * 2;
  if (patience_ns < least_patience_ns) patience_ns = least_patience_ns;
  if (patience_ns > most_patience_ns) patience_ns = most_patience_ns;
}
}  // namespace

const char* stop_others(int signal, const void* stop_value) {
  __atomic_store_n(&count, 0, __ATOMIC_RELEASE);
  const int own = os::thread_id();
  const uint64_t deadline = os::monotonic_ns() + patience_ns;
  for (;;) {
    uint32_t found = 0;
    if (const char* problem = list_threads(signal, stop_value, own, found)) {
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

bool still_asleep(const Thread& thread) {
  Thread now;
  now.id = thread.id;
  return read_sleep(now) && now.times_run == thread.times_run;
}

void stop_here(ucontext_t* context) {
  const uint32_t seen = __atomic_load_n(&released, __ATOMIC_ACQUIRE);
  const int own = os::thread_id();
  const uint32_t known = __atomic_load_n(&count, __ATOMIC_ACQUIRE);
  for (uint32_t i = 0; i < known; ++i) {
    Thread& thread = threads[i];
    if (thread.id != own) continue;
    thread.context = context;
    if (!thread.change_state(ThreadState::asked, ThreadState::stopped)) return;
    os::wake_all(&thread.state_word);
    while (__atomic_load_n(&released, __ATOMIC_ACQUIRE) == seen)
      os::wait_for_change(&released, seen, most_patience_ns);
    return;
  }
}

}  // namespace stab::rt
