// SPDX-License-Identifier: MIT
// The rows of all experiments in memory, without their plans, which may be large and many. Each row
// is read and checked once; after that, every change that is stored updates it here.
#pragma once

#include <cstddef>
#include <map>

#include "store/connection.h"
#include "store/records.h"

namespace stab::store {

struct Summary {
  Experiment experiment;  // without its plan
  std::size_t plan_bytes = 0;
};

class Summaries {
 public:
  // Reads the rows one by one and keeps no plan. Throws (see exceptions.h).
  explicit Summaries(Connection& connection);

  // Replaces the row by what is stored now.
  void put(Experiment experiment);
  void forget(Id id);

  // The intact experiments, and the damage of the others. Neither has experiments that are being
  // removed.
  [[nodiscard]] const std::map<Id, Summary>& intact() const { return intact_; }
  [[nodiscard]] const std::map<Id, Damage>& damaged() const { return damaged_; }
  // nullptr if there is no intact experiment with this id.
  [[nodiscard]] const Summary* find(Id id) const;

 private:
  void take(const Stored& stored);

  std::map<Id, Summary> intact_;
  std::map<Id, Damage> damaged_;
};

}  // namespace stab::store
