// SPDX-License-Identifier: MIT
#include "store/reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/text.h"
#include "store/connection.h"
#include "store/exceptions.h"
#include "store/rows/bounds.h"
#include "store/rows/codec.h"
#include "store/rows/log.h"
#include "store/rows/many_rows.h"
#include "store/rows/reading_list.h"
#include "store/verify.h"

namespace stab::store {
namespace {

template <class F>
auto collect(Connection& connection, std::string_view table, std::string_view rest,
             const Value& argument, F&& decode) {
  std::vector<decltype(decode(Row()))> records;
  connection.select(table, rest, {argument}, [&](const Stored& stored) {
    records.push_back(decode(stored.row));
    return true;
  });
  return records;
}

template <class F>
auto find(Connection& connection, std::string_view table, Id id, F&& decode) {
  auto found = collect(connection, table, "WHERE id = ?", id, std::forward<F>(decode));
  return found.empty() ? std::nullopt : std::optional(std::move(found.front()));
}

template <class F>
auto reading(std::string_view what, std::string_view path, F&& action) {
  return guarded(fmt::format("cannot read {}", what), path, std::forward<F>(action));
}

void pass_on(Connection& connection, Id experiment, const std::function<bool(const Trial&)>& row) {
  TrialRows trials(connection.database().getHandle(), experiment);
  Trial trial;
  while (trials.next(trial))
    if (!row(trial)) return;
}

// The names of readings in the order of their first appearance.
std::vector<std::string> reading_names(Connection& connection, Id experiment) {
  std::vector<std::string> names;
  std::set<std::string> seen;
  std::vector<counters::Reading> readings;
  SQLite::Statement lists(connection.database(),
                          "SELECT reading_list FROM trial WHERE experiment = ? AND reading_list "
                          "NOT NULL ORDER BY position, attempt");
  lists.bind(1, experiment);
  while (lists.executeStep()) {
    try {
      read_reading_list(lists.getColumn(0).getString(), readings);
    } catch (const Failure&) {
      continue;  // a read of that trial itself reports this
    }
    for (std::size_t i = 0; i < readings.size(); ++i) {
      const std::string& name = readings[i].name;
      // Most trials have the same readings, so skip the search.
      if (i < names.size() && names[i] == name) continue;
      if (seen.insert(name).second) names.push_back(name);
    }
  }
  return names;
}

Reader::Names names_of(Connection& connection, Id experiment) {
  Reader::Names names;
  std::set<std::string> factors;
  SQLite::Statement levels(connection.database(),
                           "SELECT DISTINCT levels FROM trial WHERE experiment = ?");
  levels.bind(1, experiment);
  while (levels.executeStep())
    for (auto& [factor, level] : levels_in(levels.getColumn(0).getString())) factors.insert(factor);
  names.factors.assign(factors.begin(), factors.end());
  names.readings = reading_names(connection, experiment);
  return names;
}

std::vector<Reader::Progress> progress_of(Connection& connection, Id experiment, Positions among) {
  std::vector<Reader::Progress> positions;
  TrialRows trials(connection.database().getHandle(), experiment, among);
  for (Trial trial; trials.next(trial);) {
    if (positions.empty() || positions.back().position != trial.position)
      positions.push_back({.position = trial.position});
    Reader::Progress& here = positions.back();
    ++here.attempts;
    here.disturbed += trial.status == TrialStatus::disturbed ? 1 : 0;
    here.done = trial.last;
    here.status = trial.status;
    here.wall_ns += trial.wall_ns.value_or(0);
  }
  return positions;
}

Reader::Experiments all_experiments(Connection& connection) {
  Reader::Experiments found;
  const auto add = [&](const Stored& stored) {
    if (stored.intact && stored.row.text("state") == being_removed) return true;
    if (stored.intact)
      found.intact.push_back(to_experiment(stored.row));
    else
      found.damaged.push_back(
          {.table = "experiment", .row = stored.id, .problem = std::string(checksum_problem)});
    return true;
  };
  try {
    connection.scan("experiment", "ORDER BY id", {}, add);
  } catch (const SQLite::Exception& error) {
    if (!is_corrupt(error)) throw;
    found = {};
    connection.scan_apart("experiment", "", {}, add);
  }
  return found;
}

}  // namespace

std::string structure_refusal(std::string_view problem) {
  return fmt::format(
      "the database is damaged, so nothing is stored and nothing runs: stop stabd, then save what "
      "is intact with 'stabctl recover', or restore a backup ({})",
      one_line(problem, 300));
}

Reader::Reader(std::string path, std::unique_ptr<Connection> connection, std::shared_ptr<void> held)
    : path_(std::move(path)), held_(std::move(held)), connection_(std::move(connection)) {}

Reader::~Reader() = default;

Outcome<std::unique_ptr<Reader>> Reader::open(const std::string& path) {
  return guarded("cannot open the database", path, [&] {
    auto connection = std::make_unique<Connection>(path, Connection::ReadOnly());
    return std::unique_ptr<Reader>(new Reader(path, std::move(connection), nullptr));
  });
}

Outcome<std::unique_ptr<Reader>> Reader::open_of_others(const std::string& path) {
  return guarded("cannot open the database", path, [&] {
    auto connection = std::make_unique<Connection>(path, Connection::OfOthers());
    check_version(connection->database());
    check_bounds(connection->database());
    return std::unique_ptr<Reader>(new Reader(path, std::move(connection), nullptr));
  });
}

Outcome<std::vector<Damage>> Reader::verify(std::optional<Id> experiment) {
  return reading("all rows", path_, [&] { return find_damage(*connection_, experiment); });
}

Outcome<std::vector<Damage>> Reader::verify_small_tables() {
  return reading("the small tables", path_,
                 [&] { return find_damage_of_small_tables(*connection_); });
}

Outcome<std::optional<Machine>> Reader::machine(Id id) {
  return reading(fmt::format("machine {}", id), path_,
                 [&] { return find(*connection_, "machine", id, to_machine); });
}

Outcome<std::optional<Experiment>> Reader::experiment(Id id) {
  return reading(fmt::format("experiment {}", id), path_, [&] {
    auto found = find(*connection_, "experiment", id, to_experiment);
    if (found && found->state == being_removed) found.reset();
    return found;
  });
}

Outcome<Reader::Content> Reader::content(Id experiment) {
  return reading(fmt::format("the rows of experiment {}", experiment), path_, [&] {
    const auto rows = [&](std::string_view table) {
      return static_cast<std::uint64_t>(connection_->number(
          fmt::format("SELECT count(*) FROM {} WHERE experiment = ?", table), {experiment}));
    };
    return Content{.trials = rows("trial"), .builds = rows("build"), .events = rows("event")};
  });
}

Outcome<Reader::Experiments> Reader::experiments() {
  return reading("the experiments", path_, [&] { return all_experiments(*connection_); });
}

Outcome<Reader::Log> Reader::log(Id experiment, LogPlace after) {
  return reading(fmt::format("the log of experiment {}", experiment), path_,
                 [&] { return log_of(*connection_, experiment, after); });
}

Outcome<std::vector<Build>> Reader::builds(Id experiment) {
  return reading(fmt::format("the builds of experiment {}", experiment), path_, [&] {
    return collect(*connection_, "build", "WHERE experiment = ? ORDER BY id", experiment, to_build);
  });
}

Outcome<void> Reader::for_each_trial(Id experiment, const std::function<bool(const Trial&)>& row) {
  return reading(fmt::format("the trials of experiment {}", experiment), path_,
                 [&] { pass_on(*connection_, experiment, row); });
}

Outcome<Reader::Names> Reader::names(Id experiment) {
  return reading(fmt::format("the trials of experiment {}", experiment), path_,
                 [&] { return names_of(*connection_, experiment); });
}

Outcome<std::vector<Reader::Progress>> Reader::progress(Id experiment, Positions among) {
  return reading(fmt::format("the progress of experiment {}", experiment), path_,
                 [&] { return progress_of(*connection_, experiment, among); });
}

Outcome<std::vector<Id>> Reader::calibrated_machines() {
  return reading("the calibrations", path_, [&] {
    const auto of = [](const Row& row) { return row.integer("machine"); };
    auto machines =
        collect(*connection_, "calibration", "WHERE id > ? ORDER BY machine", std::int64_t{0}, of);
    machines.erase(std::ranges::unique(machines).begin(), machines.end());
    return machines;
  });
}

Outcome<std::vector<Calibration>> Reader::calibrations(Id machine) {
  return reading(fmt::format("the calibrations of machine {}", machine), path_, [&] {
    return collect(*connection_, "calibration", "WHERE machine = ? ORDER BY at_ns, id", machine,
                   to_calibration);
  });
}

Outcome<std::vector<Event>> Reader::events(Id experiment) {
  const Value which = experiment == 0 ? Value() : Value(experiment);
  return reading(fmt::format("the events of experiment {}", experiment), path_, [&] {
    return collect(*connection_, "event", "WHERE experiment IS ? ORDER BY id", which, to_event);
  });
}

}  // namespace stab::store
