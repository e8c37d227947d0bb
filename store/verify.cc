// SPDX-License-Identifier: MIT
#include "store/verify.h"

#include <fmt/format.h>

#include <array>
#include <set>
#include <utility>

#include "store/failure.h"

namespace stab::store {
namespace {

struct Scope {
  const char* table;
  const char* of_experiment;
  bool many_rows = false;
};

// A table that has no rows of an experiment selects none.
constexpr std::array<Scope, 8> scopes{{
    {"meta", "WHERE id IS NULL AND ? NOT NULL"},
    {"machine", "WHERE id = (SELECT machine FROM experiment WHERE id = ?)"},
    {"experiment", "WHERE id = ?"},
    {"build", "WHERE experiment = ?"},
    {"calibration", "WHERE experiment = ?"},
    {"trial", "WHERE experiment = ?", true},
    {"reading", "WHERE trial IN (SELECT id FROM trial WHERE experiment = ?)", true},
    {"event", "WHERE experiment = ?"},
}};

class Search {
 public:
  Search(Connection& connection, std::optional<Id> experiment)
      : connection_(connection), experiment_(experiment) {}

  std::vector<Damage> run() {
    for (const Scope& scope : scopes) check_rows(scope);
    check_readings();
    if (!experiment_) {
      check_references();
      check_structure();
    }
    return std::move(damage_);
  }

  std::vector<Damage> run_small() {
    for (const Scope& scope : scopes)
      if (!scope.many_rows) check_rows(scope);
    return std::move(damage_);
  }

 private:
  // One entry a row is enough: the first problem found.
  void report(std::string table, Id row, std::string problem) {
    if (reported_.emplace(table, row).second)
      damage_.push_back({std::move(table), row, std::move(problem)});
  }

  void check_rows(const Scope& scope) {
    const bool all = !experiment_;
    Cursor rows = all ? connection_.cursor(scope.table, "")
                      : connection_.cursor(scope.table, scope.of_experiment, {*experiment_});
    while (rows.step())
      if (!rows.intact()) report(scope.table, rows.id(), checksum_problem);
  }

  // Of trials that are intact the number of readings is what it was.
  void check_readings() {
    SQLite::Statement counts(connection_.database(),
                             fmt::format("SELECT id, readings, (SELECT count(*) FROM reading WHERE "
                                         "reading.trial = trial.id) FROM trial {}",
                                         experiment_ ? "WHERE experiment = ?" : ""));
    if (experiment_) counts.bind(1, *experiment_);
    while (counts.executeStep()) {
      const std::string problem =
          reading_problem(counts.getColumn(1).getInt64(), counts.getColumn(2).getInt64());
      if (!problem.empty()) report("trial", counts.getColumn(0).getInt64(), problem);
    }
  }

  void check_references() {
    SQLite::Statement check(connection_.database(), "PRAGMA foreign_key_check");
    while (check.executeStep())
      report(check.getColumn(0).getString(), check.getColumn(1).getInt64(),
             fmt::format("it refers to a row of table {} that is not there",
                         check.getColumn(2).getString()));
  }

  void check_structure() {
    SQLite::Statement check(connection_.database(), "PRAGMA integrity_check(1)");
    if (!check.executeStep()) return;
    const std::string verdict = check.getColumn(0).getString();
    if (verdict != "ok") report("database", 0, verdict);
  }

  Connection& connection_;
  std::optional<Id> experiment_;
  std::vector<Damage> damage_;
  std::set<std::pair<std::string, Id>> reported_;
};

}  // namespace

std::vector<Damage> find_damage(Connection& connection, std::optional<Id> experiment) {
  return Search(connection, experiment).run();
}

std::vector<Damage> find_damage_of_small_tables(Connection& connection) {
  return Search(connection, std::nullopt).run_small();
}

std::string reading_problem(std::int64_t expected, std::int64_t found) {
  if (expected == found) return "";
  return fmt::format("it has {} readings in place of {}", found, expected);
}

}  // namespace stab::store
