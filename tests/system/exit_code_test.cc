// SPDX-License-Identifier: MIT
// What scripts see: exit codes, by doc/exit_codes.md. What is compared are numbers that the program
// prints: the verdicts do not depend on the machine.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/system/lab.h"

namespace stab::test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

std::string plan_with(const std::string& levels) {
  return printing_plan("codes", levels, 6);
}

const std::string all = "trials,regressed,unsure";

class ExitCode : public ::testing::Test {
 protected:
  void SetUp() override {
    lab_.write("took.sh", took_script("case $1 in fail) exit 1 ;; wait*) sleep 1000 ;; esac\n"),
               true);
    lab_.write("slower.toml", plan_with(R"({ short = { NS = "100" }, long = { NS = "1000" } })"));
    lab_.write("faster.toml", plan_with(R"({ long = { NS = "1000" }, short = { NS = "100" } })"));
    lab_.write("failing.toml", plan_with(R"({ short = { NS = "100" }, long = { NS = "1000" }, )"
                                         R"(broken = { NS = "fail" } })"));
    lab_.write("long.toml", plan_with(R"({ a = { NS = "wait" }, b = { NS = "waits" } })"));
    lab_.write("alone.toml",
               "[experiment]\nname = \"alone\"\n[defaults]\nrepetitions = 2\n[[benchmark]]\nname = "
               "\"b\"\nrun = [\"/bin/true\"]\n");
  }
  Output submit(const std::string& plan, const std::string& fail_on = "") {
    std::vector<std::string> words{"submit", "--wait", lab_.path(plan)};
    if (!fail_on.empty()) words.insert(words.end(), {"--fail-on", fail_on});
    return lab_.ctl(words);
  }

  Lab lab_;
};

TEST_F(ExitCode, VerdictsAndFailedTrialsInTheirOrder) {
  ASSERT_TRUE(lab_.start_daemon());
  EXPECT_EQ(submit("faster.toml", all).code, 0);
  EXPECT_EQ(submit("slower.toml", all).code, 2);
  EXPECT_EQ(submit("failing.toml", all).code, 5);
  EXPECT_EQ(submit("alone.toml").code, 0);
  // The same numbers again, asked for by other verbs.
  const Output watched = lab_.ctl({"watch", "2"});
  EXPECT_EQ(watched.code, 0) << "a verdict is an answer";
  EXPECT_THAT(watched.err, HasSubstr("'stabctl report 2' shows the result"));
  EXPECT_EQ(lab_.ctl({"watch", "2", "--fail-on", all}).code, 2);
  EXPECT_EQ(lab_.ctl({"watch", "--fail-on", "trials,unsure", "2"}).code, 0);
  EXPECT_EQ(lab_.ctl({"watch", "3"}).code, 5);
  EXPECT_EQ(lab_.ctl({"watch", "3", "--fail-on", "regressed"}).code, 2);
  EXPECT_EQ(lab_.ctl({"watch", "3", "--fail-on", "none"}).code, 0);
  EXPECT_EQ(lab_.ctl({"compare", "2"}).code, 0);
  EXPECT_EQ(lab_.ctl({"compare", "3"}).code, 5);
  EXPECT_EQ(lab_.ctl({"compare", "2", "--fail-on", "regressed"}).code, 2);
  EXPECT_EQ(lab_.ctl({"compare", "1", "--fail-on", all}).code, 0);
  EXPECT_EQ(lab_.ctl({"logs", "-f", "2"}).code, 0);
  EXPECT_EQ(lab_.ctl({"logs", "-f", "2", "--fail-on", all}).code, 2);
  EXPECT_EQ(lab_.ctl({"report", "3"}).code, 0) << "it worked";
  EXPECT_EQ(lab_.ctl({"report", "3", "--fail-on", "trials"}).code, 5);
  EXPECT_EQ(lab_.ctl({"report", "2", "--fail-on", "regressed"}).code, 2);
  EXPECT_EQ(lab_.ctl({"report", "2", "--fail-on", "slower"}).code, 1);
}

TEST_F(ExitCode, ACancelledExperimentIsNoSuccess) {
  ASSERT_TRUE(lab_.start_daemon());
  const int id = lab_.submit("long.toml");
  ASSERT_TRUE(lab_.wait_for(id, "running"));
  ASSERT_EQ(lab_.ctl({"cancel", "1"}).code, 0);
  ASSERT_TRUE(lab_.wait_until_final(id));
  EXPECT_EQ(lab_.ctl({"watch", "1", "--fail-on", "none"}).code, 5);
}

TEST_F(ExitCode, RunHasTheSame) {
  const std::string stabctl = std::string(STAB_BIN_DIR) + "/stabctl";
  const auto run = [&](std::vector<std::string> more) {
    std::vector<std::string> words{stabctl, "run", "--state", lab_.path("run")};
    words.insert(words.end(), more.begin(), more.end());
    return run_program(words, lab_.folder());
  };
  EXPECT_EQ(run({lab_.path("slower.toml")}).code, 0);
  EXPECT_EQ(run({"--fail-on", all, lab_.path("slower.toml")}).code, 2);
  // The last --fail-on counts.
  EXPECT_EQ(run({"--fail-on", "trials", lab_.path("slower.toml")}).code, 0);
  EXPECT_EQ(run({"--fail-on", "trials", lab_.path("slower.toml"), "--fail-on", "regressed"}).code,
            2);
  const Output wrong = run({"--fail-on", "slower", lab_.path("slower.toml")});
  EXPECT_EQ(wrong.code, 1);
  EXPECT_THAT(wrong.err, HasSubstr("give one or more of 'trials', 'regressed' and 'unsure'"));
}

// The rows of the document's table: code and meaning.
std::map<std::string, std::string> documented() {
  std::ifstream document(std::string(STAB_SOURCE_DIR) + "/doc/exit_codes.md");
  std::map<std::string, std::string> rows;
  std::string line;
  while (std::getline(document, line)) {
    const std::size_t bar = line.find(" | ");
    if (line.starts_with("| ") && bar != std::string::npos && line[2] != 'c')
      rows[line.substr(2, bar - 2)] = line.substr(bar + 3, line.size() - bar - 5);
  }
  return rows;
}

TEST_F(ExitCode, EachRowOfTheDocumentIsWhatTheCommandSaysAndDoes) {
  const std::string stabctl = std::string(STAB_BIN_DIR) + "/stabctl";
  const std::string help = lab_.ctl({"--help"}).out;
  const auto rows = documented();
  for (const auto& [code, meaning] : rows) {
    std::string row = "  " + code + std::string(7 - code.size(), ' ');
    EXPECT_THAT(help, HasSubstr(row += meaning + "\n"));
  }
  std::string csv = "f,y\n";
  for (int i = 0; i < 10; ++i)
    csv += "a,1." + std::to_string(i) + "\nb,3." + std::to_string(i) + "\n";
  lab_.write("slower.csv", csv);
  const auto analyze = [&](const std::string& fail_on, const std::string& factor) {
    return lab_.ctl({"analyze", lab_.path("slower.csv"), "--response", "y", "--factors", factor,
                     "--fail-on", fail_on});
  };
  lab_.write("unsure.csv", "f,y\na,1\na,2\na,3\nb,2\nb,3\nb,1\n");
  std::map<std::string, int> seen;
  seen["0"] = analyze("trials", "f").code;
  seen["1"] = analyze("trials", "g").code;
  seen["2"] = analyze("regressed", "f").code;
  seen["3"] = lab_.ctl({"analyze", lab_.path("unsure.csv"), "--response", "y", "--factors", "f",
                        "--fail-on", "unsure"})
                  .code;
  seen["5"] =
      run_program({stabctl, "run", "--state", lab_.path("failing"), lab_.path("failing.toml")},
                  lab_.folder())
          .code;
  for (const auto& [code, got] : seen) EXPECT_EQ(std::to_string(got), code);
  const pid_t run =
      start_program({stabctl, "run", "--state", lab_.path("long"), lab_.path("long.toml")},
                    lab_.folder(), lab_.path("said"));
  ASSERT_TRUE(wait_for_text(lab_.path("said"), " of 12 trials"));
  ASSERT_EQ(kill(run, SIGINT), 0);
  EXPECT_EQ(end_of(run), 128 + SIGINT);
  seen["128+N"] = 128 + SIGINT;
  ASSERT_EQ(rows.size(), seen.size());
  for (const auto& [code, got] : seen) EXPECT_TRUE(rows.contains(code)) << code;
}

TEST_F(ExitCode, TwoExperimentsAreComparedBetweenThem) {
  lab_.write("first.toml", plan_with(R"({ a = { NS = "500" }, b = { NS = "200" } })"));
  ASSERT_TRUE(lab_.start_daemon());
  submit("first.toml");
  // The program gets slower; the plan stays.
  lab_.write("took.sh", took_script("set 3000\n"), true);
  submit("first.toml");
  const Output slower = lab_.ctl({"compare", "1", "2", "--fail-on", "unsure"});
  // One session an arm: the change is shown, and is no verdict.
  EXPECT_EQ(slower.code, 3) << slower.out << slower.err;
  EXPECT_THAT(slower.out, HasSubstr("no verdict: each experiment was one session"));
  EXPECT_THAT(slower.out, HasSubstr("codes (experiment 2) against codes (experiment 1)"));
  EXPECT_THAT(slower.out, HasSubstr("b t=a"));
  EXPECT_THAT(slower.out, HasSubstr("is without a verdict on 2 of 2"));
  EXPECT_EQ(slower.out.find("clearly different"), std::string::npos) << slower.out;
  EXPECT_EQ(slower.out.find("would help"), std::string::npos) << slower.out;
  EXPECT_EQ(lab_.ctl({"compare", "2", "1", "--fail-on", all}).code, 3);
  EXPECT_EQ(lab_.ctl({"compare", "2", "1"}).code, 0);
  EXPECT_EQ(lab_.ctl({"compare", "1", "2", "--fail-on", "trials,regressed"}).code, 0);
  EXPECT_EQ(lab_.ctl({"compare", "1", "2", "--fail-on", "none"}).code, 0);
  const json document = json::parse(lab_.ctl({"compare", "1", "2", "--json"}).out);
  EXPECT_EQ(document["effects"].size(), 2U);
  EXPECT_EQ(document["verdict"], "unsure");
  EXPECT_THAT(document["effects"][0]["reason"], HasSubstr("each experiment was one session"));
  EXPECT_GT(document["effects"][0]["ratio"], 2);
  EXPECT_EQ(lab_.ctl({"compare", "1", "9"}).code, 1);
  EXPECT_EQ(lab_.ctl({"compare", "1", "1"}).code, 1);
  EXPECT_EQ(lab_.ctl({"compare"}).code, 1);
}

}  // namespace
}  // namespace stab::test
