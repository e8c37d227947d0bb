// SPDX-License-Identifier: MIT
// 'stabctl causal' over profiles whose truth is known.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/types.h>

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "stats/causal/coz.h"
#include "stats/causal/profile.h"
#include "stats/causal/simulate.h"
#include "tests/system/lab.h"

namespace stab::test {
namespace {

using nlohmann::json;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

double none(double) {
  return 0;
}
double third(double x) {
  return x / 3;
}
double worse(double x) {
  return -0.2 * x;
}

std::string profile_of(std::size_t runs, std::size_t experiments = 120) {
  return stats::causal::as_coz(stats::causal::Simulation(1).make(
      {.lines = {{.gain = none}, {.gain = worse}, {.gain = third}},
       .runs = runs,
       .experiments = experiments}));
}

class CausalTest : public ::testing::Test {
 protected:
  Output causal(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), "causal");
    return lab_.ctl(arguments);
  }
  std::string put(const std::string& name, const std::string& text) const {
    lab_.write(name, text);
    return lab_.path(name);
  }
  Lab lab_;
};

TEST_F(CausalTest, TheAnswerIsFirstAndTheLinesAreBelowIt) {
  const Output text = causal({"--read", put("p.coz", profile_of(6))});
  ASSERT_EQ(text.code, 0) << text.err;
  EXPECT_THAT(text.out,
              StartsWith("Progress point point: make a.cc:3 faster: if it took 25 % less time, the "
                         "program would save "));
  EXPECT_THAT(text.out, HasSubstr(" of the time per visit.\n"));
  EXPECT_THAT(text.out, HasSubstr("contention"));
  EXPECT_THAT(text.out, HasSubstr("720 experiments in 6 runs"));
  EXPECT_THAT(text.out, Not(HasSubstr("fewer than 5 runs")));
  EXPECT_EQ(causal({"--read", lab_.path("p.coz")}).out, text.out) << "the seed decides";
}

TEST_F(CausalTest, JsonHasTheCurvesWithTheirBands) {
  const Output made = causal({"--json", "--read", put("p.coz", profile_of(6))});
  ASSERT_EQ(made.code, 0) << made.err;
  const json object = json::parse(made.out);
  EXPECT_EQ(object["runs"], 6);
  EXPECT_TRUE(object["runs_are_clusters"]);
  const json& line = object["points"][0]["lines"][0];
  EXPECT_EQ(line["line"], "a.cc:3");
  EXPECT_EQ(line["finding"], "helps");
  EXPECT_NEAR(line["slope"]["value"].get<double>(), 1.0 / 3, 0.05);
  EXPECT_LT(line["adjusted_p"].get<double>(), 0.05);
  EXPECT_GT(line["steps"].size(), 15U);
  for (const json& step : line["steps"]) {
    EXPECT_LT(step["low"].get<double>(), step["value"].get<double>());
    EXPECT_LT(step["value"].get<double>(), step["high"].get<double>());
    EXPECT_NEAR(step["near"]["value"].get<double>(), step["speedup"].get<double>() / 3, 0.05);
    EXPECT_LT(step["near"]["high"].get<double>() - step["near"]["low"].get<double>(),
              step["high"].get<double>() - step["low"].get<double>());
  }
  EXPECT_EQ(object["points"][0]["lines"][2]["finding"], "contention");
}

TEST_F(CausalTest, SeveralFilesAreRunsOfOneProgramAndAreWrittenAsOne) {
  const std::string one = put("one.coz", profile_of(2));
  const Output few = causal({"--read", one});
  ASSERT_EQ(few.code, 0) << few.err;
  EXPECT_THAT(few.out, HasSubstr("fewer than 5 runs"));
  const Output all = causal({"--read", one, one, one, "--coz", lab_.path("all.coz")});
  ASSERT_EQ(all.code, 0) << all.err;
  EXPECT_THAT(all.out, HasSubstr("in 6 runs"));
  EXPECT_EQ(causal({"--read", lab_.path("all.coz")}).out, all.out);
}

TEST_F(CausalTest, WhatCannotBeSaidIsSaid) {
  const Output few = causal({"--read", put("few.coz", profile_of(5, 6))});
  ASSERT_EQ(few.code, 0) << few.err;
  EXPECT_THAT(few.out, HasSubstr("too few to say: "));
  const Output part = causal({"--read", put("part.coz",
                                            "experiment\tselected=a:1\tspeedup=0\tduration=5\n"
                                            "throughput-point\tname=p\tdelta=1\n")});
  ASSERT_EQ(part.code, 0) << part.err;
  EXPECT_THAT(part.out, HasSubstr("too few experiments to say anything about any line"));
  EXPECT_THAT(part.out, HasSubstr("The profile has no samples of whole runs"));
  const Output growing = causal(
      {"--read", put("grow.coz",
                     "experiment\tselected=a:1\tspeedup=0\tduration=500\n"
                     "latency-point\tname=q\tarrivals=900\tdepartures=100\tdifference=800\n")});
  ASSERT_EQ(growing.code, 0) << growing.err;
  EXPECT_THAT(growing.out, HasSubstr("Latency q: "));
  EXPECT_THAT(
      growing.out,
      HasSubstr("900 arrivals, 100 departures: these numbers differ too much for Little's"));
}

TEST_F(CausalTest, ExperimentsWithADurationBelow0AreLeftOutAndSaid) {
  const std::string good = profile_of(6);
  const std::string below =
      "experiment\tselected=a.cc:3\tspeedup=0\tduration=-2000\tselected-samples=9\n"
      "throughput-point\tname=point\tdelta=1000000\n";
  // Behind the first experiment of its run and the points of that.
  const std::size_t at = good.find("experiment\t", good.find("experiment\t") + 1);
  const std::string bad = good.substr(0, at) + below + good.substr(at);
  const Output wanted = causal({"--read", put("good.coz", good)});
  const Output text = causal({"--read", put("bad.coz", bad)});
  ASSERT_EQ(text.code, 0) << text.err;
  const std::string said =
      "Left out because of a duration below 0: 1 more experiment. coz writes such a duration if "
      "the pauses took longer than the experiment.\n";
  EXPECT_EQ(text.out, wanted.out + said);
  const Output both = causal({"--json", "--read", lab_.path("bad.coz"), lab_.path("good.coz"),
                              lab_.path("bad.coz"), "--coz", lab_.path("all.coz")});
  ASSERT_EQ(both.code, 0) << both.err;
  EXPECT_EQ(json::parse(both.out)["left_out"], 2);
  EXPECT_EQ(json::parse(both.out)["experiments"], 3 * 720);
  EXPECT_THAT(read_file(lab_.path("all.coz"), std::size_t{1} << 26).value_or("-"),
              Not(HasSubstr("=-")));
  const Output refused = causal({"--read", lab_.path("good.coz"), put("none.coz", below)});
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.err, EndsWith("none.coz: the profile has no usable experiment: the duration "
                                    "is below 0 in 1 experiment\n"));
}

TEST_F(CausalTest, BadInputIsALineThatSaysWhatToChange) {
  const auto refused = [&](const std::string& text) {
    const Output made = causal({"--read", put("bad.coz", text)});
    EXPECT_EQ(made.code, 1);
    EXPECT_EQ(made.out, "");
    return made.err;
  };
  EXPECT_THAT(refused(""), EndsWith("bad.coz: it is empty\n"));
  EXPECT_THAT(refused("startup\ttime=1\nexperiment\tselected=a:1\tspeedup=x\tduration=1\n"),
              EndsWith("bad.coz: line 2: speedup=x is not a number\n"));
  EXPECT_THAT(refused("experiment\tselected=a:1\tspeedup=0\tduration=5\n"),
              HasSubstr("no progress point was visited during the experiments"));
  EXPECT_EQ(causal({"--read", lab_.path("none.coz")}).code, 1);
  EXPECT_EQ(causal({}).code, 1);
}

// Adds the paths of all values, as points[].lines[].slope.value.
void add_fields(const json& value, const std::string& path, std::set<std::string>& fields) {
  if (value.is_object()) {
    for (const auto& [key, inner] : value.items())
      add_fields(inner, path.empty() ? key : path + "." + key, fields);
  } else if (value.is_array()) {
    for (const json& inner : value) add_fields(inner, path + "[]", fields);
  } else {
    fields.insert(path);
  }
}

std::vector<std::string> pieces(const std::string& text, char between) {
  std::vector<std::string> made;
  std::istringstream from(text);
  for (std::string each; std::getline(from >> std::ws, each, between);) made.push_back(each);
  return made;
}

// Adds what a row of the table names: its first cell has names, or what those in backquotes are in.
void add_row(const std::string& row, std::set<std::string>& fields) {
  const std::string cell = row.substr(2, row.find(" |", 2) - 2);
  const std::vector<std::string> quoted = pieces(row, '`');
  const std::string within = cell.starts_with("lines[].") ? "points[].lines[]." : "";
  for (const std::string& each : pieces(cell.substr(within.empty() ? 0 : 8), ',')) {
    const std::string name = each == "lines[]" ? "points[].lines[]" : within + each;
    if (quoted.size() < 2) fields.insert(name);
    // "lines[]" in the row of points: it has rows of its own.
    for (std::size_t i = 1; i < quoted.size(); i += 2)
      if (!quoted[i].ends_with("[]")) fields.insert(name + "." + quoted[i]);
  }
}

TEST_F(CausalTest, TheDocumentHasAllFieldsOfTheJsonAndNoOther) {
  const std::string latency =
      "experiment\tselected=a:1\tspeedup=0\tduration=500\n"
      "latency-point\tname=q\tarrivals=900\tdepartures=100\tdifference=800\n";
  std::set<std::string> there;
  for (const std::string& text : {profile_of(6), latency}) {
    const Output made = causal({"--json", "--read", put("p.coz", text)});
    ASSERT_EQ(made.code, 0) << made.err;
    add_fields(json::parse(made.out), "", there);
  }
  const Output compiled =
      run_program({"/bin/sh", "-c",
                   "clang-22 -g -O1 -I " STAB_SOURCE_DIR "/runtime -o subject " STAB_SOURCE_DIR
                   "/tests/system/causal_subject.c"},
                  lab_.folder());
  ASSERT_EQ(compiled.code, 0) << compiled.err;
  const Output loaded =
      causal({"--json", "--load", "1x,1.25x", "--runs", "2", "--experiment", "30ms", "--scope",
              "*/causal_subject.c", "--", lab_.path("subject"), "arrive", "500"});
  ASSERT_EQ(loaded.code, 0) << loaded.err;
  add_fields(json::parse(loaded.out), "", there);
  std::ifstream document(STAB_SOURCE_DIR "/doc/causal.md");
  std::set<std::string> documented;
  std::string row;
  while (std::getline(document, row) && row != "## JSON") continue;
  while (std::getline(document, row))
    if (row.starts_with("| ") && !row.starts_with("| field ")) add_row(row, documented);
  EXPECT_THAT(documented, ::testing::UnorderedElementsAreArray(there));
}

// A loop nearly all of whose time is its line 6.
constexpr const char* one_hot_line = R"(#include <stdlib.h>
#include <stdio.h>
#include "stabilizer.h"
int main(int count, char** words) {
  for (long i = 0; i < atol(words[1]); ++i) {
    for (long left = 300000; left > 0; --left) __asm__ volatile("" : "+r"(left));
    STAB_PROGRESS("item");
  }
  puts("my own output");
  return count > 2 ? atoi(words[2]) : 0;
}
)";

class CausalRunTest : public CausalTest {
 protected:
  // "": it could not be compiled.
  std::string compile(const std::string& flags, const std::string& name = "hot") const {
    lab_.write("hot.c", one_hot_line);
    const Output made = run_program({"/bin/sh", "-c",
                                     "clang-22 -O1 -I " STAB_SOURCE_DIR "/runtime " + flags +
                                         " -o " + name + " \"$PWD/hot.c\""},
                                    lab_.folder());
    EXPECT_EQ(made.code, 0) << made.err;
    return lab_.path(name);
  }
  Output run(std::vector<std::string> options, const std::vector<std::string>& command) const {
    options.insert(options.end(), {"--experiment", "20ms", "--scope", "*/hot.c", "--"});
    options.insert(options.end(), command.begin(), command.end());
    return causal(options);
  }
};

// Effective, in the experiments that made the line faster or in the others: without the slowest
// fifth of them, in which the machine may have stood still.
double time_per_visit(const stats::causal::Profile& profile, bool is_faster) {
  std::vector<std::pair<double, double>> all;  // time and visits
  for (const auto& run : profile.runs)
    for (const auto& each : run.experiments)
      if ((each.speedup > 0) == is_faster && !each.visits.empty() && each.visits[0].count > 0)
        all.emplace_back(static_cast<double>(each.effective_ns),
                         static_cast<double>(each.visits[0].count));
  std::ranges::sort(all, {}, [](const auto& each) { return each.first / each.second; });
  all.resize(all.size() - all.size() / 5);
  double ns = 0;
  double visits = 0;
  for (const auto& [time, count] : all) {
    ns += time;
    visits += count;
  }
  return ns / visits;
}

// Whether that is called "helps" after so few runs is a matter of luck.
TEST_F(CausalRunTest, TheLineThatTakesAllGivesTimeAndItsProfileCanBeReadAgain) {
  const std::string program = compile("-g");
  const Output made =
      run({"--line", "hot.c:6", "--runs", "2", "--json", "--coz", lab_.path("hot.coz")},
          {program, "15000"});
  ASSERT_EQ(made.code, 0) << made.err;
  EXPECT_THAT(made.out, StartsWith("my own output\nmy own output\n{"));
  EXPECT_THAT(made.err, HasSubstr("run 2 of 2: "));
  const std::string text = made.out.substr(made.out.find('{'));
  const json object = json::parse(text);
  const json& point = object["points"][0];
  EXPECT_EQ(point["name"], "item");
  const json& line = point["lines"][0];
  EXPECT_THAT(line["line"].get<std::string>(), EndsWith("/hot.c:6"));
  stats::causal::Profile profile;
  ASSERT_TRUE(stats::causal::read_coz(
      read_file(lab_.path("hot.coz"), std::size_t{1} << 26).value_or(""), profile));
  EXPECT_LT(time_per_visit(profile, true), 0.9 * time_per_visit(profile, false))
      << text << made.err;
  EXPECT_EQ(causal({"--json", "--read", lab_.path("hot.coz")}).out, text);
}

TEST_F(CausalRunTest, AFailedRunIsLeftOutAndSaid) {
  const Output failed = run({"--runs", "2"}, {compile("-g"), "10", "7"});
  EXPECT_EQ(failed.code, 1);
  EXPECT_EQ(failed.out, "my own output\nmy own output\n");
  EXPECT_THAT(failed.err, HasSubstr("run 1 of 2: the program exited with 7; the run is left out"));
  EXPECT_THAT(failed.err, HasSubstr("the program failed in all runs"));
}

TEST_F(CausalRunTest, AShortProgramAndOneWithoutPointsAreToldWhatToChange) {
  const std::string program = compile("-g");
  EXPECT_THAT(
      causal({"--runs", "1", "--experiment", "5min", "--scope", "*/hot.c", "--", program, "1"}).err,
      HasSubstr("too short"));
  EXPECT_THAT(run({"--runs", "1"}, {program, "0"}).err, HasSubstr("No progress point was visited"));
}

TEST_F(CausalRunTest, CtrlCEndsTheProgramAndKeepsWhatThereIs) {
  const std::string program = compile("-g");
  const pid_t child = start_program(
      {STAB_BIN_DIR "/stabctl", "causal", "--scope", "*/hot.c", "--line", "hot.c:6", "--experiment",
       "20ms", "--coz", lab_.path("cut.coz"), "--", program, "100000000"},
      lab_.folder(), lab_.path("said"));
  ASSERT_TRUE(wait_for_text(lab_.path("said"), " experiments, "));
  kill(child, SIGINT);
  EXPECT_EQ(end_of(child), 130);
  EXPECT_EQ(causal({"--read", lab_.path("cut.coz")}).code, 0);
}

TEST_F(CausalRunTest, CtrlCLeavesOutARunThatIsOneExperiment) {
  const std::string program = compile("-g");
  const pid_t child =
      start_program({STAB_BIN_DIR "/stabctl", "causal", "--scope", "*/hot.c", "--line", "hot.c:6",
                     "--end-to-end", "--coz", lab_.path("cut.coz"), "--", program, "100000000"},
                    lab_.folder(), lab_.path("said"));
  ASSERT_TRUE(wait_for_text(lab_.path("said"), " experiments, "));
  kill(child, SIGINT);
  EXPECT_EQ(end_of(child), 130);
  const std::string said = read_file(lab_.path("said"), std::size_t{1} << 20).value_or("");
  EXPECT_THAT(said, HasSubstr("run 1 of 5: the program was interrupted before its end; the run is "
                              "left out"));
  EXPECT_THAT(said, Not(HasSubstr("did not start")));
  EXPECT_EQ(read_file(lab_.path("cut.coz"), 100).value_or("-"), "");
}

TEST_F(CausalRunTest, WhatCannotBeProfiledIsRefusedWithWhatToChange) {
  const auto refused = [&](std::vector<std::string> options, const std::string& program) {
    const Output made = run(std::move(options), {program, "1"});
    EXPECT_EQ(made.code, 1) << made.err;
    EXPECT_EQ(made.out, "");
    return made.err;
  };
  const std::string program = compile("-g");
  EXPECT_THAT(refused({}, lab_.path("none")), HasSubstr("cannot find the program"));
  EXPECT_THAT(refused({}, compile("-g0", "bare")),
              HasSubstr("no debug information; build it with"));
  EXPECT_THAT(refused({}, compile("-g -static", "static")), HasSubstr("is linked statically"));
  lab_.write("script", "#!/bin/sh\n", true);
  EXPECT_THAT(refused({}, lab_.path("script")), HasSubstr("with --binary"));
  EXPECT_THAT(refused({"--line", "hot.c:4000"}, program), HasSubstr("the nearest line with code"));
  EXPECT_THAT(refused({"--line", "cold.c:6"}, program),
              HasSubstr("the file of the line 'cold.c:6' has no code in the scope"));
  EXPECT_THAT(refused({"--progress", "hot.c:4000"}, program),
              HasSubstr("--progress: there is no code for hot.c:4000"));
  EXPECT_THAT(refused({"--speedup", "25%"}, program), HasSubstr("needs --end-to-end and --line"));
  EXPECT_THAT(refused({"--speedup", "x"}, program), HasSubstr("for example 25%"));
  EXPECT_THAT(refused({"--sample-period", "1us"}, program), HasSubstr("--sample-period needs"));
  EXPECT_THAT(refused({"--binary", lab_.path("no*")}, program), HasSubstr("no file matches"));
  const Output scope = causal({"--scope", "nothing", "--", program, "1"});
  EXPECT_EQ(scope.code, 1);
  EXPECT_THAT(scope.err, HasSubstr("is in scope"));
}

}  // namespace
}  // namespace stab::test
