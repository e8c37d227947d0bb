// SPDX-License-Identifier: MIT
// Opens the unsuccessful trials of an experiment again, in pieces, so that the store's owner can do
// other things in between.
//
// Invariants
//  R1  If there is nothing to measure again, or if a failed trial is damaged, nothing changes. From
//      begin_retry() on, the retry is completed, if necessary by the next process (S8).
#pragma once

#include <cstdint>
#include <string>

#include "store/store.h"

namespace stab::upkeep {

class Retry {
 public:
  // Retries an experiment that is stored as `before` and will be stored as `after`. If no trial has
  // to be opened, that happens only if `anyway` is true.
  Retry(const store::Experiment& before, store::Experiment after, bool anyway);
  // Continues a retry that a killed process began; `row` is the experiment's row at the end.
  explicit Retry(store::Experiment row);

  // Does a piece of the work. Returns false if nothing is left. After a temporary error it may be
  // called again.
  store::Outcome<bool> step(store::Store& store);

  // The row that the retry stores at its end, if it does so.
  [[nodiscard]] const store::Experiment& experiment() const { return after_; }
  // The number of trials that are open again.
  [[nodiscard]] std::uint64_t open() const { return open_; }
  [[nodiscard]] bool has_begun() const { return stage_ > Stage::beginning; }
  // Whether the row is stored, so that the experiment can continue.
  [[nodiscard]] bool goes_on() const { return stage_ == Stage::stored; }

 private:
  enum class Stage { looking, beginning, opening, storing, stored, nothing };
  store::Outcome<void> look(store::Store& store);
  store::Outcome<void> open_some(store::Store& store);
  store::Outcome<void> do_stage(store::Store& store);

  std::string state_before_;
  store::Experiment after_;
  bool anyway_ = true;
  Stage stage_ = Stage::looking;
  store::Store::Place place_{};
  std::uint64_t open_ = 0;
};

}  // namespace stab::upkeep
