// SPDX-License-Identifier: MIT
// A database that an earlier version wrote gets what came later, and keeps its rows.
#include <gmock/gmock.h>

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "store/recover.h"
#include "store/rows/row.h"
#include "store/schema.h"
#include "store/test_support.h"

namespace stab::store {
namespace {

using testing::ElementsAre;

// A trial that such a version stored stands there beside one of today.
void expect_kept(int version, Trial old) {
  const TemporaryDirectory directory;
  const std::string path = directory / "stab.db";
  {
    Connection connection(path);
    migrate(connection, schema_steps().first(static_cast<std::size_t>(version)));
    connection.transaction([&] {
      old.experiment =
          connection.insert("experiment", as_of(version, to_row(example_experiment())));
      connection.insert("trial", as_of(version, to_row(old)));
    });
  }
  const auto store = open_or_fail(path);
  EXPECT_THAT(store->verify().value(), testing::IsEmpty());
  const Trial fresh = example_trial(old.experiment, 1);
  ASSERT_TRUE(store->add_trial(fresh));
  EXPECT_THAT(trials_of(*store, old.experiment), ElementsAre(old, fresh));
  EXPECT_THAT(store->verify().value(), testing::IsEmpty());
  const std::string copy = path + ".before-v" + std::to_string(version + 1);
  EXPECT_EQ(SQLite::Database(copy).execAndGet("PRAGMA user_version").getInt(), version);
}

TEST(Schema, TrialsOfTheFirstVersionHaveNoLayoutAndStayIntact) {
  Trial old = example_trial(0, 0);
  old.layout = {};
  old.readings.clear();
  old.samples.clear();
  old.profile = {};
  old.causal = "";
  old.node = "";
  expect_kept(1, old);
}

TEST(Schema, AnEarlierDatabaseGetsSamplesAndKeepsItsTrials) {
  Trial old = example_trial(0, 0);
  old.samples.clear();
  old.profile = {};
  old.causal = "";
  old.node = "";
  expect_kept(7, old);
}

TEST(Schema, AnEarlierDatabaseGetsProfilesAndKeepsItsTrials) {
  Trial old = example_trial(0, 0);
  old.profile = {};
  old.causal = "";
  old.node = "";
  expect_kept(9, old);
}

TEST(Schema, AnEarlierDatabaseGetsCausalProfilesAndKeepsItsTrials) {
  Trial old = example_trial(0, 0);
  old.causal = "";
  old.node = "";
  expect_kept(10, old);
}

TEST(Schema, AnEarlierDatabaseGetsNodesAndKeepsItsTrials) {
  Trial old = example_trial(0, 0);
  old.node = "";
  expect_kept(13, old);
}

// Until version 11 the cause of a stop, the CPUs and the queue's state stood only in sentences, and what was random
// only in the column randomization.
class FactsInSentences : public testing::TestWithParam<int> {
 protected:
  FactsInSentences() {
    Connection connection(path_);
    migrate(connection, schema_steps().first(static_cast<std::size_t>(GetParam())));
    connection.transaction([&] { fill(connection); });
  }

  static Experiment ended(const std::string& state, const std::string& reason) {
    Experiment row = example_experiment();
    row.state = state;
    row.reason = reason;
    return row;
  }

  static void fill(Connection& connection) {
    for (const Experiment& each :
         {ended("done", "the time of 1 min 0 s ran out after 10 of 15 blocks"),
          ended("analysing", "the time of 10 min 0 s was over after 5 of 9 blocks"),
          ended("done", "stopped after 10 of 20 blocks: the comparison is decided"),
          ended("done", ""), ended("failed", "the time of the machine is wrong")})
      connection.insert("experiment", as_of(GetParam(), to_row(each)));
    for (const auto& [experiment, kind, text] :
         {std::tuple(1, "machine", "the machine has changed since the experiment began"),
          {1, "machine", "trials run on CPU 2-3"},
          {1, "machine", "trials run on CPU 1"},
          {2, "state", "trials run on CPU 1"},
          {0, "queue", "paused by user 0"},
          {0, "queue", "resumed by user 0"},
          {0, "queue", "paused by user 1000"}})
      connection.insert("event",
                        to_row(Event{.experiment = experiment, .kind = kind, .text = text}));
    std::uint32_t position = 0;
    for (const char* kind : {"code once", "code stack heap layer repeated 5ms budget 20%",
                             "heap shuffled", "mixed", ""}) {
      Trial trial = example_trial(1, position++);
      trial.layout = {.randomized = true, .kind = kind};
      trial.readings.clear();
      connection.insert("trial", as_of(GetParam(), to_row(trial)));
    }
  }

  static void expect_facts(Store& store, int version) {
    EXPECT_THAT(store.verify().value(), testing::IsEmpty());
    std::vector<std::optional<StopCause>> causes;
    std::vector<std::string> cpus;
    for (const Experiment& each : store.experiments().value().intact) {
      causes.push_back(each.stopped_by);
      cpus.push_back(each.trial_cpus);
    }
    EXPECT_THAT(causes, ElementsAre(StopCause::time, StopCause::time, StopCause::rule, std::nullopt,
                                    std::nullopt));
    EXPECT_THAT(cpus, ElementsAre("2-3", "", "", "", ""));
    EXPECT_TRUE(store.is_queue_paused().value());
    using Facts = std::vector<std::optional<bool>>;
    std::vector<Facts> facts;
    for (const Trial& each : trials_of(store, 1))
      facts.push_back({each.layout.random_code, each.layout.random_stack, each.layout.random_heap,
                       each.layout.repeated});
    const Facts unknown(4);
    if (version == 1)
      EXPECT_THAT(facts, testing::Each(unknown));
    else
      EXPECT_THAT(facts,
                  ElementsAre(Facts{true, false, false, false}, Facts{true, true, true, true},
                              Facts{false, false, true, false}, unknown, unknown));
  }

  TemporaryDirectory directory_;
  std::string path_ = directory_ / "stab.db";
};

TEST_P(FactsInSentences, BecomeColumnsWhenTheDatabaseIsOpened) {
  const auto store = open_or_fail(path_);
  expect_facts(*store, GetParam());
}

TEST_P(FactsInSentences, BecomeColumnsWhenTheDatabaseIsRecovered) {
  cheat(path_, "PRAGMA journal_mode = DELETE");
  const auto found = recover(path_, directory_ / "whole.db");
  ASSERT_TRUE(found) << found.error().message;
  const auto store = open_or_fail(directory_ / "whole.db");
  EXPECT_EQ(store->experiment(1).value()->trial_cpus, "2-3");
  EXPECT_EQ(store->experiment(2).value()->stopped_by, StopCause::time);
  EXPECT_TRUE(store->is_queue_paused().value());
  EXPECT_EQ(trials_of(*store, 1).at(0).layout.random_code.has_value(), GetParam() > 1);
}

TEST_P(FactsInSentences, OfDamagedRowsStayUnknown) {
  cheat(path_,
        "UPDATE experiment SET gid = 7 WHERE id = 1; UPDATE event SET at_ns = 7 WHERE kind = "
        "'queue'");
  const auto store = open_or_fail(path_);
  EXPECT_FALSE(store->is_queue_paused().value());
  EXPECT_FALSE(store->experiment(1));
  EXPECT_EQ(store->experiment(3).value()->stopped_by, StopCause::rule);
}

// Deleted by other programs, which SQLite lets delete rows to which others refer.
TEST_P(FactsInSentences, OfRowsThatReferToNothingBecomeColumnsAndAreReported) {
  cheat(path_, "DELETE FROM experiment WHERE id = 1");
  auto opened = Store::open(path_);
  ASSERT_TRUE(opened) << opened.error().message;
  const auto found = (*opened)->verify().value();
  EXPECT_THAT(found, testing::Not(testing::IsEmpty()));
  EXPECT_EQ((*opened)->experiment(3).value()->stopped_by, StopCause::rule);
}

TEST_P(FactsInSentences, OfADamagedLastEventTheQueueRuns) {
  cheat(path_, "UPDATE event SET at_ns = 7 WHERE id = (SELECT max(id) FROM event)");
  EXPECT_FALSE(open_or_fail(path_)->is_queue_paused().value());
}

TEST_P(FactsInSentences, OnlyAListOfCpusIsTakenForOne) {
  {
    Connection connection(path_);
    connection.transaction([&] {
      connection.insert(
          "event",
          to_row(Event{.experiment = 3, .kind = "machine", .text = "trials run on CPU 1\x1b[2J"}));
    });
  }
  EXPECT_EQ(open_or_fail(path_)->experiment(3).value()->trial_cpus, "");
}

INSTANTIATE_TEST_SUITE_P(OfEachVersion, FactsInSentences, testing::Range(1, 12));

// Until version 12 the machine's quietness stood only in the text of an event.
class QuietnessInSentences : public testing::TestWithParam<int> {
 protected:
  QuietnessInSentences() {
    Connection connection(path_);
    migrate(connection, schema_steps().first(static_cast<std::size_t>(GetParam())));
    connection.transaction([&] {
      for (int i = 0; i < 7; ++i)
        connection.insert("experiment", as_of(GetParam(), to_row(example_experiment())));
      for (const auto& [experiment, kind, text] :
           {std::tuple(1, "doctor", "poor for measurements: governor (powersave)"),
            {1, "doctor", "good for measurements"},
            {2, "doctor", "fair for measurements: smt (on), swappiness (60)"},
            {3, "doctor", "good for measurements"},
            {3, "doctor", "not known: the machine does not say"},
            {4, "state", "good for measurements"},
            {5, "doctor", "goodness"},
            {6, "doctor", "poor for measurements: load (3)"},
            {6, "doctor", "good for measurements"}})
        connection.insert("event",
                          to_row(Event{.experiment = experiment, .kind = kind, .text = text}));
    });
    cheat(path_, "UPDATE event SET at_ns = 7 WHERE id = 9");
  }

  static void expect_quietness(Store& store) {
    std::vector<std::optional<Quietness>> found;
    for (const Experiment& each : store.experiments().value().intact)
      found.push_back(each.quietness);
    EXPECT_THAT(found, ElementsAre(Quietness::good, Quietness::fair, std::nullopt, std::nullopt,
                                   std::nullopt, std::nullopt, std::nullopt));
  }

  TemporaryDirectory directory_;
  std::string path_ = directory_ / "stab.db";
};

TEST_P(QuietnessInSentences, BecomesAColumnWhenTheDatabaseIsOpened) {
  auto opened = Store::open(path_);
  ASSERT_TRUE(opened) << opened.error().message;
  expect_quietness(**opened);
}

TEST_P(QuietnessInSentences, BecomesAColumnWhenTheDatabaseIsRecovered) {
  cheat(path_, "PRAGMA journal_mode = DELETE; DELETE FROM event WHERE id >= 8");
  const auto found = recover(path_, directory_ / "whole.db");
  ASSERT_TRUE(found) << found.error().message;
  expect_quietness(*open_or_fail(directory_ / "whole.db"));
}

INSTANTIATE_TEST_SUITE_P(OfEachVersion, QuietnessInSentences, testing::Range(1, 13));

// Until version 14 the source, the nodes and the cause of a failed build stood only in the texts of
// events and trials.
class FactsInEvents : public testing::TestWithParam<int> {
 protected:
  FactsInEvents() {
    Connection connection(path_);
    migrate(connection, schema_steps().first(static_cast<std::size_t>(GetParam())));
    connection.transaction([&] {
      for (int i = 0; i < 4; ++i)
        connection.insert("experiment", as_of(GetParam(), to_row(example_experiment())));
      for (const auto& [experiment, kind, text] :
           {std::tuple(1, "source", "me@home/fix@" + commit_),
            {2, "source", "@" + commit_},
            {3, "source", "main@HEAD"},
            {3, "source", "a\x1b[2J@" + commit_},
            {1, "state", "main@" + commit_},
            {1, "cpus", "n2: 2-3"},
            {1, "hardware", "n2: a CPU: old"},
            {1, "hardware", "n1: another CPU"},
            {1, "cpus", "n2: 4"},
            {1, "hardware", "n2: a CPU: 8 CPUs"},
            {2, "cpus", "n1"},
            {2, "cpus", "-n: 1"},
            {2, "cpus", "n1: one"},
            {2, "hardware", "n1: a\nb"},
            {3, "state", "n1: 1"},
            {4, "build", failure("b.c:1: warning: w\nb.c:2: error: no\n")},
            {4, "build", failure("(not in the copy that is built: x; and more)\n")},
            {4, "build", "something else"}})
        connection.insert("event",
                          to_row(Event{.experiment = experiment, .kind = kind, .text = text}));
      std::uint32_t position = 0;
      for (const std::string& reason : reasons()) {
        Trial trial = example_trial(4, position++);
        trial.status = TrialStatus::build_failed;
        trial.reason = reason;
        trial.readings.clear();
        connection.insert("trial", as_of(GetParam(), to_row(trial)));
      }
      Trial trial = example_trial(4, position);
      trial.reason = reasons()[0];  // but its build did not fail
      trial.readings.clear();
      connection.insert("trial", as_of(GetParam(), to_row(trial)));
      if (GetParam() <= last_version_without_sizes) return;
      Row size;
      size.set("id", std::int64_t{4});
      size.set("uid", std::int64_t{example_experiment().uid});
      size.set("bytes", too_large);
      connection.insert_as_it_is("size", size);
    });
  }

  static std::string failure(const std::string& printed) {
    return "the build of 'b' failed:\n" + printed +
           "\nthe build command ended with exit code 1\nthe command was: cc error: x";
  }
  static std::vector<std::string> reasons() {
    return {failure("b.c:1: warning: w\nb.c:2: error: no\n"),
            failure("(not in the copy that is built: x; and more)\n"), "something else",
            failure("of which no event has the whole text")};
  }

  void expect_facts(Store& store) const {
    const std::vector<Experiment> all = store.experiments().value().intact;
    std::vector<std::pair<std::string, std::string>> sources;
    for (const Experiment& each : all) sources.emplace_back(each.source_branch, each.source_commit);
    const std::pair<std::string, std::string> none;
    EXPECT_THAT(sources, ElementsAre(std::pair<std::string, std::string>("me@home/fix", commit_),
                                     std::pair<std::string, std::string>("", commit_), none, none));
    EXPECT_THAT(all.at(0).nodes,
                ElementsAre(Node{.name = "n1", .hardware = "another CPU"},
                            Node{.name = "n2", .hardware = "a CPU: 8 CPUs", .trial_cpus = "2-3"}));
    for (const std::size_t i : {1, 2, 3}) EXPECT_THAT(all.at(i).nodes, testing::IsEmpty());
    std::vector<std::string> found;
    for (const Trial& each : trials_of(store, 4)) found.push_back(each.reason);
    EXPECT_THAT(found, ElementsAre("the build failed: b.c:2: error: no",
                                   "the build failed: the build command ended with exit code 1",
                                   "something else", reasons()[3], reasons()[0]));
    // The whole text is not lost.
    std::vector<std::string> texts;
    for (const Event& each : store.events(4).value()) texts.push_back(each.text);
    EXPECT_THAT(texts, ElementsAre(reasons()[0], reasons()[1], "something else"));
  }

  TemporaryDirectory directory_;
  std::string path_ = directory_ / "stab.db";
  std::string commit_ = std::string(40, 'a');
  static constexpr std::int64_t too_large = 1 << 30;  // the experiment has fewer bytes
};

TEST_P(FactsInEvents, BecomeColumnsWhenTheDatabaseIsOpened) {
  const auto store = open_or_fail(path_);
  expect_facts(*store);
  EXPECT_THAT(store->verify().value(), testing::IsEmpty());
  EXPECT_GT(store->bytes_of_experiment(4), 0U);
  EXPECT_LT(store->bytes_of_experiment(4), std::uint64_t{too_large});
}

TEST_P(FactsInEvents, BecomeColumnsWhenTheDatabaseIsRecovered) {
  cheat(path_, "PRAGMA journal_mode = DELETE");
  const auto found = recover(path_, directory_ / "whole.db");
  ASSERT_TRUE(found) << found.error().message;
  expect_facts(*open_or_fail(directory_ / "whole.db"));
}

TEST_P(FactsInEvents, OfDamagedRowsStayAsTheyAre) {
  cheat(path_, "UPDATE event SET at_ns = 7 WHERE id IN (1, 6, 16)");
  auto opened = Store::open(path_);
  ASSERT_TRUE(opened) << opened.error().message;
  const Experiment first = (*opened)->experiment(1).value().value();
  EXPECT_EQ(first.source_commit, "");
  EXPECT_EQ(first.nodes.at(1).trial_cpus, "4");
  EXPECT_EQ(trials_of(**opened, 4).at(0).reason, reasons()[0]);
}

INSTANTIATE_TEST_SUITE_P(OfEachVersion, FactsInEvents, testing::Range(1, 15));

TEST(Schema, AFactOfTodayIsNotReadInASentence) {
  const TemporaryDirectory directory;
  const std::string path = directory / "stab.db";
  {
    const auto store = open_or_fail(path);
    Experiment row = example_experiment();
    row.state = "done";
    row.reason = "the time of 1 min 0 s ran out after 10 of 15 blocks";
    row.id = store->add_experiment(row).value();
    ASSERT_TRUE(
        store->add_event({.experiment = row.id, .kind = "machine", .text = "trials run on CPU 1"}));
    ASSERT_TRUE(store->add_event(
        {.experiment = row.id, .kind = "doctor", .text = "good for measurements"}));
    ASSERT_TRUE(store->add_event({.kind = "queue", .text = "paused by user 0"}));
    ASSERT_TRUE(store->add_event({.experiment = row.id, .kind = "cpus", .text = "n1: 1"}));
  }
  const auto store = open_or_fail(path);
  EXPECT_EQ(store->experiment(1).value()->stopped_by, std::nullopt);
  EXPECT_EQ(store->experiment(1).value()->trial_cpus, "");
  EXPECT_EQ(store->experiment(1).value()->quietness, std::nullopt);
  EXPECT_THAT(store->experiment(1).value()->nodes, testing::IsEmpty());
  EXPECT_FALSE(store->is_queue_paused().value());
}

TEST(Schema, AnExperimentKeepsItsDurationAndAnOldOneHasNone) {
  const TemporaryDirectory directory;
  const std::string path = directory / "stab.db";
  {
    Connection connection(path);
    migrate(connection, schema_steps().first(4));
    connection.transaction(
        [&] { connection.insert("experiment", as_of(4, to_row(example_experiment()))); });
  }
  const auto store = open_or_fail(path);
  Experiment experiment = store->experiment(1).value().value();
  EXPECT_EQ(experiment.duration_ns, std::nullopt);
  experiment.duration_ns = 0;
  ASSERT_TRUE(store->update_experiment(experiment));
  EXPECT_EQ(store->experiment(1).value(), experiment);
  EXPECT_TRUE(store->verify().value().empty());
}

TEST(Schema, AThirdVersionGetsCalibrationsAndKeepsItsRows) {
  const TemporaryDirectory directory;
  const std::string path = directory / "stab.db";
  Id machine = 0;
  Id experiment = 0;
  {
    Connection connection(path);
    migrate(connection, schema_steps().first(3));
    EXPECT_EQ(connection.number("PRAGMA user_version"), 3);
    connection.transaction([&] {
      machine = connection.insert("machine", to_row(example_machine()));
      experiment = connection.insert("experiment", as_of(3, to_row(example_experiment())));
    });
  }
  const auto store = open_or_fail(path);
  EXPECT_EQ(store->machine(machine).value(), example_machine());
  EXPECT_TRUE(store->calibrations(machine)->empty());
  ASSERT_TRUE(store->add_calibrations({example_calibration(machine, experiment)}));
  EXPECT_THAT(store->calibrations(machine).value(),
              ElementsAre(example_calibration(machine, experiment)));
  EXPECT_TRUE(store->verify().value().empty());
}

}  // namespace
}  // namespace stab::store
