// SPDX-License-Identifier: MIT
// Imports an experiment into a store that is in use, one part at a time.
//
// Invariants
//  I1  Nobody sees the experiment before it is complete (S7 of store.h). If the import is given up,
//      or its stabd is killed, a removal takes its rows away.
#pragma once

#include <memory>
#include <string>

#include "store/store.h"

namespace stab::archive {

class Intake {
 public:
  // Opens a database that take_apart() made.
  static store::Outcome<Intake> open(const std::string& parts);

  // Adds a piece of the experiment in one small transaction (Most of parts.h). Returns false when
  // the experiment is complete. After a temporary error it may be called again.
  store::Outcome<bool> step(store::Store& to);
  // The experiment's id in the store; 0 before the first step.
  [[nodiscard]] store::Id id() const { return row_.id; }
  [[nodiscard]] const std::string& name() const { return row_.name; }

 private:
  Intake(std::unique_ptr<store::Reader> from, store::Experiment row);
  store::Outcome<void> begin(store::Store& to);
  store::Outcome<void> add_trials(store::Store& to);
  store::Outcome<void> add_others(store::Store& to);
  store::Outcome<bool> go_on(store::Store& to);

  // The next step of the current part.
  enum class Stage { row, trials, others, end_of_part };

  std::unique_ptr<store::Reader> from_;
  store::Experiment row_;
  store::Id machine_;  // the machine's id in the parts' database
  std::string state_;  // the state that the experiment gets with the last step
  store::Id part_;     // the current part
  Stage stage_ = Stage::row;
};

}  // namespace stab::archive
