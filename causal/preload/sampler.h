// SPDX-License-Identifier: MIT
// Sends a signal to each thread after every Head::sample_ns of its CPU time. The signal's handler
// counts the line that the thread runs, makes the thread run ahead if that line is sped up, and
// pays what the thread owes.
#pragma once

#include <stdint.h>
#include <ucontext.h>

namespace stab::causal {

// Remembers which of the session's objects a loaded file is, so that a sample need not read /proc.
// Everything here is safe in a signal handler and takes no lock. It is valid when zero.
//
// Invariants:
//   1. A slot is written once in each generation, by the thread that changes its stamp from an old
//      one to `writing`. While its stamp is of this generation, it does not change.
//   2. A file is in the first slot, counted from its own place, that was free when the file was
//      added. It may be in two slots, if threads add it at once or a slot before it becomes free
//      again. Both say the same.
class KnownObjects {
 public:
  static constexpr uint32_t room = 256;

  // A file is identified by the loader's record of it and by where it is mapped.
  struct File {
    uint64_t record;
    uint64_t start;
  };

  // Ask for this before you look at the file, and pass it to add() with the result. If the file is
  // forgotten in the meantime, it stays forgotten.
  [[nodiscard]] uint64_t now() const { return __atomic_load_n(&generation_, __ATOMIC_RELAXED); }

  // Returns false if the file is not there.
  bool find(uint64_t generation, const File& file, uint32_t& object) const {
    const uint64_t current = stamp_of(generation);
    for (uint32_t i = 0; i < room; ++i) {
      const Slot& slot = slots_[(place_of(file) + i) % room];
      const uint64_t stamp = __atomic_load_n(&slot.stamp, __ATOMIC_ACQUIRE);
      if (is_free(stamp, current)) return false;
      if (stamp == current && holds(slot, file, current, object)) return true;
    }
    return false;
  }

  // If there is no room, the file is not kept.
  void add(uint64_t generation, const File& file, uint32_t object) {
    const uint64_t current = stamp_of(generation);
    for (uint32_t i = 0; i < room; ++i) {
      Slot& slot = slots_[(place_of(file) + i) % room];
      uint64_t before = __atomic_load_n(&slot.stamp, __ATOMIC_RELAXED);
      if (!is_free(before, current) ||
          !__atomic_compare_exchange_n(&slot.stamp, &before, writing, false, __ATOMIC_ACQUIRE,
                                       __ATOMIC_RELAXED))
        continue;
      __atomic_thread_fence(__ATOMIC_RELEASE);  // a reader of a new field sees `writing`
      __atomic_store_n(&slot.file.record, file.record, __ATOMIC_RELAXED);
      __atomic_store_n(&slot.file.start, file.start, __ATOMIC_RELAXED);
      __atomic_store_n(&slot.object, object, __ATOMIC_RELAXED);
      __atomic_store_n(&slot.stamp, current, __ATOMIC_RELEASE);
      return;
    }
  }

  // Forgets all files, as another file may be where one of them was.
  void forget() { __atomic_add_fetch(&generation_, 1, __ATOMIC_RELAXED); }

 private:
  struct Slot {
    uint64_t stamp;
    File file;
    uint32_t object;
  };
  static constexpr uint64_t writing = UINT64_MAX;

  static uint64_t stamp_of(uint64_t generation) { return generation * 2 + 1; }
  static bool is_free(uint64_t stamp, uint64_t current) { return stamp < current; }
  static uint32_t place_of(const File& file) {
    return static_cast<uint32_t>(file.record >> 4) % room;
  }

  // Reads the stamp again after the rest, because a later generation may have begun to write.
  static bool holds(const Slot& slot, const File& file, uint64_t current, uint32_t& object) {
    if (__atomic_load_n(&slot.file.record, __ATOMIC_RELAXED) != file.record ||
        __atomic_load_n(&slot.file.start, __ATOMIC_RELAXED) != file.start)
      return false;
    const uint32_t found = __atomic_load_n(&slot.object, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    if (__atomic_load_n(&slot.stamp, __ATOMIC_RELAXED) != current) return false;
    object = found;
    return true;
  }

  uint64_t generation_;
  Slot slots_[room];
};

// Finds the line that an address belongs to, or no_line if that line is not in scope. This and the
// next two functions are safe in a signal handler.
uint32_t line_of(uint64_t pc);

// Returns the line of the innermost frame that is in scope, or no_line. `is_whole` is whether it
// saw all frames, or as many as it needed.
uint32_t innermost_line(ucontext_t& interrupted, bool& is_whole);

// Call this after code was unloaded, because another file may be at its addresses.
void forget_objects();

// SIGSTKFLT, which Linux never sends. The library hides it from programs. A real-time signal would
// need room in the queue, and without room it would come as SIGIO, which ends a program.
constexpr int sample_signal = 16;

// Installs the handler for all threads of the process.
void prepare_sampling();

// Twice the stack that a sample needs besides the kernel's frame.
constexpr uint64_t most_sample_stack = 4096;

// If threads have an alternate stack, samples run on it, as a thread's own stack may be tiny.
// After this call they don't, because an alternate stack is too small.
void leave_alternate_stacks();

// Starts to sample the calling thread, which must be counted.
void start_sampling();
// After this, no signal of ours comes to the calling thread.
void stop_sampling();

}  // namespace stab::causal
