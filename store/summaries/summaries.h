// SPDX-License-Identifier: MIT
// What a store says of all experiments at once: their rows without their plans, which may be large and
// many. Each row was read and checked once, and is known from then on by what is stored of it.
#pragma once

#include <cstddef>
#include <map>

#include "store/connection.h"
#include "store/records.h"

namespace stab::store {

struct Summary {
  Experiment experiment;  // its plan is empty here
  std::size_t plan_bytes = 0;
};

class Summaries {
 public:
  // Reads one row after another and keeps no plan. Throws (see failure.h).
  explicit Summaries(Connection& connection);

  // As it is stored now, under its id.
  void put(Experiment experiment);
  void forget(Id id);

  // Those that are as they were written, and what is wrong with the others. One that is being
  // removed is in neither.
  [[nodiscard]] const std::map<Id, Summary>& intact() const { return intact_; }
  [[nodiscard]] const std::map<Id, Damage>& damaged() const { return damaged_; }
  // nullptr if it is not among the intact ones.
  [[nodiscard]] const Summary* find(Id id) const;

 private:
  void take(const Stored& stored);

  std::map<Id, Summary> intact_;
  std::map<Id, Damage> damaged_;
};

}  // namespace stab::store
