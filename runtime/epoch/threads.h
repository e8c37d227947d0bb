// SPDX-License-Identifier: MIT
// Stops the other threads of the process, each in our signal handler. A thread that sleeps in the
// kernel is left asleep if possible: the program could notice that a timeout starts over.
#pragma once

#include <stdint.h>
#include <ucontext.h>

#include "runtime/base/check.h"
#include "runtime/base/handler_proofs.h"

namespace stab::rt {

enum class ThreadState : uint32_t {
  asked,        // asked to stop
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
  uint64_t still_since = 0;  // the first epoch since which ran_ns has been the same
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
  // Changes the state unless the slot was given to another thread after the word was read.
  bool change_word(uint32_t word, ThreadState to) {
    return __atomic_compare_exchange_n(&state_word, &word,
                                       (word & ~state_mask) | static_cast<uint32_t>(to), false,
                                       __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
  }

  static constexpr uint32_t state_mask = 7;  // above it: the round in which the slot was given
};

// Unused slots cost no memory, because they are never touched.
constexpr uint32_t most_threads = 16384;

// Stops the other threads. Returns nullptr, or the reason why the threads are not known; no thread
// is stopped then. One caller at a time. Sleepers that have not run since the epoch `spared_since`
// are left asleep.
const char* stop_others(const InHandler& proof, int signal, const void* stop_value, uint64_t epoch,
                        uint64_t spared_since);
constexpr uint64_t spare_all = UINT64_MAX;
void resume_others(const InHandler& proof);

// The number of threads that the last call of stop_others() found.
uint32_t thread_count();

Thread& thread(uint32_t index);

// Whether that call found this thread, and the thread had not ended.
bool is_listed(int id);

// Keeps what this epoch found out about each thread for the next one.
void remember_threads(uint64_t epoch, uint64_t own_clear_since);
// A child of fork calls this: its only thread has another number, and nothing is known about the
// thread.
void forget_threads();

// The handler of a thread that was asked to stop calls this. It returns when the thread may
// continue.
void stop_here(const InHandler& proof, ucontext_t* context);

// Finds the place of a thread's record by the thread's number. An index of zero bytes is empty.
//
// Invariants:
//   1. At most half of the slots are taken, so every search ends.
//   2. A slot counts only if it was written since the last clear(), which leaves the slots alone.
//   3. Each id is in the index once.
template <uint32_t most>
class IdIndex {
 public:
  void clear() {
    ++round_;
    count_ = 0;
  }
  // The id must not be there yet. Returns false if the index is full.
  bool add(int id, uint32_t place) {
    STAB_DEBUG(Index, 3, find(id) == nullptr);
    if (count_ == most) return false;
    ++count_;
    uint32_t at = first(id);
    while (is_taken(at)) at = (at + 1) % slot_count;
    slots_[at] = {round_ + 1, id, place};
    return true;
  }
  // Returns nullptr if the id is not in the index.
  [[nodiscard]] const uint32_t* find(int id) const {
    for (uint32_t at = first(id); is_taken(at); at = (at + 1) % slot_count)
      if (slots_[at].id == id) return &slots_[at].place;
    return nullptr;
  }

 private:
  struct Slot {
    uint64_t round;
    int id;
    uint32_t place;
  };
  static constexpr uint32_t slot_count = 2 * most;
  [[nodiscard]] bool is_taken(uint32_t at) const { return slots_[at].round == round_ + 1; }
  // Threads that were made one after the other have neighbouring slots, so few pages are touched.
  static uint32_t first(int id) { return static_cast<uint32_t>(id) % slot_count; }

  uint64_t round_ = 0;
  uint32_t count_ = 0;
  Slot slots_[slot_count] = {};
};

}  // namespace stab::rt
