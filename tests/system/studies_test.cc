// SPDX-License-Identifier: MIT
// Calibrations, padding studies and fractional designs with the real programs, from the plan to the
// report; its numbers are those of the functions of plain samples on the exported rows.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "base/fd.h"
#include "stats/planning/noise_floor.h"
#include "stats/tests/estimate.h"
#include "tests/system/lab.h"

namespace stab::test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* work_c = R"(
#include <stdio.h>
#include <stdlib.h>
static volatile unsigned sink;
unsigned first(unsigned x) { return x * 3 + 1; }
unsigned second(unsigned x) { return x ^ (x >> 3); }
int main(int argc, char** argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 1;
  for (int i = 0; i < n * WORK; ++i) sink += first(second((unsigned)i));
  puts("right");
}
)";

constexpr const char* benchmark = R"(
[[benchmark]]
name = "one"
build = "${CC} -O1 ${CFLAGS} ${LDFLAGS} -DWORK=${WORK} -o ${OUT} work.c"
sources = ["work.c"]
run = ["${OUT}", "${N}"]
)";

class Studies : public ::testing::Test {
 protected:
  void SetUp() override { lab_.write("work.c", work_c); }

  static std::string stabctl() { return std::string(STAB_BIN_DIR) + "/stabctl"; }

  // Runs the plan to its end in a database of its own and returns the report.
  json run(const std::string& plan, const std::string& text) {
    lab_.write(plan + ".toml", text);
    const Output output = run_program(
        {stabctl(), "run", "--json", "--fail-on", "trials", "--calibrations",
         lab_.path("known.json"), "--state", lab_.path(plan), lab_.path(plan + ".toml")},
        lab_.folder());
    EXPECT_EQ(output.code, 0) << output.err << output.out;
    return json::parse(output.out, nullptr, false);
  }
  // With a daemon on that database: the rows, and what else is asked of it.
  json rows(const std::string& plan) {
    std::filesystem::create_directory_symlink(lab_.path(plan), lab_.path("state"));
    EXPECT_TRUE(lab_.start_daemon());
    json all = lab_.trials(1);
    text_ = lab_.ctl({"report", "1", "--full"}).out;
    csv_ = lab_.ctl({"export", "1"}).out;
    lab_.end_daemon(15);
    std::filesystem::remove(lab_.path("state"));
    return all;
  }
  std::string check(const std::string& plan) {
    return run_program({stabctl(), "check", lab_.path(plan + ".toml")}, lab_.folder()).out;
  }

  Lab lab_;
  std::string text_;
  std::string csv_;
};

const std::string calibration =
    std::string(
        "[experiment]\nname = 'quiet'\n[variables]\nWORK = '1000'\nN = '1'\n"
        "[defaults]\nrepetitions = 2\n") +
    benchmark +
    "[[benchmark]]\nname = 'two'\nrun = ['/bin/true']\n[design]\nkind = 'calibration'\n"
    "comparisons = 10\n";

TEST_F(Studies, ACalibrationIsQuotedByLaterRuns) {
  const json report = run("quiet", calibration);
  const json& any = report["calibration"]["any"];
  EXPECT_EQ(any["comparisons"], 20);
  EXPECT_EQ(report["calibration"]["blocks"], 2);
  EXPECT_TRUE(report["noise_floor"].is_null());
  EXPECT_THAT(report["answer"].get<std::string>(),
              HasSubstr("this machine cannot resolve changes below"));
  ASSERT_TRUE(any["noise_floor"].is_number());

  // The same number by the function of plain samples, on what was exported.
  std::map<std::string, std::map<std::uint32_t, std::map<std::string, stats::Moments>>> groups;
  for (const json& row : rows("quiet"))
    groups[row["benchmark"]][row["block"].get<std::uint32_t>() / 2][row["arm"]].add(
        std::log(row["wall_ns"].get<double>()));
  std::vector<stats::AaProgram> programs;
  for (auto& [name, comparisons] : groups) {
    programs.emplace_back();
    for (auto& [number, arms] : comparisons)
      for (const char* arm : {"A", "B"}) programs.back().groups.push_back(arms.at(arm).mean);
  }
  EXPECT_NEAR(any["noise_floor"].get<double>(), stats::noise_floor_disjoint(programs, 0.05)->margin,
              1e-9);
  EXPECT_THAT(text_, HasSubstr("A/A comparisons"));

  const std::string plain = std::string(
                                "[experiment]\nname = 'plain'\n[variables]\nWORK = '1000'\n"
                                "[defaults]\nrepetitions = 3\n") +
                            benchmark +
                            "[factor.n]\nlevels = { one = { N = '1' }, two = { N = '2' } }\n";
  const json later = run("plain", plain);
  EXPECT_EQ(later["noise_floor"]["noise_floor"], any["noise_floor"]);
  EXPECT_EQ(later["noise_floor"]["calibration"], "quiet");
  EXPECT_EQ(later["noise_floor"]["blocks"], 2);
  (void)rows("plain");
  EXPECT_THAT(text_, HasSubstr("  Noise     this machine's noise floor: "));
  // What is known is carried on, once.
  EXPECT_EQ(run("quiet-again", calibration)["calibration"]["any"]["comparisons"], 20);
  auto known = json::parse(read_file(lab_.path("known.json"), 1 << 20).value());
  ASSERT_EQ(known.size(), 1U);
  EXPECT_EQ(known[0]["calibrations"].size(), 2U * 4);

  // A file that has become larger than a request may be is still known.
  json& all = known[0]["calibrations"];
  const json first = all[0];
  for (int i = 0; all.size() < 400; ++i) {
    all.push_back(first);
    all.back()["name"] = "earlier " + std::to_string(i);
    all.back()["at_ns"] = i + 1;
  }
  lab_.write("known.json", known.dump());
  ASSERT_GT(known.dump().size(), std::size_t{64} << 10);
  EXPECT_EQ(run("after", plain)["noise_floor"]["calibration"], "quiet");
}

TEST_F(Studies, CheckShowsWhatACalibrationComesTo) {
  lab_.write("quiet.toml", calibration);
  const std::string text = check("quiet");
  EXPECT_THAT(text, HasSubstr("quiet: calibration, 2 benchmarks x 2 cells in 20 blocks"));
  EXPECT_THAT(text, HasSubstr("each benchmark is compared with itself 10 times, in 2 blocks each "
                              "time"));
  EXPECT_THAT(text, HasSubstr("log(wall) ~ block + arm"));
}

TEST_F(Studies, CheckJudgesByAnEarlierExperimentOfTheSameName) {
  lab_.write("took.sh", took_script(), true);
  lab_.write("plan.toml", printing_plan("p", "{ a = { NS = '1000' }, b = { NS = '900' } }", 6));
  ASSERT_TRUE(lab_.start_daemon());
  const int id = lab_.submit("plan.toml");
  ASSERT_TRUE(id > 0 && lab_.wait_until_final(id));
  const std::string number = std::to_string(id);
  const json effect = json::parse(lab_.ctl({"report", number, "--json"}).out)["effects"][0];
  ASSERT_EQ(effect["units"], 6) << effect;
  const json check = json::parse(lab_.ctl({"check", lab_.path("plan.toml"), "--json"}).out);
  const json& smallest = check["smallest_detectable"];
  ASSERT_EQ(smallest.size(), 1U) << check;
  // R: qt(0.975, 5) = 2.570581836.
  const double width = std::log(effect["high"].get<double>() / effect["low"].get<double>());
  EXPECT_NEAR(smallest[0]["sd"].get<double>(), width / 2 / 2.570581836 * std::sqrt(6), 1e-9);
  EXPECT_THAT(lab_.ctl({"check", lab_.path("plan.toml")}).out,
              HasSubstr("judging by experiment " + number));
}

TEST_F(Studies, CheckKnowsThatThePilotEndedEarlyAndThatNodesRunAtTheSameTime) {
  const auto write = [&](const std::string& design) {
    lab_.write("plan.toml",
               "[experiment]\nname = 'pilot'\n[[benchmark]]\nname = 'b'\nrun = ['/bin/sleep', "
               "'0.3']\nrepetitions = 1000\n" +
                   design);
  };
  write("[design]\ntime = '1s'\n");
  ASSERT_TRUE(lab_.start_daemon());
  const int id = lab_.submit("plan.toml");
  ASSERT_TRUE(id > 0 && lab_.wait_until_final(id));
  const json row = json::parse(lab_.ctl({"list", "--json"}).out)[0];
  ASSERT_EQ(row["stopped_by"], "time") << row;
  write("");
  const auto estimate = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"check", lab_.path("plan.toml"), "--json"});
    const Output check = lab_.ctl(more);
    EXPECT_EQ(check.code, 0) << check.err;
    return json::parse(check.out)["estimated_ns"].get<std::int64_t>();
  };
  EXPECT_GT(estimate({}), 2 * row["duration_ns"].get<std::int64_t>());
  EXPECT_EQ(estimate({"--machines", "4"}), estimate({}));
}

TEST_F(Studies, APaddingStudyComparesArmsThatShareTheirSeeds) {
  const std::string plan =
      std::string(
          "[experiment]\nname = 'padding'\n[variables]\nCC = 'szc'\nN = '20'\n"
          "[randomize]\ncode = false\n") +
      benchmark +
      "[factor.work]\nlevels = { less = { WORK = '20000' }, more = { WORK = '60000' } }\n"
      "[factor.link_padding]\nrandom = { seeds = 4, runs = 2 }\n"
      "[design]\nkind = 'padding-study'\n";
  const json report = run("padding", plan);
  EXPECT_THAT(
      check("padding"),
      HasSubstr("both arms get the same 4 seeds of the factor link_padding; each seed has 2 runs"));
  std::map<std::string, stats::SeedTrials> seeds;
  std::set<std::string> builds;
  for (const json& row : rows("padding")) {
    ASSERT_EQ(row["status"], "ok") << row["reason"];
    builds.insert(row["build"]);
    stats::SeedTrials& seed = seeds[row["link_padding"]];
    (row["work"] == "less" ? seed.before : seed.after).push_back(row["wall_ns"].get<double>());
  }
  EXPECT_EQ(builds.size(), 8U);
  ASSERT_EQ(seeds.size(), 4U);
  std::vector<stats::SeedTrials> trials;
  for (auto& [seed, each] : seeds) trials.push_back(each);
  const auto expected = stats::padding_study(trials, 0.05);
  ASSERT_TRUE(expected);
  ASSERT_EQ(report["effects"].size(), 1U);
  const json& effect = report["effects"][0];
  EXPECT_NEAR(effect["ratio"].get<double>(), 1 + expected->mean / 100, 1e-9);
  EXPECT_NEAR(effect["low"].get<double>(), 1 + expected->interval.low / 100, 1e-9);
  EXPECT_NEAR(effect["high"].get<double>(), 1 + expected->interval.high / 100, 1e-9);
  EXPECT_NEAR(effect["p"].get<double>() / expected->p, 1, 1e-6);
  EXPECT_EQ(effect["df"], 3);
  EXPECT_EQ(report["padding_study"][0]["seeds"].size(), 4U);
  EXPECT_THAT(text_, HasSubstr("Padding study"));
  EXPECT_THAT(text_, HasSubstr("less -> more"));
}

TEST_F(Studies, AFractionalDesignNamesWhatItCannotTellApart) {
  const std::string plan =
      std::string("[experiment]\nname = 'half'\n[defaults]\nrepetitions = 6\n") + benchmark +
      "[factor.n]\nlevels = { ten = { N = '10' }, thirty = { N = '30' } }\n"
      "[factor.work]\nlevels = { less = { WORK = '20000' }, more = { WORK = '30000' } }\n"
      "[factor.aslr]\nlevels = [false, true]\n"
      "[factor.env_bytes]\nlevels = [0, 512]\n"
      "[design]\nkind = 'fractional'\ngenerators = ['env_bytes = n:work:aslr']\n";
  const json report = run("half", plan);
  const std::string text = check("half");
  EXPECT_THAT(text, HasSubstr("half: fractional, 1 benchmark x 8 cells in 6 blocks"));
  EXPECT_THAT(text, HasSubstr("fraction: the plan runs 8 of 16 cells; the resolution is 4"));
  EXPECT_THAT(text, HasSubstr("I = n:work:aslr:env_bytes"));
  EXPECT_THAT(text, HasSubstr("= aslr:env_bytes"));
  EXPECT_EQ(
      report["model"],
      "log(wall) ~ n + work + aslr + env_bytes + n:work + n:aslr + work:aslr + Error(block/(n "
      "+ work + aslr + env_bytes + n:work + n:aslr + work:aslr))");

  // Complete blocks: an effect is the difference of the halves' mean logarithms.
  std::map<std::string, stats::Moments> halves;
  std::set<std::string> cells;
  for (const json& row : rows("half")) {
    ASSERT_EQ(row["status"], "ok") << row["reason"];
    halves[row["n"]].add(std::log(row["wall_ns"].get<double>()));
    cells.insert(row["n"].get<std::string>() + row["work"].get<std::string>() +
                 row["aslr"].get<std::string>() + row["env_bytes"].get<std::string>());
  }
  EXPECT_EQ(cells.size(), 8U);
  const json& effect = report["effects"][0];
  EXPECT_NEAR(effect["ratio"].get<double>(), std::exp(halves["thirty"].mean - halves["ten"].mean),
              1e-9);
  EXPECT_EQ(effect["aliases"], "work:aslr:env_bytes");
  EXPECT_THAT(text_, HasSubstr("Aliases\n"));
  EXPECT_THAT(text_, HasSubstr("  n = work:aslr:env_bytes\n"));
  EXPECT_THAT(csv_, HasSubstr(",aslr,env_bytes,n,work,"));
}

}  // namespace
}  // namespace stab::test
