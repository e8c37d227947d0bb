// SPDX-License-Identifier: MIT
// 'stabctl history' over experiments that were measured: programs print numbers that are known.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "tests/system/lab.h"

namespace stab::test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

// Benchmark b prints this number, and another one that does not change.
std::string plan_of(const std::string& value, const std::string& name = "nightly") {
  return "[experiment]\nname = \"" + name + "\"\n[defaults]\nrepetitions = 2\n" +
         "[[benchmark]]\nname = \"b\"\nrun = [\"sh\", \"-c\", \"echo " + value +
         " per; echo 7 kept\"]\n[[benchmark]]\nname = \"c\"\nrun = [\"sh\", \"-c\", \"echo 1 "
         "per; " +
         "echo 7 kept\"]\n[[measure.output]]\nname = \"rate\"\nregex = '([0-9.]+) per'\n" +
         "[[measure.output]]\nname = \"kept\"\nregex = '([0-9.]+) kept'\n" +
         "[analysis]\nresponse = \"rate\"\n";
}

const std::vector<std::string> step{"10.00", "10.10", "9.90",  "10.05", "9.95",  "10.02",
                                    "11.00", "11.10", "10.90", "11.05", "10.95", "11.02"};

class HistoryTest : public ::testing::Test {
 protected:
  void run(const std::string& plan) const {
    lab_.write("plan.toml", plan);
    const Output ran = lab_.ctl({"run", "--again", "--state", state(), lab_.path("plan.toml")});
    ASSERT_EQ(ran.code, 0) << ran.err;
  }
  void run_step() const {
    for (const std::string& value : step) run(plan_of(value));
  }
  Output history(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), "history");
    arguments.insert(arguments.end(), {"--state", state()});
    return lab_.ctl(arguments);
  }
  std::string state() const { return lab_.path("state"); }
  Lab lab_;
};

TEST_F(HistoryTest, ShowsEachExperimentAndWhereItChanged) {
  run_step();
  const Output text = history({"b"});
  ASSERT_EQ(text.code, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("b, rate: 12 experiments on "));
  EXPECT_THAT(text.out,
              HasSubstr("  ---- change: 10 % more from experiment 7 on, worse (p = 0.00"));
  EXPECT_THAT(text.out,
              HasSubstr("In 12 of 12 experiments the positions of functions were not random"));
  EXPECT_EQ(history({"b", "--html", lab_.path("h.html")}).out, text.out) << "the seed decides";
  std::ifstream file(lab_.path("h.html"));
  const std::string page(std::istreambuf_iterator<char>(file), {});
  EXPECT_THAT(page, HasSubstr("default-src &#39;none&#39;"));
  EXPECT_THAT(page, HasSubstr("<title>b - stabd</title>"));
  EXPECT_THAT(page, HasSubstr("% more from experiment 7 on, worse (p = 0.00"));
  std::size_t dots = 0;
  for (std::size_t at = 0; (at = page.find("<circle", at)) != std::string::npos; ++at) ++dots;
  EXPECT_EQ(dots, 12U);
  // Below the dots stand experiments and when they began, and no numbers between those.
  EXPECT_THAT(page, HasSubstr("by start time</text>"));
  EXPECT_THAT(page, HasSubstr(">12</text>"));
  EXPECT_THAT(page, Not(HasSubstr(">0.0</text>")));
  EXPECT_THAT(page, Not(HasSubstr(">12.5</text>")));
  EXPECT_THAT(page, ::testing::ContainsRegex(">[0-9][0-9]:[0-9][0-9]</text>|>20[0-9-]+</text>"));
  EXPECT_EQ(history({"b", "--html", lab_.path("none/h.html")}).code, 1);
  const Output higher = history({"b", "--metric", "rate", "--better", "higher"});
  EXPECT_THAT(higher.out, HasSubstr("; more is better\n"));
  EXPECT_THAT(higher.out, HasSubstr("% more from experiment 7 on, better (p = 0.00"));
  EXPECT_EQ(history({"b", "--better", "higher"}).code, 1) << "a direction of which response?";
  const json object = json::parse(history({"b", "--json"}).out);
  ASSERT_EQ(object["series"].size(), 1U);
  const json& series = object["series"][0];
  ASSERT_EQ(series["points"].size(), 12U);
  for (std::size_t i = 0; i < 12; ++i) {
    EXPECT_EQ(series["points"][i]["id"], i + 1);
    EXPECT_NEAR(series["points"][i]["mean"].get<double>(), std::stod(step[i]), 1e-9);
    EXPECT_EQ(object["experiments"][i]["experiment"], "nightly");
  }
  ASSERT_EQ(series["changes"].size(), 1U);
  EXPECT_EQ(series["changes"][0]["id"], 7);
  EXPECT_NEAR(series["changes"][0]["ratio"].get<double>(), 1.1, 0.002);
}

TEST_F(HistoryTest, SaysWhatWasCheckedOutWhenAnExperimentWasSubmitted) {
  lab_.write("repo/plan.toml", plan_of("10"));
  const auto git = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"/usr/bin/git", "-C", lab_.path("repo"), "-c",
                                         "user.name=a", "-c", "user.email=a@localhost"});
    const Output done = run_program(arguments, lab_.folder());
    EXPECT_EQ(done.code, 0) << done.err;
    return done.out.substr(0, done.out.find('\n'));
  };
  const auto run_in_repository = [&] {
    const Output ran =
        lab_.ctl({"run", "--again", "--state", state(), lab_.path("repo/plan.toml")});
    EXPECT_EQ(ran.code, 0) << ran.err;
  };
  run(plan_of("10"));  // in no repository, as those of earlier versions
  git({"init", "-q", "-b", "main"});
  run_in_repository();  // without a commit
  git({"add", "plan.toml"});
  git({"commit", "-q", "-m", "one"});
  run_in_repository();
  const std::string first = git({"rev-parse", "HEAD"});
  git({"checkout", "-q", "-b", "faster/sort"});
  git({"commit", "-q", "--allow-empty", "-m", "two"});
  run_in_repository();
  const std::string second = git({"rev-parse", "HEAD"});
  git({"checkout", "-q", "--detach"});
  run_in_repository();

  const json seen = json::parse(history({"b", "--json"}).out)["experiments"];
  ASSERT_EQ(seen.size(), 5U);
  const std::vector<std::pair<json, json>> wanted{{json(), json()},
                                                  {json(), json()},
                                                  {"main", first},
                                                  {"faster/sort", second},
                                                  {json(), second}};
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    EXPECT_EQ(seen[i]["branch"], wanted[i].first) << i;
    EXPECT_EQ(seen[i]["commit"], wanted[i].second) << i;
  }
  const Output text = history({"b", "--html", lab_.path("h.html")});
  const std::string page = read_file(lab_.path("h.html"), 1 << 22).value_or("");
  for (const std::string& each :
       {"main " + first.substr(0, 8), "faster/sort " + second.substr(0, 8)}) {
    EXPECT_THAT(text.out, ::testing::ContainsRegex("  " + each + " +nightly\n"));
    EXPECT_THAT(page, HasSubstr("<td>" + each + "</td>"));
    EXPECT_THAT(page, HasSubstr(" nightly, " + each + ", "));
  }
  EXPECT_THAT(lab_.ctl({"report", "4", "--full", "--state", state()}).out,
              HasSubstr("Source    faster/sort " + second.substr(0, 8)));

  const Output compared = run_program(
      {"/bin/sh", "-c",
       "cd repo && exec " STAB_BIN_DIR "/stabctl ab --json --fail-on none --budget 1s --no-heap "
       "--state ../of_ab -- true 'true '"},
      lab_.folder());
  ASSERT_EQ(compared.code, 0) << compared.err;
  EXPECT_EQ(json::parse(compared.out)["report"]["commit"], second);

  // A daemon is told the same.
  git({"checkout", "-q", "main"});
  ASSERT_TRUE(lab_.start_daemon());
  const int id = lab_.submit("repo/plan.toml");
  ASSERT_TRUE(lab_.wait_for(id, "done"));
  const Output report = lab_.ctl({"report", std::to_string(id), "--json"});
  EXPECT_EQ(json::parse(report.out)["branch"], "main");
}

TEST_F(HistoryTest, AnotherNumberAndOtherExperimentsCanBeAskedFor) {
  run_step();
  run(plan_of("12", "other"));
  const json kept = json::parse(history({"b", "--response", "kept", "--json"}).out);
  EXPECT_EQ(kept["response"], "kept");
  ASSERT_EQ(kept["series"][0]["points"].size(), 13U);
  EXPECT_EQ(kept["series"][0]["changes"].size(), 0U);
  EXPECT_EQ(
      json::parse(history({"b", "--experiment", "nightly", "--json"}).out)["experiments"].size(),
      12U);
  const Output last = history({"b", "--last", "5"});
  EXPECT_THAT(last.out, HasSubstr("b, rate: 5 experiments"));
  EXPECT_THAT(last.out, HasSubstr("8 earlier experiments were not examined (--last)."));
  EXPECT_THAT(last.out, HasSubstr("1 of 1 series cannot be tested for changes"));
  EXPECT_THAT(last.out, Not(HasSubstr("---- change")));
}

TEST_F(HistoryTest, AnExperimentWithoutTheNumberIsLeftOutWithTheReason) {
  run("[experiment]\nname = \"bare\"\n[[benchmark]]\nname = \"b\"\nrun = [\"true\"]\n"
      "repetitions = 2\n");
  run(plan_of("10"));
  const Output text = history({"b"});
  ASSERT_EQ(text.code, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("b, rate: 1 experiment on "));
  EXPECT_THAT(text.out, HasSubstr("Experiment 1 (bare) is left out: no trial of experiment 1 has"));
}

// Only the response names the parts of a benchmark, such as "b/BM_a".
TEST_F(HistoryTest, AMetricOfTheWholeBenchmarkCanBeAskedForBesideItsParts) {
  lab_.write("parts.json", R"({"benchmarks": [{"name": "BM_a", "run_type": "iteration",
    "iterations": 9, "real_time": 10, "cpu_time": 9, "time_unit": "ns"}]})");
  run("[experiment]\nname = \"parts\"\n[defaults]\nrepetitions = 2\n[[benchmark]]\nname = \"b\"\n"
      "run = [\"cat\", \"" +
      lab_.path("parts.json") +
      "\"]\n[[measure.output]]\nname = \"time\"\n"
      "google_benchmark = \"cpu_time\"\n[analysis]\nresponse = \"time\"\n");
  const json parts = json::parse(history({"b/BM_a", "--json"}).out);
  EXPECT_EQ(parts["response"], "time");
  const Output whole = history({"b", "--metric", "wall", "--json"});
  ASSERT_EQ(whole.code, 0) << whole.err;
  EXPECT_EQ(json::parse(whole.out)["response"], "wall");
  const Output neither = history({"b/BM_a", "--metric", "wall"});
  EXPECT_NE(neither.code, 0);
  EXPECT_THAT(neither.err,
              HasSubstr("experiment 1 is left out: 'wall' was not measured for b/BM_a"));
}

TEST_F(HistoryTest, WhatNobodyMeasuredIsAnErrorWithWhatThereIs) {
  run(plan_of("10"));
  const Output wrong = history({"bb"});
  EXPECT_EQ(wrong.code, 1);
  EXPECT_THAT(wrong.err, HasSubstr("no experiment has measured bb, did you mean b?"));
  const Output none = history({"b", "--response", "rat"});
  EXPECT_EQ(none.code, 1);
  EXPECT_THAT(none.err, HasSubstr("did you mean 'rate'?"));
  const Output name = history({"b", "--experiment", "x"});
  EXPECT_EQ(name.code, 1);
  EXPECT_THAT(name.err, HasSubstr("no experiment here has finished under the name x"));
  EXPECT_EQ(lab_.ctl({"history", "b", "--state", lab_.path("nowhere")}).code, 1);
}

TEST_F(HistoryTest, WhatNobodyMeasuredIsSaidBesideExperimentsThatCannotBeRead) {
  run(plan_of("10", "marked"));
  run(plan_of("10"));
  // A row whose checksum is wrong.
  const std::string database = state() + "/stabd.db";
  std::string bytes = read_file(database, 1 << 26).value();
  ASSERT_NE(bytes.find("marked"), std::string::npos);
  for (std::size_t at = 0; (at = bytes.find("marked", at)) != std::string::npos;) bytes[at] = 'n';
  std::ofstream(database, std::ios::binary) << bytes;
  const Output wrong = history({"bb"});
  EXPECT_EQ(wrong.code, 1);
  EXPECT_THAT(wrong.err, HasSubstr("no experiment has measured bb, did you mean b?"));
  EXPECT_THAT(wrong.err, HasSubstr("1 more cannot be read, among them experiment 1: "));
  EXPECT_THAT(wrong.err, HasSubstr("; the experiments here have measured b, c"));
}

TEST_F(HistoryTest, ADaemonIsAskedForItsReports) {
  ASSERT_TRUE(lab_.start_daemon());
  for (const std::string& value : step) {
    lab_.write("plan.toml", plan_of(value));
    const int id = lab_.submit("plan.toml");
    ASSERT_GT(id, 0);
    ASSERT_TRUE(lab_.wait_until_final(id));
  }
  const Output text = lab_.ctl({"history", "b"});
  ASSERT_EQ(text.code, 0) << text.err;
  EXPECT_THAT(text.out,
              HasSubstr("  ---- change: 10 % more from experiment 7 on, worse (p = 0.00"));
  EXPECT_EQ(history({"b"}).out, text.out) << "a folder says the same as its daemon";
  for (const char* response : {"rate", "kept"}) {
    const Output told = lab_.ctl({"history", "b", "--json", "--response", response});
    EXPECT_EQ(told.code, 0) << told.err;
    EXPECT_EQ(history({"b", "--json", "--response", response}).out, told.out);
  }
  const Output higher = lab_.ctl({"history", "b", "--metric", "rate", "--better", "higher"});
  EXPECT_THAT(higher.out, HasSubstr("% more from experiment 7 on, better (p = 0.00"));
}

}  // namespace
}  // namespace stab::test
