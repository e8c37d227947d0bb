// SPDX-License-Identifier: MIT
// The experiments that wait for their turn, the choice of the next one, and the time for which its
// user has the machine. The Queue is pure: it has no clock and does no I/O.
//
// Invariants
//  Q1  The next experiment is the one with the highest priority among those that are not held.
//      Among equals, an experiment that has begun goes first, then the user who has had the machine
//      for the shortest time, then the user whose last turn began first, then the oldest
//      experiment.
//  Q2  Each user has at most `waiting_of_user` experiments here, whose plans have at most
//      `plan_bytes_of_user` together, and all users have at most `waiting` (settings::Limits).
//      These limits do not apply to root and the daemon's own user.
//  Q3  Nobody saves time up. A user whose experiment is added counts as having had the machine for
//      at least as long as the user with the shortest time among those who wait or run now.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "stabd/daemon/part.h"
#include "stabd/daemon/session/session.h"
#include "stabd/settings.h"
#include "store/records.h"

namespace stab::daemon {

struct Waiting {
  store::Id id = 0;
  std::uint32_t uid = 0;
  std::int64_t priority = 0;
  bool held = false;
  bool begun = false;  // a daemon has run it before
  std::size_t plan_bytes = 0;
};

// An experiment that is to wait. `account` owns it. A retried or resumed experiment takes its turn like
// one that has not begun: its row says queued.
Waiting waiting_from(const store::Experiment& experiment, std::uint32_t account);

class Queue {
 public:
  Queue(std::uint32_t owner, const settings::Limits& limits) : owner_(owner), limits_(limits) {}

  // Applies to experiments that are added from now on.
  void use_limits(const settings::Limits& limits) { limits_ = limits; }
  void add(const Waiting& experiment);
  bool remove(store::Id id);
  // A user's experiment began at this time.
  void had_turn(std::uint32_t uid, std::int64_t began_ns);
  // While the whole queue is held, no further experiment begins.
  void hold(bool held) { held_ = held; }
  [[nodiscard]] bool is_held() const { return held_; }
  // Takes the next experiment out of the queue; it has the machine until end_turn(). Returns
  // nothing if no experiment may begin.
  std::optional<Waiting> take();
  // Adds to the time for which the running experiment's user has had the machine.
  void charge(std::chrono::nanoseconds time);
  void end_turn() { running_.reset(); }
  // Whether another user's experiment would begin if the running one had to wait, too.
  [[nodiscard]] bool another_user_is_next() const;
  // Whether another user has an experiment here that is not held.
  [[nodiscard]] bool another_user_waits() const;

  [[nodiscard]] const Waiting* find(store::Id id) const;
  // Held experiments come last.
  [[nodiscard]] std::vector<store::Id> order() const;
  // Whether this user may add a plan of this size (Q2).
  [[nodiscard]] Result<void> has_room(std::uint32_t uid, std::size_t plan_bytes) const;
  [[nodiscard]] bool is_trusted(std::uint32_t uid) const { return uid == 0 || uid == owner_; }

 private:
  struct Turn {
    std::chrono::nanoseconds had{0};  // for how long the user has had the machine
    std::int64_t began_ns = 0;        // when the user's last turn began
    auto operator<=>(const Turn&) const = default;
  };
  using TurnsByUser = std::map<std::uint32_t, Turn>;
  static std::vector<Waiting>::const_iterator next(const std::vector<Waiting>& waiting,
                                                   const TurnsByUser& turns);
  void do_not_save_up(std::uint32_t uid);

  std::uint32_t owner_;
  settings::Limits limits_;
  bool held_ = false;
  std::vector<Waiting> waiting_;
  TurnsByUser turns_;
  std::optional<Waiting> running_;
};

// Limits the time for which one user's experiment has the machine while others wait (limits.turn).
class MachineTurn {
 public:
  // `limit` is limits.turn, and 0 means no limit. `cut_short` is called from the loop when the
  // running experiment has to give the machine away.
  MachineTurn(Clock& clock, Queue& queue, std::chrono::nanoseconds limit,
              std::function<void()> cut_short);

  void use_limit(std::chrono::nanoseconds limit) { limit_ = limit; }
  // The longest turn of this user; 0 means no limit.
  [[nodiscard]] std::chrono::nanoseconds longest_of(std::uint32_t uid) const;

  // The queue's running experiment, which is this user's, has the machine until end().
  void begin(store::Id id, std::uint32_t uid);
  // Ends the queue's turn, too. `abandoned` is the block during which the experiment gave the
  // machine away, if it did so.
  void end(std::optional<BlockId> abandoned);
  // Whether the turn has been long enough and another user is next.
  [[nodiscard]] bool is_over();
  // Call this whenever another user may have begun to wait. A user who comes late in a long turn
  // still waits for one turn at most.
  void watch();
  // The block that the last turn of this experiment abandoned.
  [[nodiscard]] std::optional<BlockId> abandoned_block(store::Id id) const;

 private:
  struct Running {
    store::Id id = 0;
    std::uint32_t uid = 0;
    Clock::Time charged{};  // when its user was last charged
    std::chrono::nanoseconds had{0};
  };
  void charge();
  void ring();

  Clock& clock_;
  Queue& queue_;
  std::chrono::nanoseconds limit_;
  std::function<void()> cut_short_;
  std::optional<Running> running_;
  // For experiments that gave the machine away during a block.
  std::map<store::Id, BlockId> abandoned_blocks_;
  std::unique_ptr<Timer> timer_;  // runs while another user waits for the end of a turn
};

}  // namespace stab::daemon
