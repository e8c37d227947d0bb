// SPDX-License-Identifier: MIT
#include "store/summaries.h"

#include <string>
#include <utility>

#include "store/exceptions.h"
#include "store/rows/row.h"

namespace stab::store {

Summaries::Summaries(Connection& connection) {
  const auto add = [this](const Stored& stored) {
    take(stored);
    return true;
  };
  try {
    connection.scan("experiment", "ORDER BY id", {}, add);
  } catch (const SQLite::Exception& error) {
    if (!is_corrupt(error)) throw;
    intact_.clear();
    damaged_.clear();
    connection.scan_apart("experiment", "", {}, add);
  }
}

void Summaries::take(const Stored& stored) {
  if (stored.intact)
    put(to_experiment(stored.row));
  else
    damaged_[stored.id] = {
        .table = "experiment", .row = stored.id, .problem = std::string(checksum_problem)};
}

void Summaries::put(Experiment experiment) {
  forget(experiment.id);
  if (experiment.state == being_removed) return;
  const std::size_t bytes = experiment.plan.size();
  // Unlike an assignment, swap() frees the memory of a long text.
  std::string().swap(experiment.plan);
  const Id id = experiment.id;
  intact_[id] = {.experiment = std::move(experiment), .plan_bytes = bytes};
}

void Summaries::forget(Id id) {
  intact_.erase(id);
  damaged_.erase(id);
}

const Summary* Summaries::find(Id id) const {
  const auto found = intact_.find(id);
  return found == intact_.end() ? nullptr : &found->second;
}

}  // namespace stab::store
