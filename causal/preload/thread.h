// SPDX-License-Identifier: MIT
// Keeps what a thread owes. Head::owed_ns counts the pauses of a thread that ran in no sped-up
// line; `paid_ns` counts the pauses that this thread has made or need not make.
//
// Invariants:
//   1. A debt is taken on (paid_ns grows) before its pause begins, so nobody pays it twice:
//      neither a handler of ours that interrupts, nor one of the program's.
//   2. While a thread waits for another, it pays nothing. It is credited with the pauses that
//      accrue when it goes on.
//   3. Only the thread itself changes its state, in functions and in handlers. Nothing here
//      allocates or takes a lock.
#pragma once

#include <stdint.h>

#include "causal/preload/shared_file.h"

namespace stab::causal {

struct Thread {
  enum State : uint32_t { not_begun, runs, has_ended };
  State state;
  uint32_t sampler;  // a Sampler
  uint64_t paid_ns;
  uint64_t excess_ns;   // by which its pauses were longer than they should have been
  uint64_t sampled_at;  // CPU time of the last sample
  // The frame of the function that waits, or 0. Deeper frames belong to handlers that interrupt
  // it. If the stack pointer is above it, the program has jumped out of the wait.
  uint64_t waiting_frame;
  uint64_t owed_before_ns;  // owed_ns at _coz_pre_block()
  uint64_t arrived_at;      // when it last visited an arrival point, by its own time; 0: never
  void* clock;              // of the sampler: the page of kernel::start_clock()
  int timer;
  int id;
  uint32_t arrival_place;  // 1 more than its index in Head::arrivals; 0: it has none
  // The program wants the signal of samples to be blocked.
  bool is_meant_blocked;
};

// Valid when zero: a thread that has not begun.
extern __thread Thread self __attribute__((tls_model("initial-exec"), visibility("hidden")));

// The process is about to enter a sandbox, so the library makes no system calls any more.
extern bool has_left;

inline bool is_counted() {
  return self.state == Thread::runs && !__atomic_load_n(&has_left, __ATOMIC_RELAXED);
}
inline bool is_waiting(uint64_t stack_pointer) {
  if (stack_pointer >= self.waiting_frame) self.waiting_frame = 0;
  return self.waiting_frame != 0;
}
inline uint64_t frame_here() {
  return reinterpret_cast<uint64_t>(__builtin_frame_address(0));
}

// Pays what the calling thread owes, or makes the others owe by how much it is ahead. The thread
// must be counted. `in_handler`: it is called in a handler of ours, where all signals are blocked.
void settle(bool in_handler = false);

// Makes the calling thread run `ns` further ahead of the others.
void run_ahead(uint64_t ns);

// Call this before anything that may let another thread go on.
inline void before_wake() {
  if (is_counted()) settle();
}

// Surrounds a wait for another thread.
class Wait {
 public:
  Wait() : is_first_(is_counted() && !is_waiting(frame_here())) {
    if (is_first_) begin();
  }
  // `is_woken`: another thread, which had paid, ended the wait; it did not end by its time.
  void end(bool is_woken) {
    if (is_first_) finish(is_woken);
  }

 private:
  void begin();
  void finish(bool is_woken);
  [[nodiscard]] uint64_t credit() const;

  bool is_first_;
  uint64_t owed_ns_ = 0;
};

// A thread begins, with its creator's paid_ns, and ends. Both may be called twice.
void begin_thread(uint64_t paid_ns);
void end_thread();

// These count the threads that exist or are about to begin. After the last one, nobody visits or
// samples anything, and the coordinator's thread must not keep the process alive.
void expect_thread();
void expect_no_thread();  // an expected thread does not begin, or a thread has ended
void begin_alone();       // in a child, which has only this thread

// Call once. It makes a key, whose destructor ends each thread however the thread ends.
bool prepare_threads();

}  // namespace stab::causal
