// SPDX-License-Identifier: MIT
// Retries of ended experiments whose trials did not all succeed. A retry finds and opens the
// unsuccessful trials in pieces, also while other trials run. The client waits for its answer, and
// all other clients are answered between two pieces.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/error.h"
#include "base/turns.h"
#include "stabd/daemon/host.h"
#include "stabd/daemon/part.h"
#include "stabd/daemon/queue.h"
#include "stabd/upkeep.h"
#include "store/store.h"

namespace stab::daemon {

// The refusal for an experiment that must have ended.
std::string has_not_ended(store::Id id);

class Retries {
 public:
  // `queued` is called from the loop after an experiment was added to the queue and its client was
  // answered.
  Retries(Clock& clock, store::Store& store, Queue& queue, const Accounts& accounts,
          std::function<void()> queued);

  // Loads a retry that an earlier daemon began. It continues after start().
  void load(store::Id id);
  void start();
  // Leaves the rest to the next daemon.
  void stop();

  // Begins a retry for this user. The client gets its answer later.
  Result<void> begin(Asker& client, std::uint32_t uid, const store::Experiment& experiment);
  [[nodiscard]] bool is_retried(store::Id id);

 private:
  struct Retrying {
    Asker* client = nullptr;                 // the client that waits for the answer, or nullptr
    std::optional<std::uint32_t> account{};  // of the user who asked, unless it was loaded
    upkeep::Retry retry;
  };
  Retrying* find(store::Id id);
  Result<void> may_begin(std::uint32_t uid, const store::Experiment& experiment);
  void go_on();
  void end(const Retrying& ended, const Result<void>& done);

  store::Store& store_;
  Queue& queue_;
  const Accounts& accounts_;
  std::function<void()> queued_;
  bool stopped_ = false;
  Turns<Retrying> retries_;
  std::unique_ptr<Timer> timer_;  // runs while experiments are being retried
};

}  // namespace stab::daemon
