// SPDX-License-Identifier: MIT
// Stops the other threads of the process, each in our signal handler. A thread that sleeps in the
// kernel is left asleep if possible: a timeout that begins anew could be seen by the program.
#pragma once

#include <stdint.h>
#include <ucontext.h>

#include "runtime/base/in_handler.h"

namespace stab::rt {

enum class ThreadState : uint32_t {
  asked,        // to stop
  answering,    // about to be stopped
  stopped,      // in our handler, with its registers in `context`
  asleep,       // in the kernel
  unreachable,  // did not answer in time: it runs, and what it refers to is unknown
  gone,
};

struct Thread {
  int id = 0;
  uint32_t state_word = 0;  // a ThreadState, changed by several threads
  ucontext_t* context = nullptr;
  // At the end of this epoch the thread referred to no retired layout. Layouts that were retired
  // before it cannot come back to the thread.
  uint64_t clear_since = 0;
  uint64_t ran_ns = 0;       // its CPU time when it was listed; 0: unknown
  uint64_t still_since = 0;  // the first epoch since which that has been the same
  bool asleep = false;       // seen asleep with that CPU time, and no child runs in its place
  bool seen = false;         // in this epoch: all layouts that it refers to are marked
  // The thread has not run since this epoch, so it refers to no layout that was made since.
  [[nodiscard]] uint64_t asleep_since() const { return asleep ? still_since : UINT64_MAX; }
  [[nodiscard]] ThreadState state() const {
    return static_cast<ThreadState>(__atomic_load_n(&state_word, __ATOMIC_ACQUIRE) & state_mask);
  }
  bool change_state(ThreadState from, ThreadState to) {
    const uint32_t word = __atomic_load_n(&state_word, __ATOMIC_ACQUIRE);
    return (word & state_mask) == static_cast<uint32_t>(from) && change_word(word, to);
  }
  // Only if the slot has not been given to another thread since the word was read.
  bool change_word(uint32_t word, ThreadState to) {
    return __atomic_compare_exchange_n(&state_word, &word,
                                       (word & ~state_mask) | static_cast<uint32_t>(to), false,
                                       __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
  }

  static constexpr uint32_t state_mask = 7;  // above it: the round in which the slot was given
};

// Memory that is not used is not touched.
constexpr uint32_t most_threads = 16384;

// nullptr, or why the other threads are not known (then none is stopped). One caller at a time.
// Sleepers that have not run since the epoch `spared_since` are left asleep.
const char* stop_others(const InHandler& proof, int signal, const void* stop_value, uint64_t epoch,
                        uint64_t spared_since);
constexpr uint64_t spare_all = UINT64_MAX;
void resume_others(const InHandler& proof);

// Those that the last call of stop_others found.
uint32_t thread_count();

Thread& thread(uint32_t index);

// Whether it found this one, and it had not ended.
bool is_listed(int id);

// Keeps what this epoch found out about each thread for the next one.
void remember_threads(uint64_t epoch, uint64_t own_clear_since);
// In a child of fork: its one thread has another number, and nothing is known of it.
void forget_threads();

// In the handler of a thread that was asked to stop: returns when it may go on.
void stop_here(const InHandler& proof, ucontext_t* context);

}  // namespace stab::rt
