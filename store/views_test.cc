// SPDX-License-Identifier: MIT
// What trials have as texts, asked for by SQL as rows.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <string>

#include "store/reader.h"
#include "store/schema.h"
#include "store/test_support.h"

namespace stab::store {
namespace {

using testing::HasSubstr;

// For people: as the table of earlier versions had them, and by their names.
TEST(Views, ReadingsCanBeAskedForBySql) {
  const TemporaryDirectory directory;
  const std::string path = directory / "stab.db";
  {
    const auto store = open_or_fail(path);
    const Id experiment = store->add_experiment(example_experiment()).value();
    Trial trial = example_trial(experiment, 0);
    trial.readings.push_back(counters::counted("steal-ns", "ns", 9223372036854775807));
    trial.readings.push_back(counters::counted("whole", "", 2.0));
    ASSERT_TRUE(store->add_trial(trial));
    trial.position = 1;
    trial.readings.clear();
    ASSERT_TRUE(store->add_trial(trial));
  }
  SQLite::Database database(path);
  const auto one = [&](const std::string& sql) { return database.execAndGet(sql).getString(); };
  EXPECT_EQ(one("SELECT value FROM reading WHERE name = 'steal-ns'"), "9223372036854775807");
  EXPECT_EQ(one("SELECT typeof(value) FROM reading WHERE name = 'whole'"), "real");
  EXPECT_EQ(one("SELECT group_concat(name || ' ' || status || ' ' || coalesce(value, 'NULL') || "
                "' ' || coverage || ' ' || reason || ' ' || unit, ';') FROM (SELECT * FROM reading "
                "WHERE trial = 1 ORDER BY ordinal LIMIT 6)"),
            "task-clock counted 123456789 1.0  ns;page-faults counted 0 1.0  ;"
            "cycles scaled -1 0.1  ;instructions absent NULL 1.0 no hardware counters ;"
            "late absent NULL 0.0 read too late ;steal-ns counted 9223372036854775807 1.0  ns");
  EXPECT_EQ(one("SELECT count(*) FROM reading"), "7");
}

TEST(Views, ProfilesCanBeAskedForBySql) {
  const TemporaryDirectory directory;
  const std::string path = directory / "stab.db";
  {
    const auto store = open_or_fail(path);
    const Id experiment = store->add_experiment(example_experiment()).value();
    Trial trial = example_trial(experiment, 0);
    ASSERT_TRUE(store->add_trial(trial));
    trial.position = 1;
    trial.profile = {};
    ASSERT_TRUE(store->add_trial(trial));
    trial.position = 2;
    trial.profile = {.event = "cycles", .hz = 997, .reason = "no PMU"};
    ASSERT_TRUE(store->add_trial(trial));
  }
  SQLite::Database database(path);
  EXPECT_EQ(database
                .execAndGet("SELECT group_concat(trial || ' ' || ordinal || ' ' || function || ' ' "
                            "|| object || ' ' || samples || ' ' || weight || ' ' || event || ' ' "
                            "|| unit, ';') FROM profile")
                .getString(),
            "1 0 sort prog 451 452357000 task-clock:u ns;"
            "1 1 memcpy libc.so.6 3 3009000 task-clock:u ns");
}

TEST(Views, PerformanceExperimentsCanBeAskedForBySql) {
  const TemporaryDirectory directory;
  const std::string path = directory / "stab.db";
  {
    const auto store = open_or_fail(path);
    const Id experiment = store->add_experiment(example_experiment()).value();
    Trial trial = example_trial(experiment, 0);
    ASSERT_TRUE(store->add_trial(trial));
    trial.position = 1;
    trial.causal = "";
    ASSERT_TRUE(store->add_trial(trial));
  }
  SQLite::Database database(path);
  const auto one = [&](const std::string& sql) { return database.execAndGet(sql).getString(); };
  EXPECT_EQ(one("SELECT group_concat(trial || ' ' || ordinal || ' ' || line || ' ' || speedup || "
                "' ' || effective_ns || ' ' || paused_ns || ' ' || line_samples, ';') FROM "
                "causal_experiment"),
            "1 0 b.c:4 0.25 500000 1000 12;1 1 a.c:3 0.0 400000 0 9");
  EXPECT_EQ(one("SELECT group_concat(trial || ' ' || ordinal || ' ' || point || ' ' || kind || ' ' "
                "|| visits || ' ' || coalesce(departures, 'NULL') || ' ' || coalesce(inside, "
                "'NULL'), ';') FROM causal_visit"),
            "1 0 item throughput 40 NULL NULL;1 0 wait latency 4 3 1.5");
}

TEST(Views, ACausalProfileThatIsNoJsonIsDamage) {
  const TemporaryDirectory directory;
  const auto store = open_or_fail(directory / "stab.db");
  const Id experiment = store->add_experiment(example_experiment()).value();
  Trial trial = example_trial(experiment, 0);
  trial.causal = "{";
  ASSERT_TRUE(store->add_trial(trial));
  const auto read = store->for_each_trial(experiment, [](const Trial&) { return true; });
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().message, HasSubstr("its causal profile is no JSON"));
}

TEST(Views, SamplesCanBeAskedForBySql) {
  const TemporaryDirectory directory;
  const std::string path = directory / "stab.db";
  {
    const auto store = open_or_fail(path);
    const Id experiment = store->add_experiment(example_experiment()).value();
    Trial trial = example_trial(experiment, 0);
    ASSERT_TRUE(store->add_trial(trial));
    trial.position = 1;
    trial.samples.clear();
    ASSERT_TRUE(store->add_trial(trial));
  }
  SQLite::Database database(path);
  const auto one = [&](const std::string& sql) { return database.execAndGet(sql).getString(); };
  EXPECT_EQ(one("SELECT group_concat(trial || ' ' || measure || ' ' || subject || ' ' || "
                "coalesce(ordinal, 'NULL') || ' ' || coalesce(value, 'NULL') || ' ' || reason || "
                "' ' || unit, ';') FROM sample"),
            "1 time BM_sort/8 0 12.5  ns;1 time BM_sort/8 1 13  ns;1 time BM_sort/8 2 12  ns;"
            "1 time BM_find NULL NULL no keys ns;1 latency  0 1  ");
  EXPECT_EQ(one("SELECT avg(value) FROM sample WHERE subject = 'BM_sort/8'"), "12.5");
}

TEST(Views, TheViewOfReadingsIsNoProgramOfOthersAndAnyOtherIs) {
  const TemporaryDirectory directory;
  const std::string path = directory / "stab.db";
  open_or_fail(path).reset();
  EXPECT_TRUE(Reader::open(path));
  cheat(path, "CREATE VIEW other AS SELECT 1");
  EXPECT_THAT(Reader::open(path).error().message, HasSubstr("it holds views or triggers"));
  cheat(path, "DROP VIEW other; DROP VIEW reading; CREATE VIEW reading AS SELECT 1");
  EXPECT_THAT(Reader::open(path).error().message, HasSubstr("it holds views or triggers"));
}

}  // namespace
}  // namespace stab::store
