// SPDX-License-Identifier: MIT
// Shared by the store's tests: a temporary directory, example records, and a second connection that
// changes rows behind the store's back.
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "store/connection.h"
#include "store/rows/row.h"
#include "store/schema.h"
#include "store/store.h"

namespace stab::store {

class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string name = testing::TempDir() + "stab-store-XXXXXX";
    path_ = mkdtemp(name.data()) != nullptr ? name : "";
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  ~TemporaryDirectory() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  [[nodiscard]] std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

// If the store can't be opened, ends the test with the message.
inline std::unique_ptr<Store> open_or_fail(const std::string& path) {
  auto store = Store::open(path);
  if (store) return std::move(*store);
  ADD_FAILURE() << store.error().message;
  std::abort();
}

// Changes the file behind the store's back.
inline void cheat(const std::string& path, const std::string& sql) {
  SQLite::Database database(path, SQLite::OPEN_READWRITE, 2000);
  database.exec(sql);
}

inline void write_text(const std::string& path, const std::string& content) {
  std::ofstream(path, std::ios::binary) << content;
}

inline Machine example_machine() {
  return {.key = "cafe", .host = "lab", .facts = R"({"cpu":"x","pus":2})"};
}

inline Experiment example_experiment() {
  return {.name = "sort",
          .plan = "[experiment]\nname = \"sort\"\n",
          .directory = "/home/ada",
          .uid = 4294967295,
          .gid = 100,
          .state = "running",
          .reason = "resumed",
          .submitted_ns = 1'700'000'000'000'000'001,
          .started_ns = 1'700'000'000'000'000'002,
          .ended_ns = 1'700'000'000'000'000'003,
          .trials = 300};
}

inline std::vector<counters::Reading> example_readings() {
  using counters::Status;
  return {{.name = "task-clock", .unit = "ns", .status = Status::counted, .value = 123456789},
          {.name = "page-faults", .status = Status::counted, .value = 0},
          {.name = "cycles", .status = Status::scaled, .value = -1, .coverage = 0.1},
          {.name = "instructions", .status = Status::absent, .reason = "no hardware counters"},
          {.name = "late", .status = Status::absent, .coverage = 0, .reason = "read too late"}};
}

inline std::vector<counters::Samples> example_samples() {
  return {{.measure = "time", .subject = "BM_sort/8", .unit = "ns", .values = {12.5, 13, 12}},
          {.measure = "time", .subject = "BM_find", .unit = "ns", .reason = "no keys"},
          {.measure = "latency", .values = {1}}};
}

inline counters::Profile example_profile() {
  return {.event = "task-clock:u",
          .unit = "ns",
          .hz = 997,
          .lost = 3,
          .functions = {{"sort", "prog", 451, 452'357'000}, {"memcpy", "libc.so.6", 3, 3'009'000}}};
}

// Two experiments, one of them with a point of each kind.
inline std::string example_causal_run() {
  return R"({"started_ns":1,"effective_ns":2000000,"lines":["a.c:3","b.c:4"],)"
         R"("points":[["item","throughput"],["wait","latency"]],)"
         R"("experiments":[[1,250,500000,1000,12,[[0,40],[1,4,3,1.5]]],[0,0,400000,0,9,[]]],)"
         R"("samples":[[0,451]]})";
}

// Every field differs from its default.
inline Trial example_trial(Id experiment, std::uint32_t position, std::uint32_t attempt = 0) {
  return {.experiment = experiment,
          .position = position,
          .attempt = attempt,
          .last = true,
          .block = 7,
          .warmup = true,
          .benchmark = "sort",
          .levels = {{"opt", "O2"}, {"env_bytes", "4096"}, {"quoted \"name\"", "ä\n"}},
          .seed = 0xfedc'ba98'7654'3210,
          .build = "b1",
          .node = "n1",
          .status = TrialStatus::wrong_exit,
          .reason = "it exited with 3",
          .exit_code = 3,
          .signal = 9,
          .started_ns = 1'700'000'000'000'000'000,
          .wall_ns = 1'000'000'007,
          .user_ns = 900'000'001,
          .system_ns = 5,
          .max_rss_bytes = 12'345'678,
          .stdout_sha256 = "e3b0",
          .stderr_tail = "oh\nno",
          .layout = {.randomized = true,
                     .kind = "code once",
                     .note = "a line of the runtime's report is damaged",
                     .seed = 0xfedc'ba98'7654'3211,
                     .epochs = 1,
                     .given_up = 2,
                     .epochs_ns = 44'000,
                     .longest_pause_ns = 33'000,
                     .functions = 50,
                     .moved_functions = 48,
                     .text_bytes = 10'000,
                     .moved_bytes = 9'900,
                     .setup_ns = 250'000,
                     .main_to_exit_ns = 999'000'000,
                     .region_ns = 777'000'000,
                     .regions = 3,
                     .heap_operations = 4'000,
                     .heap_bytes = 500'000,
                     .heap_fixed_bytes = 60'000,
                     .random_code = true,
                     .random_stack = false,
                     .random_heap = false,
                     .repeated = false},
          .readings = example_readings(),
          .samples = example_samples(),
          .profile = example_profile(),
          .causal = example_causal_run()};
}

// The row as that version of the schema had it: without the columns of experiments and trials that came later.
inline Row as_of(int version, const Row& row) {
  std::map<std::string_view, int> since{
      {"duration_ns", 5},    {"priority", 6},   {"held_by", 6},      {"stopped_by", 12},
      {"trial_cpus", 12},    {"quietness", 13}, {"reading_list", 7}, {"sample_list", 8},
      {"profile", 10},       {"causal", 11},    {"node", 14},        {"source_branch", 15},
      {"source_commit", 15}, {"node_list", 15}, {"heap_layer", 15}};
  for_each_layout_column(
      [&](const LayoutColumn& column, auto) { since[column.name] = column.since; });
  Row earlier;
  for (const auto& [column, value] : row.values()) {
    const auto added = since.find(column);
    if (added == since.end() || added->second <= version) earlier.set_value(column, value);
  }
  return earlier;
}

// Makes a database as version 6 wrote it: one experiment with everything that belongs to it, and a
// row for each reading, which had no unit yet.
inline void make_version_6(const std::string& path, std::uint32_t trials,
                           const Experiment& of = example_experiment()) {
  Connection connection(path);
  migrate(connection, schema_steps().first(6));
  connection.transaction([&] {
    connection.insert("machine", to_row(example_machine()));
    const Id experiment = connection.insert("experiment", as_of(6, to_row(of)));
    connection.insert("build",
                      to_row(Build{.experiment = experiment, .key = "k", .benchmark = "sort"}));
    connection.insert("event", to_row(Event{.experiment = experiment, .kind = "state"}));
    for (std::uint32_t position = 0; position < trials; ++position) {
      const Trial trial = example_trial(experiment, position);
      const Id id = connection.insert("trial", as_of(6, to_row(trial)));
      std::int64_t ordinal = 0;
      for (const counters::Reading& reading : trial.readings) {
        Row of_reading;
        of_reading.set("trial", id);
        of_reading.set("ordinal", ordinal++);
        of_reading.set("name", reading.name);
        of_reading.set("status", to_string(reading.status));
        of_reading.set_value("value", reading.status == counters::Status::absent
                                          ? Value()
                                          : Value(std::get<std::int64_t>(reading.value)));
        of_reading.set("coverage", reading.coverage);
        of_reading.set("reason", reading.reason);
        connection.insert("reading", of_reading);
      }
    }
  });
}

// Every field differs from its default.
inline Calibration example_calibration(Id machine, Id experiment) {
  return {.machine = machine,
          .experiment = experiment,
          .name = "calibration",
          .at_ns = 1'700'000'000'000'000'004,
          .scope = CalibrationScope::benchmark,
          .benchmark = "sort",
          .response = "user",
          .alpha = 0.01,
          .blocks = 10,
          .benchmarks = 5,
          .comparisons = 100,
          .significant = 6,
          .margin = 0.0083,
          .margin_low = 0.006,
          .margin_high = 0.0120001};
}

inline std::vector<Trial> trials_of(Store& store, Id experiment) {
  std::vector<Trial> trials;
  const auto read = store.for_each_trial(experiment, [&](const Trial& trial) {
    trials.push_back(trial);
    return true;
  });
  EXPECT_TRUE(read) << (read ? "" : read.error().message);
  return trials;
}

inline sqlite3* opened_last = nullptr;

// Remembers each new SQLite connection, so that tests can use the store's own one.
struct Remembering {
  Remembering() { sqlite3_auto_extension(reinterpret_cast<void (*)()>(remember)); }
  Remembering(const Remembering&) = delete;
  Remembering& operator=(const Remembering&) = delete;
  ~Remembering() { sqlite3_reset_auto_extension(); }
  static int remember(sqlite3* database, char**, const sqlite3_api_routines*) {
    opened_last = database;
    return SQLITE_OK;
  }
  // Runs SQL on the store's own connection.
  static void inside(const std::string& sql) {
    ASSERT_EQ(sqlite3_exec(opened_last, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK) << sql;
  }
};

// A store with one experiment.
class WithStore : public testing::Test {
 protected:
  WithStore() : path_(directory_ / "stab.db"), store_(open_or_fail(path_)) {
    experiment_ = store_->add_experiment(example_experiment()).value();
  }
  void reopen() {
    store_.reset();
    store_ = open_or_fail(path_);
  }
  void add(const Trial& trial) {
    const auto added = store_->add_trial(trial);
    ASSERT_TRUE(added) << added.error().message;
  }

  TemporaryDirectory directory_;
  std::string path_;
  std::unique_ptr<Store> store_;
  Id experiment_ = 0;
};

}  // namespace stab::store
