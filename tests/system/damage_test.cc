// SPDX-License-Identifier: MIT
// Bytes of the database that change while no daemon runs: a row costs its experiment, a page the
// queue, and neither costs what can still be read.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "base/fd.h"
#include "tests/system/lab.h"

namespace stab::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::size_t page_size = 4096;

class Damage : public ::testing::Test {
 protected:
  Damage() : database_(lab_.path("state/stabd.db")) {
    lab_.write("first.toml",
               "[experiment]\nname = \"the-first-one\"\n[[benchmark]]\nname = \"b\"\n"
               "build = \"echo built-by-the-first; cp /bin/true ${OUT}\"\n"
               "run = [\"${OUT}\"]\nsources = [\"first.toml\"]\nrepetitions = 30\n");
    lab_.write("next.toml",
               "[experiment]\nname = \"next\"\n[[benchmark]]\nname = \"b\"\nrun = [\"true\"]\n"
               "repetitions = 3\n");
  }

  // One that is done, and no daemon.
  void measure_first() {
    ASSERT_TRUE(lab_.start_daemon());
    ASSERT_EQ(lab_.submit("first.toml"), 1);
    ASSERT_TRUE(lab_.wait_until_final(1));
    ASSERT_EQ(lab_.state(1), "done");
    lab_.end_daemon(SIGTERM);
    whole_ = bytes();
  }

  [[nodiscard]] std::string bytes() const { return read_file(database_, 1 << 26).value_or(""); }
  void write(const std::string& text) const {
    std::ofstream(database_, std::ios::binary | std::ios::trunc) << text;
  }
  [[nodiscard]] std::string sql(const std::string& query) const {
    const Output output =
        run_program({"/usr/bin/sqlite3", "-readonly", database_, query}, lab_.folder());
    EXPECT_EQ(output.code, 0) << output.err;
    return output.out;
  }
  // The last place of the text, moved by so many bytes, gets this byte.
  void change(const std::string& text, int move, char byte) const {
    std::string all = bytes();
    const std::size_t place = all.rfind(text);
    ASSERT_NE(place, std::string::npos) << text;
    all[place + static_cast<std::size_t>(move)] = byte;
    write(all);
  }
  void destroy_root_of(const std::string& name) const {
    const auto page =
        std::stoul(sql(fmt::format("SELECT rootpage FROM sqlite_schema WHERE name = '{}'", name)));
    std::string all = bytes();
    all.replace((page - 1) * page_size, page_size, std::string(page_size, '\x5a'));
    write(all);
  }
  [[nodiscard]] std::string log() const {
    return read_file(lab_.path("stabd.log"), 1 << 24).value_or("");
  }

  // The daemon serves, and what is submitted now is measured.
  void expect_others_go_on() {
    const int next = lab_.submit("next.toml");
    ASSERT_NE(next, 0);
    ASSERT_TRUE(lab_.wait_until_final(next));
    EXPECT_EQ(lab_.state(next), "done");
    EXPECT_EQ(lab_.ctl({"report", std::to_string(next)}).code, 0);
  }

  Lab lab_;
  std::string database_;
  std::string whole_;
};

struct Case {
  const char* table;
  const char* text;  // in a row of the first experiment
  int move;
  char byte;
  const char* verb;  // that needs the row
};

class DamagedRow : public Damage, public ::testing::WithParamInterface<Case> {};

TEST_P(DamagedRow, CostsItsExperimentAndIsNamed) {
  const Case& one = GetParam();
  ASSERT_NO_FATAL_FAILURE(measure_first());
  change(one.text, one.move, one.byte);
  ASSERT_TRUE(lab_.start_daemon());
  const std::string name = fmt::format(" of table {} has changed since it was written", one.table);
  EXPECT_TRUE(wait_for_text(lab_.path("stabd.log"), name)) << log();
  const Output list = lab_.ctl({"list"});
  EXPECT_EQ(list.code, 0) << list.err;
  const Output refused = lab_.ctl({one.verb, "1"});
  if (std::string(one.table) == "machine") {
    // Of what was measured nothing is lost.
    EXPECT_EQ(refused.code, 0) << refused.err;
    EXPECT_THAT(refused.out, HasSubstr("not known: cannot read machine 1"));
  } else {
    EXPECT_EQ(refused.code, 1) << refused.out;
    EXPECT_THAT(refused.err,
                ContainsRegex(fmt::format("row [0-9]+ of table {} is damaged", one.table)));
  }
  expect_others_go_on();
  EXPECT_THAT(log(), Not(HasSubstr("nothing runs")));
}

INSTANTIATE_TEST_SUITE_P(
    OfEachTable, DamagedRow,
    ::testing::Values(Case{"experiment", "the-first-one[experiment]", 2, '?', "report"},
                      Case{"build", "built-by-the-first; cp", 2, '?', "report"},
                      Case{"trial", "b{}", 1, '[', "report"},
                      Case{"machine", "hypervisor", 2, '?', "report"},
                      Case{"event", "analysing", 2, '?', "status"}),
    [](const auto& info) { return info.param.table; });

// The byte before the first text says what types the values have: SQLite cannot read such a row.
TEST_F(Damage, ARowThatCannotBeReadCostsItsExperimentOnly) {
  ASSERT_NO_FATAL_FAILURE(measure_first());
  change("the-first-one[experiment]", -1, '\x7f');
  ASSERT_TRUE(lab_.start_daemon());
  const Output list = lab_.ctl({"list"});
  EXPECT_EQ(list.code, 0) << list.err;
  EXPECT_THAT(list.out, AllOf(HasSubstr("damaged"), HasSubstr("row 1 of table experiment")));
  EXPECT_EQ(lab_.ctl({"report", "1"}).code, 1);
  expect_others_go_on();
}

TEST_F(Damage, WithoutTheQueuesStateTheDaemonStartsAndTheQueueGoesOn) {
  ASSERT_NO_FATAL_FAILURE(measure_first());
  ASSERT_TRUE(lab_.start_daemon());
  ASSERT_EQ(lab_.ctl({"pause", "--queue"}).code, 0);
  lab_.end_daemon(SIGTERM);
  const Output changed =
      run_program({"/usr/bin/sqlite3", database_,
                   "UPDATE meta SET value = 'pau?ed' WHERE key = 'queue'; SELECT changes()"},
                  lab_.folder());
  ASSERT_EQ(changed.out, "1\n") << changed.err;
  ASSERT_TRUE(lab_.start_daemon());
  EXPECT_THAT(log(), HasSubstr("cannot read whether the queue was paused"));
  EXPECT_EQ(lab_.ctl({"report", "1"}).code, 0);
  expect_others_go_on();
}

TEST_F(Damage, WithoutItsFirstPageNothingIsServedAndAllIsRecovered) {
  ASSERT_NO_FATAL_FAILURE(measure_first());
  write(std::string(page_size, '\x5a') + bytes().substr(page_size));
  EXPECT_FALSE(lab_.start_daemon());
  EXPECT_THAT(log(), HasSubstr("'stabctl recover'"));
  const Output done = lab_.ctl({"recover", lab_.path("state"), lab_.path("whole.db")});
  EXPECT_EQ(done.code, 5);
  EXPECT_THAT(done.out,
              AllOf(HasSubstr("meta                2 kept        0 lost\n"),
                    HasSubstr("build               1 kept        0 lost, and more may be lost\n"),
                    HasSubstr("trial              30 kept        0 lost, and more may be lost\n"),
                    Not(HasSubstr("nothing was lost"))));
}

// A damaged root of a small table is found at the start, one of a large table or an index by the
// verification that follows.
class DestroyedPage : public Damage, public ::testing::WithParamInterface<const char*> {};

TEST_P(DestroyedPage, StopsTheQueueUntilTheDatabaseIsRecovered) {
  ASSERT_NO_FATAL_FAILURE(measure_first());
  ASSERT_TRUE(lab_.start_daemon());
  ASSERT_EQ(lab_.ctl({"pause", "--queue"}).code, 0);
  ASSERT_EQ(lab_.submit("next.toml"), 2);
  lab_.end_daemon(SIGTERM);
  destroy_root_of(GetParam());
  const std::string damaged = bytes();

  ASSERT_TRUE(lab_.start_daemon());
  ASSERT_TRUE(wait_for_text(lab_.path("stabd.log"), "nothing is stored and nothing runs")) << log();
  const Output list = lab_.ctl({"list"});
  EXPECT_EQ(list.code, 0) << list.err;
  EXPECT_THAT(list.out, AllOf(HasSubstr("the-first-one"), HasSubstr("the database is damaged")));
  const Output refused = lab_.ctl({"submit", lab_.path("next.toml")});
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.err,
              HasSubstr("stop stabd, then save what is intact with 'stabctl recover'"));
  EXPECT_EQ(lab_.ctl({"resume", "--queue"}).code, 1);
  EXPECT_EQ(lab_.ctl({"cancel", "2"}).code, 1);
  EXPECT_EQ(lab_.state(2), "queued");
  const Output watch = lab_.ctl({"watch", "2"});  // it does not wait for what does not come
  EXPECT_EQ(watch.code, 1);
  EXPECT_THAT(watch.err, HasSubstr("'stabctl recover'"));
  // Beside a daemon nothing is recovered.
  const Output beside = lab_.ctl({"recover", lab_.path("state"), lab_.path("whole.db")});
  EXPECT_EQ(beside.code, 1);
  EXPECT_THAT(beside.err, HasSubstr("is in use by stabd"));
  lab_.end_daemon(SIGTERM);
  EXPECT_EQ(bytes(), damaged);

  fs::rename(lab_.path("state"), lab_.path("damaged"));
  fs::create_directory(lab_.path("state"));
  const Output done = lab_.ctl({"recover", "--json", lab_.path("damaged"), lab_.path("state")});
  const json found = json::parse(done.out, nullptr, false);
  ASSERT_TRUE(found.is_object()) << done.err;
  // Nothing tells how many events there were. That no trial is lost the experiments tell.
  const bool lost_nothing = std::string(GetParam()) != "event";
  EXPECT_EQ(found["lost_nothing"], lost_nothing) << done.out;
  EXPECT_EQ(done.code, lost_nothing ? 0 : 5);
  EXPECT_EQ(read_file(lab_.path("damaged/stabd.db"), 1 << 26).value(), damaged);
  ASSERT_TRUE(lab_.start_daemon());
  if (lab_.ctl({"resume", "--queue"}).code != 0) ADD_FAILURE() << log();
  ASSERT_TRUE(lab_.wait_until_final(2));
  EXPECT_EQ(lab_.state(2), "done");
  EXPECT_EQ(lab_.state(1), "done");
  EXPECT_EQ(lab_.ctl({"report", "1"}).code, 0);
}

INSTANTIATE_TEST_SUITE_P(Of, DestroyedPage,
                         ::testing::Values("event", "trial", "sqlite_autoindex_trial_1"),
                         [](const auto& info) { return std::string(info.param); });

TEST_F(Damage, WhatRecoverSaysAndExitsWith) {
  ASSERT_NO_FATAL_FAILURE(measure_first());
  const Output whole = lab_.ctl({"recover", lab_.path("state"), lab_.path("whole.db")});
  EXPECT_EQ(whole.code, 0) << whole.err;
  EXPECT_THAT(whole.out, HasSubstr("whole.db is complete, and nothing was lost"));
  const Output again = lab_.ctl({"recover", lab_.path("state"), lab_.path("whole.db")});
  EXPECT_EQ(again.code, 1);
  EXPECT_THAT(again.err, HasSubstr("already exists"));
  change("the-first-one[experiment]", 2, '?');
  const Output lost = lab_.ctl({"recover", lab_.path("state"), lab_.path("rest.db")});
  EXPECT_EQ(lost.code, 5);
  EXPECT_THAT(lost.out, AllOf(HasSubstr("experiment 1: it is lost"),
                              HasSubstr("trial               0 kept       30 lost")));
}

TEST_F(Damage, WhatIsLeftOfAnExperimentIsReportedAndMeasuredAgain) {
  ASSERT_NO_FATAL_FAILURE(measure_first());
  change("b{}", 1, '[');
  EXPECT_EQ(lab_.ctl({"recover", lab_.path("state"), lab_.path("rest.db")}).code, 5);
  fs::rename(lab_.path("state"), lab_.path("damaged"));
  fs::create_directory(lab_.path("state"));
  fs::rename(lab_.path("rest.db"), database_);
  ASSERT_TRUE(lab_.start_daemon());
  EXPECT_EQ(lab_.state(1), "failed");
  const Output rows = lab_.ctl({"export", "--format", "json", "1"});
  EXPECT_EQ(rows.code, 0) << rows.err;
  EXPECT_EQ(json::parse(rows.out, nullptr, false).size(), 29U);
  EXPECT_EQ(lab_.ctl({"report", "1"}).code, 0);
  const Output again = lab_.ctl({"retry", "1"});
  EXPECT_EQ(again.code, 0) << again.err;
  ASSERT_TRUE(lab_.wait_until_final(1));
  EXPECT_EQ(lab_.state(1), "done");
  EXPECT_EQ(json::parse(lab_.ctl({"export", "--format", "json", "1"}).out).size(), 30U);
}

TEST_F(Damage, ABackupIsMadeWhileStabdRunsAndServesInItsPlace) {
  ASSERT_NO_FATAL_FAILURE(measure_first());
  ASSERT_TRUE(lab_.start_daemon());
  lab_.write("long.toml",
             "[experiment]\nname = \"long\"\n[[benchmark]]\nname = \"b\"\nrun = [\"sleep\", "
             "\"0.02\"]\nrepetitions = 100000\n");
  const int id = lab_.submit("long.toml");
  ASSERT_TRUE(lab_.wait_for(id, "running"));
  const Output output = lab_.ctl({"backup", "--json", lab_.path("backup.db")});
  EXPECT_EQ(output.code, 0) << output.err;
  EXPECT_EQ(json::parse(output.out)["damage"], json::array());
  struct stat status{};
  ASSERT_EQ(stat(lab_.path("backup.db").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
  const Output again = lab_.ctl({"backup", lab_.path("backup.db")});
  EXPECT_EQ(again.code, 1);
  EXPECT_THAT(again.err, HasSubstr("already exists"));
  ASSERT_EQ(lab_.ctl({"cancel", std::to_string(id)}).code, 0);
  const std::string report = lab_.ctl({"export", "1"}).out;
  lab_.end_daemon(SIGTERM);

  fs::rename(lab_.path("state"), lab_.path("gone"));
  fs::create_directory(lab_.path("state"));
  fs::copy_file(lab_.path("backup.db"), lab_.path("state/stabd.db"));
  // Without a daemon, too.
  EXPECT_EQ(lab_.ctl({"backup", "--state", lab_.path("state"), lab_.path("second.db")}).code, 0);
  ASSERT_TRUE(lab_.start_daemon());
  EXPECT_EQ(lab_.ctl({"export", "1"}).out, report);
  // What ran then goes on.
  ASSERT_EQ(lab_.ctl({"cancel", std::to_string(id)}).code, 0);
  expect_others_go_on();
}

TEST_F(Damage, ABackupOfADamagedDatabaseSaysSo) {
  ASSERT_NO_FATAL_FAILURE(measure_first());
  change("the-first-one[experiment]", 2, '?');
  const Output output = lab_.ctl({"backup", "--state", lab_.path("state"), lab_.path("backup.db")});
  EXPECT_EQ(output.code, 5);
  EXPECT_THAT(output.out, HasSubstr("row 1 of experiment"));
  EXPECT_THAT(output.err, HasSubstr("stabctl recover"));
}

}  // namespace
}  // namespace stab::test
