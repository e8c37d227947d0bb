// SPDX-License-Identifier: MIT
// What trials have as texts, asked for by SQL as rows.
#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "store/reader.h"
#include "store/test_support.h"

namespace stab::store {
namespace {

using testing::HasSubstr;

// A database of one experiment, closed, and asked as anybody would.
class Views : public testing::Test {
 protected:
  // The position of each is its place in the list.
  void write(const std::vector<Trial>& trials) const {
    const auto store = open_or_fail(path_);
    const Id experiment = store->add_experiment(example_experiment()).value();
    for (std::uint32_t position = 0; position < trials.size(); ++position) {
      Trial trial = trials[position];
      trial.experiment = experiment;
      trial.position = position;
      ASSERT_TRUE(store->add_trial(trial));
    }
  }
  [[nodiscard]] std::string one(const std::string& sql) const {
    return SQLite::Database(path_).execAndGet(sql).getString();
  }

  TemporaryDirectory directory_;
  std::string path_ = directory_ / "stab.db";
};

// For people: as the table of earlier versions had them, and by their names.
TEST_F(Views, ReadingsCanBeAskedForBySql) {
  Trial more = example_trial(0, 0);
  more.readings.push_back(counters::counted("steal-ns", "ns", 9223372036854775807));
  more.readings.push_back(counters::counted("whole", "", 2.0));
  Trial none = more;
  none.readings.clear();
  write({more, none});
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

TEST_F(Views, ProfilesCanBeAskedForBySql) {
  const Trial full = example_trial(0, 0);
  Trial none = full;
  none.profile = {};
  Trial absent = full;
  absent.profile = {.event = "cycles", .hz = 997, .reason = "no PMU"};
  write({full, none, absent});
  EXPECT_EQ(one("SELECT group_concat(trial || ' ' || ordinal || ' ' || function || ' ' || object "
                "|| ' ' || samples || ' ' || weight || ' ' || event || ' ' || unit, ';') FROM "
                "profile"),
            "1 0 sort prog 451 452357000 task-clock:u ns;"
            "1 1 memcpy libc.so.6 3 3009000 task-clock:u ns");
}

TEST_F(Views, PerformanceExperimentsCanBeAskedForBySql) {
  const Trial full = example_trial(0, 0);
  Trial none = full;
  none.causal = "";
  write({full, none});
  EXPECT_EQ(one("SELECT group_concat(trial || ' ' || ordinal || ' ' || line || ' ' || speedup || "
                "' ' || effective_ns || ' ' || paused_ns || ' ' || line_samples, ';') FROM "
                "causal_experiment"),
            "1 0 b.c:4 0.25 500000 1000 12;1 1 a.c:3 0.0 400000 0 9");
  EXPECT_EQ(one("SELECT group_concat(trial || ' ' || ordinal || ' ' || point || ' ' || kind || ' ' "
                "|| visits || ' ' || coalesce(departures, 'NULL') || ' ' || coalesce(inside, "
                "'NULL'), ';') FROM causal_visit"),
            "1 0 item throughput 40 NULL NULL;1 0 wait latency 4 3 1.5");
}

TEST_F(Views, ACausalProfileThatIsNoJsonIsDamage) {
  Trial trial = example_trial(0, 0);
  trial.causal = "{";
  write({trial});
  const auto read = open_or_fail(path_)->for_each_trial(1, [](const Trial&) { return true; });
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().message, HasSubstr("the trial's causal profile is not JSON"));
}

TEST_F(Views, SamplesCanBeAskedForBySql) {
  const Trial full = example_trial(0, 0);
  Trial none = full;
  none.samples.clear();
  write({full, none});
  EXPECT_EQ(one("SELECT group_concat(trial || ' ' || measure || ' ' || subject || ' ' || "
                "coalesce(ordinal, 'NULL') || ' ' || coalesce(value, 'NULL') || ' ' || reason || "
                "' ' || unit, ';') FROM sample"),
            "1 time BM_sort/8 0 12.5  ns;1 time BM_sort/8 1 13  ns;1 time BM_sort/8 2 12  ns;"
            "1 time BM_find NULL NULL no keys ns;1 latency  0 1  ");
  EXPECT_EQ(one("SELECT avg(value) FROM sample WHERE subject = 'BM_sort/8'"), "12.5");
}

TEST_F(Views, TheViewOfReadingsIsNoProgramOfOthersAndAnyOtherIs) {
  write({});
  EXPECT_TRUE(Reader::open(path_));
  cheat(path_, "CREATE VIEW other AS SELECT 1");
  EXPECT_THAT(Reader::open(path_).error().message, HasSubstr("the database has views or triggers"));
  cheat(path_, "DROP VIEW other; DROP VIEW reading; CREATE VIEW reading AS SELECT 1");
  EXPECT_THAT(Reader::open(path_).error().message, HasSubstr("the database has views or triggers"));
}

}  // namespace
}  // namespace stab::store
