// SPDX-License-Identifier: MIT
// For tests: a database to damage, and a check which of its rows are in the copy.
#pragma once

#include <gmock/gmock.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/fd.h"
#include "store/recover.h"
#include "store/test_support.h"

namespace stab::store {

inline constexpr std::size_t page_size = 4096;
inline constexpr std::uint32_t per_experiment = 60;

inline std::string bytes_of(const std::string& path) {
  return read_file(path, 1 << 26).value_or("");
}

// Two done experiments and a waiting one, whose plan takes several pages.
class RecoverTest : public testing::Test {
 protected:
  RecoverTest() {
    const auto store = open_or_fail(path_);
    const Id machine = store->add_machine(example_machine()).value();
    for (const Id id : {1, 2, 3}) {
      Experiment experiment = example_experiment();
      experiment.machine = machine;
      experiment.trials = per_experiment;
      experiment.state = id == 3 ? "queued" : "done";
      experiment.reason.clear();
      if (id == 3) experiment.plan = std::string(20000, 'p') + "end";
      EXPECT_EQ(store->add_experiment(experiment).value(), id);
      EXPECT_TRUE(store->add_build({.experiment = id, .key = "k", .benchmark = "sort"}));
      EXPECT_TRUE(store->add_event({.experiment = id, .kind = "state", .text = "queued"}));
      if (id == 3) continue;
      std::vector<Trial> trials;
      for (std::uint32_t i = 0; i < per_experiment; ++i) trials.push_back(example_trial(id, i));
      EXPECT_TRUE(store->add_trials(trials));
      Calibration calibration = example_calibration(machine, id);
      calibration.at_ns += id;
      EXPECT_TRUE(store->add_calibrations({calibration}));
    }
    rows_ = rows_of(*store);
  }

  // Each row as a text, by table.
  static std::map<std::string, std::set<std::string>> rows_of(Store& store) {
    std::map<std::string, std::set<std::string>> rows;
    for (const Experiment& each : store.experiments().value().intact) {
      rows["experiment"].insert(each.name + each.plan + std::to_string(each.id));
      for (const Trial& trial : trials_of(store, each.id)) {
        EXPECT_EQ(trial, example_trial(each.id, trial.position));
        rows["trial"].insert(std::to_string(each.id) + "/" + std::to_string(trial.position));
      }
      for (const Event& event : store.events(each.id).value())
        rows["event"].insert(std::to_string(each.id) + event.text);
    }
    return rows;
  }

  static std::map<std::string, std::int64_t> counts_of(const std::string& path) {
    std::map<std::string, std::int64_t> counts;
    SQLite::Database database(path, SQLite::OPEN_READWRITE);  // leaves no log
    for (const char* table :
         {"meta", "machine", "experiment", "build", "trial", "calibration", "event"})
      counts[table] = database.execAndGet("SELECT count(*) FROM " + std::string(table)).getInt64();
    return counts;
  }

  // Without free pages, which tables of earlier versions left behind.
  static std::int64_t used_pages(const std::string& path) {
    SQLite::Database database(path, SQLite::OPEN_READWRITE);
    return database.execAndGet("PRAGMA page_count").getInt64() -
           database.execAndGet("PRAGMA freelist_count").getInt64();
  }

  void write(const std::string& bytes) const { write_text(path_, bytes); }

  Recovered recovered() {
    std::filesystem::remove(copy_);
    std::filesystem::remove(copy_ + ".lock");
    const std::string before = bytes_of(path_);
    auto found = recover(path_, copy_);
    EXPECT_TRUE(found) << found.error().message;
    EXPECT_EQ(bytes_of(path_), before) << "the original is changed";
    if (!found) return {};
    const auto store = open_or_fail(copy_);
    EXPECT_THAT(store->verify().value(), testing::IsEmpty());
    const auto kept = rows_of(*store);
    for (const auto& [table, rows] : kept)
      EXPECT_THAT(rows, testing::IsSubsetOf(rows_[table])) << table;
    kept_trials_ = kept.contains("trial") ? kept.at("trial").size() : 0;
    return std::move(*found);
  }

  void destroy_root_of(const std::string& name) const {
    const std::int64_t root =
        SQLite::Database(path_)
            .execAndGet("SELECT rootpage FROM sqlite_schema WHERE name = '" + name + "'")
            .getInt64();
    std::string bytes = bytes_of(path_);
    bytes.replace(static_cast<std::size_t>(root - 1) * page_size, page_size,
                  std::string(page_size, '\x5a'));
    write(bytes);
  }

  static const Recovered::Table& table(const Recovered& found, const std::string& name) {
    static const Recovered::Table none;
    for (const auto& each : found.tables)
      if (each.name == name) return each;
    return none;
  }

  TemporaryDirectory directory_;
  std::string path_ = directory_ / "stab.db";
  std::string copy_ = directory_ / "copy.db";
  std::map<std::string, std::set<std::string>> rows_;
  std::size_t kept_trials_ = 0;
};

}  // namespace stab::store
