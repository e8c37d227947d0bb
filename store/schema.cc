// SPDX-License-Identifier: MIT
#include "store/schema.h"

#include <fmt/format.h>

#include <array>
#include <chrono>

#include "store/failure.h"

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

void add_meta(Connection& connection, std::string_view key, std::string_view value) {
  Row row;
  row.set("key", key);
  row.set("value", value);
  connection.insert("meta", row);
}

void create_version_1(Connection& connection) {
  connection.database().exec(tables_1);
  connection.database().exec(fmt::format("PRAGMA application_id = {}", application_id));
  const std::chrono::nanoseconds now = std::chrono::system_clock::now().time_since_epoch();
  add_meta(connection, "created_by", "stabd " STAB_VERSION);
  add_meta(connection, "created_ns", fmt::format_int(now.count()).c_str());
}

// What the runtime of szc reports. The columns are NULL in older rows, whose checksums stay valid.
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

// Of the queue.
void add_turns(Connection& connection) {
  connection.database().exec("ALTER TABLE experiment ADD COLUMN priority INTEGER");
  connection.database().exec("ALTER TABLE experiment ADD COLUMN held_by INTEGER");
}

constexpr std::array<Step, schema_version> steps{create_version_1, add_layout<2>, add_layout<3>,
                                                 add_calibrations, add_duration,  add_turns};

}  // namespace

std::span<const Step> schema_steps() {
  return steps;
}

void migrate(Connection& connection, std::span<const Step> list) {
  const auto newest = static_cast<std::int64_t>(list.size());
  std::int64_t version = connection.number("PRAGMA user_version");
  if (version < 0 || version > newest)
    refuse(
        fmt::format("its schema has version {}, this stabd knows versions up to {}; use the stabd "
                    "that wrote it",
                    version, newest));
  for (; version < newest; ++version) {
    connection.transaction([&] {
      list[static_cast<std::size_t>(version)](connection);
      connection.database().exec(fmt::format("PRAGMA user_version = {}", version + 1));
    });
  }
}

}  // namespace stab::store
