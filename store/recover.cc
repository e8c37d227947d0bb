// SPDX-License-Identifier: MIT

#include "store/recover.h"

#include <fmt/format.h>
#include <sqlite3.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "store/connection.h"
#include "store/copy.h"
#include "store/exceptions.h"
#include "store/rows/raw_pages.h"
#include "store/rows/row.h"
#include "store/rows/sizes.h"
#include "store/schema.h"
#include "store/verify.h"

namespace stab::store {
namespace {

namespace fs = std::filesystem;

// A table comes after the tables that it refers to.
constexpr std::array recovered_tables{"meta",  "machine",         "experiment",  "build",
                                      "trial", old_reading_table, "calibration", "event"};

// Keeps track of what the database has lost, as far as we can tell.
struct Losses {
  std::set<std::string> unreadable{};          // tables that could not be read completely
  std::map<std::string, std::set<Id>> rows{};  // by table
  // The experiment and position in the row of a lost trial whose content can still be read.
  struct Claim {
    Id experiment = 0;
    std::int64_t position = 0;
    bool intact = false;
  };
  std::map<Id, Claim> claims{};  // by the trial's id

  // Notes a row that will not be in the copy.
  void add(const std::string& table, const Stored& stored);
};

void Losses::add(const std::string& table, const Stored& stored) {
  rows[table].insert(stored.id);
  if (table != "trial") return;
  const auto whole = [&](const char* column) -> std::optional<std::int64_t> {
    const auto value = stored.row.values().find(column);
    if (value == stored.row.values().end()) return std::nullopt;
    const auto* number = std::get_if<std::int64_t>(&value->second);
    return number == nullptr ? std::nullopt : std::optional(*number);
  };
  const auto experiment = whole("experiment");
  const auto position = whole("position");
  if (experiment && position) claims[stored.id] = {*experiment, *position, stored.intact};
}

struct Column {
  std::string name;
  std::string type;
};

// Takes each row that can be read and has the right checksum out of a damaged file.
class Salvage {
 public:
  Salvage(const std::string& from, Connection& to, Losses& losses)
      : from_(from), to_(to), losses_(losses) {
    for (const char* table : recovered_tables) {
      SQLite::Statement info(to_.database(),
                             fmt::format("SELECT name, type FROM pragma_table_info('{}')", table));
      while (info.executeStep())
        columns_[table].push_back(
            {.name = info.getColumn(0).getString(), .type = info.getColumn(1).getString()});
    }
  }

  // Returns false if SQLite could not read every row, or some rows are damaged.
  bool read_by_trees() {
    std::unique_ptr<Connection> source;
    try {
      source = std::make_unique<Connection>(from_, Connection::ReadOnly(),
                                            Connection::AnyVersion{.damaged = true});
    } catch (const SQLite::Exception& error) {
      if (!is_corrupt(error)) throw;
      losses_.unreadable.insert(recovered_tables.begin(), recovered_tables.end());
      return false;
    }
    const std::int64_t version = source->number("PRAGMA user_version");
    if (version > schema_version)
      refuse(
          fmt::format("the database's schema has version {}; use the stabctl of the release that "
                      "wrote the database",
                      version));
    for (const char* table : recovered_tables)
      if (!read_table(*source, table, version)) losses_.unreadable.insert(table);
    return losses_.unreadable.empty() &&
           std::ranges::all_of(losses_.rows, [](const auto& of) { return of.second.empty(); });
  }

  // Reads rows that the trees no longer lead to. A row belongs to the table for which its checksum
  // is right.
  void read_pages(const std::string& scratch) {
    const std::shared_ptr<void> removed(nullptr, [&](void*) { unlink(scratch.c_str()); });
    std::string pages = scratch;
    try {
      SQLite::Database source(from_, SQLite::OPEN_READONLY);
      source.exec("PRAGMA writable_schema = ON");
      copy_database(source, scratch, true);
    } catch (const SQLite::Exception& error) {
      // The copy failed, so the pages are read from the file itself, without its log.
      if (!is_corrupt(error)) throw;
      pages = from_;
    }
    RawPages(pages).for_each_row([&](const RawRow& raw) {
      for (const char* table : recovered_tables)
        if (auto row = row_of(table, raw)) return keep(table, *row);
    });
  }

 private:
  bool read_table(Connection& source, const char* table, std::int64_t version) {
    const auto take = [&](const Stored& stored) {
      if (stored.intact)
        keep(table, stored.row);
      else
        losses_.add(table, stored);
      return true;
    };
    try {
      if (!has_table(source, table))
        return version < schema_version || table == std::string_view(old_reading_table);
      source.scan(table, "ORDER BY id", {}, take);
      return true;
    } catch (const std::exception& error) {
      if (!is_of_damage(error)) throw;
    }
    try {
      source.scan_apart(table, "", {}, take);
    } catch (const std::exception& error) {
      if (!is_of_damage(error)) throw;
    }
    return false;
  }

  static bool has_table(Connection& source, const std::string& table) {
    return source.number("SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = ?",
                         {table}) != 0;
  }

  // If the schema's text has changed, SQLite reports missing tables and columns as SQLITE_ERROR,
  // like a wrong query.
  static bool is_of_damage(const std::exception& error) {
    const auto* sqlite = dynamic_cast<const SQLite::Exception*>(&error);
    if (sqlite == nullptr) return dynamic_cast<const Failure*>(&error) != nullptr;
    return is_corrupt(*sqlite) || sqlite->getErrorCode() == SQLITE_ERROR;
  }

  std::optional<Row> row_of(const char* table, const RawRow& raw) {
    const std::vector<Column>& columns = columns_[table];
    if (raw.values.size() > columns.size()) return std::nullopt;
    Row row;
    std::optional<std::int64_t> checksum;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      Value value = i < raw.values.size() ? raw.values[i] : Value();
      const auto* whole = std::get_if<std::int64_t>(&value);
      if (columns[i].name == "checksum") {
        if (whole == nullptr) return std::nullopt;
        checksum = *whole;
        continue;
      }
      // SQLite stores integral reals as integers, and the id not in the record.
      if (columns[i].name == "id") value = raw.id;
      if (columns[i].type == "REAL" && whole != nullptr) value = static_cast<double>(*whole);
      row.set_value(columns[i].name, std::move(value));
    }
    if (!checksum || row.checksum(table) != *checksum) return std::nullopt;
    return row;
  }

  void keep(const char* table, const Row& row) { to_.insert_as_it_is(table, row); }

  const std::string& from_;
  Connection& to_;
  Losses& losses_;
  std::map<std::string, std::vector<Column>> columns_;
};

// Puts the rows with their ids into `to`, whose tables are empty. Reads along the tables' trees
// and, if those are damaged, also all pages of the file. `scratch` is a temporary file. Throws (see
// exceptions.h), also for a newer schema.
Losses salvage(const std::string& from, Connection& to, const std::string& scratch) {
  Losses losses;
  Salvage rows(from, to, losses);
  if (!rows.read_by_trees()) rows.read_pages(scratch);
  return losses;
}

constexpr std::int64_t meta_rows = 2;  // the rows of a new database

// Fills a new database with those rows, and finds out what is not in it.
class Recovery {
 public:
  Recovery(std::string from, Connection& to) : from_(std::move(from)), to_(to) {}

  Recovered run(const std::string& scratch) {
    to_.database().exec("PRAGMA foreign_keys = OFF");
    to_.transaction([&] {
      to_.database().exec("DELETE FROM meta");  // the original's rows are kept
      losses_ = salvage(from_, to_, scratch);
      read_facts_of_sentences(to_);
      had_removals_ = has_removals();
      for (const char* table : recovered_tables) find_lost(table);
      drop_what_hangs();
      say_what_is_incomplete();
    });
    to_.database().exec("PRAGMA foreign_keys = ON");
    for (const char* table : recovered_tables) {
      if (table == std::string_view(old_reading_table) && !had_old_readings()) continue;
      found_.tables.push_back({.name = table,
                               .kept = static_cast<std::uint64_t>(
                                   to_.number(fmt::format("SELECT count(*) FROM {}", table))),
                               .lost = losses_.rows[table].size(),
                               .more = more_may_be_lost(table)});
    }
    if (std::ranges::all_of(found_.tables, [](const auto& each) { return each.kept == 0; }))
      refuse("the file has no readable row of a stabd database: give a database that stabd wrote");
    return std::move(found_);
  }

 private:
  // Whether rows that were kept show that experiments have been removed.
  bool has_removals() {
    return to_.number("SELECT count(*) FROM meta WHERE key = ?", {std::string(last_removed_key)}) +
               to_.number("SELECT count(*) FROM event WHERE experiment IS NULL AND kind = ?",
                          {std::string(removal_event)}) !=
           0;
  }

  bool had_old_readings() {
    return !losses_.rows[old_reading_table].empty() ||
           to_.number("SELECT max(id) FROM reading") != 0;
  }

  // Without removals, ids are assigned without gaps, so each missing id below the last kept one is
  // a lost row. How many rows followed that one is unknown. After a removal, a missing id may be
  // that of a removed row, so it doesn't count.
  void find_lost(const std::string& table) {
    std::set<Id>& lost = losses_.rows[table];
    const Connection::Ids kept = to_.ids(table, "");
    for (const Id id : kept.ids) lost.erase(id);
    if (!losses_.unreadable.contains(table) || had_removals_) return;
    Id expected = 1;
    for (const Id id : kept.ids) {
      for (; expected < id; ++expected) lost.insert(expected);
      expected = id + 1;
    }
  }

  // Drops rows that need a lost experiment, trial or machine, and trials that have lost readings.
  void drop_what_hangs() {
    for (const char* table : {"build", "trial", "event"}) note_lost_experiments(table);
    forget("experiment", "machine");
    forget("calibration", "experiment");
    drop("calibration", "machine NOT IN (SELECT id FROM machine)");
    const std::string gone = "experiment NOT IN (SELECT id FROM experiment)";
    for (const char* table : {"build", "trial", "event"}) drop(table, gone);
    drop("trial",
         "reading_list IS NULL AND "
         "readings <> (SELECT count(*) FROM reading WHERE reading.trial = trial.id)");
    // Attempts at a position must have no gaps, because the number of attempts is the number of the
    // next one.
    drop("trial",
         "attempt <> (SELECT count(*) FROM trial AS t WHERE t.experiment = trial.experiment AND "
         "t.position = trial.position AND t.attempt < trial.attempt)");
    drop("reading", "trial NOT IN (SELECT id FROM trial)");
  }

  // Gaps between ids have been counted, unless there were removals. Only other rows can tell
  // whether rows followed the last kept one.
  bool more_may_be_lost(const std::string& table) {
    if (!losses_.unreadable.contains(table)) return false;
    if (table == "meta")
      return had_removals_ || to_.number("SELECT count(*) FROM meta") < meta_rows;
    if (table != "trial" && table != "reading") return true;
    // Each kept trial has all of its readings, so only whole trials can be missing.
    if (losses_.unreadable.contains("experiment") || !losses_.rows["experiment"].empty())
      return true;
    return to_.number(
               "SELECT count(*) FROM experiment WHERE started_ns NOT NULL AND NOT (state = 'done' "
               "AND stopped_by IS NULL AND trials = (SELECT count(*) FROM trial WHERE experiment = "
               "experiment.id AND last))") != 0;
  }

  void note_lost_experiments(const std::string& table) {
    SQLite::Statement gone(to_.database(),
                           fmt::format("SELECT DISTINCT experiment FROM {} WHERE experiment NOT IN "
                                       "(SELECT id FROM experiment)",
                                       table));
    while (gone.executeStep()) losses_.rows["experiment"].insert(gone.getColumn(0).getInt64());
  }

  void drop(const std::string& table, const std::string& which) {
    to_.scan(table, "WHERE " + which, {}, [&](const Stored& stored) {
      losses_.add(table, stored);
      return true;
    });
    to_.database().exec(fmt::format("DELETE FROM {} WHERE {}", table, which));
  }

  // Keeps the row but clears its reference to a lost machine or experiment.
  void forget(const std::string& table, const std::string& parent) {
    std::vector<Stored> rows;
    to_.select(table, fmt::format("WHERE {0} NOT IN (SELECT id FROM {0})", parent), {},
               [&](const Stored& stored) {
                 rows.push_back(stored);
                 return true;
               });
    for (Stored& stored : rows) {
      stored.row.set_value(parent, {});
      to_.update(table, stored.id, stored.row);
      if (table == "experiment")
        problems_[stored.id] += "the experiment's machine is no longer known; ";
    }
  }

  void say_what_is_incomplete() {
    for (const Id id : owners_of_lost("build")) problems_[id] += "builds are lost; ";
    std::vector<Experiment> experiments;
    to_.select("experiment", "ORDER BY id", {}, [&](const Stored& stored) {
      experiments.push_back(to_experiment(stored.row));
      return true;
    });
    find_owners_of_lost_trials();
    for (const Id id : losses_.rows["experiment"])
      found_.experiments.push_back({id, "", "it is lost"});
    for (Experiment& each : experiments) {
      std::string& problem = problems_[each.id];
      problem += problem_of_trials(each);
      if (problem.empty()) continue;
      if (problem.ends_with("; ")) problem.resize(problem.size() - 2);
      found_.experiments.push_back({each.id, each.name, problem});
    }
    std::ranges::sort(found_.experiments, {}, &Recovered::Experiment::id);
  }

  // A lost trial's claim counts only if no trial is kept at its position. A damaged trial's claim
  // counts only if the trial before it belongs to the same experiment, too.
  void find_owners_of_lost_trials() {
    for (const auto& [id, claim] : losses_.claims) {
      if (!losses_.rows["trial"].contains(id)) continue;
      const bool kept =
          to_.number("SELECT count(*) FROM trial WHERE experiment = ? AND position = ?",
                     {claim.experiment, claim.position}) != 0;
      const std::int64_t before =
          to_.number("SELECT experiment FROM trial WHERE id < ? ORDER BY id DESC LIMIT 1", {id});
      if (!kept && (claim.intact || before == claim.experiment)) owners_.insert(claim.experiment);
    }
  }

  // Returns "" if no attempt with the mark `last` is missing.
  std::string problem_of_trials(Experiment& experiment) {
    const auto number = [&](const char* what) {
      return to_.number(fmt::format("SELECT {} FROM trial WHERE experiment = ?", what),
                        {experiment.id});
    };
    const std::int64_t standing = number("coalesce(sum(last), 0)");
    const std::int64_t positions = number("count(DISTINCT position)");
    const bool done = experiment.state == "done";
    // A failed experiment may have the hole from an earlier recovery, so it counts only if this
    // file has lost trials.
    const bool hole =
        positions != number("coalesce(max(position) + 1, 0)") &&
        (done || losses_.unreadable.contains("trial") || !losses_.rows["trial"].empty());
    const bool all_stand = std::cmp_equal(standing, experiment.trials);
    const bool to_its_end = done && !experiment.stopped_by;
    const bool incomplete = hole || (to_its_end && !all_stand) ||
                            (done && (standing != positions || standing == 0) && !all_stand) ||
                            (!all_stand && owners_.contains(experiment.id));
    if (!incomplete) {
      if (all_stand || !may_have_lost_behind(number("coalesce(max(id), 0)"))) return "";
      return "trials after the experiment's last readable trial may be lost";
    }
    if (!done) return "trials are lost";
    // A failed experiment can be retried, and nobody takes the remaining trials for all of them.
    experiment.state = "failed";
    experiment.stopped_by.reset();
    experiment.reason = fmt::format(
        "some trials of the experiment were lost when the database was damaged; 'stabctl retry {}' "
        "measures them again",
        experiment.id);
    to_.update("experiment", experiment.id, to_row(experiment));
    return "trials are lost: the experiment now counts as failed, and 'stabctl retry' measures the "
           "lost trials again";
  }

  // Whether a trial of which nothing can be read may have followed this one.
  bool may_have_lost_behind(Id last) {
    if (last == 0) return false;
    if (losses_.rows["trial"].contains(last + 1)) return !losses_.claims.contains(last + 1);
    return losses_.unreadable.contains("trial") &&
           to_.number("SELECT count(*) FROM trial WHERE id = ?", {last + 1}) == 0;
  }

  // The experiments of the rows next to lost ones, because an experiment's rows are mostly
  // adjacent.
  std::set<Id> owners_of_lost(const std::string& table) {
    std::set<Id> owners;
    const std::set<Id>& lost = losses_.rows[table];
    auto next = lost.begin();
    Id before = 0;
    SQLite::Statement rows(to_.database(),
                           fmt::format("SELECT id, experiment FROM {} ORDER BY id", table));
    while (next != lost.end() && rows.executeStep()) {
      const Id owner = rows.getColumn(1).getInt64();
      if (*next < rows.getColumn(0).getInt64()) {
        if (before != 0) owners.insert(before);
        owners.insert(owner);
        next = lost.upper_bound(rows.getColumn(0).getInt64());
      }
      before = owner;
    }
    if (next != lost.end() && before != 0) owners.insert(before);
    return owners;
  }

  std::string from_;
  Connection& to_;
  Losses losses_;
  bool had_removals_ = false;
  std::set<Id> owners_;  // experiments that lost trials, according to the trials' claims
  std::map<Id, std::string> problems_;  // of kept experiments, by id
  Recovered found_;
};

}  // namespace

bool Recovered::lost_nothing() const {
  return experiments.empty() && std::ranges::all_of(tables, [](const Table& table) {
           return table.lost == 0 && !table.more;
         });
}

Outcome<Recovered> recover(const std::string& from, const std::string& to) {
  std::error_code error;
  if (!fs::is_regular_file(from, error))
    return std::unexpected(StoreError{
        fmt::format("there is no database {}: give the damaged file, or its folder", from)});
  const std::string source = fs::canonical(from, error).string();
  auto lock = Lock::take(source);
  if (!lock) return std::unexpected(lock.error());
  return guarded("cannot recover the database", from, [&] {
    refuse_existing(to);
    Unfinished made(to);
    Recovered found;
    {
      Connection copy(made.path());
      migrate(copy, schema_steps());
      bring_back_old_readings(copy);
      found = Recovery(source, copy).run(made.path() + ".pages");
      copy.transaction([&] {
        put_readings_into_trials(copy);
        Sizes::count_missing(copy);
      });
      const std::vector<Damage> damage = find_damage(copy, std::nullopt);
      if (!damage.empty())
        refuse(fmt::format("the copy would contain a damaged row: row {} of table {}: {}",
                           damage.front().row, damage.front().table, damage.front().problem));
    }
    made.finish(false);
    return found;
  });
}

}  // namespace stab::store
