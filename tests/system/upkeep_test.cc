// SPDX-License-Identifier: MIT
// What leaves the database: `stabctl rm`, and what is older than the settings keep it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "base/fd.h"
#include "base/time.h"
#include "store/store.h"
#include "tests/system/lab.h"

namespace stab::test {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::int64_t day_ns = 86'400'000'000'000;
// More than what leaves the database in one piece.
constexpr int printed = 60;
static_assert(printed > store::piece_of_removal);
const std::string all_printed = std::to_string(printed);

class Upkeep : public ::testing::Test {
 protected:
  void SetUp() override {
    lab_.write("plan.toml", plan("printing", printed, "echo something >&2"));
    lab_.write("long.toml", plan("long", 100000, "sleep 0.02"));
    lab_.write("endless.toml", plan("endless", 2, "sleep 1000"));
  }
  static std::string plan(const std::string& name, int repetitions, const std::string& command) {
    return "[experiment]\nname = \"" + name + "\"\n[[benchmark]]\nname = \"b\"\nrun = [\"sh\", " +
           "\"-c\", \"" + command + "\"]\nrepetitions = " + std::to_string(repetitions) + "\n";
  }
  // Waits until neither the database nor its log has the word.
  bool is_nowhere(const std::string& word) const {
    for (int i = 0; i < 3000; ++i) {
      bool found = false;
      for (const char* file : {"state/stabd.db", "state/stabd.db-wal"})
        found = found || read_file(lab_.path(file), 1 << 28).value_or("").contains(word);
      if (!found) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return false;
  }
  int measured(const std::string& plan) const {
    const int id = lab_.submit(plan);
    EXPECT_TRUE(lab_.wait_until_final(id));
    return id;
  }
  std::string select(const std::string& sql) const {
    const Output read = run_program(
        {"/usr/bin/sqlite3", "-readonly", lab_.path("state/stabd.db"), sql}, lab_.folder());
    EXPECT_EQ(read.code, 0) << read.err;
    return read.out;
  }
  bool comes_to_be(const std::string& sql, const std::string& wanted) const {
    for (int i = 0; i < 1200; ++i, usleep(50'000))
      if (select(sql) == wanted + "\n") return true;
    return false;
  }
  // As if it had ended so many days ago; no daemon runs.
  void make_old(int id, int days) const {
    const auto store = store::Store::open(lab_.path("state/stabd.db"));
    ASSERT_TRUE(store) << store.error().message;
    const auto row = (*store)->experiment(id).value().value();
    const store::Store::SeenEnd end{
        .experiment = id, .ended_ns = row.ended_ns, .seen_ns = wall_clock_ns() - days * day_ns};
    ASSERT_TRUE((*store)->keep_ages((*store)->age_clock().value(), std::array{end}));
  }

  Lab lab_;
};

TEST_F(Upkeep, ARemovedExperimentIsGoneWithAllItsRows) {
  ASSERT_TRUE(lab_.start_daemon());
  const int id = measured("plan.toml");
  const int other = measured("plan.toml");
  const std::string name = std::to_string(id);
  const Output dry = lab_.ctl({"rm", "--dry-run", "--json", name});
  ASSERT_EQ(dry.code, 0) << dry.err;
  EXPECT_EQ(json::parse(dry.out)["trials"], printed);
  EXPECT_EQ(lab_.state(id), "done");

  const Output removed = lab_.ctl({"rm", name});
  ASSERT_EQ(removed.code, 0) << removed.err;
  EXPECT_THAT(removed.out,
              HasSubstr("experiment 1 (printing) is removed: " + all_printed + " trials"));
  EXPECT_EQ(lab_.state(id), "");
  for (const char* verb : {"status", "report", "export", "rm", "retry", "watch", "logs"}) {
    const Output refused = lab_.ctl({verb, name});
    EXPECT_EQ(refused.code, 1) << verb;
    EXPECT_THAT(refused.err, HasSubstr("there is no experiment 1")) << verb;
  }
  EXPECT_TRUE(comes_to_be("SELECT count(*) FROM trial", all_printed));
  EXPECT_TRUE(comes_to_be("SELECT count(*) FROM experiment", "1"));
  EXPECT_EQ(lab_.trials(other).size(), std::size_t{printed});
  EXPECT_THAT(
      select("SELECT text FROM event WHERE kind = 'removal'"),
      HasSubstr("experiment 1 (printing) was removed by user " + std::to_string(geteuid())));
  // Its number is nobody else's, also after a restart.
  EXPECT_EQ(lab_.ctl({"rm", std::to_string(other)}).code, 0);
  EXPECT_TRUE(comes_to_be("SELECT count(*) FROM experiment", "0"));
  EXPECT_TRUE(is_nowhere("something"));
  lab_.end_daemon(SIGTERM);
  ASSERT_TRUE(lab_.start_daemon());
  EXPECT_EQ(lab_.submit("plan.toml"), other + 1);
}

TEST_F(Upkeep, WhatHasNotEndedIsNotRemoved) {
  ASSERT_TRUE(lab_.start_daemon());
  const int running = lab_.submit("endless.toml");
  ASSERT_TRUE(lab_.wait_for(running, "running"));
  const int waiting = lab_.submit("plan.toml");
  for (const int id : {running, waiting}) {
    const Output refused = lab_.ctl({"rm", std::to_string(id)});
    EXPECT_EQ(refused.code, 1);
    EXPECT_THAT(refused.err, HasSubstr("has not ended yet: end it with 'stabctl cancel " +
                                       std::to_string(id) + "' first"));
  }
  EXPECT_EQ(lab_.ctl({"cancel", std::to_string(waiting)}).code, 0);
  EXPECT_EQ(lab_.ctl({"cancel", std::to_string(running)}).code, 0);
  EXPECT_EQ(lab_.ctl({"rm", std::to_string(running), std::to_string(waiting)}).code, 0);
  EXPECT_TRUE(comes_to_be("SELECT count(*) FROM experiment", "0"));
}

TEST_F(Upkeep, ARemovalGoesOnBetweenTheTrialsOfAnother) {
  ASSERT_TRUE(lab_.start_daemon());
  const int id = measured("plan.toml");
  const int running = lab_.submit("long.toml");
  ASSERT_TRUE(lab_.wait_for(running, "running"));
  EXPECT_EQ(lab_.ctl({"rm", std::to_string(id)}).code, 0);
  EXPECT_TRUE(comes_to_be("SELECT count(*) FROM experiment WHERE id = 1", "0"));
  // Which has not ended by itself meanwhile, and has lost nothing.
  EXPECT_EQ(lab_.state(running), "running");
  ASSERT_EQ(lab_.ctl({"cancel", std::to_string(running)}).code, 0);
  const json trials = lab_.trials(running);
  EXPECT_GT(trials.size(), 0U);
  for (std::size_t i = 0; i < trials.size(); ++i) EXPECT_EQ(trials[i]["position"], i);
}

TEST_F(Upkeep, AKillInTheMiddleOfARemovalIsNoReturn) {
  ASSERT_TRUE(lab_.start_daemon());
  const int id = measured("plan.toml");
  // While its trial runs nothing is removed: all of it is left when the daemon is killed.
  const int running = lab_.submit("endless.toml");
  ASSERT_TRUE(comes_to_be("SELECT count(*) FROM experiment WHERE state = 'running'", "1"));
  EXPECT_EQ(lab_.ctl({"rm", std::to_string(id)}).code, 0);
  lab_.end_daemon(SIGKILL);
  EXPECT_NE(select("SELECT count(*) FROM trial"), "0\n");
  ASSERT_TRUE(lab_.start_daemon());
  EXPECT_EQ(lab_.state(id), "");
  EXPECT_EQ(lab_.ctl({"cancel", std::to_string(running)}).code, 0);
  EXPECT_EQ(lab_.ctl({"rm", std::to_string(running)}).code, 0);
  EXPECT_TRUE(comes_to_be("SELECT count(*) FROM experiment", "0"));
  EXPECT_EQ(select("SELECT count(*) FROM trial"), "0\n");
  EXPECT_EQ(select("SELECT count(*) FROM reading"), "0\n");
}

TEST_F(Upkeep, OfAFolderExperimentsAreRemovedWithoutADaemon) {
  ASSERT_TRUE(lab_.start_daemon());
  const int id = measured("plan.toml");
  const std::vector<std::string> remove{"rm", "--state", lab_.path("state"), std::to_string(id)};
  const Output refused = lab_.ctl(remove);
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.err, HasSubstr(std::to_string(lab_.daemon())));  // who has it
  // To say what would go nothing needs to be written.
  EXPECT_EQ(lab_.ctl({"rm", "--dry-run", "--state", lab_.path("state"), std::to_string(id)}).code,
            0);
  lab_.end_daemon(SIGTERM);
  const std::vector<std::string> dry{"rm", "--dry-run", "--state", lab_.path("state"),
                                     std::to_string(id)};
  const std::string before = read_file(lab_.path("state/stabd.db"), 1 << 28).value();
  const Output would = lab_.ctl(dry);
  EXPECT_EQ(would.code, 0) << would.err;
  EXPECT_THAT(would.out, HasSubstr("would be removed: " + all_printed + " trials"));
  EXPECT_EQ(read_file(lab_.path("state/stabd.db"), 1 << 28).value(), before);
  EXPECT_THAT(lab_.ctl({"rm", "--state", lab_.path("state"), std::to_string(id + 1)}).err,
              HasSubstr("stabd.db: choose one of 1"));
  const Output removed = lab_.ctl(remove);
  EXPECT_EQ(removed.code, 0) << removed.err;
  EXPECT_EQ(select("SELECT count(*) FROM experiment"), "0\n");
  EXPECT_EQ(select("SELECT count(*) FROM trial"), "0\n");
  EXPECT_THAT(lab_.ctl(remove).err,
              AllOf(HasSubstr("there is no experiment 1"), HasSubstr("('stabctl runs' lists ")));
  // A folder without experiments has nothing to report.
  const Output none = lab_.ctl({"report", "--state", lab_.path("state")});
  EXPECT_EQ(none.code, 1);
  EXPECT_THAT(none.err,
              AllOf(HasSubstr("holds no experiment"), HasSubstr("('stabctl runs' lists ")));
}

TEST_F(Upkeep, OldOutputGoesAndReportAndExportStay) {
  lab_.write("stabd.toml", "[retention]\noutput_days = 30\n");
  ASSERT_TRUE(lab_.start_daemon());
  const int id = measured("plan.toml");
  const int young = measured("plan.toml");
  const std::string name = std::to_string(id);
  lab_.end_daemon(SIGTERM);
  make_old(id, 31);
  make_old(young, 29);
  ASSERT_TRUE(lab_.start_daemon());
  EXPECT_TRUE(comes_to_be("SELECT count(*) FROM trial WHERE stderr_tail <> ''", all_printed));
  EXPECT_TRUE(comes_to_be("SELECT count(*) FROM event WHERE kind = 'retention'", "1"));
  EXPECT_THAT(lab_.ctl({"status", name}).out,
              HasSubstr("the output of its trials and builds was removed 30 days after its end"));
  EXPECT_THAT(lab_.ctl({"logs", name}).out, Not(HasSubstr("something")));
  EXPECT_THAT(lab_.ctl({"logs", std::to_string(young)}).out, HasSubstr("something"));
  const json trials = lab_.trials(id);
  ASSERT_EQ(trials.size(), std::size_t{printed});
  for (const json& trial : trials) EXPECT_EQ(trial["stdout_sha256"].get<std::string>().size(), 64U);
  EXPECT_EQ(lab_.ctl({"report", name}).code, 0);
  const Output replayed = lab_.ctl({"replay", name, "5"});
  EXPECT_EQ(replayed.code, 0) << replayed.err;
}

TEST_F(Upkeep, OldExperimentsGo) {
  ASSERT_TRUE(lab_.start_daemon());
  const int id = measured("plan.toml");
  const int young = measured("plan.toml");
  lab_.end_daemon(SIGTERM);
  make_old(id, 8);
  // Without a setting they stay.
  ASSERT_TRUE(lab_.start_daemon());
  EXPECT_EQ(lab_.state(id), "done");
  lab_.end_daemon(SIGTERM);
  lab_.write("stabd.toml", "[retention]\nexperiments_days = 7\n");
  ASSERT_TRUE(lab_.start_daemon());
  EXPECT_TRUE(comes_to_be("SELECT count(*) FROM experiment", "1"));
  EXPECT_EQ(lab_.state(id), "");
  EXPECT_EQ(lab_.state(young), "done");
  EXPECT_THAT(select("SELECT text FROM event WHERE kind = 'removal'"),
              HasSubstr("experiment 1 (printing) was removed 7 days after its end"));
  EXPECT_TRUE(wait_for_text(lab_.path("stabd.log"), "retention: experiment 1 (printing) of user " +
                                                        std::to_string(geteuid()) +
                                                        ": is removed 7 days after its end"));
}

TEST_F(Upkeep, AWrongClockRemovesNothing) {
  if (!make_clock(lab_)) GTEST_SKIP() << "the clock of a program cannot be set here";
  lab_.write("stabd.toml", "[retention]\nexperiments_days = 7\noutput_days = 7\n");
  ASSERT_TRUE(lab_.start_daemon());
  const int first = measured("plan.toml");
  lab_.end_daemon(SIGTERM);
  setenv("LD_PRELOAD", lab_.path("clock.so").c_str(), 1);
  int last = 0;
  for (const char* seconds : {"345600000", "-345600000", "345600000"}) {
    lab_.write("clock", seconds);
    ASSERT_TRUE(lab_.start_daemon());
    last = measured("plan.toml");
    lab_.end_daemon(SIGTERM);
  }
  unsetenv("LD_PRELOAD");
  ASSERT_TRUE(lab_.start_daemon());
  measured("plan.toml");
  for (int id = first; id <= last; ++id) {
    EXPECT_EQ(lab_.state(id), "done") << id;
    EXPECT_THAT(lab_.ctl({"logs", std::to_string(id)}).out, HasSubstr("something")) << id;
  }
  EXPECT_THAT(read_file(lab_.path("stabd.log"), 1 << 20).value_or(""),
              Not(HasSubstr("retention:")));
}

TEST_F(Upkeep, WhatCameFromAnArchiveIsNoOlderThanItsComing) {
  ASSERT_TRUE(lab_.start_daemon());
  const int id = measured("plan.toml");
  lab_.end_daemon(SIGTERM);
  make_old(id, 8);
  lab_.write("stabd.toml", "[retention]\nexperiments_days = 7\noutput_days = 7\n");
  ASSERT_EQ(lab_.ctl({"export", std::to_string(id), "--archive", lab_.path("old.stab"), "--state",
                      lab_.path("state")})
                .code,
            0);
  ASSERT_EQ(lab_.ctl({"import", lab_.path("old.stab"), "--state", lab_.path("state")}).code, 0);
  ASSERT_TRUE(lab_.start_daemon());
  // Both ended at the same time.
  EXPECT_TRUE(comes_to_be("SELECT count(*) FROM experiment WHERE id = 1", "0"));
  EXPECT_EQ(lab_.state(id + 1), "done");
  EXPECT_EQ(select("SELECT count(*) FROM trial WHERE stderr_tail <> ''"), all_printed + "\n");
  // And when its own time has come it goes.
  lab_.end_daemon(SIGTERM);
  make_old(id + 1, 8);
  ASSERT_TRUE(lab_.start_daemon());
  EXPECT_TRUE(comes_to_be("SELECT count(*) FROM experiment", "0"));
}

}  // namespace
}  // namespace stab::test
