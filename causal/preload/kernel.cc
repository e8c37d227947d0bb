// SPDX-License-Identifier: MIT
#include "causal/preload/kernel.h"

#include <asm/unistd.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/perf_event.h>

#include "runtime/base/memory.h"
#include "runtime/base/os.h"
#include "runtime/base/system_call.h"

namespace stab::causal::kernel {
namespace {

using os::address_of;
using os::call;
using os::failed;

struct Time {
  int64_t seconds;
  int64_t nanoseconds;
};

Time time_of(uint64_t ns) {
  constexpr uint64_t second = 1000000000;
  return {static_cast<int64_t>(ns / second), static_cast<int64_t>(ns % second)};
}

long open_clock(uint64_t period_ns, bool is_of_user_mode_only) {
  perf_event_attr attributes;
  rt::fill_bytes(&attributes, 0, sizeof attributes);
  attributes.size = sizeof attributes;
  attributes.type = PERF_TYPE_SOFTWARE;
  attributes.config = PERF_COUNT_SW_TASK_CLOCK;
  attributes.sample_period = period_ns;
  attributes.wakeup_events = 1;
  attributes.disabled = 1;
  attributes.exclude_hv = 1;
  attributes.exclude_kernel = is_of_user_mode_only ? 1 : 0;
  constexpr long this_thread = 0;
  constexpr long any_cpu = -1;
  constexpr long no_group = -1;
  return call(__NR_perf_event_open, address_of(&attributes), this_thread, any_cpu, no_group,
              PERF_FLAG_FD_CLOEXEC);
}

bool send_signals(long fd, int signal) {
  constexpr long set_signal = 10;
  constexpr long set_owner = 15;
  const struct {
    int kind;
    int id;
  } owner = {0, os::thread_id()};
  return !failed(call(__NR_fcntl, fd, set_owner, address_of(&owner))) &&
         !failed(call(__NR_fcntl, fd, set_signal, signal)) &&
         !failed(call(__NR_fcntl, fd, F_SETFL, O_ASYNC | O_NONBLOCK));
}

// Reads a file of the kernel byte by byte.
class Text {
 public:
  explicit Text(const char* path) : fd_(os::open_read(path)) {}
  ~Text() {
    if (!failed(fd_)) os::close_file(static_cast<int>(fd_));
  }
  Text(const Text&) = delete;
  Text& operator=(const Text&) = delete;

  // Returns -1 at the end.
  int next() {
    if (at_ < count_) return buffer_[at_++];
    const long count =
        failed(fd_) ? 0 : os::read_some(static_cast<int>(fd_), buffer_, sizeof buffer_);
    if (failed(count) || count == 0) return -1;
    count_ = static_cast<uint32_t>(count);
    at_ = 1;
    return buffer_[0];
  }

 private:
  long fd_;
  uint32_t at_ = 0;
  uint32_t count_ = 0;
  uint8_t buffer_[512];
};

// Reads a hexadecimal number and the character behind it.
uint64_t read_number(Text& text, int& behind) {
  uint64_t value = 0;
  for (behind = text.next();; behind = text.next()) {
    if (behind >= '0' && behind <= '9') {
      value = value * 16 + static_cast<uint64_t>(behind - '0');
    } else if (behind >= 'a' && behind <= 'f') {
      value = value * 16 + static_cast<uint64_t>(behind - 'a' + 10);
    } else {
      return value;
    }
  }
}

}  // namespace

bool name_of_mapping(uint64_t address, char* path, uint32_t room) {
  Text maps("/proc/thread-self/maps");
  int next = 0;
  while (next != -1) {
    const uint64_t start = read_number(maps, next);
    const uint64_t end = read_number(maps, next);
    while (next != '/' && next != '\n' && next != -1) next = maps.next();
    if (address < start || address >= end) {
      while (next != '\n' && next != -1) next = maps.next();
      continue;
    }
    uint32_t length = 0;
    for (; next != '\n' && next != -1; next = maps.next()) {
      if (length + 1 >= room) return false;
      path[length++] = static_cast<char>(next);
    }
    path[length] = '\0';
    return length != 0;
  }
  return false;
}

bool identify(const char* path, uint64_t& device, uint64_t& inode) {
  struct {
    uint64_t device;
    uint64_t inode;
    char rest[128];
  } status;
  if (failed(call(__NR_stat, address_of(path), address_of(&status)))) return false;
  device = status.device;
  inode = status.inode;
  return true;
}

void sleep_until(uint64_t monotonic_ns) {
  constexpr long absolute = 1;
  const Time end = time_of(monotonic_ns);
  constexpr long interrupted = -4;
  while (call(__NR_clock_nanosleep, os::monotonic_clock, absolute, address_of(&end)) ==
         interrupted) {
  }
}

void wait_until(uint64_t monotonic_ns, const uint32_t& flag) {
  const Time end = time_of(monotonic_ns);
  call(__NR_futex, address_of(&flag), FUTEX_WAIT_BITSET_PRIVATE, 0, address_of(&end), 0,
       FUTEX_BITSET_MATCH_ANY);
}

void wake(const uint32_t& flag) {
  call(__NR_futex, address_of(&flag), FUTEX_WAKE_PRIVATE, INT32_MAX);
}

// The mapping keeps the event alive without its descriptor, which a program might close, count or
// pass on. A child of fork does not get the mapping.
void* start_clock(uint64_t period_ns, int signal, bool is_of_user_mode_only) {
  constexpr long shared = 1;
  const long fd = open_clock(period_ns, is_of_user_mode_only);
  if (failed(fd)) return nullptr;
  long page = -1;
  if (send_signals(fd, signal))
    page = call(__NR_mmap, 0, static_cast<long>(os::page_size), os::read, shared, fd, 0);
  const bool runs = !failed(page) && !failed(call(__NR_ioctl, fd, PERF_EVENT_IOC_ENABLE, 0));
  call(__NR_close, fd);
  if (!runs && !failed(page)) os::unmap(static_cast<uint64_t>(page), os::page_size);
  return runs ? reinterpret_cast<void*>(page) : nullptr;
}

void stop_clock(void* page) {
  os::unmap(rt::address_of(page), os::page_size);
}

void drop_pending(int signal) {
  const uint64_t set = uint64_t{1} << (signal - 1);
  const int64_t no_time[2] = {0, 0};
  while (call(__NR_rt_sigtimedwait, address_of(&set), 0, address_of(no_time), sizeof set) ==
         signal) {
  }
}

}  // namespace stab::causal::kernel
