// SPDX-License-Identifier: MIT
// What `stabctl run` leaves is read without a daemon, whoever is at it, and listed by `runs`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/system/lab.h"

namespace stab::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

constexpr const char* levels = R"({ short = { NS = "100" }, long = { NS = "1000" } })";

class LeftRuns : public ::testing::Test {
 protected:
  void SetUp() override {
    // The levels differ tenfold, so that the verdict is regressed on any machine.
    lab_.write("took.sh", took_script(), true);
    lab_.write("two.toml", printing_plan("two", levels, 6));
    lab_.write("many.toml", waiting_plan("many", 80, 10));
  }

  static std::vector<std::string> stabctl(const std::vector<std::string>& arguments) {
    std::vector<std::string> argv{std::string(STAB_BIN_DIR) + "/stabctl"};
    argv.insert(argv.end(), arguments.begin(), arguments.end());
    return argv;
  }
  // No socket is named, and nobody listens at any.
  Output alone(const std::vector<std::string>& arguments) const {
    return run_program(stabctl(arguments), lab_.folder());
  }
  pid_t start(const std::vector<std::string>& arguments) const {
    return start_program(stabctl(arguments), lab_.folder(), out());
  }
  std::string out() const { return lab_.path("out.txt"); }
  void change(const std::string& database, const std::string& sql) const {
    const Output changed = run_program({"/usr/bin/sqlite3", database, sql}, lab_.folder());
    ASSERT_EQ(changed.code, 0) << changed.err;
  }
  json runs() const {
    const Output listed = alone({"runs", "--json"});
    EXPECT_EQ(listed.code, 0) << listed.err;
    return json::parse(listed.out);
  }

  Lab lab_;
};

TEST_F(LeftRuns, AnswerAsTheDaemonDoesWhileItHoldsTheFolder) {
  ASSERT_TRUE(lab_.start_daemon());
  const int id = lab_.submit("two.toml");
  ASSERT_TRUE(lab_.wait_until_final(id));
  const std::string state = lab_.path("state");
  for (const auto& words :
       std::vector<std::vector<std::string>>{{"report"},
                                             {"report", "--full"},
                                             {"report", "--json"},
                                             {"compare"},
                                             {"compare", "--json"},
                                             {"compare", "--fail-on", "regressed"},
                                             {"export"},
                                             {"export", "--format", "json"}}) {
    auto asked = words;
    asked.emplace_back("1");
    auto read = words;
    read.insert(read.end(), {"--state", state});
    const Output said = lab_.ctl(asked);
    const Output found = alone(read);
    // A report of a folder ends with the command for the full report, which names the folder.
    std::string same = found.out;
    if (const auto command = same.find(":\n             stabctl report --full 1 --folder ");
        command != std::string::npos) {
      EXPECT_THAT(same.substr(command), HasSubstr(state));
      same.replace(command, std::string::npos, ".\n");
    }
    EXPECT_EQ(same, said.out) << words.front();
    EXPECT_EQ(found.code, said.code) << words.front();
    EXPECT_THAT(found.err, IsEmpty());
    EXPECT_FALSE(found.out.empty());
  }
  EXPECT_EQ(alone({"compare", "--state", state, "--fail-on", "regressed"}).code, 2);
}

TEST_F(LeftRuns, AreReadWhileTheyGoOnAndLoseNothingByIt) {
  lab_.write("took.sh", took_script(until_go(6) + "\n"), true);
  const pid_t run = start({"run", "--fail-on", "trials", "--state", "run", "two.toml"});
  ASSERT_TRUE(wait_for_text(out(), " of 12 trials"));
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(alone({"report", "--state", "run"}).code, 0);
    EXPECT_EQ(alone({"export", "--state", "run", "1"}).code, 0);
  }
  lab_.write("go", "");
  EXPECT_EQ(end_of(run), 0);
  EXPECT_EQ(json::parse(alone({"export", "--state", "run", "--json"}).out).size(), 12U);
}

TEST_F(LeftRuns, AKilledOneIsReadAndListedAsInterruptedUntilItHasEnded) {
  if (!own_state_folder(lab_.path("xdg"))) GTEST_SKIP() << "mounts of our own are not allowed here";
  EXPECT_EQ(runs(), json::array());
  EXPECT_THAT(alone({"runs"}).out, HasSubstr("there are no runs in "));
  pid_t run = start({"run", "--fail-on", "trials", "many.toml"});
  ASSERT_TRUE(wait_for_text(out(), " of 80 trials"));
  ASSERT_EQ(runs().size(), 1U);
  EXPECT_EQ(runs()[0]["running"], true);
  EXPECT_EQ(runs()[0]["goes_on"], false);
  for (int i = 0; i < 600 && runs()[0]["done"] != 10; ++i) usleep(100'000);
  kill(run, SIGKILL);
  EXPECT_EQ(end_of(run), -SIGKILL);
  // The daemon of the killed run ends by itself.
  for (int i = 0; i < 600 && runs()[0]["running"] == true; ++i) usleep(100'000);
  const json left = runs()[0];
  EXPECT_EQ(left["running"], false);
  EXPECT_EQ(left["goes_on"], true);
  EXPECT_EQ(left["name"], "many");
  EXPECT_EQ(left["trials"], 80);
  EXPECT_EQ(left["done"], 10);
  EXPECT_EQ(left["ended_ns"], nullptr);
  EXPECT_THAT(alone({"runs"}).out, HasSubstr("(run the same 'stabctl run' to continue)"));
  EXPECT_THAT(alone({"runs"}).out, StartsWith("interrupted"));

  const std::string folder = left["folder"];
  const json rows = json::parse(alone({"export", "--state", folder, "--json"}).out);
  EXPECT_EQ(rows.size(), left["done"].get<std::size_t>());
  EXPECT_THAT(alone({"report", "--state", folder}).out,
              AllOf(HasSubstr("of 80 planned"), HasSubstr("many  (experiment 1, interrupted)")));
  EXPECT_EQ(alone({"compare", "--state", folder}).code, 0);

  lab_.write("go", "");
  EXPECT_EQ(alone({"run", "--fail-on", "trials", "many.toml"}).code, 0);
  ASSERT_EQ(runs().size(), 1U);
  EXPECT_EQ(runs()[0]["state"], "done");
  EXPECT_EQ(runs()[0]["done"], 80);
  EXPECT_EQ(runs()[0]["goes_on"], false);
  drop_state_folder();
}

TEST_F(LeftRuns, AFolderThatCannotTellIsListedWithItsReason) {
  if (!own_state_folder(lab_.path("xdg"))) GTEST_SKIP() << "mounts of our own are not allowed here";
  ASSERT_EQ(alone({"run", "--fail-on", "trials", "two.toml"}).code, 0);
  const std::string folder = runs()[0]["folder"];
  fs::create_directory(folder + "-empty");
  change(folder + "/stabd.db", "UPDATE trial SET wall_ns = wall_ns + 1 WHERE position = 3");
  const json found = runs();
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0]["id"], nullptr);
  EXPECT_THAT(found[0]["problem"].get<std::string>(), HasSubstr("there is no database"));
  EXPECT_EQ(found[1]["name"], "two");
  EXPECT_EQ(found[1]["done"], nullptr);
  EXPECT_THAT(found[1]["problem"].get<std::string>(), HasSubstr("table trial is damaged"));
  change(folder + "/stabd.db", "UPDATE experiment SET name = 'other'");
  EXPECT_THAT(runs()[0]["problem"].get<std::string>() + runs()[1]["problem"].get<std::string>(),
              HasSubstr("row 1 of table experiment"));
  drop_state_folder();
}

TEST_F(LeftRuns, SayWhatToNameWhereTheAnswerIsNotClear) {
  const auto refused = [&](const std::vector<std::string>& words) {
    const Output output = alone(words);
    EXPECT_EQ(output.code, 1);
    EXPECT_THAT(output.out, IsEmpty());
    return output.err;
  };
  fs::create_directory(lab_.path("empty"));
  lab_.write("text/stabd.db", "this is no database");
  EXPECT_THAT(refused({"report", "--state", "empty"}), HasSubstr("name the folder of a"));
  EXPECT_THAT(refused({"report", "--state", "nowhere"}), HasSubstr("there is no database "));
  EXPECT_THAT(refused({"report", "--state", "text"}), HasSubstr("text/stabd.db"));
  EXPECT_FALSE(fs::exists(lab_.path("nowhere")));
  for (const char* verb : {"report", "compare", "export"})
    EXPECT_THAT(refused({verb}),
                HasSubstr("name an experiment by its number ('stabctl list' shows the numbers)"));

  ASSERT_EQ(alone({"run", "--fail-on", "trials", "--state", "run", "two.toml"}).code, 0);
  EXPECT_THAT(refused({"export", "--state", "run", "7"}), HasSubstr("choose one of 1"));
  ASSERT_EQ(alone({"run", "--fail-on", "trials", "--state", "run", "two.toml", "--again"}).code, 0);
  EXPECT_THAT(refused({"report", "--state", "run"}), HasSubstr("experiments 1, 2: choose one"));
  EXPECT_EQ(alone({"report", "--state", "run", "2"}).code, 0);
  EXPECT_EQ(alone({"compare", "--state", "run", "1", "2", "--fail-on", "unsure"}).code, 3);

  change(lab_.path("run/stabd.db"), "UPDATE experiment SET name = 'other' WHERE id = 1");
  EXPECT_THAT(refused({"report", "--state", "run", "1"}),
              HasSubstr("row 1 of table experiment is damaged"));
  EXPECT_EQ(alone({"report", "--state", "run", "2"}).code, 0);
}

}  // namespace
}  // namespace stab::test
