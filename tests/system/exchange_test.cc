// SPDX-License-Identifier: MIT
// What stabctl exports in the formats of other tools holds the measurements of the trials, and nothing
// else.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/system/lab.h"

namespace stab::test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class Exchange : public ::testing::Test {
 protected:
  // An experiment of the lab's own folder.
  void run(const std::string& plan) const {
    lab_.write("plan.toml", plan);
    const Output ran = lab_.ctl(
        {"run", "--again", "--state", state(), "--fail-on", "none", lab_.path("plan.toml")});
    ASSERT_EQ(ran.code, 0) << ran.err;
  }
  Output exported(const std::vector<std::string>& arguments) const {
    std::vector<std::string> all{"export", "--state", state()};
    all.insert(all.end(), arguments.begin(), arguments.end());
    return lab_.ctl(all);
  }
  json rows() const { return json::parse(exported({"--format", "json"}).out); }
  std::string state() const { return lab_.path("state"); }

  const std::string two_levels_ = R"(
[experiment]
name = "two levels"
seed = 3
[defaults]
repetitions = 5
warmup = 2
[[benchmark]]
name = "sort"
run = ["sh", "-c", "${WORDS}"]
[[benchmark]]
name = "broken"
run = ["sh", "-c", "${WORDS}; exit 3"]
[factor.how]
levels = { "a-2" = { WORDS = ":" }, c = { WORDS = "true" } }
[factor.env_bytes]
random = { per = "block" }
)";
  Lab lab_;
};

// Of the measured trials of a level.
std::vector<json> measured(const json& rows, const std::string& level) {
  std::vector<json> found;
  for (const json& row : rows)
    if (row["how"] == level && row["status"] == "ok" && row["warmup"] == false)
      found.push_back(row);
  return found;
}

TEST_F(Exchange, HyperfinesFormatHasTheTimesOfEachCell) {
  run(two_levels_);
  const Output written = exported({"--format", "hyperfine"});
  ASSERT_EQ(written.code, 0) << written.err;
  const json results = json::parse(written.out)["results"];
  ASSERT_EQ(results.size(), 2U);
  for (const json& result : results) {
    const auto level = result["parameters"]["how"].get<std::string>();
    EXPECT_EQ(result["command"], "sort how=" + level);
    EXPECT_EQ(result["parameters"].size(), 1U) << "a layout factor is no parameter";
    const std::vector<json> trials = measured(rows(), level);
    ASSERT_EQ(trials.size(), 5U);
    ASSERT_EQ(result["times"].size(), 5U);
    double sum = 0;
    for (std::size_t i = 0; i < 5; ++i) {
      EXPECT_DOUBLE_EQ(result["times"][i].get<double>(), trials[i]["wall_ns"].get<double>() / 1e9);
      if (result.contains("memory_usage_byte"))
        EXPECT_EQ(result["memory_usage_byte"][i], trials[i]["max_rss_bytes"]);
      EXPECT_EQ(result["exit_codes"][i], 0);
      EXPECT_FALSE(result.contains("accepted_exit_codes"));
      sum += result["times"][i].get<double>();
    }
    EXPECT_NEAR(result["mean"].get<double>(), sum / 5, 1e-12);
    std::vector<double> sorted = result["times"].get<std::vector<double>>();
    std::ranges::sort(sorted);
    EXPECT_DOUBLE_EQ(result["median"].get<double>(), sorted[2]);
    EXPECT_DOUBLE_EQ(result["min"].get<double>(), sorted.front());
    EXPECT_DOUBLE_EQ(result["max"].get<double>(), sorted.back());
    for (const char* name : {"stddev", "user", "system"}) EXPECT_TRUE(result[name].is_number());
  }
}

TEST_F(Exchange, WhatIsExportedAsHyperfinesIsReadAsSuch) {
  run(two_levels_);
  ASSERT_EQ(exported({"--format", "hyperfine", "-o", lab_.path("own.json")}).code, 0);
  const Output read = lab_.ctl({"analyze", lab_.path("own.json"), "--json", "--baseline", "how=c"});
  ASSERT_EQ(read.code, 0) << read.err;
  const json report = json::parse(read.out);
  EXPECT_EQ(report["analysis"]["treatments"], json::array({"how"}));
  ASSERT_EQ(report["effects"].size(), 1U);
  EXPECT_EQ(report["effects"][0]["level"], "a-2");
  const json result = json::parse(exported({"--format", "hyperfine"}).out)["results"];
  for (const json& mean : report["means"])
    for (const json& each : result)
      if (each["parameters"]["how"] == mean["levels"]["how"])
        EXPECT_NEAR(mean["mean"].get<double>(), 1e9 * each["mean"].get<double>(), 1);
}

// The plan wants the exit code 3, which hyperfine would call a failure.
TEST_F(Exchange, ExitCodesThatThePlanWantsAreNoFailuresInHyperfinesFormat) {
  run("[experiment]\nname = \"codes\"\n[defaults]\nrepetitions = 4\n[[benchmark]]\nname = \"b\"\n"
      "run = [\"sh\", \"-c\", \"exit ${CODE}\"]\ncheck = { exit = 3 }\n"
      "[factor.how]\nlevels = { a = { CODE = \"3\" }, c = { CODE = \"0003\" } }\n");
  const Output written = exported({"--format", "hyperfine", "-o", lab_.path("own.json")});
  ASSERT_EQ(written.code, 0) << written.err;
  const json results = json::parse(exported({"--format", "hyperfine"}).out)["results"];
  ASSERT_EQ(results.size(), 2U);
  for (const json& result : results) {
    EXPECT_EQ(result["exit_codes"], json::array({3, 3, 3, 3}));
    EXPECT_EQ(result["accepted_exit_codes"], json::array({3}));
  }
  const Output read = lab_.ctl({"analyze", lab_.path("own.json")});
  EXPECT_EQ(read.code, 0) << read.err;
  EXPECT_THAT(read.out, HasSubstr("8 trials"));
}

TEST_F(Exchange, BenchstatsFormatHasALineForEachTrial) {
  run(two_levels_);
  const Output written = exported({"--format", "benchstat"});
  ASSERT_EQ(written.code, 0) << written.err;
  EXPECT_THAT(written.out, StartsWith("goos: linux\ngoarch: amd64\npkg: two%20levels\n"));
  std::map<std::string, std::vector<json>> of_name{
      {"BenchmarkSort/how=a-2-1", measured(rows(), "a-2")},
      {"BenchmarkSort/how=c", measured(rows(), "c")}};
  std::istringstream lines(written.out);
  std::map<std::string, std::size_t> seen;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("Benchmark")) continue;
    const std::string name = line.substr(0, line.find(' '));
    ASSERT_TRUE(of_name.contains(name)) << line;
    const json& trial = of_name[name].at(seen[name]++);
    std::string expected = name + " 1";
    for (const auto& [column, unit] :
         {std::pair{"wall_ns", "ns/op"}, std::pair{"user_ns", "user-ns/op"},
          std::pair{"system_ns", "sys-ns/op"}, std::pair{"max_rss_bytes", "peak-RSS-bytes"}})
      if (!trial[column].is_null()) expected += " " + trial[column].dump() + " " + unit;
    EXPECT_EQ(line, expected);
  }
  for (const auto& [name, trials] : of_name) {
    EXPECT_EQ(seen[name], 5U) << name;
    EXPECT_EQ(trials.size(), 5U) << name;
  }
}

TEST_F(Exchange, BenchstatsFormatHasTheNumbersThatAPlanCompares) {
  run(R"(
[experiment]
name = "rate"
[[benchmark]]
name = "b"
run = ["sh", "-c", "echo 12.5 per second"]
repetitions = 3
[measure]
output = [{ name = "rate", regex = '([0-9.]+) per', unit = "/s" }]
[analysis]
response = "rate"
better = "higher"
)");
  const Output written = exported({"--format", "benchstat"});
  ASSERT_EQ(written.code, 0) << written.err;
  EXPECT_THAT(written.out, HasSubstr("\nUnit rate better=higher\nBenchmarkB 1 "));
  EXPECT_THAT(written.out, HasSubstr(" 12.5 rate\n"));
}

TEST_F(Exchange, BenchstatsFormatHasEachBenchmarkThatATrialMeasured) {
  lab_.write("printed.json", R"({"benchmarks":[
{"name":"BM a/8","run_name":"BM a/8","run_type":"iteration","real_time":2.5,"time_unit":"us"},
{"name":"BM_b","run_name":"BM_b","run_type":"iteration","real_time":4,"time_unit":"ns"}]})");
  run("[experiment]\nname = \"g\"\n[[benchmark]]\nname = \"suite\"\nrun = [\"cat\", \"" +
      lab_.path("printed.json") +
      "\"]\nrepetitions = 2\n[[measure.output]]\nname = \"time\"\n"
      "google_benchmark = \"real_time\"\n[analysis]\nresponse = \"time\"\n");
  const Output written = exported({"--format", "benchstat"});
  ASSERT_EQ(written.code, 0) << written.err;
  const std::string two = "BenchmarkSuite/BM%20a/8 1 2500 time\nBenchmarkSuite/BM_b 1 4 time\n";
  EXPECT_EQ(written.out, "goos: linux\ngoarch: amd64\npkg: g\n" + two + two);
}

TEST_F(Exchange, ADaemonExportsThemToo) {
  ASSERT_TRUE(lab_.start_daemon());
  lab_.write("plan.toml", two_levels_);
  const int submitted = lab_.submit("plan.toml");
  ASSERT_GT(submitted, 0);
  const std::string id = std::to_string(submitted);
  ASSERT_TRUE(lab_.wait_until_final(submitted));
  EXPECT_EQ(json::parse(lab_.ctl({"export", id, "--format", "hyperfine"}).out)["results"].size(),
            2U);
  EXPECT_THAT(lab_.ctl({"export", id, "--format", "benchstat"}).out, HasSubstr("how=c 1 "));
  const Output refused = lab_.ctl({"export", id, "--format", "benchstat", "--samples"});
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.err,
              HasSubstr("--samples exports rows: use --format csv or json, not benchstat"));
  const Output no_profile = lab_.ctl({"export", id, "--format", "coz"});
  EXPECT_EQ(no_profile.code, 1);
  EXPECT_EQ(no_profile.out, "");
  EXPECT_THAT(no_profile.err, HasSubstr("experiment " + id + " has no causal profile"));
}

TEST_F(Exchange, WithoutTimesThereIsNothingForHyperfine) {
  run("[experiment]\nname = \"none\"\n[[benchmark]]\nname = \"b\"\nrun = [\"false\"]\n"
      "repetitions = 2\n");
  const Output refused = exported({"--format", "hyperfine"});
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.err, HasSubstr("no successful trial of experiment 1 has a wall time"));
}

}  // namespace
}  // namespace stab::test
