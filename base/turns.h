// SPDX-License-Identifier: MIT
// A queue in which several users take turns, for work that is done one item at a time. Pure.
//
// Invariants
//  T1  Users take turns, regardless of how many items each of them has: next is the user whose
//      last turn was the longest ago. A user's items go in the order in which they were added.
#pragma once

#include <cstdint>
#include <iterator>
#include <list>
#include <utility>

namespace stab {

template <class T>
class Turns {
 public:
  void add(std::uint32_t uid, T thing) { waiting_.emplace_back(uid, std::move(thing)); }
  [[nodiscard]] bool empty() const { return waiting_.empty(); }
  // The item whose turn it is. Requires !empty().
  T& front() { return waiting_.front().second; }
  // Ends the turn of front()'s user, whose items go behind all others.
  void pass() {
    const std::uint32_t uid = waiting_.front().first;
    std::list<std::pair<std::uint32_t, T>> own;
    for (auto each = waiting_.begin(); each != waiting_.end();) {
      const auto next = std::next(each);
      if (each->first == uid) own.splice(own.end(), waiting_, each);
      each = next;
    }
    waiting_.splice(waiting_.end(), own);
  }
  // The first item for which is() returns true, or nullptr.
  template <class Is>
  T* find(const Is& is) {
    for (auto& each : waiting_)
      if (is(each.second)) return &each.second;
    return nullptr;
  }
  template <class Is>
  void remove_if(const Is& is) {
    std::erase_if(waiting_, [&](const auto& each) { return is(each.second); });
  }

 private:
  std::list<std::pair<std::uint32_t, T>> waiting_;
};

}  // namespace stab
