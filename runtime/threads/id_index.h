// SPDX-License-Identifier: MIT
// Finds the place of a thread's record by the thread's number. All zero is an empty one.
//
// Invariants:
//   1. At most half of the slots are taken, so every search ends.
//   2. A slot counts only if it was written since the last clear(), which touches none of them.
//   3. An id is in it once.
#pragma once

#include <stdint.h>

#include "runtime/base/check.h"

namespace stab::rt {

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
  // nullptr: it is not there.
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
