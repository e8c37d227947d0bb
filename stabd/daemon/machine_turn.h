// SPDX-License-Identifier: MIT
// Limits the time for which one user's experiment has the machine while others wait (limits.turn).
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>

#include "stabd/daemon/clock.h"
#include "stabd/daemon/queue.h"
#include "stabd/daemon/session/session.h"

namespace stab::daemon {

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
