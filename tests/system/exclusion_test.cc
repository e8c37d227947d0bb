// SPDX-License-Identifier: MIT
// Rules of a plan that exclude disturbed trials, through the real programs.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/system/lab.h"

namespace stab::test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

// Counts its runs in the file of the first argument, and naps once, or in those runs that the other
// arguments name thousands of times: those have hundreds of times as many switches a second, also
// on a machine on which each nap takes a hundredth of a second.
constexpr const char* napper = R"(
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
int main(int argc, char** argv) {
  int file = open(argv[1], O_WRONLY | O_CREAT | O_APPEND, 0644);
  struct stat status;
  if (file < 0 || write(file, "x", 1) != 1 || fstat(file, &status) != 0) return 1;
  for (int i = 2; i < argc; ++i)
    if (atol(argv[i]) == status.st_size)
      for (int nap = 0; nap < 2000; ++nap) usleep(1);
  return usleep(400000);
}
)";

std::string plan_of(const std::string& disturbed, const std::string& more = "") {
  return fmt::format(
      "[experiment]\nname = 'naps'\n[defaults]\nrepetitions = 4\n{}[[benchmark]]\nname = 'nap'\n"
      "sources = ['nap.c']\nbuild = 'clang-22 -o ${{OUT}} nap.c'\n"
      "run = ['${{OUT}}', 'runs', {}, '${{X}}']\n"
      "[factor.x]\nlevels = {{ a = {{ X = '0' }}, b = {{ X = '-1' }} }}\n"
      "[[exclude]]\nwhen = 'steal_share > 100'\n"
      "[[exclude]]\nwhen = 'voluntary_switches_per_s > 50'\n",
      more, disturbed);
}

class Exclusion : public ::testing::Test {
 protected:
  void SetUp() override {
    lab_.write("nap.c", napper);
    ASSERT_TRUE(lab_.start_daemon());
  }
  int submit(const std::string& plan) {
    lab_.write("plan.toml", plan);
    return lab_.submit("plan.toml");
  }

  Lab lab_;
};

// C2 of stabd/daemon/session/schedule.h.
void expect_one_attempt_stands(const json& trials, std::size_t positions) {
  std::map<int, int> standing;
  for (const json& trial : trials) standing[trial["position"]] += trial["last"].get<bool>() ? 1 : 0;
  EXPECT_EQ(standing.size(), positions);
  for (const auto& [position, count] : standing) EXPECT_EQ(count, 1) << position;
}

TEST_F(Exclusion, ADisturbedTrialIsKeptAndRunAgainAtTheEndOfItsBlock) {
  const int id = submit(plan_of("'3'"));
  ASSERT_TRUE(lab_.wait_until_final(id));
  ASSERT_EQ(lab_.state(id), "done");
  const json trials = lab_.trials(id);
  ASSERT_EQ(trials.size(), 9U);
  expect_one_attempt_stands(trials, 8);
  const json& first = trials[2];
  EXPECT_EQ(first["status"], "disturbed");
  EXPECT_FALSE(first["last"].get<bool>());
  EXPECT_EQ(first["exclude-rule"], 2);
  EXPECT_GT(first["exclude-value"].get<double>(), 50);
  EXPECT_THAT(first["reason"].get<std::string>(),
              HasSubstr("but the plan excludes trials with voluntary_switches_per_s > 50"));
  EXPECT_EQ(trials[3]["position"], 2);
  EXPECT_EQ(trials[3]["status"], "ok");
  // Behind the other one of its block.
  EXPECT_GT(trials[3]["started_ns"], trials[4]["started_ns"]);
  EXPECT_LT(trials[3]["started_ns"], trials[5]["started_ns"]);
  EXPECT_THAT(lab_.ctl({"logs", "1"}).out, HasSubstr("the plan excludes"));
  EXPECT_EQ(lab_.ctl({"replay", "1", "2", "--attempt", "0"}).code, 0);
}

TEST_F(Exclusion, WhatIsDisturbedToTheEndStandsAndIsNoFailureAndIsNotRetried) {
  const int id = submit(plan_of("'3', '5'"));
  ASSERT_TRUE(lab_.wait_until_final(id));
  ASSERT_EQ(lab_.state(id), "done");
  const json trials = lab_.trials(id);
  expect_one_attempt_stands(trials, 8);
  EXPECT_EQ(trials[3]["attempt"], 1);
  EXPECT_EQ(trials[3]["status"], "disturbed");
  EXPECT_TRUE(trials[3]["last"].get<bool>());
  const json report = json::parse(lab_.ctl({"report", "1", "--format", "json"}).out);
  EXPECT_EQ(report["trials"]["ok"], 7);
  EXPECT_EQ(report["trials"]["failed"], 0);
  EXPECT_EQ(report["trials"]["disturbed"], 1);
  const json& exclusions = report["exclusions"];
  EXPECT_EQ(exclusions["disturbed"], 2);
  EXPECT_EQ(exclusions["lost"], 1);
  EXPECT_EQ(exclusions["rules"][1]["caught"], 2);
  EXPECT_EQ(exclusions["effects_without"].size(), 1U);
  EXPECT_EQ(report["effects"][0]["units"], 3);
  EXPECT_EQ(exclusions["effects_without"][0]["units"], 4);
  EXPECT_THAT(
      joined(lab_.ctl({"report", "1"}).out),
      HasSubstr("2 attempts were disturbed. In 1 trial, the last attempt was disturbed, too."));
  EXPECT_NE(lab_.ctl({"compare", "1"}).code, 5);
  // The others of the retried experiment are whole.
  EXPECT_NE(lab_.ctl({"retry", "1"}).code, 0);
}

TEST_F(Exclusion, AKilledDaemonGoesOnWithTheRepeatsThatTheStoreDoesNotHave) {
  const int id = submit(plan_of("'1', '2', '3'", "exclude_repeats = 2\n"));
  ASSERT_TRUE(lab_.wait_for(id, "running"));
  for (int i = 0; i < 3000 && lab_.trials(id).empty(); ++i) usleep(10'000);
  lab_.end_daemon(SIGKILL);
  ASSERT_TRUE(lab_.start_daemon());
  ASSERT_TRUE(lab_.wait_until_final(id));
  ASSERT_EQ(lab_.state(id), "done");
  const json trials = lab_.trials(id);
  expect_one_attempt_stands(trials, 8);
  std::map<int, int> disturbed;
  for (const json& trial : trials)
    disturbed[trial["position"]] += trial["status"] == "disturbed" ? 1 : 0;
  for (const auto& [position, count] : disturbed) EXPECT_LE(count, 3) << position;
  EXPECT_GE(disturbed[0], 1);
}

TEST_F(Exclusion, AnArchiveCarriesThemToAnotherDatabaseWithTheSameReport) {
  const int id = submit(plan_of("'3', '5'"));
  ASSERT_TRUE(lab_.wait_until_final(id));
  const std::string file = lab_.path("naps.archive");
  const std::string elsewhere = lab_.path("elsewhere");
  ASSERT_EQ(lab_.ctl({"export", "1", "--archive", file}).code, 0);
  const Output imported =
      run_program({STAB_BIN_DIR "/stabctl", "import", file, "--state", elsewhere}, lab_.folder());
  ASSERT_EQ(imported.code, 0) << imported.err;
  const Output there = run_program(
      {STAB_BIN_DIR "/stabctl", "report", "--state", elsewhere, "--format", "json"}, lab_.folder());
  const json first = json::parse(lab_.ctl({"report", "1", "--format", "json"}).out);
  const json second = json::parse(there.out);
  EXPECT_EQ(first["exclusions"], second["exclusions"]);
  EXPECT_EQ(first["effects"], second["effects"]);
}

TEST_F(Exclusion, CheckExplainsTheRules) {
  lab_.write("plan.toml", plan_of("'3'"));
  const Output check = lab_.ctl({"check", "plan.toml"});
  EXPECT_THAT(check.out, HasSubstr("excluded if voluntary_switches_per_s > 50"));
  EXPECT_THAT(check.out,
              HasSubstr("in a trial shorter than 20 ms, a single event already exceeds the limit"));
  const json design = json::parse(lab_.ctl({"check", "plan.toml", "--json"}).out);
  EXPECT_EQ(design["exclude"]["rules"].size(), 2U);
  EXPECT_EQ(design["exclude"]["rules"][1]["absent_here"], nullptr);
  lab_.write("bad.toml", plan_of("'3'") + "[[exclude]]\nwhen = 'wall > 1'\n");
  const Output bad = lab_.ctl({"check", "bad.toml"});
  EXPECT_EQ(bad.code, 1);
  EXPECT_THAT(bad.err, HasSubstr("must not use the response wall. "));
}

}  // namespace
}  // namespace stab::test
