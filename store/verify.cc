// SPDX-License-Identifier: MIT
#include "store/verify.h"

#include <fmt/format.h>

#include <array>
#include <map>
#include <set>
#include <utility>

#include "store/exceptions.h"
#include "store/schema.h"

namespace stab::store {
namespace {

struct CheckedTable {
  const char* name;
  const char* of_experiment;
  bool many_rows = false;
};

// Selects no row: for tables whose rows belong to no experiment, or don't affect its results.
constexpr const char* none = "WHERE id IS NULL AND ? NOT NULL";

constexpr std::array<CheckedTable, 9> checked_tables{{
    {"meta", none},
    {"machine", "WHERE id = (SELECT machine FROM experiment WHERE id = ?)"},
    {"experiment", "WHERE id = ?"},
    {"build", "WHERE experiment = ?"},
    {"calibration", "WHERE experiment = ?"},
    {"trial", "WHERE experiment = ?", true},
    {old_reading_table, "WHERE trial IN (SELECT id FROM trial WHERE experiment = ?)", true},
    {"event", "WHERE experiment = ?"},
    {"size", none},
}};

class Search {
 public:
  Search(Connection& connection, std::optional<Id> experiment)
      : connection_(connection),
        experiment_(experiment),
        version_(connection.number("PRAGMA user_version")) {}

  std::vector<Damage> run() {
    for (const CheckedTable& table : checked_tables)
      if (has_table(table.name)) check_rows(table);
    if (has_table("trial")) check_readings();
    if (!experiment_) {
      check_references();
      check_structure("");
    }
    return std::move(damage_);
  }

  std::vector<Damage> run_small() {
    for (const CheckedTable& table : checked_tables)
      if (!table.many_rows) check_rows(table);
    for (const CheckedTable& table : checked_tables)
      if (!table.many_rows) check_structure(fmt::format("({})", table.name));
    return std::move(damage_);
  }

  std::vector<Damage> run_structure() {
    check_structure("");
    if (damage_.empty()) return {};
    // SQLite also reports problems that come from single damaged rows. Check the rows first, so
    // that is_of_rows() can ignore those.
    damage_.clear();
    reported_.clear();
    return run();
  }

 private:
  // A file of an earlier version lacks some tables, and `reading` is a table there, not a view.
  bool has_table(std::string_view table) {
    if (version_ >= schema_version) return table != old_reading_table;
    return connection_.number("SELECT count(*) FROM sqlite_schema WHERE name = ?",
                              {std::string(table)}) != 0;
  }

  // Reports only the first problem of each row.
  void report(std::string table, Id row, std::string problem) {
    if (!reported_.emplace(table, row).second) return;
    ++damaged_rows_[table];
    // Structural damage concerns all experiments, so it comes first, where a shortened list never
    // drops it.
    const auto place = row == 0 ? damage_.begin() : damage_.end();
    damage_.insert(place, {std::move(table), row, std::move(problem)});
  }

  void check_rows(const CheckedTable& table) {
    const auto look = [&](const Stored& stored) {
      if (!stored.intact) report(table.name, stored.id, checksum_problem);
      return true;
    };
    const bool all = !experiment_;
    const std::string_view rest = all ? "" : table.of_experiment;
    try {
      Cursor rows = all ? connection_.cursor(table.name, rest)
                        : connection_.cursor(table.name, rest, {*experiment_});
      while (rows.step())
        if (!rows.intact()) report(table.name, rows.id(), checksum_problem);
    } catch (const SQLite::Exception& error) {
      if (!is_corrupt(error)) throw;
      const bool complete = all ? connection_.scan_apart(table.name, rest, {}, look)
                                : connection_.scan_apart(table.name, rest, {*experiment_}, look);
      if (!complete) report("database", 0, fmt::format("rows of table {} are lost", table.name));
    }
  }

  // Compares the readings of each trial with the number in its row, which the checksum covers.
  void check_readings() {
    // A list is covered by the checksum; without a list the number must be 0.
    const std::string counts =
        version_ > last_version_with_old_readings
            ? "SELECT id, readings, iif(reading_list IS NULL, 0, readings) FROM trial "
            : "SELECT id, readings, (SELECT count(*) FROM reading WHERE reading.trial = trial.id) "
              "FROM trial ";
    try {
      check_readings_of(counts + (experiment_ ? "WHERE experiment = ?" : ""), experiment_);
    } catch (const SQLite::Exception& error) {
      if (!is_corrupt(error)) throw;
      const auto trials = experiment_
                              ? connection_.ids("trial", "WHERE experiment = ?", {*experiment_})
                              : connection_.ids("trial", "");
      for (const Id id : trials.ids) {
        try {
          check_readings_of(counts + "WHERE id = ?", id);
        } catch (const SQLite::Exception& again) {
          if (!is_corrupt(again)) throw;
          report("trial", id, "its readings cannot be read");
        }
      }
    }
  }

  void check_readings_of(const std::string& query, std::optional<Id> argument) {
    SQLite::Statement counts(connection_.database(), query);
    if (argument) counts.bind(1, *argument);
    while (counts.executeStep()) {
      const std::string problem =
          reading_problem(counts.getColumn(1).getInt64(), counts.getColumn(2).getInt64());
      if (!problem.empty()) report("trial", counts.getColumn(0).getInt64(), problem);
    }
  }

  void check_references() {
    SQLite::Statement check(connection_.database(), "PRAGMA foreign_key_check");
    try {
      while (check.executeStep())
        report(check.getColumn(0).getString(), check.getColumn(1).getInt64(),
               fmt::format("the row refers to a missing row of table {}",
                           check.getColumn(2).getString()));
    } catch (const SQLite::Exception& error) {
      // The damaged rows at which it stops have been reported already.
      if (!is_corrupt(error)) throw;
    }
  }

  // `of` is "(table)", or "" for the whole file.
  void check_structure(const std::string& of) {
    SQLite::Statement check(connection_.database(), fmt::format("PRAGMA integrity_check{}", of));
    try {
      while (check.executeStep()) {
        const std::string verdict = check.getColumn(0).getString();
        if (verdict != "ok" && !is_of_rows(verdict)) return report("database", 0, verdict);
      }
    } catch (const SQLite::Exception& error) {
      if (!is_corrupt(error)) throw;
      report("database", 0, error.what());
    }
  }

  // Whether damaged rows, which are reported one by one, explain SQLite's verdict.
  bool is_of_rows(std::string_view verdict) {
    // "NULL value in trial.seed", "non-TEXT value in trial.reason"
    constexpr std::string_view value = " value in ";
    if (const auto place = verdict.find(value); place != std::string_view::npos) {
      verdict.remove_prefix(place + value.size());
      return damaged_rows_.contains(verdict.substr(0, verdict.find('.')));
    }
    // SQLite's check ends at a row that it can't read.
    if (verdict == "database disk image is malformed") return !damaged_rows_.empty();
    // "row 7 missing from index x"
    constexpr std::string_view missing = " missing from index ";
    const auto place = verdict.find(missing);
    if (!verdict.starts_with("row ") || place == std::string_view::npos) return false;
    const std::string index(verdict.substr(place + missing.size()));
    SQLite::Statement owner(connection_.database(),
                            "SELECT tbl_name FROM sqlite_schema WHERE name = ?");
    owner.bind(1, index);
    if (!owner.executeStep()) return false;
    const auto damaged = damaged_rows_.find(owner.getColumn(0).getString());
    return damaged != damaged_rows_.end() && ++missing_[index] <= damaged->second;
  }

  Connection& connection_;
  std::optional<Id> experiment_;
  std::int64_t version_;  // of the file's schema
  std::vector<Damage> damage_;
  std::set<std::pair<std::string, Id>> reported_;
  std::map<std::string, std::size_t, std::less<>> damaged_rows_;  // by table
  std::map<std::string, std::size_t> missing_;                    // by index
};

}  // namespace

std::vector<Damage> find_damage(Connection& connection, std::optional<Id> experiment) {
  return Search(connection, experiment).run();
}

std::vector<Damage> find_damage_of_small_tables(Connection& connection) {
  return Search(connection, std::nullopt).run_small();
}

std::string structure_problem(Connection& connection) {
  for (const Damage& each : Search(connection, std::nullopt).run_structure())
    if (each.is_of_structure()) return each.problem;
  return "";
}

std::string reading_problem(std::int64_t expected, std::int64_t found) {
  if (expected == found) return "";
  return fmt::format("the trial has {} readings instead of {}", found, expected);
}

}  // namespace stab::store
