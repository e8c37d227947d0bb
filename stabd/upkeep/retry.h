// SPDX-License-Identifier: MIT
// What did not succeed of an experiment is opened again, in pieces between which whoever owns the
// store does other things.
//
// Invariants
//  R1  Nothing has changed if there is nothing to measure once more, or if a trial that failed is
//      damaged. From begin_retry() on it comes to its end, if need be by the next process (S8).
#pragma once

#include <cstdint>
#include <string>

#include "store/store.h"

namespace stab::upkeep {

class Retry {
 public:
  // Of one that is stored as `before` and is to be stored as `after`. Without anything to open that
  // is done only if `anyway`.
  Retry(const store::Experiment& before, store::Experiment after, bool anyway);
  // Goes on with what a killed process began; `row` as it is to be stored.
  explicit Retry(store::Experiment row);

  // A piece; false: there is none left. After an error that passes with time it may be called again.
  store::Outcome<bool> step(store::Store& store);

  // As it is stored at the end, if it is.
  [[nodiscard]] const store::Experiment& experiment() const { return after_; }
  // Trials that are open again.
  [[nodiscard]] std::uint64_t open() const { return open_; }
  [[nodiscard]] bool has_begun() const { return stage_ > Stage::beginning; }
  // Whether the row is stored: there is something to do for it.
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
