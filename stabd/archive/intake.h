// SPDX-License-Identifier: MIT
// An experiment enters a store that is in use, a part at a time.
//
// Invariants
//  I1  Nobody sees it before all of it is there (S7 of store.h). Of one that is given up, or whose
//      stabd is killed, there are rows that a removal takes away.
#pragma once

#include <memory>
#include <string>

#include "store/store.h"

namespace stab::archive {

class Intake {
 public:
  // Of what take_apart() made.
  static store::Outcome<Intake> open(const std::string& parts);

  // Adds a piece of it in one transaction, which is small (Most of parts.h). False when the experiment
  // is complete. After an error that passes with time it may be called again.
  store::Outcome<bool> step(store::Store& to);
  // In the store; 0 before the first step.
  [[nodiscard]] store::Id id() const { return row_.id; }
  [[nodiscard]] const std::string& name() const { return row_.name; }

 private:
  Intake(std::unique_ptr<store::Reader> from, store::Experiment row);
  store::Outcome<void> begin(store::Store& to);
  store::Outcome<void> add_trials(store::Store& to);
  store::Outcome<void> add_others(store::Store& to);
  store::Outcome<bool> go_on(store::Store& to);

  // Of a part: what comes next.
  enum class Stage { row, trials, others, end_of_part };

  std::unique_ptr<store::Reader> from_;
  store::Experiment row_;
  store::Id machine_;  // among the parts
  std::string state_;  // that it gets with the last step
  store::Id part_;     // where it is
  Stage stage_ = Stage::row;
};

}  // namespace stab::archive
