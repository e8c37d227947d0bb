// SPDX-License-Identifier: MIT
// Makes room for clients' readers beside an experiment whose trials they would disturb. A reader
// first waits for the end of a block. After a while trials make room for it between any two of
// them, and after another while it runs beside them.
#pragma once

#include <functional>
#include <memory>

#include "stabd/daemon/clock.h"
#include "stabd/daemon/readers.h"

namespace stab::daemon {

class RoomForReaders {
 public:
  // `changed` is called whenever readers_run_beside() may have changed.
  RoomForReaders(Clock& clock, ClientsReaders& readers, std::function<void()> changed);

  // Whether trials run on all CPUs, so that readers have none of their own.
  void share_cpus(bool shared) { shared_ = shared; }
  // Call this whenever trials may have begun or ended. `quiet` says whether their plan wants a quiet
  // machine. Readers disturb such trials even on other CPUs: all CPUs share caches.
  void trials_run(bool run, bool quiet);
  // Call this when readers have come or gone.
  void readers_changed();
  // Call this while no trial runs, but the next one may begin. If readers want that time, returns
  // true and calls `go_on` from the loop when they have had it. Within a block, trials wait only
  // for readers that have waited long themselves.
  bool let_run(std::function<void()> go_on, bool within_block);
  // After this, `go_on` is not called.
  void forget() { go_on_ = nullptr; }

  // Whether readers have waited so long that trials make room for them within a block.
  [[nodiscard]] bool readers_are_due() const { return waited_ != Waited::little; }
  [[nodiscard]] bool readers_run_beside() const { return waited_ == Waited::for_trials; }

 private:
  [[nodiscard]] bool disturb() const { return shared_ || quiet_; }
  enum class Waited { little, for_blocks, for_trials };
  void allow();
  void trials_go_on();
  void wait_no_longer();

  ClientsReaders& readers_;
  std::function<void()> changed_;
  bool trials_run_ = false;
  bool shared_ = false;
  bool quiet_ = false;
  std::function<void()> go_on_;  // set while trials wait for readers
  Waited waited_ = Waited::little;
  std::unique_ptr<Timer> between_timer_;  // ends the time that readers have between two trials
  std::unique_ptr<Timer> overdue_timer_;  // runs while readers wait for trials
};

}  // namespace stab::daemon
