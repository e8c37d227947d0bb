// SPDX-License-Identifier: MIT
// Sets of events that take turns: each trial of a block counts one.
#include <gmock/gmock.h>

#include <csignal>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/system/counters_testing.h"

namespace stab::test {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;

// The sets that the trials of a block have counted, by block: "minor-faults:u", "task-clock" or both.
std::map<int, std::set<std::string>> sets_of(const json& trials) {
  std::map<int, std::set<std::string>> sets;
  for (const json& trial : trials) {
    std::string set;
    for (const char* name : {"minor-faults:u", "task-clock"})
      if (!trial[std::string(name) + ".status"].is_null()) set += name;
    sets[trial["block"]].insert(set);
  }
  return sets;
}

const std::string turns =
    "rotate = [[\"minor-faults:u\", \"page-faults:u\"], [\"task-clock\"]]\n"
    "[measure.derived]\nthousands = \"'minor-faults:u' / 1000\"\n";

TEST_F(Counters, SetsTakeTurnsOverTheBlocks) {
  if (event("minor-faults")["status"] == "absent") GTEST_SKIP() << event("minor-faults")["reason"];
  write_plan(turns, "response = [\"wall\", \"minor-faults:u\", \"thousands\"]\n", 12);
  const Output check = lab_.ctl({"check", lab_.path("plan.toml")});
  EXPECT_THAT(
      check.out,
      AllOf(
          HasSubstr("the plan counts sets of events in turn, one set in each block:\n  set 1, in 6 "
                    "blocks: minor-faults:u with page-faults:u\n  set 2, in 6 blocks: "
                    "task-clock\nwith 6 blocks for each set of events, the experiment can detect "
                    "only large changes in the events: use more repetitions or fewer sets to "
                    "detect smaller changes\n"),
          HasSubstr("the plan also compares minor-faults:u, with separate verdicts (less is "
                    "better), in the blocks that count it\n")));
  const json sets =
      json::parse(lab_.ctl({"check", "--json", lab_.path("plan.toml")}).out)["rotate"];
  EXPECT_EQ(sets.size(), 2U);
  EXPECT_EQ(sets[1]["fewest_blocks"], 6);
  EXPECT_EQ(sets[1]["fits"], true);

  const int id = run_to_end();
  EXPECT_EQ(lab_.state(id), "done");
  const json trials = lab_.trials(id);
  ASSERT_EQ(trials.size(), 24U);
  std::map<std::string, int> blocks;
  for (const auto& [block, found] : sets_of(trials)) {
    ASSERT_EQ(found.size(), 1U) << "block " << block;
    ++blocks[*found.begin()];
  }
  EXPECT_EQ(blocks, (std::map<std::string, int>{{"minor-faults:u", 6}, {"task-clock", 6}}));
  for (const json& trial : trials) {
    EXPECT_EQ(trial["status"], "ok") << trial["reason"];
    const bool has = !trial["minor-faults:u"].is_null();
    EXPECT_EQ(trial["page-faults:u.status"].is_null(), !has);
    EXPECT_EQ(trial["thousands.status"].is_null(), !has);
    if (!has) continue;
    EXPECT_EQ(trial["minor-faults:u.status"], "counted");
    EXPECT_GE(trial["minor-faults:u"], trial["pages"] == "few" ? 1000 : 3000);
    EXPECT_EQ(trial["thousands"], trial["minor-faults:u"].get<double>() / 1000);
  }
  const json report = json::parse(lab_.ctl({"report", std::to_string(id), "--json"}).out);
  EXPECT_EQ(report["trials"]["ok"], 24);
  EXPECT_EQ(report["effects"][0]["units"], 12);
  for (const json& other : report["responses"]) {
    EXPECT_EQ(other["effects"][0]["units"], 6) << other["response"];
    EXPECT_EQ(other["effects"][0]["verdict"], "slower") << other["effects"];
  }
  for (const json& counter : report["counters"]) {
    EXPECT_EQ(counter["blocks"], 6);
    EXPECT_EQ(counter["of_blocks"], 12);
    EXPECT_EQ(counter["absent"], 0);
  }
  EXPECT_THAT(joined(lab_.ctl({"report", std::to_string(id), "--full"}).out),
              AllOf(HasSubstr("minor-faults:u was counted in only 6 of 12 blocks"),
                    HasSubstr("task-clock: counted in 6 of 12 blocks, because")));
}

TEST_F(Counters, WhoGoesOnCountsTheSameSets) {
  write_plan(turns, "", 20);
  // Where there is no "go" 15 trials run, and the next one waits.
  std::string plan = read_file(lab_.path("plan.toml"), 65536).value_or("");
  const std::size_t run = plan.find("run = ");
  ASSERT_NE(run, std::string::npos);
  plan.insert(run, "timeout = \"1h\"\nprepare = \"" + until_go(15) + "\"\n");
  lab_.write("plan.toml", plan);
  lab_.write("go", "");
  const int first = run_to_end();
  ASSERT_EQ(lab_.state(first), "done");
  std::filesystem::remove(lab_.path("go"));
  const int second = lab_.submit("plan.toml");
  ASSERT_TRUE(lab_.wait_for_trials(second, 15));
  lab_.end_daemon(SIGKILL);
  lab_.write("go", "");
  ASSERT_TRUE(lab_.start_daemon());
  ASSERT_TRUE(lab_.wait_until_final(second));
  EXPECT_EQ(sets_of(lab_.trials(first)), sets_of(lab_.trials(second)));
}

TEST_F(Counters, ASetThatIsAbsentIsRecordedOrRefused) {
  const std::string sets = "rotate = [[\"context-switches:u\"], [\"task-clock\"]]\n";
  write_plan(sets, "", 4);
  const int recorded = run_to_end();
  EXPECT_EQ(lab_.state(recorded), "done");
  int absent = 0;
  for (const json& trial : lab_.trials(recorded)) {
    EXPECT_EQ(trial["status"], "ok");
    absent += trial["context-switches:u.status"] == "absent" ? 1 : 0;
  }
  EXPECT_EQ(absent, 4);
  EXPECT_THAT(
      lab_.ctl({"logs", std::to_string(recorded)}).out,
      HasSubstr("context-switches:u cannot be counted here: the event happens in the kernel"));
  write_plan(sets + "on_absent = \"refuse\"\n", "", 4);
  EXPECT_THAT(lab_.ctl({"check", lab_.path("plan.toml")}).out,
              HasSubstr("this plan would therefore measure nothing on this machine"));
  const int refused = run_to_end();
  EXPECT_EQ(lab_.state(refused), "failed");
  EXPECT_EQ(lab_.trials(refused).size(), 0U);
  write_plan(sets, "response = \"context-switches:u\"\n", 4);
  const int response = run_to_end();
  EXPECT_THAT(lab_.ctl({"status", std::to_string(response)}).out,
              HasSubstr("'analysis.response': context-switches:u cannot be counted"));
}

// The CPU has four registers for addresses: what does not fit at once is counted by turns.
TEST_F(Counters, ByTurnsMoreIsCountedThanTheCpuCountsAtOnce) {
  const Output places = run_program({counted}, lab_.folder());
  std::string called;
  std::string written;
  std::istringstream(places.out) >> called >> written;
  std::vector<std::string> names;
  for (const char* access : {"/4:w", "/2:w", "/1:w"}) names.push_back("mem:" + written + access);
  const std::string calls = "mem:" + called + ":x";
  const auto plan = [&](const std::string& measure) {
    lab_.write("plan.toml",
               "[experiment]\nname = \"calls\"\n[[benchmark]]\nname = \"calls\"\n"
               "repetitions = 4\nrun = [\"" +
                   counted + "\", \"calls\", \"${N}\"]\n[factor.n]\n" +
                   "levels = { few = { N = \"100\" }, many = { N = \"250\" } }\n[measure]\n" +
                   measure);
  };
  const auto quoted = [](const std::string& name) { return "\"" + name + "\""; };
  const std::string three = quoted(names[0]) + ", " + quoted(names[1]) + ", " + quoted(names[2]);
  const std::string reads = quoted("mem:" + written + "/4:rw");
  plan("counters = [" + three + ", " + reads + ", " + quoted(calls) + "]\n");
  const int at_once = run_to_end();
  const json first = lab_.trials(at_once)[0];
  if (first[names[0] + ".status"] != "counted") GTEST_SKIP() << "no registers for addresses here";
  EXPECT_EQ(first[calls + ".status"], "absent");
  plan("rotate = [[" + three + ", " + reads + "], [" + quoted(calls) + "]]\n");
  const int by_turns = run_to_end();
  // A virtual machine that loses few debug exceptions is found out at some times and not at others.
  const std::string log = lab_.ctl({"logs", std::to_string(by_turns)}).out;
  if (log.contains("loses some of the CPU's debug exceptions")) GTEST_SKIP() << log;
  int counted = 0;
  for (const json& trial : lab_.trials(by_turns)) {
    if (trial["status"] == "signalled") GTEST_SKIP() << trial["reason"];
    EXPECT_EQ(trial["status"], "ok") << trial["reason"];
    if (trial[calls + ".status"].is_null()) continue;
    EXPECT_EQ(trial[calls + ".status"], "counted");
    EXPECT_EQ(trial[calls], trial["n"] == "few" ? 100 : 250);
    ++counted;
  }
  EXPECT_EQ(counted, 4);
}

}  // namespace
}  // namespace stab::test
