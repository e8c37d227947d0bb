// SPDX-License-Identifier: MIT
// The experiments that wait for their turn, and whose turn it is. Pure.
//
// Invariants
//  Q1  Of those that are not held the one with the highest priority is next; among equals one that
//      has begun already; among these the one of the user who has had the machine for the shortest
//      time; of users who had it for the same time the one whose last turn began first; of one
//      user's the oldest.
//  Q3  Who comes back after a while, or for the first time, counts as having had the machine for at
//      least as long as the one who waits or runs and had it for the shortest time: nobody saves time
//      up.
//  Q2  A user who is neither root nor the daemon's own has at most `waiting_of_user`
//      experiments here, with plans of at most `plan_bytes_of_user` together; all of them have at
//      most `waiting` (settings::Limits). Nothing keeps root and the daemon's own user out.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "stabd/settings/settings.h"
#include "store/records.h"

namespace stab::daemon {

struct Waiting {
  store::Id id = 0;
  std::uint32_t uid = 0;
  std::int64_t priority = 0;
  bool held = false;
  bool begun = false;  // a daemon has driven it before
  std::size_t plan_bytes = 0;
};

class Queue {
 public:
  Queue(std::uint32_t owner, const settings::Limits& limits) : owner_(owner), limits_(limits) {}

  // Of what is added from now on.
  void use_limits(const settings::Limits& limits) { limits_ = limits; }
  void add(const Waiting& experiment);
  bool remove(store::Id id);
  // A user's experiment began at this time.
  void had_turn(std::uint32_t uid, std::int64_t began_ns);
  // Leaves the queue and has the machine until end_turn(); nothing if there is none that may begin.
  std::optional<Waiting> take();
  // It has had the machine for so much longer.
  void charge(std::chrono::nanoseconds time);
  void end_turn() { running_.reset(); }
  // Whether somebody else would be next if the one that has the machine waited, too.
  [[nodiscard]] bool another_user_is_next() const;
  // Whether anybody else waits that nobody holds.
  [[nodiscard]] bool another_user_waits() const;

  [[nodiscard]] const Waiting* find(store::Id id) const;
  // All that are held come last.
  [[nodiscard]] std::vector<store::Id> order() const;
  // Whether this user may add a plan of this size (Q2).
  [[nodiscard]] Result<void> has_room(std::uint32_t uid, std::size_t plan_bytes) const;
  [[nodiscard]] bool is_trusted(std::uint32_t uid) const { return uid == 0 || uid == owner_; }

 private:
  struct Turn {
    std::chrono::nanoseconds had{0};  // the machine
    std::int64_t began_ns = 0;        // the last one
    auto operator<=>(const Turn&) const = default;
  };
  using Turns = std::map<std::uint32_t, Turn>;  // by uid
  static std::vector<Waiting>::const_iterator next(const std::vector<Waiting>& waiting,
                                                   const Turns& turns);
  void do_not_save_up(std::uint32_t uid);

  std::uint32_t owner_;
  settings::Limits limits_;
  std::vector<Waiting> waiting_;
  Turns turns_;
  std::optional<Waiting> running_;
};

}  // namespace stab::daemon
