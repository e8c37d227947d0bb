// SPDX-License-Identifier: MIT
// A whole experiment as a file, and back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "counters/readings.h"
#include "store/store.h"
#include "store/test_support.h"
#include "tests/system/lab.h"

namespace stab::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::HasSubstr;

class Archive : public ::testing::Test {
 protected:
  void SetUp() override {
    lab_.write("b.c", "int main(void) { int unused; return 0; }\n");
    lab_.write(
        "plan.toml",
        "[experiment]\nname = \"kept\"\n[[benchmark]]\nname = \"b\"\nrepetitions = 6\n"
        "build = \"cc -Wall ${OPT} -o ${OUT} b.c\"\nsources = [\"b.c\"]\n"
        "run = [\"sh\", \"-c\", \"echo said >&2; ${OUT}\"]\n"
        "[factor.opt]\nlevels = { O0 = { OPT = \"-O0 -DA\" }, O2 = { OPT = \"-O2 -g\" } }\n");
    ASSERT_TRUE(lab_.start_daemon());
    ASSERT_GT(lab_.submit("plan.toml"), 0);
    id_ = lab_.submit("plan.toml");
    ASSERT_TRUE(lab_.wait_until_final(id_));
  }
  Output of(const std::string& state, std::vector<std::string> arguments) const {
    arguments.insert(arguments.end(), {"--state", lab_.path(state)});
    return lab_.ctl(arguments);
  }
  std::string file() const { return lab_.path("kept.stab"); }
  Output write_archive() const {
    return lab_.ctl({"export", std::to_string(id_), "--archive", file()});
  }
  void change(const std::string& sql) const {
    const Output changed = run_program({"/usr/bin/sqlite3", file(), sql}, lab_.folder());
    ASSERT_EQ(changed.code, 0) << changed.err;
  }
  // Byte for byte, but for the lines with the database's path and the experiment's number.
  std::string report(const std::string& state, int id) const {
    const Output shown = of(state, {"report", std::to_string(id), "--json"});
    EXPECT_EQ(shown.code, 0) << shown.err;
    std::istringstream lines(shown.out);
    std::string text;
    int left_out = 0;
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with("  \"id\":") || line.starts_with("  \"database\":"))
        ++left_out;
      else
        text += line + "\n";
    }
    EXPECT_EQ(left_out, 2) << shown.out;
    return text;
  }
  bool refuses(const std::string& why) const {
    const Output refused = of("elsewhere", {"import", file()});
    EXPECT_EQ(refused.code, 1);
    EXPECT_THAT(refused.err, HasSubstr("is not imported"));
    EXPECT_THAT(refused.err, HasSubstr(why));
    // And nothing is left of it.
    const auto store = store::Store::open(lab_.path("elsewhere/stabd.db"));
    EXPECT_TRUE(store);
    return store && !(*store)->machine(1).value() && (*store)->experiments()->intact.empty() &&
           (*store)->removals()->empty();
  }

  Lab lab_;
  int id_ = 0;
};

TEST_F(Archive, AnImportedExperimentHasTheSameReportTrialsAndLogs) {
  const Output written = write_archive();
  ASSERT_EQ(written.code, 0) << written.err;
  EXPECT_FALSE(fs::exists(file() + "-wal"));
  // The archive is a database by itself.
  fs::create_directory(lab_.path("alone"));
  fs::copy_file(file(), lab_.path("alone/stabd.db"));
  EXPECT_EQ(report("alone", 1), report("state", id_));
  const Output imported = of("elsewhere", {"import", "--json", file()});
  ASSERT_EQ(imported.code, 0) << imported.err;
  EXPECT_EQ(json::parse(imported.out)["id"], 1);
  // A database is its user's business.
  for (const char* made : {"elsewhere", "elsewhere/stabd.db"})
    EXPECT_EQ(fs::status(lab_.path(made)).permissions() & fs::perms(077), fs::perms::none) << made;
  EXPECT_EQ(report("elsewhere", 1), report("state", id_));
  for (const char* format : {"csv", "json"})
    EXPECT_EQ(of("elsewhere", {"export", "1", "--format", format}).out,
              of("state", {"export", std::to_string(id_), "--format", format}).out);
  const std::string before = of("state", {"logs", std::to_string(id_)}).out;
  const std::string after = of("elsewhere", {"logs", "1"}).out;
  EXPECT_TRUE(after.starts_with(before)) << after;
  EXPECT_THAT(after, HasSubstr("experiment 2 of the database " + lab_.path("state/stabd.db") +
                               " was written"));
  EXPECT_THAT(after, HasSubstr("imported from " + file()));
  // A folder with one experiment needs no number.
  ASSERT_EQ(of("elsewhere", {"export", "--archive", lab_.path("one.stab")}).code, 0);
  EXPECT_TRUE(fs::exists(lab_.path("one.stab")));
  // Once more, under a number of its own; also beside what is there.
  ASSERT_EQ(of("elsewhere", {"import", file()}).code, 0);
  EXPECT_EQ(report("elsewhere", 2), report("elsewhere", 1));
  EXPECT_THAT(of("elsewhere", {"export", "--archive", lab_.path("which.stab")}).err,
              HasSubstr("holds the experiments 1, 2: choose one"));
}

TEST_F(Archive, AFolderThatADaemonUsesIsRefused) {
  ASSERT_EQ(write_archive().code, 0);
  const Output refused = of("state", {"import", file()});
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.err, HasSubstr(std::to_string(lab_.daemon())));
  lab_.end_daemon(SIGTERM);
  EXPECT_EQ(of("state", {"import", file()}).code, 0);
  ASSERT_TRUE(lab_.start_daemon());
  EXPECT_EQ(lab_.state(id_ + 1), "done");
  EXPECT_EQ(lab_.trials(id_ + 1), lab_.trials(id_));
}

TEST_F(Archive, GoesIntoTheDatabaseOfARunningDaemonBesideAnExperiment) {
  ASSERT_EQ(write_archive().code, 0);
  lab_.write("long.toml",
             "[experiment]\nname = \"long\"\n[[benchmark]]\nname = \"b\"\nrun = [\"sleep\", "
             "\"0.02\"]\nrepetitions = 100000\n");
  const int running = lab_.submit("long.toml");
  ASSERT_TRUE(lab_.wait_for(running, "running"));
  const Output imported = lab_.ctl({"import", "--json", file()});
  ASSERT_EQ(imported.code, 0) << imported.err;
  const int id = json::parse(imported.out)["id"];
  EXPECT_EQ(id, running + 1);
  EXPECT_EQ(lab_.state(running), "running");
  EXPECT_EQ(report("state", id), report("state", id_));
  // And it is as good an archive again.
  ASSERT_EQ(lab_.ctl({"export", std::to_string(id), "--archive", lab_.path("again.stab")}).code, 0);
  ASSERT_EQ(of("elsewhere", {"import", lab_.path("again.stab")}).code, 0);
  EXPECT_EQ(report("elsewhere", 1), report("state", id_));
}

TEST_F(Archive, IsNotImportedIntoWhatIsNoFolder) {
  ASSERT_EQ(write_archive().code, 0);
  for (const char* name : {"new/stabd.db", "state/stabd.db", "plan.toml"}) {
    const Output refused = of(name, {"import", file()});
    EXPECT_EQ(refused.code, 1);
    EXPECT_THAT(refused.err, HasSubstr("--folder needs the folder of a database"));
  }
  EXPECT_FALSE(fs::exists(lab_.path("new")));
}

TEST_F(Archive, NoFileIsReplacedAndNothingIsWrittenOfWhatHasNotEnded) {
  lab_.write("kept.stab", "mine");
  const Output there = write_archive();
  EXPECT_EQ(there.code, 1);
  EXPECT_THAT(there.err, HasSubstr("already exists"));
  fs::remove(file());
  lab_.write("long.toml",
             "[experiment]\nname = \"long\"\n[[benchmark]]\nname = \"b\"\nrun = [\"sleep\", "
             "\"1\"]\nrepetitions = 100\n");
  const int running = lab_.submit("long.toml");
  const Output early = lab_.ctl({"export", std::to_string(running), "--archive", file()});
  EXPECT_EQ(early.code, 1);
  EXPECT_THAT(early.err, HasSubstr("has not ended yet"));
  EXPECT_THAT(lab_.ctl({"export", "77", "--archive", file()}).err,
              HasSubstr("there is no experiment 77"));
  for (const auto& entry : fs::directory_iterator(lab_.folder()))
    EXPECT_FALSE(entry.path().filename().string().starts_with("kept.stab")) << entry.path();
}

TEST_F(Archive, WhatIsDamagedOrNoneIsRefusedWithTheReason) {
  ASSERT_EQ(write_archive().code, 0);
  change("UPDATE trial SET wall_ns = 1 WHERE position = 3");
  EXPECT_TRUE(refuses("the archive is damaged: row 4 of table trial"));
  fs::remove(file());
  ASSERT_EQ(write_archive().code, 0);
  change("DELETE FROM trial WHERE position = 3; UPDATE trial SET reading_list = NULL");
  EXPECT_TRUE(refuses("damaged"));
  fs::resize_file(file(), fs::file_size(file()) / 2);
  EXPECT_TRUE(refuses(""));
  lab_.write("kept.stab", "this is no database at all, but a text of some length\n");
  EXPECT_TRUE(refuses("not a database"));
  fs::copy_file(lab_.path("state/stabd.db"), file(), fs::copy_options::overwrite_existing);
  EXPECT_TRUE(refuses(""));
}

TEST_F(Archive, OneOfAnEarlierVersionIsImported) {
  lab_.write("kept.stab", "");
  fs::remove(file());
  store::Experiment old = store::example_experiment();
  old.plan = "[experiment]\nname = \"sort\"\n[[benchmark]]\nname = \"sort\"\nrun = [\"true\"]\n";
  old.state = "done";
  old.reason.clear();
  old.trials = 3;
  store::make_version_6(file(), 3, old);
  const Output imported = of("elsewhere", {"import", file()});
  ASSERT_EQ(imported.code, 0) << imported.err;
  EXPECT_THAT(of("elsewhere", {"export", "1", "--format", "csv"}).out,
              HasSubstr(",123456789,counted,0,counted,-1,scaled,,absent,,absent\r\n"));
  // Nothing is left beside the database.
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(lab_.path("elsewhere")))
    names.insert(entry.path().filename());
  EXPECT_THAT(names, testing::Not(testing::Contains(HasSubstr("import"))));
}

// Whoever makes a file can give its rows the right checksums.
TEST_F(Archive, AHostileFileGetsNothing) {
  ASSERT_EQ(write_archive().code, 0);
  const auto forge = [&](const auto& forger) {
    for (const char* suffix : {"", "-wal", "-shm", ".lock"}) fs::remove(file() + suffix);
    ASSERT_EQ(write_archive().code, 0);
    const auto store = store::Store::open(file());
    ASSERT_TRUE(store);
    auto row = (*store)->experiment(1).value().value();
    forger(row);
    ASSERT_TRUE((*store)->update_experiment(row));
  };
  forge([](store::Experiment& row) { row.state = "running"; });
  EXPECT_TRUE(refuses("the archive's experiment has not ended; its state is running"));
  forge([](store::Experiment& row) { row.plan = "run = 3"; });
  EXPECT_TRUE(refuses("does not accept the experiment's plan"));
  forge([](store::Experiment& row) { row.trials = 2; });
  EXPECT_TRUE(refuses(
      "there is a trial at position 2 (counted from 0), but the experiment has only 2 trials"));
  const std::string long_name(1'100'000, 'n');
  forge([&](store::Experiment& row) { row.name = long_name; });
  constexpr const char* too_long =
      "the column name of row 1 of table experiment holds 1100000 bytes, but at most 400 bytes are "
      "allowed";
  EXPECT_TRUE(refuses(too_long));
  EXPECT_THAT(lab_.ctl({"import", file()}).err, HasSubstr(too_long));
  EXPECT_EQ(lab_.ctl({"list"}).code, 0);
  forge([](store::Experiment& row) { row.name = "\x1b[2J"; });
  EXPECT_TRUE(refuses("differs from the name in the plan"));
  forge([](store::Experiment& row) { row.ended_ns += std::int64_t{10'000} * 86'400'000'000'000; });
  EXPECT_TRUE(refuses("has a date in the future"));
  forge(
      [](store::Experiment& row) { row.started_ns += std::int64_t{10'000} * 86'400'000'000'000; });
  EXPECT_TRUE(refuses("has a date in the future"));
  forge([](store::Experiment& row) {
    const std::string own = "name = \"b\"";
    row.plan.replace(row.plan.find(own), own.size(), "name = \"c\"");
  });
  EXPECT_TRUE(refuses(
      "the column 'benchmark' of table build contains b, which is not a benchmark of the plan"));
  const auto forge_trial = [&](const std::vector<counters::Samples>& samples) {
    forge([&](const store::Experiment&) {});
    const auto store = store::Store::open(file());
    ASSERT_TRUE(store);
    store::Trial trial;
    ASSERT_TRUE((*store)->for_each_trial(1, [&](const store::Trial& each) {
      trial = each;
      return false;
    }));
    ++trial.attempt;
    trial.samples = samples;
    ASSERT_TRUE((*store)->add_trial(trial));
  };
  forge_trial({{.measure = "time", .subject = "\x1b[2J", .values = {1}}});
  EXPECT_TRUE(refuses("has samples with a name or unit that is not a single line"));
  const counters::Samples insert{.measure = "time", .subject = "insert", .values = {1}};
  forge_trial({insert, insert});
  EXPECT_TRUE(refuses("has two lists of samples of time insert"));
  // Of root, say: it belongs to whoever imports it.
  forge([](store::Experiment& row) {
    row.uid = 4711;
    row.priority = 100;
    row.held_by = 0;
  });
  ASSERT_EQ(of("elsewhere", {"import", file()}).code, 0);
  {
    const auto store = store::Store::open(lab_.path("elsewhere/stabd.db"));
    const auto row = (*store)->experiments()->intact.front();
    EXPECT_EQ(row.uid, geteuid());
    EXPECT_EQ(row.priority, 0);
    EXPECT_FALSE(row.held_by);
  }
  // Programs in the schema do not run, and values of other types are no values.
  fs::remove_all(lab_.path("elsewhere"));
  change(
      "DROP TABLE event; CREATE VIEW event AS SELECT 'x' AS id, zeroblob(100) AS experiment, "
      "load_extension('/nowhere') AS at_ns, 1 AS kind, 2 AS text, 3 AS checksum");
  EXPECT_TRUE(refuses("the database's schema differs from stabd's schema at the"));
}

TEST_F(Archive, WhatAKilledExportLeftGoesWithTheNext) {
  const auto beside = [&] {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(lab_.folder()))
      if (entry.path().filename().string().starts_with("kept.stab"))
        names.insert(entry.path().filename());
    return names;
  };
  // Killed as soon as there is something, until it was not too late.
  for (int i = 0; i < 50; ++i) {
    const pid_t child =
        start_program({std::string(STAB_BIN_DIR) + "/stabctl", "export", "--state",
                       lab_.path("state"), std::to_string(id_), "--archive", file()},
                      lab_.folder(), lab_.path("export.log"));
    while (beside().empty() && waitpid(child, nullptr, WNOHANG) == 0) {
    }
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    if (!beside().empty() && !fs::exists(file())) break;
    fs::remove(file());
  }
  ASSERT_FALSE(beside().empty());
  ASSERT_EQ(of("state", {"export", std::to_string(id_), "--archive", file()}).code, 0);
  EXPECT_EQ(beside(), std::set<std::string>{"kept.stab"});
}

}  // namespace
}  // namespace stab::test
