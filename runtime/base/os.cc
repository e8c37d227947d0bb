// SPDX-License-Identifier: MIT
#include "runtime/base/os.h"

#include <asm/unistd.h>
#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/resource.h>

#include "runtime/base/system_call.h"

namespace stab::os {
namespace {

constexpr long map_private = 0x02;
constexpr long map_anonymous = 0x20;
constexpr long map_noreserve = 0x4000;
constexpr long map_fixed_noreplace = 0x100000;
constexpr long error_interrupted = -4;
constexpr long error_not_permitted = -1;

}  // namespace

long map(uint64_t address, uint64_t size, int protection) {
  const long flags =
      map_private | map_anonymous | map_noreserve | (address != 0 ? map_fixed_noreplace : 0);
  const long result = call(__NR_mmap, static_cast<long>(address), static_cast<long>(size),
                           protection, flags, -1, 0);
  // Kernels before 4.17 treat the address only as a hint.
  if (!failed(result) && address != 0 && static_cast<uint64_t>(result) != address) {
    unmap(static_cast<uint64_t>(result), size);
    return error_exists;
  }
  return result;
}

long map_shared(const char* path, uint64_t& size) {
  constexpr long map_together = 0x01;
  const long fd = call(__NR_open, address_of(path), O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  if (failed(fd)) return fd;
  const long end = call(__NR_lseek, fd, 0, 2);
  long memory = end;
  if (end > 0) {
    size = static_cast<uint64_t>(end);
    memory = call(__NR_mmap, 0, end, read | write, map_together, fd, 0);
  }
  call(__NR_close, fd);
  return end == 0 ? error_no_memory : memory;
}

long unmap(uint64_t address, uint64_t size) {
  return call(__NR_munmap, static_cast<long>(address), static_cast<long>(size));
}

long protect(uint64_t address, uint64_t size, int protection) {
  return call(__NR_mprotect, static_cast<long>(address), static_cast<long>(size), protection);
}

long discard(uint64_t address, uint64_t size) {
  constexpr long not_needed = 4;
  return call(__NR_madvise, static_cast<long>(address), static_cast<long>(size), not_needed);
}

long move_pages(uint64_t from, uint64_t size, uint64_t to) {
  constexpr long may_move_to_fixed_and_keep = 1 | 2 | 4;
  const long bytes = static_cast<long>(size);
  return call(__NR_mremap, static_cast<long>(from), bytes, bytes, may_move_to_fixed_and_keep,
              static_cast<long>(to));
}

long put_pages(uint64_t from, uint64_t size, uint64_t to) {
  constexpr long may_move_to_fixed = 1 | 2;
  const long bytes = static_cast<long>(size);
  return call(__NR_mremap, static_cast<long>(from), bytes, bytes, may_move_to_fixed,
              static_cast<long>(to));
}

void populate(uint64_t address, uint64_t size) {
  constexpr long populate_write = 23;
  call(__NR_madvise, static_cast<long>(address), static_cast<long>(size), populate_write);
}

// The kernel reads the action before it sees that signal 0 does not exist. Page 0 can't be tested:
// a null pointer means "no action".
bool readable(uint64_t address) {
  constexpr long error_invalid = -22;
  const uint64_t page = address & -page_size;
  return page != 0 && call(__NR_rt_sigaction, 0, static_cast<long>(page), 0, 8) == error_invalid;
}

namespace {
bool get_limit(long which, rlimit64& limit) {
  return !failed(call(__NR_prlimit64, 0, which, 0, address_of(&limit)));
}

bool set_limit(long which, const rlimit64& limit) {
  return !failed(call(__NR_prlimit64, 0, which, address_of(&limit), 0));
}

// Returns the end of the first thread's stack, 8 bytes after the executed file's name. 0: unknown.
uint64_t end_of_stack() {
  const char* last = reinterpret_cast<const char*>(getauxval(AT_EXECFN));
  if (last == nullptr) return 0;
  while (*last != '\0') ++last;
  return (reinterpret_cast<uint64_t>(last) + 9 + page_size - 1) & -page_size;
}

// Extends the stack by `bytes`, or up to `limit`, the limit at this moment. Reading the lowest page
// makes the kernel extend the stack. Large pages would take more memory than a growing stack does,
// so they are turned off, for the whole stack: with two kinds of pages it would be two mappings.
bool extend_stack(uint64_t bytes, uint64_t limit) {
  constexpr long no_large_pages = 15;
  const uint64_t end = end_of_stack();
  const uint64_t least = end > limit ? end - limit + page_size - 1 : 0;
  const uint64_t wanted = reinterpret_cast<uint64_t>(__builtin_frame_address(0)) - bytes;
  const uint64_t lowest = (wanted > least ? wanted : least) & -page_size;
  if (!readable(lowest)) return false;
  if (end == 0) return true;
  call(__NR_madvise, static_cast<long>(lowest), static_cast<long>(end - lowest), no_large_pages);
  return true;
}
}  // namespace

uint64_t allow_stack(uint64_t size) {
  constexpr uint64_t above = uint64_t{1} << 20;  // arguments and existing frames
  constexpr uint64_t most_above = uint64_t{8} << 20;
  rlimit64 limit = {};
  if (!get_limit(RLIMIT_STACK, limit)) return 0;
  const uint64_t hard = limit.rlim_max;
  const uint64_t possible = hard < size ? hard : size;
  if (limit.rlim_cur >= possible) return possible;
  const uint64_t most = hard < size + most_above ? hard : size + most_above;
  if (!address_space_is_limited() && set_limit(RLIMIT_STACK, {most, hard}) &&
      extend_stack(size - above, most)) {
    set_limit(RLIMIT_STACK, limit);
    return possible;
  }
  return set_limit(RLIMIT_STACK, {possible, hard}) ? possible : limit.rlim_cur;
}

bool address_space_is_limited() {
  rlimit64 limit = {};
  return !get_limit(RLIMIT_AS, limit) || limit.rlim_cur != RLIM64_INFINITY;
}

uint64_t most_pending_signals() {
  rlimit64 limit = {};
  return get_limit(RLIMIT_SIGPENDING, limit) ? limit.rlim_cur : 0;
}

bool copy_own_memory(void* to, size_t size, const Piece* pieces, size_t count) {
  const Piece all = {to, size};
  return call(__NR_process_vm_readv, process_id(), address_of(&all), 1, address_of(pieces),
              static_cast<long>(count), 0) == static_cast<long>(size);
}

namespace {
constexpr long to_append = O_WRONLY | O_APPEND | O_CLOEXEC;

struct Status {  // struct stat
  uint64_t device;
  uint64_t inode;
  uint64_t links;
  uint32_t mode;
  uint32_t user;
  char rest[112];
};
}  // namespace

long open_append(const char* path) {
  return call(__NR_open, address_of(path), to_append | O_NOFOLLOW);
}

long open_new(const char* path) {
  return call(__NR_open, address_of(path), to_append | O_CREAT | O_EXCL, 0666);
}

long open_append_linked(const char* path) {
  Status status = {};
  const long result = call(__NR_lstat, address_of(path), address_of(&status));
  if (failed(result)) return result;
  if (status.user != 0 && status.user != static_cast<uint32_t>(call(__NR_geteuid)))
    return error_not_permitted;
  return call(__NR_open, address_of(path), to_append);
}

long remove_file(const char* path) {
  return call(__NR_unlink, address_of(path));
}

long open_read(const char* path) {
  return call(__NR_open, address_of(path), 02000000, 0);
}

long read_some(int fd, void* buffer, size_t size) {
  return call(__NR_read, fd, address_of(buffer), static_cast<long>(size));
}

long read_at(int fd, void* buffer, size_t size, uint64_t offset) {
  return call(__NR_pread64, fd, address_of(buffer), static_cast<long>(size),
              static_cast<long>(offset));
}

long write_some(int fd, const void* buffer, size_t size) {
  return call(__NR_write, fd, address_of(buffer), static_cast<long>(size));
}

namespace {
constexpr long error_broken_pipe = -32;

// Returns the last result of the kernel, which is positive unless something was not written.
long write_until_done(int fd, const void* buffer, size_t size) {
  const char* next = static_cast<const char*>(buffer);
  long n = 1;
  while (size != 0) {
    n = write_some(fd, next, size);
    if (n == error_interrupted) continue;
    if (n <= 0) return n;
    next += n;
    size -= static_cast<size_t>(n);
  }
  return n;
}

// Removes one of these signals if it is pending. The calling thread blocks them.
void take_pending(uint64_t signals) {
  const int64_t no_time[2] = {0, 0};  // struct timespec
  call(__NR_rt_sigtimedwait, address_of(&signals), 0, address_of(no_time), sizeof signals);
}
}  // namespace

bool write_all(int fd, const void* buffer, size_t size) {
  return write_until_done(fd, buffer, size) > 0;
}

// The kernel sends SIGPIPE to the thread that writes. A SIGPIPE that was pending before is the
// program's own.
bool write_all_without_signal(int fd, const void* buffer, size_t size) {
  constexpr uint64_t broken_pipe = uint64_t{1} << (13 - 1);  // SIGPIPE
  const uint64_t mask = block_signals(broken_pipe);
  const bool was_pending = (pending_signals() & broken_pipe) != 0;
  const long result = write_until_done(fd, buffer, size);
  if (result == error_broken_pipe && !was_pending) take_pending(broken_pipe);
  set_signal_mask(mask);
  return result > 0;
}

void close_file(int fd) {
  call(__NR_close, fd);
}

bool identify(int fd, FileIdentity& identity) {
  constexpr uint32_t type_mask = 0170000;
  constexpr uint32_t pipe = 0010000;
  constexpr uint32_t socket = 0140000;
  Status status = {};
  if (failed(call(__NR_fstat, fd, address_of(&status)))) return false;
  const uint32_t type = status.mode & type_mask;
  identity = {status.device, status.inode, type == pipe || type == socket};
  return true;
}

long current_directory(char* buffer, size_t size) {
  return call(__NR_getcwd, address_of(buffer), static_cast<long>(size));
}

long random_bytes(void* buffer, size_t size) {
  return call(__NR_getrandom, address_of(buffer), static_cast<long>(size), 0);
}

namespace {
struct Time {
  int64_t seconds;
  int64_t nanoseconds;
};

Time time_of(uint64_t ns) {
  return {static_cast<int64_t>(ns / 1000000000), static_cast<int64_t>(ns % 1000000000)};
}
}  // namespace

uint64_t clock_ns(int clock) {
  Time now = {0, 0};
  call(__NR_clock_gettime, clock, address_of(&now));
  return static_cast<uint64_t>(now.seconds) * 1000000000u + static_cast<uint64_t>(now.nanoseconds);
}

namespace {
int cpu_clock_of(int thread) {
  return static_cast<int>(~static_cast<unsigned>(thread) << 3 | 6);
}
}  // namespace

uint64_t thread_cpu_ns(int thread) {
  return clock_ns(cpu_clock_of(thread));
}

namespace {
struct Event {  // struct sigevent
  const void* value;
  int signal;
  int notify;
  int thread;
  char rest[44];
};
long make_timer(int clock, const Event& event) {
  int timer = 0;
  const long result = call(__NR_timer_create, clock, address_of(&event), address_of(&timer));
  return failed(result) ? result : timer;
}
}  // namespace

long make_timer(int clock, int signal, const void* value) {
  constexpr int to_process = 0;
  return make_timer(clock, {value, signal, to_process, 0, {}});
}

long make_thread_timer(int thread, int signal, const void* value) {
  constexpr int to_thread = 4;
  return make_timer(cpu_clock_of(thread), {value, signal, to_thread, thread, {}});
}

long set_timer(int timer, uint64_t first_at, uint64_t then_every) {
  constexpr long absolute = 1;
  const Time times[2] = {time_of(then_every), time_of(first_at)};
  return call(__NR_timer_settime, timer, absolute, address_of(times), 0);
}

long set_timer_in(int timer, uint64_t ns) {
  const Time times[2] = {time_of(0), time_of(ns)};
  return call(__NR_timer_settime, timer, 0, address_of(times), 0);
}

void delete_timer(int timer) {
  call(__NR_timer_delete, timer);
}

namespace {
const char* believed_release;
}  // namespace

void believe_in_kernel(const char* release) {
  believed_release = release;
}

bool kernel_is_at_least(unsigned major, unsigned minor) {
  char names[6][65];  // struct utsname; the third string is the release
  if (failed(call(__NR_uname, address_of(names)))) return false;
  const char* at = believed_release != nullptr ? believed_release : names[2];
  const auto read = [&at] {
    unsigned value = 0;
    for (; *at >= '0' && *at <= '9'; ++at) value = value * 10 + static_cast<unsigned>(*at - '0');
    if (*at == '.') ++at;
    return value;
  };
  const unsigned first = read();
  return first > major || (first == major && read() >= minor);
}

int process_id() {
  return static_cast<int>(call(__NR_getpid));
}
int thread_id() {
  return static_cast<int>(call(__NR_gettid));
}

long signal_action(int number, const SignalAction* action, SignalAction* old) {
  return call(__NR_rt_sigaction, number, address_of(action), address_of(old), 8);
}

long queue_to_self(int number, void* siginfo) {
  return call(__NR_rt_tgsigqueueinfo, process_id(), thread_id(), number, address_of(siginfo));
}

long queue_to_thread(int thread, int number, const void* value) {
  struct {
    int signal;
    int error;
    int code;
    int unused;
    int sender;
    uint32_t user;
    const void* value;
    char rest[96];
    // Sent as a timer's signal, because a timer's signals don't survive exec, where they would end
    // the new program.
  } info = {number, 0, -2, 0, process_id(), 0, value, {}};
  return call(__NR_rt_tgsigqueueinfo, info.sender, thread, number, address_of(&info));
}

uint64_t pending_signals() {
  uint64_t pending = 0;
  call(__NR_rt_sigpending, address_of(&pending), sizeof pending);
  return pending;
}

void set_signal_mask(uint64_t mask) {
  exchange_signal_mask(mask);
}

namespace {
uint64_t change_signal_mask(long how, uint64_t signals) {
  uint64_t before = 0;
  call(__NR_rt_sigprocmask, how, address_of(&signals), address_of(&before), sizeof signals);
  return before;
}
}  // namespace

uint64_t exchange_signal_mask(uint64_t mask) {
  constexpr long replace = 2;
  return change_signal_mask(replace, mask);
}

uint64_t block_signals(uint64_t signals) {
  constexpr long block = 0;
  return change_signal_mask(block, signals);
}

void wait_for_change(const uint32_t* word, uint32_t value, uint64_t timeout_ns) {
  constexpr long wait_private = 128;
  const Time time = time_of(timeout_ns);
  call(__NR_futex, address_of(word), wait_private, value, address_of(&time));
}

void wake_all(const uint32_t* word) {
  constexpr long wake_private = 129;
  call(__NR_futex, address_of(word), wake_private, INT32_MAX);
}

void yield() {
  call(__NR_sched_yield);
}

long links_of(const char* path) {
  Status status = {};
  const long result = call(__NR_stat, address_of(path), address_of(&status));
  return failed(result) ? result : static_cast<long>(status.links);
}

long open_directory(const char* path) {
  return call(__NR_open, address_of(path), 0200000 | 02000000, 0);
}

long read_directory(int fd, void* buffer, size_t size) {
  return call(__NR_getdents64, fd, address_of(buffer), static_cast<long>(size));
}

void exit_process(int status) {
  for (;;) call(__NR_exit_group, status);
}

}  // namespace stab::os
