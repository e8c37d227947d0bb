// SPDX-License-Identifier: MIT
#include "store/reader.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/text.h"
#include "store/connection.h"
#include "store/exceptions.h"
#include "store/records.h"
#include "store/rows/bounds.h"
#include "store/rows/cursor.h"
#include "store/rows/lists.h"
#include "store/rows/row.h"
#include "store/verify.h"

namespace stab::store {
namespace {

// Reads trials as records from a cursor, or from a row; row.cc does this for tables with few rows.
// Throws (see exceptions.h).

// The names of a row's columns, or their places in a cursor.
template <class Key>
struct TrialKeys {
  std::vector<Key> plain;   // of for_each_trial_column()
  std::vector<Key> layout;  // of for_each_layout_column()
  Key levels{};
  Key readings{};
  Key reading_list{};
  Key sample_list{};
  Key profile{};
  Key causal{};
  Key node{};
};

// `key` gives the key of a column's name.
template <class Find, class Key = std::invoke_result_t<Find, std::string_view>>
TrialKeys<Key> trial_keys(const Find& key) {
  TrialKeys<Key> keys{.plain = {},
                      .layout = {},
                      .levels = key("levels"),
                      .readings = key("readings"),
                      .reading_list = key("reading_list"),
                      .sample_list = key("sample_list"),
                      .profile = key("profile"),
                      .causal = key("causal"),
                      .node = key("node")};
  for_each_trial_column([&](const auto& column) { keys.plain.push_back(key(column.name)); });
  for_each_layout_column(
      [&](const LayoutColumn& column, auto) { keys.layout.push_back(key(column.name)); });
  return keys;
}

// The trials of an experiment in the order of positions and attempts. Each row's checksum is
// checked.
class TrialRows {
 public:
  TrialRows(sqlite3* database, Id experiment, Positions positions = {});

  // False after the last one.
  bool next(Trial& trial);

 private:
  const std::map<std::string, std::string>& levels(std::string_view text);

  Cursor rows_;
  TrialKeys<int> keys_;
  // Trials share few distinct texts of levels.
  std::unordered_map<std::string, std::map<std::string, std::string>> known_levels_;
};

constexpr const char* trials_sql =
    "SELECT * FROM trial WHERE experiment = ? AND position >= ? AND position < ? "
    "ORDER BY position, attempt";
constexpr std::size_t most_known_levels = 4096;

template <class Status>
Status known(std::optional<Status> status, std::string_view text) {
  if (!status)
    refuse(fmt::format("the status {} is unknown; use the stabd that wrote the database", text));
  return *status;
}

template <class From, class Key, class T>
  requires std::is_integral_v<T>
void take(const From& row, Key key, T& number) {
  number = static_cast<T>(row.integer(key));  // unsigned 64-bit numbers are stored as signed
}
template <class From, class Key, class T>
void take(const From& row, Key key, std::optional<T>& value) {
  const auto number = row.optional_integer(key);
  value = number ? std::optional(static_cast<T>(*number)) : std::nullopt;
}
template <class From, class Key>
void take(const From& row, Key key, TrialStatus& status) {
  status = known(trial_status(row.text(key)), row.text(key));
}
template <class From, class Key>
void take(const From& row, Key key, std::string& text) {
  text = row.text(key);
}
// A text of a layout is empty if its column is NULL.
template <class From, class Key>
void take_layout(const From& row, Key key, std::string& text) {
  text = row.text_or_empty(key);
}
template <class From, class Key, class T>
void take_layout(const From& row, Key key, std::optional<T>& value) {
  take(row, key, value);
}

// All columns but the levels and those that take_lists() takes.
template <class From, class Key>
void take_columns(const From& row, const TrialKeys<Key>& keys, Trial& trial) {
  auto key = keys.plain.begin();
  for_each_trial_column([&](const auto& column) { take(row, *key++, trial.*column.member); });
  key = keys.layout.begin();
  for_each_layout_column(
      [&](const LayoutColumn&, auto member) { take_layout(row, *key++, trial.layout.*member); });
}

template <class From, class Key>
void take_lists(const From& row, const TrialKeys<Key>& keys, Trial& trial) {
  read_reading_list(row.text_or_empty(keys.reading_list), trial.readings);
  read_sample_list(row.text_or_empty(keys.sample_list), trial.samples);
  read_profile_text(row.text_or_empty(keys.profile), trial.profile);
  trial.causal = row.text_or_empty(keys.causal);
  trial.node = row.text_or_empty(keys.node);
  if (!trial.causal.empty() && !nlohmann::json::accept(trial.causal))
    refuse("the trial's causal profile is not JSON");
  const std::string problem =
      reading_problem(row.integer(keys.readings), static_cast<std::int64_t>(trial.readings.size()));
  if (!problem.empty()) refuse(problem);
}

// Reads the column `levels` as a map from factor to level.
std::map<std::string, std::string> levels_in(const std::string& text) {
  return nlohmann::json::parse(text).get<std::map<std::string, std::string>>();
}

TrialRows::TrialRows(sqlite3* database, Id experiment, Positions positions)
    : rows_(database, "trial", trials_sql,
            {experiment, positions.from, static_cast<std::int64_t>(positions.end)}),
      keys_(trial_keys([this](std::string_view column) { return rows_.place(column); })) {}

const std::map<std::string, std::string>& TrialRows::levels(std::string_view text) {
  const std::string key(text);
  if (const auto found = known_levels_.find(key); found != known_levels_.end())
    return found->second;
  if (known_levels_.size() >= most_known_levels) known_levels_.clear();
  return known_levels_.emplace(key, levels_in(key)).first->second;
}

bool TrialRows::next(Trial& trial) {
  if (!rows_.step()) return false;
  rows_.require_intact();
  take_columns(rows_, keys_, trial);
  trial.levels = levels(rows_.text(keys_.levels));
  try {
    take_lists(rows_, keys_, trial);
  } catch (const Failure& failure) {
    refuse_damaged({.table = "trial", .row = rows_.id(), .problem = failure.what()});
  }
  return true;
}

// Reads an experiment's log, which merges three tables by time: the output of builds and trials,
// and events. Throws (see exceptions.h).

using LogRow = Reader::LogRow;

constexpr std::size_t most_rows = 200;  // of each table in one piece
constexpr Id ids_nearby = 2000;         // that are looked at before the search for the last row

std::string of_trial(const Row& row) {
  const std::string& reason = row.text("reason");
  const std::string& printed = row.text("stderr_tail");
  return reason + (reason.empty() || printed.empty() ? "" : "\n") + printed;
}

// The part of a piece that comes from one table.
struct Part {
  std::vector<LogRow> rows;
  Id* next;
  Id end;  // the last id that was looked at
  bool is_cut = false;

  // The query asks for one row more than a piece may have. If it is there, the part is cut.
  void cut() {
    is_cut = rows.size() > most_rows;
    if (!is_cut) return;
    rows.pop_back();
    end = rows.back().id;
  }
  // Drops rows after this time.
  void keep_until(std::int64_t at_ns) {
    const auto later =
        std::ranges::find_if(rows, [&](const LogRow& row) { return row.at_ns > at_ns; });
    if (later == rows.end()) return;
    end = later->id - 1;
    rows.erase(later, rows.end());
  }
};

Part part_of(Connection& connection, const char* table, const char* which, Id experiment, Id* next,
             LogRow (*to_row)(const Row&)) {
  // Ids rise, so reading by id never looks at an earlier piece again.
  const std::string query =
      fmt::format("NOT INDEXED WHERE id > ? AND id <= ? AND experiment = ? {} ORDER BY id LIMIT {}",
                  which, most_rows + 1);
  const auto piece = [&](Id behind, Id last) {
    Part part{.rows = {}, .next = next, .end = last};
    connection.select(table, query, {behind, last, experiment}, [&](const Stored& stored) {
      part.rows.push_back(to_row(stored.row));
      part.rows.back().id = stored.id;
      return true;
    });
    part.cut();
    return part;
  };
  // A long log has enough rows right behind this place, so nobody searches for the last one, which
  // takes longer the more rows the experiment has.
  if (*next > 0) {
    const Id nearby = std::min(ids_nearby, std::numeric_limits<Id>::max() - *next);
    if (Part part = piece(*next, *next + nearby); part.is_cut) return part;
  }
  // Only the experiment's own rows count: after a removal of another experiment, rows of this one
  // may get the ids that the other's rows had.
  const auto own = [&](const char* end) {
    return connection.number(
        fmt::format("SELECT coalesce({}(id), 0) FROM {} WHERE experiment = ?", end, table),
        {experiment});
  };
  const Id last = own("max");
  if (last <= *next) return Part{.rows = {}, .next = next, .end = *next};
  // The rows of earlier experiments are not read.
  return piece(std::max(*next, own("min") - 1), last);
}

Reader::Log log_of(Connection& connection, Id experiment, Reader::LogPlace after) {
  Reader::Log log{.rows = {}, .next = after};
  std::array parts{
      part_of(connection, "build", "AND output <> ''", experiment, &log.next.build,
              [](const Row& row) {
                return LogRow{.kind = "build",
                              .benchmark = row.text("benchmark"),
                              .text = row.text("output")};
              }),
      part_of(connection, "trial", "AND (stderr_tail <> '' OR reason <> '')", experiment,
              &log.next.trial,
              [](const Row& row) {
                return LogRow{.at_ns = row.integer("started_ns") +
                                       row.optional_integer("wall_ns").value_or(0),
                              .kind = "trial",
                              .benchmark = row.text("benchmark"),
                              .position = static_cast<std::uint32_t>(row.integer("position")),
                              .attempt = static_cast<std::uint32_t>(row.integer("attempt")),
                              .text = of_trial(row)};
              }),
      part_of(connection, "event", "", experiment, &log.next.event, [](const Row& row) {
        return LogRow{
            .at_ns = row.integer("at_ns"), .kind = row.text("kind"), .text = row.text("text")};
      })};
  const Part* earliest = nullptr;  // the cut part whose last row is the earliest
  std::int64_t until = std::numeric_limits<std::int64_t>::max();
  for (const Part& part : parts) {
    if (!part.is_cut) continue;
    log.more = true;
    if (earliest != nullptr && part.rows.back().at_ns >= until) continue;
    earliest = &part;
    until = part.rows.back().at_ns;
  }
  for (Part& part : parts) {
    // Rows of the other tables that are later than that row wait for the next piece, too. The
    // earliest part stays whole, so the log goes on even if the clock was set back.
    if (&part != earliest) part.keep_until(until);
    *part.next = part.end;
    std::ranges::move(part.rows, std::back_inserter(log.rows));
  }
  std::ranges::sort(log.rows, {}, [](const LogRow& row) {
    return std::tuple(row.at_ns, row.position.has_value(), row.id);
  });
  return log;
}

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
    here.node = trial.node;
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

Trial to_trial(const Row& row) {
  static const auto keys = trial_keys([](std::string_view column) { return column; });
  Trial trial;
  take_columns(row, keys, trial);
  trial.levels = levels_in(row.text(keys.levels));
  take_lists(row, keys, trial);
  return trial;
}

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

// The largest database that this process's limit of memory lets it migrate in memory. A migration
// may change every row, and both versions of a row stay in memory until it ends.
static std::uint64_t most_to_migrate() {
  constexpr rlim_t copies = 4;
  rlimit memory{};
  if (getrlimit(RLIMIT_AS, &memory) != 0 || memory.rlim_cur == RLIM_INFINITY)
    return std::numeric_limits<std::uint64_t>::max();
  return memory.rlim_cur / copies;
}

Outcome<std::unique_ptr<Reader>> Reader::open_of_others(const std::string& path,
                                                        const Confine& confine) {
  return guarded("cannot open the database", path, [&] {
    const std::uint64_t most = most_to_migrate();  // a confined process cannot ask for it
    const auto opened = [&] {
      if (!confine) return;
      if (const auto confined = confine(); !confined) refuse(confined.error().message);
    };
    auto connection = std::make_unique<Connection>(
        path, Connection::OfOthers{.at_rest = confine != nullptr, .opened = opened});
    if (connection->number("PRAGMA user_version") < schema_version)
      connection = std::make_unique<Connection>(*connection, Connection::Migrated{.most = most});
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
