// SPDX-License-Identifier: MIT
// The only door to the operating system: system calls without libc. The results are the kernel's: a
// negative error number on failure. All functions are safe in a signal handler.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace stab::os {

constexpr uint64_t page_size = 4096;

enum Protection : int { none = 0, read = 1, write = 2, execute = 4 };

inline bool failed(long result) {
  return result < 0 && result > -4096;
}

// Maps private, zeroed memory, reserved without commitment; at exactly `address` if it is not 0,
// else anywhere.
long map(uint64_t address, uint64_t size, int protection);
// Maps a whole existing file for reading and writing, shared with all its other users, and sets
// `size` to the file's size.
long map_shared(const char* path, uint64_t& size);
long unmap(uint64_t address, uint64_t size);
// `address` and `size` must be multiples of the page size.
long protect(uint64_t address, uint64_t size, int protection);

// Gives the pages back. They are zero when they are used again.
long discard(uint64_t address, uint64_t size);
// Moves the content of these pages over other pages of ours, and leaves zero pages behind. Fails
// before Linux 5.7.
long move_pages(uint64_t from, uint64_t size, uint64_t to);
// Moves pages over other pages of ours. No thread sees those missing: a thread that needs one waits
// in the kernel.
long put_pages(uint64_t from, uint64_t size, uint64_t to);
constexpr long error_exists = -17;
constexpr long error_no_memory = -12;

// Brings in pages that are about to be written, in one call instead of one fault each. May do
// nothing (before Linux 5.14).
void populate(uint64_t address, uint64_t size);
// Returns whether the page can be read. Guard pages and pages beyond the end of a truncated file
// can't be.
bool readable(uint64_t address);
// Copies from memory of this process that may be unmapped at any moment. Returns false if a part of
// it could not be read.
struct Piece {  // struct iovec
  void* start;
  size_t size;
};
bool copy_own_memory(void* to, size_t size, const Piece* pieces, size_t count);

// Lets the first thread's stack, on which this is called, grow to `size` bytes, or as far as it can
// if that is not allowed. Returns the size to which it can grow, at most `size`; 0: unknown.
// Afterwards the limit is as before, because children inherit it. But if the address space is
// limited, too, or there is no room, the limit stays raised.
uint64_t allow_stack(uint64_t size);
// Returns whether `ulimit -v` limits the address space. A limit that cannot be read counts as one.
bool address_space_is_limited();
// How many signals may be pending for the user in all processes; each timer counts as one.
uint64_t most_pending_signals();

// Both open a file to append to it, and don't follow a link at the end of the path. open_new
// creates the file, and fails if it exists.
long open_append(const char* path);
long open_new(const char* path);
// Follows a link that root or this user made; another user's link may have been planted.
long open_append_linked(const char* path);
long remove_file(const char* path);
long open_read(const char* path);
long read_some(int fd, void* buffer, size_t size);
long read_at(int fd, void* buffer, size_t size, uint64_t offset);
long write_some(int fd, const void* buffer, size_t size);
// Writes all of it, or returns false.
bool write_all(int fd, const void* buffer, size_t size);
// The same for a pipe or a socket, but the program gets no SIGPIPE if nobody reads it any more.
bool write_all_without_signal(int fd, const void* buffer, size_t size);
void close_file(int fd);
// Identifies an open file. Returns false if the descriptor is not open.
struct FileIdentity {
  uint64_t device;
  uint64_t inode;
  bool is_pipe_or_socket;
};
bool identify(int fd, FileIdentity& identity);
long current_directory(char* buffer, size_t size);  // with the final zero

long random_bytes(void* buffer, size_t size);
constexpr int monotonic_clock = 1;
constexpr int process_cpu_clock = 2;  // CPU time of this process
constexpr int thread_cpu_clock = 3;   // CPU time of the calling thread
uint64_t clock_ns(int clock);
inline uint64_t monotonic_ns() {
  return clock_ns(monotonic_clock);
}
// Returns the CPU time of this thread of the process, up to this moment even if it is running. 0:
// the thread has ended, or the kernel does not count its time.
uint64_t thread_cpu_ns(int thread);
// Makes a timer that sends the signal with this value to the process. Returns the timer's number,
// or a failure.
long make_timer(int clock, int signal, const void* value);
// Makes a timer on the CPU time of a thread of this process, which signals this thread.
long make_thread_timer(int thread, int signal, const void* value);
// The timer expires at `first_at` on its clock, and then again and again; 0 stops it.
long set_timer(int timer, uint64_t first_at, uint64_t then_every);
// The timer expires once, after `ns` on its clock.
long set_timer_in(int timer, uint64_t ns);
void delete_timer(int timer);
// From now on `release` replaces the kernel's own answer. It is a text such as "6.1", ended by any
// other character, and it must stay where it is.
void believe_in_kernel(const char* release);
bool kernel_is_at_least(unsigned major, unsigned minor);
int process_id();
int thread_id();

struct SignalAction {
  void (*handler)(int, void*, void*);
  uint64_t flags;
  void (*restorer)();
  uint64_t mask;
};
constexpr uint64_t flag_siginfo = 4;
constexpr uint64_t flag_restorer = 0x04000000;
constexpr uint64_t flag_restart = 0x10000000;
constexpr uint64_t flag_onstack = 0x08000000;
long signal_action(int number, const SignalAction* action, SignalAction* old);
// Sends the signal with this siginfo to the calling thread.
long queue_to_self(int number, void* siginfo);
// Sends a signal with this value to a thread of this process.
long queue_to_thread(int thread, int number, const void* value);
// The signals that are pending for this thread and for the process, blocked or not. Signal n is bit
// n - 1.
uint64_t pending_signals();
// Replaces the calling thread's mask.
void set_signal_mask(uint64_t mask);
// The same, but returns the previous mask.
uint64_t exchange_signal_mask(uint64_t mask);
// Adds signals to the calling thread's mask. Returns the previous mask.
uint64_t block_signals(uint64_t signals);
// Returns when the word is no longer `value`, when somebody wakes it, or after the timeout.
void wait_for_change(const uint32_t* word, uint32_t value, uint64_t timeout_ns);
void wake_all(const uint32_t* word);
void yield();
// Returns the number of links of a folder. For /proc/self/task, it is the number of threads plus
// two.
long links_of(const char* path);
// Reads entries in the format of getdents64.
long open_directory(const char* path);
long read_directory(int fd, void* buffer, size_t size);
[[noreturn]] void exit_process(int status);

}  // namespace stab::os
