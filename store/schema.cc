// SPDX-License-Identifier: MIT
#include "store/schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "store/exceptions.h"
#include "store/rows/lists.h"

namespace stab::store {
namespace {

constexpr const char* tables_1 = R"sql(
CREATE TABLE meta (
  id INTEGER PRIMARY KEY,
  key TEXT NOT NULL UNIQUE,
  value TEXT NOT NULL,
  checksum INTEGER NOT NULL
) STRICT;
CREATE TABLE machine (
  id INTEGER PRIMARY KEY,
  key TEXT NOT NULL UNIQUE,
  host TEXT NOT NULL,
  facts TEXT NOT NULL,
  checksum INTEGER NOT NULL
) STRICT;
CREATE TABLE experiment (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  plan TEXT NOT NULL,
  directory TEXT NOT NULL,
  uid INTEGER NOT NULL,
  gid INTEGER NOT NULL,
  state TEXT NOT NULL,
  reason TEXT NOT NULL,
  submitted_ns INTEGER NOT NULL,
  started_ns INTEGER,
  ended_ns INTEGER,
  trials INTEGER NOT NULL,
  machine INTEGER REFERENCES machine (id),
  checksum INTEGER NOT NULL
) STRICT;
CREATE TABLE build (
  id INTEGER PRIMARY KEY,
  experiment INTEGER NOT NULL REFERENCES experiment (id),
  benchmark TEXT NOT NULL,
  key TEXT NOT NULL,
  command TEXT NOT NULL,
  status TEXT NOT NULL,
  binary_sha256 TEXT NOT NULL,
  output TEXT NOT NULL,
  duration_ns INTEGER NOT NULL,
  checksum INTEGER NOT NULL,
  UNIQUE (experiment, benchmark, key)
) STRICT;
CREATE TABLE trial (
  id INTEGER PRIMARY KEY,
  experiment INTEGER NOT NULL REFERENCES experiment (id),
  position INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  last INTEGER NOT NULL,
  block INTEGER NOT NULL,
  warmup INTEGER NOT NULL,
  benchmark TEXT NOT NULL,
  levels TEXT NOT NULL,
  seed INTEGER NOT NULL,
  build TEXT NOT NULL,
  status TEXT NOT NULL,
  reason TEXT NOT NULL,
  exit_code INTEGER,
  signal INTEGER,
  started_ns INTEGER NOT NULL,
  wall_ns INTEGER,
  user_ns INTEGER,
  system_ns INTEGER,
  max_rss_bytes INTEGER,
  stdout_sha256 TEXT NOT NULL,
  stderr_tail TEXT NOT NULL,
  readings INTEGER NOT NULL,
  checksum INTEGER NOT NULL,
  UNIQUE (experiment, position, attempt)
) STRICT;
CREATE TABLE event (
  id INTEGER PRIMARY KEY,
  experiment INTEGER REFERENCES experiment (id),
  at_ns INTEGER NOT NULL,
  kind TEXT NOT NULL,
  text TEXT NOT NULL,
  checksum INTEGER NOT NULL
) STRICT;
CREATE INDEX event_of_experiment ON event (experiment);
)sql";

// Up to version 6, each reading was a row.
constexpr const char* old_readings = R"sql(
CREATE TABLE reading (
  id INTEGER PRIMARY KEY,
  trial INTEGER NOT NULL REFERENCES trial (id),
  ordinal INTEGER NOT NULL,
  name TEXT NOT NULL,
  status TEXT NOT NULL,
  value INTEGER,
  coverage REAL NOT NULL,
  reason TEXT NOT NULL,
  checksum INTEGER NOT NULL,
  UNIQUE (trial, ordinal)
) STRICT;
)sql";

// A view for people's own SQL, which stabd never reads. SQLite stores this text unchanged.
constexpr const char* reading_view =
    R"sql(CREATE VIEW reading AS
  SELECT trial.id AS trial, item.key AS ordinal, item.value ->> 0 AS name,
    CASE WHEN item.value ->> 2 IS NULL THEN 'absent'
      WHEN json_array_length(item.value) = 3 THEN 'counted' ELSE 'scaled' END AS status,
    item.value ->> 2 AS value,
    coalesce(item.value ->> CASE WHEN item.value ->> 2 IS NULL THEN 4 ELSE 3 END, 1.0) AS coverage,
    CASE WHEN item.value ->> 2 IS NULL THEN item.value ->> 3 ELSE '' END AS reason,
    item.value ->> 1 AS unit
  FROM trial, json_each(trial.reading_list) AS item)sql";

// A view for people, like `reading`.
constexpr const char* sample_view =
    R"sql(CREATE VIEW sample AS
  SELECT trial.id AS trial, series.value ->> 0 AS measure, series.value ->> 1 AS subject,
    iif(item.type = 'null', NULL, item.key) AS ordinal, item.value AS value,
    coalesce(series.value ->> 4, '') AS reason, series.value ->> 2 AS unit
  FROM trial, json_each(trial.sample_list) AS series, json_each(series.value, '$[3]') AS item)sql";

// A view for people, like `reading`.
constexpr const char* profile_view =
    R"sql(CREATE VIEW profile AS
  SELECT trial.id AS trial, item.key AS ordinal, item.value ->> 0 AS function,
    item.value ->> 1 AS object, item.value ->> 2 AS samples, item.value ->> 3 AS weight,
    trial.profile ->> 0 AS event, trial.profile ->> 1 AS unit
  FROM trial, json_each(trial.profile, '$[4]') AS item
  WHERE json_type(trial.profile, '$[4]') = 'array')sql";

// Views for people: performance experiments (stats/causal/run_text.h), and the visits of progress
// points during them.
constexpr const char* causal_experiment_view =
    R"sql(CREATE VIEW causal_experiment AS
  SELECT trial.id AS trial, item.key AS ordinal,
    trial.causal ->> ('$.lines[' || (item.value ->> 0) || ']') AS line,
    (item.value ->> 1) / 1000.0 AS speedup, item.value ->> 2 AS effective_ns,
    item.value ->> 3 AS paused_ns, item.value ->> 4 AS line_samples
  FROM trial, json_each(trial.causal, '$.experiments') AS item)sql";
constexpr const char* causal_visit_view =
    R"sql(CREATE VIEW causal_visit AS
  SELECT trial.id AS trial, item.key AS ordinal,
    trial.causal ->> ('$.points[' || (visit.value ->> 0) || '][0]') AS point,
    trial.causal ->> ('$.points[' || (visit.value ->> 0) || '][1]') AS kind,
    visit.value ->> 1 AS visits, visit.value ->> 2 AS departures, visit.value ->> 3 AS inside
  FROM trial, json_each(trial.causal, '$.experiments') AS item,
    json_each(item.value, '$[5]') AS visit)sql";

void create_version_1(Connection& connection) {
  connection.database().exec(tables_1);
  connection.database().exec(old_readings);
  connection.database().exec(fmt::format("PRAGMA application_id = {}", application_id));
  const std::chrono::nanoseconds now = std::chrono::system_clock::now().time_since_epoch();
  connection.set_meta("created_by", "stabd " STAB_VERSION);
  connection.set_meta("created_ns", fmt::format_int(now.count()).c_str());
}

// Columns for the reports of szc's runtime. They are NULL in older rows, whose checksums stay
// valid.
template <int version>
void add_layout(Connection& connection) {
  for_each_layout_column([&]<class T>(const LayoutColumn& column, T Layout::*) {
    const char* type = std::is_same_v<T, std::string> ? "TEXT" : "INTEGER";
    if (column.since == version)
      connection.database().exec(
          fmt::format("ALTER TABLE trial ADD COLUMN {} {}", column.name, type));
  });
}

void add_calibrations(Connection& connection) {
  connection.database().exec(R"sql(
CREATE TABLE calibration (
  id INTEGER PRIMARY KEY,
  machine INTEGER NOT NULL REFERENCES machine (id),
  experiment INTEGER REFERENCES experiment (id),
  name TEXT NOT NULL,
  at_ns INTEGER NOT NULL,
  scope TEXT NOT NULL,
  benchmark TEXT NOT NULL,
  response TEXT NOT NULL,
  alpha REAL NOT NULL,
  blocks INTEGER NOT NULL,
  benchmarks INTEGER NOT NULL,
  comparisons INTEGER NOT NULL,
  significant INTEGER NOT NULL,
  margin REAL,
  margin_low REAL,
  margin_high REAL,
  checksum INTEGER NOT NULL,
  UNIQUE (machine, at_ns, name, scope, benchmark)
) STRICT;
)sql");
}

void add_duration(Connection& connection) {
  connection.database().exec("ALTER TABLE experiment ADD COLUMN duration_ns INTEGER");
}

// Columns for the queue.
void add_turns(Connection& connection) {
  connection.database().exec("ALTER TABLE experiment ADD COLUMN priority INTEGER");
  connection.database().exec("ALTER TABLE experiment ADD COLUMN held_by INTEGER");
}

constexpr std::size_t at_once = 100;

// Lets `change` work on each intact row, and stores the row if it returns true. The rows are read in pieces, because a
// table must not change while it is read.
void change_rows(Connection& connection, std::string_view table, std::string_view which,
                 const std::function<bool(Id id, Row& row)>& change) {
  Id last = 0;
  std::vector<Stored> piece;
  do {
    piece.clear();
    connection.scan(table, fmt::format("WHERE id > ? AND {} ORDER BY id LIMIT {}", which, at_once),
                    {last}, [&](const Stored& stored) {
                      piece.push_back(stored);
                      last = stored.id;
                      return true;
                    });
    for (Stored& each : piece)
      if (each.intact && change(each.id, each.row)) connection.update(table, each.id, each.row);
  } while (!piece.empty());
}

// The trial's readings from the old table; nothing if one is damaged.
std::optional<std::vector<counters::Reading>> old_readings_of(Connection& connection, Id trial) {
  std::vector<counters::Reading> readings;
  bool intact = true;
  connection.scan(old_reading_table, "WHERE trial = ? ORDER BY ordinal", {trial},
                  [&](const Stored& stored) {
                    const Row& row = stored.row;
                    intact = intact && stored.intact;
                    if (!intact) return false;
                    const auto status = counters::reading_status(row.text("status"));
                    if (!status) refuse("a reading has an unknown status");
                    readings.push_back({.name = row.text("name"),
                                        .status = *status,
                                        .value = row.optional_integer("value").value_or(0),
                                        .coverage = row.real("coverage"),
                                        .reason = row.text("reason")});
                    return true;
                  });
  return intact ? std::optional(std::move(readings)) : std::nullopt;
}

// Leaves a trial unchanged if it or one of its readings is damaged: without a list, its number of
// readings is wrong, so it stays damaged.
void add_reading_lists(Connection& connection) {
  change_rows(connection, "trial", "readings <> 0", [&](Id trial, Row& row) {
    const auto readings = old_readings_of(connection, trial);
    if (!readings || !std::cmp_equal(readings->size(), row.integer("readings"))) return false;
    row.set("reading_list", reading_list(*readings));
    return true;
  });
}

void move_readings(Connection& connection) {
  connection.database().exec("ALTER TABLE trial ADD COLUMN reading_list TEXT");
  put_readings_into_trials(connection);
}

void add_samples(Connection& connection) {
  connection.database().exec("ALTER TABLE trial ADD COLUMN sample_list TEXT");
  connection.database().exec(sample_view);
}

// A row has the id of its experiment. The store adds missing rows (rows/sizes.h).
void add_sizes(Connection& connection) {
  connection.database().exec(R"sql(
CREATE TABLE size (
  id INTEGER PRIMARY KEY,
  uid INTEGER NOT NULL,
  bytes INTEGER NOT NULL,
  checksum INTEGER NOT NULL
) STRICT;
)sql");
}

void add_profiles(Connection& connection) {
  connection.database().exec("ALTER TABLE trial ADD COLUMN profile TEXT");
  connection.database().exec(profile_view);
}

void add_causal_runs(Connection& connection) {
  connection.database().exec("ALTER TABLE trial ADD COLUMN causal TEXT");
  connection.database().exec(causal_experiment_view);
  connection.database().exec(causal_visit_view);
}

// Until version 11 these facts, until version 12 how quiet the machine was, and until version 14
// the source, the nodes and the cause of a failed build stood only in sentences for people. The
// functions below are the only ones that read facts in sentences.
std::optional<StopCause> cause_in_reason(const Row& experiment) {
  const std::string& state = experiment.text("state");
  const std::string& reason = experiment.text("reason");
  if (state != "done" && state != "analysing") return std::nullopt;
  if (reason.starts_with("the time of ")) return StopCause::time;
  if (reason.starts_with("stopped after ")) return StopCause::rule;
  return std::nullopt;
}

// The first such event is older than all trials.
std::string cpus_in_events(Connection& connection, Id experiment) {
  constexpr std::string_view beginning = "trials run on CPU ";
  std::string cpus;
  connection.scan("event", "WHERE experiment = ? AND kind = 'machine' ORDER BY id", {experiment},
                  [&](const Stored& event) {
                    if (!event.intact || !event.row.text("text").starts_with(beginning))
                      return true;
                    cpus = event.row.text("text").substr(beginning.size());
                    if (!is_cpu_list(cpus)) cpus.clear();
                    return false;
                  });
  return cpus;
}

// The last event says whether the queue is paused. If it is damaged, the queue runs.
bool is_paused_in_events(Connection& connection) {
  bool paused = false;
  connection.scan("event", "WHERE experiment IS NULL AND kind = 'queue' ORDER BY id", {},
                  [&paused](const Stored& event) {
                    paused = event.intact && event.row.text("text").starts_with("paused");
                    return true;
                  });
  return paused;
}

// "fair for measurements: smt (on)". The last event is from the latest start. If it is damaged,
// nothing is known.
std::optional<Quietness> quietness_in_events(Connection& connection, Id experiment) {
  std::optional<Quietness> quietness;
  connection.scan("event", "WHERE experiment = ? AND kind = 'doctor' ORDER BY id", {experiment},
                  [&](const Stored& event) {
                    quietness.reset();
                    if (!event.intact) return true;
                    const std::string& text = event.row.text("text");
                    quietness = quietness_named(text.substr(0, text.find(" for measurements")));
                    return true;
                  });
  return quietness;
}

bool read_randomization(Row& trial) {
  const std::string words = fmt::format(" {} ", trial.text("randomization"));
  if (words == " mixed ") return false;  // the trial's processes did different things
  for (const auto& [column, word] : {std::pair("random_code", " code "),
                                     {"random_stack", " stack "},
                                     {"random_heap", " heap "},
                                     {"repeated", " repeated "}})
    trial.set(column, std::int64_t{words.contains(word)});
  return true;
}

void read_stops_and_layouts(Connection& connection) {
  change_rows(connection, "experiment", "stopped_by IS NULL AND trial_cpus IS NULL",
              [&](Id id, Row& row) {
                const auto cause = cause_in_reason(row);
                const std::string cpus = cpus_in_events(connection, id);
                if (cause) row.set("stopped_by", to_string(*cause));
                row.set_unless_empty("trial_cpus", cpus);
                return cause || !cpus.empty();
              });
  change_rows(connection, "trial", "randomization <> '' AND random_code IS NULL",
              [](Id, Row& row) { return read_randomization(row); });
  if (connection.meta(queue_key).id == 0 && is_paused_in_events(connection))
    connection.set_meta(queue_key, queue_is_paused);
}

void read_quietness(Connection& connection) {
  change_rows(connection, "experiment", "quietness IS NULL", [&](Id id, Row& row) {
    const auto quietness = quietness_in_events(connection, id);
    if (quietness) row.set("quietness", to_string(*quietness));
    return quietness.has_value();
  });
}

// Events of the kind "source" have "main@3f2a91c1...", and events of the kinds "hardware" and
// "cpus" have "n1: AMD EPYC, 8 CPUs in 4 cores" and "n1: 2-3". A commit has no '@', and the name of
// a node has no ": ". The latest hardware of a node and its first CPUs count. An archive may have
// any text.
bool read_source_and_nodes(Connection& connection, Id experiment, Row& row) {
  Experiment found;
  std::map<std::string, Node> nodes;
  connection.scan("event",
                  "WHERE experiment = ? AND kind IN ('source', 'hardware', 'cpus') ORDER BY id",
                  {experiment}, [&](const Stored& event) {
                    if (!event.intact) return true;
                    const std::string& kind = event.row.text("kind");
                    const std::string& text = event.row.text("text");
                    const bool is_source_event = kind == "source";
                    const std::size_t end = is_source_event ? text.rfind('@') : text.find(": ");
                    if (end == std::string::npos) return true;
                    const std::string name = text.substr(0, end);
                    const std::string fact = text.substr(end + (is_source_event ? 1 : 2));
                    if (is_source_event) {
                      if (!is_source(name, fact)) return true;
                      found.source_branch = name;
                      found.source_commit = fact;
                      return true;
                    }
                    Node node{.name = name};
                    if (const auto known = nodes.find(name); known != nodes.end())
                      node = known->second;
                    if (kind == "hardware")
                      node.hardware = fact;
                    else if (node.trial_cpus.empty())
                      node.trial_cpus = fact;
                    if (is_possible(node)) nodes.insert_or_assign(name, std::move(node));
                    return true;
                  });
  for (auto& [name, node] : nodes) found.nodes.push_back(std::move(node));
  row.set_unless_empty("source_branch", found.source_branch);
  row.set_unless_empty("source_commit", found.source_commit);
  row.set_unless_empty("node_list", node_list(found.nodes));
  return !found.source_commit.empty() || !found.nodes.empty();
}

// The reason of a trial whose build failed was "the build of 'b' failed:\n<what it printed>\nthe
// build command ...\nthe command was: ...". The result is its reason of today, or "" if the text
// has another form. The printed text may begin with a line about files that the copy of the sources
// lacks.
std::string short_reason(std::string_view reason) {
  if (!reason.starts_with("the build of '") || !reason.contains('\n')) return "";
  std::string_view text = reason.substr(reason.find('\n'));
  text = text.substr(0, text.rfind("\nthe command was: "));
  std::string_view printed = text.substr(0, text.rfind("\nthe build command "));
  if (printed.starts_with("\n(not in the copy"))
    printed = printed.substr(std::min(printed.find('\n', 1), printed.size()));
  const std::string error = first_error(printed, most_build_error);
  return reason_of_failed_build(error.empty() ? last_line(text, most_build_error) : error);
}

// Only the cause stays in the trial. The whole text stays in an event. Without that event, the
// trial keeps its text.
void shorten_reasons(Connection& connection) {
  Id of = 0;
  std::set<std::string, std::less<>> events;
  change_rows(connection, "trial", "status = 'build_failed'", [&](Id, Row& row) {
    if (const Id experiment = row.integer("experiment"); experiment != of) {
      of = experiment;
      events.clear();
      connection.scan("event", "WHERE experiment = ? AND kind = 'build'", {of},
                      [&](const Stored& event) {
                        if (event.intact) events.insert(event.row.text("text"));
                        return true;
                      });
    }
    if (!events.contains(row.text("reason"))) return false;
    const std::string reason = short_reason(row.text("reason"));
    if (!reason.empty()) row.set("reason", reason);
    return !reason.empty();
  });
}

void read_sources_nodes_and_builds(Connection& connection) {
  change_rows(connection, "experiment", "source_commit IS NULL AND node_list IS NULL",
              [&](Id id, Row& row) { return read_source_and_nodes(connection, id, row); });
  shorten_reasons(connection);
}

void add_facts(Connection& connection) {
  connection.database().exec("ALTER TABLE experiment ADD COLUMN stopped_by TEXT");
  connection.database().exec("ALTER TABLE experiment ADD COLUMN trial_cpus TEXT");
  add_layout<12>(connection);
  read_stops_and_layouts(connection);
}

void add_quietness(Connection& connection) {
  connection.database().exec("ALTER TABLE experiment ADD COLUMN quietness TEXT");
  read_quietness(connection);
}

void add_nodes(Connection& connection) {
  connection.database().exec("ALTER TABLE trial ADD COLUMN node TEXT");
}

void add_sources(Connection& connection) {
  for (const char* column : {"source_branch", "source_commit", "node_list", "heap_layer"})
    connection.database().exec(fmt::format("ALTER TABLE experiment ADD COLUMN {} TEXT", column));
  read_sources_nodes_and_builds(connection);
  // Shorter reasons change the sizes of experiments. The store counts missing sizes.
  connection.database().exec(
      "DELETE FROM size WHERE id IN (SELECT experiment FROM trial WHERE status = 'build_failed')");
}

struct SchemaEntry {
  std::string type;
  std::string of;  // the table that it belongs to
  std::string called;
  std::string sql;

  bool operator==(const SchemaEntry&) const = default;
};

void for_each_entry(SQLite::Database& database,
                    const std::function<void(const SchemaEntry& entry)>& visit) {
  SQLite::Statement all(database, "SELECT type, tbl_name, name, sql FROM sqlite_schema");
  while (all.executeStep())
    visit({.type = all.getColumn(0).getString(),
           .of = all.getColumn(1).getString(),
           .called = all.getColumn(2).getString(),
           .sql = all.getColumn(3).getString()});
}

constexpr std::array<Step, schema_version> steps{
    create_version_1, add_layout<2>, add_layout<3>, add_calibrations, add_duration,
    add_turns,        move_readings, add_samples,   add_sizes,        add_profiles,
    add_causal_runs,  add_facts,     add_quietness, add_nodes,        add_sources};

}  // namespace

void bring_back_old_readings(Connection& connection) {
  connection.database().exec("DROP VIEW reading");
  connection.database().exec(old_readings);
}

void put_readings_into_trials(Connection& connection) {
  add_reading_lists(connection);
  connection.database().exec("DROP TABLE reading");
  connection.database().exec(reading_view);
}

void read_facts_of_sentences(Connection& connection) {
  read_stops_and_layouts(connection);
  read_quietness(connection);
  read_sources_nodes_and_builds(connection);
}

std::span<const std::string_view> known_views() {
  static constexpr std::array<std::string_view, 5> views{reading_view, sample_view, profile_view,
                                                         causal_experiment_view, causal_visit_view};
  return views;
}

void refuse_other_schema(SQLite::Database& database) {
  const std::int64_t version = database.execAndGet("PRAGMA user_version").getInt64();
  if (version < 1 || version > schema_version)
    refuse(
        fmt::format("the database's schema has version {}, but this stabd knows versions 1 to {}",
                    version, schema_version));
  Connection ours{Connection::InMemory()};
  migrate(ours, schema_steps().first(static_cast<std::size_t>(version)));
  const auto differs_at = [](const SchemaEntry& entry) {
    refuse(fmt::format(
        "the database's schema differs from stabd's schema at the {}: another program made or "
        "changed the database",
        one_line(entry.type + " " + entry.called, 100)));
  };
  std::vector<SchemaEntry> missing;
  for_each_entry(ours.database(), [&](const SchemaEntry& entry) { missing.push_back(entry); });
  // Forged pages can give the same large entry many times, so no entry is kept, and the first one
  // that is not ours is the last one that is read.
  for_each_entry(database, [&](const SchemaEntry& entry) {
    const auto same = std::ranges::find(missing, entry);
    if (same == missing.end()) differs_at(entry);
    missing.erase(same);
  });
  if (!missing.empty()) differs_at(missing.front());
}

std::span<const Step> schema_steps() {
  return steps;
}

namespace {

class WithoutForeignKeys {
 public:
  explicit WithoutForeignKeys(SQLite::Database& database)
      : database_(database), were_on_(database.execAndGet("PRAGMA foreign_keys").getInt() != 0) {
    database_.exec("PRAGMA foreign_keys = OFF");
  }
  WithoutForeignKeys(const WithoutForeignKeys&) = delete;
  WithoutForeignKeys& operator=(const WithoutForeignKeys&) = delete;
  ~WithoutForeignKeys() {
    if (were_on_) database_.tryExec("PRAGMA foreign_keys = ON");
  }

 private:
  SQLite::Database& database_;
  bool were_on_;
};

}  // namespace

void migrate(Connection& connection, std::span<const Step> list) {
  const auto newest = static_cast<std::int64_t>(list.size());
  std::int64_t version = connection.number("PRAGMA user_version");
  if (version < 0 || version > newest)
    refuse(
        fmt::format("the database's schema has version {}, but this stabd knows versions up to {}; "
                    "use the stabd that wrote the database",
                    version, newest));
  // A step may rewrite rows that refer to rows which somebody else has deleted: the row is written
  // back as it is, and verification reports it.
  const WithoutForeignKeys off(connection.database());
  for (; version < newest; ++version) {
    connection.transaction([&] {
      list[static_cast<std::size_t>(version)](connection);
      connection.database().exec(fmt::format("PRAGMA user_version = {}", version + 1));
    });
  }
}

}  // namespace stab::store
