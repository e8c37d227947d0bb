// SPDX-License-Identifier: MIT
// What a thread owes. Head::owed_ns counts the pauses that each thread must have made that ran in no
// sped-up line, `paid_ns` those that this one made or need not make.
//
// Invariants:
//   1. A debt is taken on (paid_ns grows) before its pause begins, so nobody pays it twice: neither
//      a handler of ours that interrupts, nor one of the program's.
//   2. While a thread waits for another it pays nothing; what accrues is credited when it goes on.
//   3. Only the thread itself changes its state, in functions and in handlers. Nothing here
//      allocates or takes a lock.
#pragma once

#include <stdint.h>

#include "causal/preload/shared_file.h"

namespace stab::causal {

struct Thread {
  enum State : uint32_t { not_begun, runs, has_ended };
  State state;
  uint32_t sampler;  // Sampler
  uint64_t paid_ns;
  uint64_t excess_ns;   // that pauses took longer than they should have
  uint64_t sampled_at;  // CPU time of the last sample
  // The frame of the function that waits, 0: none. Deeper ones are handlers that interrupt it; a
  // stack pointer above it means that the program has jumped out of the wait.
  uint64_t waiting_frame;
  uint64_t owed_before_ns;  // of _coz_pre_block
  uint64_t arrived_at;      // its own time of its last visit of an arrival point; 0: none yet
  void* clock;              // of the sampler
  int timer;
  int id;
  uint32_t arrival_place;  // of Head::arrivals, and 1; 0: none
  // The program means to have blocked the signal of samples.
  bool is_meant_blocked;
};

// Valid when it is zero: a thread that has not begun.
extern __thread Thread self __attribute__((tls_model("initial-exec"), visibility("hidden")));

// The process makes no system calls of ours any more: it is about to be in a sandbox.
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

// Pays what the calling thread owes, or makes the others owe what it is ahead. The thread is counted.
// In a handler of ours: `in_handler`, where all signals are blocked.
void settle(bool in_handler = false);

// Runs `ns` ahead of the others from now on.
void run_ahead(uint64_t ns);

// Before anything that may let another thread go on.
inline void before_wake() {
  if (is_counted()) settle();
}

// Around a wait for another thread.
class Wait {
 public:
  Wait() : is_first_(is_counted() && !is_waiting(frame_here())) {
    if (is_first_) begin();
  }
  // `is_woken`: by another thread, which had paid; not by the time.
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

// A thread begins, with what its creator had paid, and ends. Both may be called twice.
void begin_thread(uint64_t paid_ns);
void end_thread();

// How many counted threads are there or about to begin. After the last one nobody visits or samples
// anything, and the thread that makes experiments must not keep the process.
void expect_thread();
void expect_no_thread();  // one that was expected does not begin, or has ended
void begin_alone();       // in a child: there is this one

// Called for each thread that begins; the key's destructor ends it however it ends.
bool prepare_threads();

}  // namespace stab::causal
