// SPDX-License-Identifier: MIT
// Samples within trials: programs that measure many things, or one many times.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/system/lab.h"

namespace stab::test {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class SamplesTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(lab_.start_daemon()); }

  // Each trial runs the script; ${N} is 100 at one level and 200 at the other.
  void write_plan(const std::string& script, const std::string& more, int repetitions = 6) const {
    lab_.write("script.sh", script);
    lab_.write("plan.toml",
               "[experiment]\nname = \"samples\"\nseed = 1\n"
               "[[benchmark]]\nname = \"program\"\nrepetitions = " +
                   std::to_string(repetitions) +
                   "\nrun = [\"/bin/sh\", \"script.sh\", \"${N}\"]\n"
                   "[factor.n]\n"
                   "levels = { few = { N = \"100\" }, many = { N = \"200\" } }\n" +
                   more);
  }
  int run_to_end() {
    const int id = lab_.submit("plan.toml");
    EXPECT_GT(id, 0);
    if (id > 0) EXPECT_TRUE(lab_.wait_until_final(id));
    return id;
  }
  [[nodiscard]] json report(int id) const {
    const Output out = lab_.ctl({"report", std::to_string(id), "--format", "json"});
    return json::parse(out.out);
  }
  [[nodiscard]] json samples(int id) const {
    return json::parse(lab_.ctl({"export", "--samples", "--json", std::to_string(id)}).out);
  }
  [[nodiscard]] json effect(const json& document, const std::string& subject) const {
    for (const json& each : document["effects"])
      if (each["benchmark"] == subject) return each;
    ADD_FAILURE() << "no effect of " << subject << ": " << document["effects"];
    return {};
  }

  Lab lab_;
};

// Two repetitions of BM_a, which takes $1 us, and one of BM_b, which takes the less the larger $1 is.
// The digits behind the points are different in each trial.
const std::string google =
    R"(t=$(cat laps 2>/dev/null || echo 0); echo $((t + 1)) > laps
cat <<END
{"context": {}, "benchmarks": [
 {"name": "BM_a/8", "run_name": "BM_a/8", "run_type": "iteration", "real_time": $1.$t, "cpu_time": 1, "time_unit": "us"},
 {"name": "BM_a/8", "run_name": "BM_a/8", "run_type": "iteration", "real_time": $1.9, "cpu_time": 2, "time_unit": "us"},
 {"name": "BM_a/8_mean", "run_name": "BM_a/8", "run_type": "aggregate", "real_time": 7, "time_unit": "us"},
 {"name": "BM_b", "run_name": "BM_b", "run_type": "iteration", "real_time": $((30000 / $1)).$t, "cpu_time": 3, "time_unit": "ns"}]}
END
)";
const std::string measure =
    "[[measure.output]]\nname = \"time\"\ngoogle_benchmark = \"real_time\"\n"
    "[analysis]\nresponse = \"time\"\n";

TEST_F(SamplesTest, EachBenchmarkOfAProgramHasAVerdictOfItsOwn) {
  write_plan(google, measure);
  const int id = run_to_end();
  ASSERT_EQ(lab_.state(id), "done");
  const json document = report(id);
  EXPECT_EQ(document["effects"].size(), 2U);
  const json a = effect(document, "program/BM_a/8");
  EXPECT_EQ(a["verdict"], "slower");
  EXPECT_EQ(a["units"], 6);
  EXPECT_NEAR(a["ratio"].get<double>(), 2, 0.02);
  EXPECT_EQ(effect(document, "program/BM_b")["verdict"], "faster");
  EXPECT_EQ(document["samples"][0]["samples_per_trial"], 2);
  EXPECT_EQ(document["analysis"]["unit"], "ns");
  // In exports, and by SQL.
  const json rows = samples(id);
  ASSERT_EQ(rows.size(), 36U);
  EXPECT_EQ(rows[1]["subject"], "BM_a/8");
  EXPECT_EQ(rows[1]["ordinal"], 1);
  EXPECT_EQ(rows[1]["value"], rows[1]["n"] == "few" ? 100900 : 200900);
  EXPECT_EQ(rows[2]["subject"], "BM_b");
  EXPECT_THAT(lab_.ctl({"export", "--samples", std::to_string(id)}).out,
              StartsWith("position,attempt,last,block,warmup,benchmark,n,trial_status,measure,"
                         "subject,unit,ordinal,value,reason\r\n"));
  const Output by_sql = run_program(
      {"/usr/bin/sqlite3", "-readonly", lab_.path("state/stabd.db"),
       "SELECT count(*) || ' ' || count(DISTINCT trial) FROM sample WHERE subject = 'BM_a/8' AND "
       "ordinal = 1 AND value IN (100900, 200900)"},
      lab_.folder());
  EXPECT_EQ(by_sql.out, "12 12\n") << by_sql.err;
}

TEST_F(SamplesTest, GoWithTheirExperimentIntoAnArchiveAndABackup) {
  write_plan(google, measure);
  const int id = run_to_end();
  const json before = samples(id);
  ASSERT_EQ(lab_.ctl({"export", "--archive", lab_.path("x.stab"), std::to_string(id)}).code, 0);
  const Output imported = lab_.ctl({"import", lab_.path("x.stab")});
  ASSERT_EQ(imported.code, 0) << imported.err;
  EXPECT_EQ(samples(id + 1), before);
  EXPECT_EQ(report(id + 1)["effects"], report(id)["effects"]);
  ASSERT_EQ(lab_.ctl({"rm", std::to_string(id)}).code, 0);
  EXPECT_EQ(samples(id + 1), before);
}

TEST_F(SamplesTest, ABenchmarkThatFailsOnceHasNoVerdictAndSaysWhy) {
  write_plan(
      R"(mkdir was-here 2>/dev/null && more=', "error_occurred": true, "error_message": "no keys"'
echo "{\"benchmarks\": [{\"name\": \"BM_a\", \"real_time\": $1$more}, {\"name\": \"BM_b\", \"real_time\": $1}]}"
)",
      measure);
  const int id = run_to_end();
  ASSERT_EQ(lab_.state(id), "done");
  for (const json& trial : lab_.trials(id)) EXPECT_EQ(trial["status"], "ok");
  const json document = report(id);
  EXPECT_THAT(effect(document, "program/BM_a")["reason"].get<std::string>(),
              HasSubstr("1 of 12 trials of program/BM_a have no time"));
  EXPECT_EQ(effect(document, "program/BM_a")["verdict"], "unsure");
  int absent = 0;
  for (const json& row : samples(id)) {
    if (!row["value"].is_null()) continue;
    ++absent;
    EXPECT_EQ(row["subject"], "BM_a");
    EXPECT_EQ(row["reason"], "no keys");
  }
  EXPECT_EQ(absent, 1);
}

TEST_F(SamplesTest, ATrialThatPrintsNoJsonIsNotMeasured) {
  write_plan(
      "mkdir was-here 2>/dev/null && exec echo BM_a 12 ns\n"
      "echo \"{\\\"benchmarks\\\": [{\\\"name\\\": \\\"BM_a\\\", \\\"real_time\\\": $1}]}\"\n",
      measure);
  const int id = run_to_end();
  int not_measured = 0;
  for (const json& trial : lab_.trials(id)) {
    if (trial["status"] == "ok") continue;
    ++not_measured;
    EXPECT_EQ(trial["status"], "not_measured");
    EXPECT_THAT(trial["reason"].get<std::string>(),
                HasSubstr("stdout: invalid JSON at byte 1: give the program "
                          "--benchmark_format=json"));
  }
  EXPECT_EQ(not_measured, 1);
}

TEST_F(SamplesTest, EachIterationThatAProgramPrintsIsOne) {
  write_plan("for i in 1 2 3 4; do echo \"lap $i: $1.$i ms\"; done\n",
             "[[measure.output]]\nname = \"lap\"\nregex = ': (\\S+) ms'\nunit = \"ms\"\n"
             "take = \"samples\"\n[analysis]\nresponse = \"lap\"\nlog = false\n");
  const int id = run_to_end();
  ASSERT_EQ(lab_.state(id), "done");
  for (const json& trial : lab_.trials(id)) {
    const double n = trial["n"] == "few" ? 100 : 200;
    EXPECT_DOUBLE_EQ(trial["lap"].get<double>(), n + 0.25);
  }
  EXPECT_EQ(samples(id).size(), 48U);
  const json document = report(id);
  EXPECT_EQ(document["effects"][0]["benchmark"], "program");
  EXPECT_EQ(document["samples"][0]["samples_per_trial"], 4);
  EXPECT_THAT(lab_.ctl({"report", std::to_string(id), "--full"}).out,
              AllOf(HasSubstr("Samples within trials"), HasSubstr("share from within")));
  EXPECT_THAT(lab_.ctl({"check", lab_.path("plan.toml")}).out,
              HasSubstr("reads lap (ms): samples, one per match of ': (\\S+) ms' on stdout"));
  write_plan(google, measure);
  const Output check = lab_.ctl({"check", lab_.path("plan.toml")});
  EXPECT_THAT(check.out, HasSubstr("reads time: each benchmark's real_time in Google Benchmark's "
                                   "JSON on stdout"));
  const Output list = lab_.ctl({"check", "--json", lab_.path("plan.toml")});
  EXPECT_EQ(json::parse(list.out)["measures"][0]["google_benchmark"], "real_time");
}

// 200 benchmarks, all the same in both arms. A trial's layout changes each by 5 % (standard
// deviation), its ten repetitions differ by 0.1 %. The numbers are those of the trial's place in the
// order, so that each run of the test has the same. If samples counted as trials, nine of ten
// comparisons would be significant.
TEST_F(SamplesTest, ManyOfThemDoNotMakeTheSpreadBetweenLayoutsSmaller) {
  write_plan(
      R"(t=$(cat laps 2>/dev/null || echo 1); echo $((t + 1)) > laps
exec awk -v seed="$t" '
  function uniform() { x = (16807 * x) % 2147483647; return x / 2147483647 }
  function normal() { return sqrt(-2 * log(uniform())) * cos(6.283185307 * uniform()) }
  BEGIN {
    x = 20261123  # each trial has the next piece of one sequence
    for (i = 0; i < seed * 4400; ++i) uniform()
    printf "{\"benchmarks\": ["
    for (b = 0; b < 200; ++b) {
      layout = exp(0.05 * normal())
      for (r = 0; r < 10; ++r)
        printf "%s{\"name\": \"BM_%d\", \"real_time\": %.9g}", (b + r ? "," : ""), b,
               100 * layout * exp(0.001 * normal())
    }
    print "]}"
  }'
)",
      measure, 12);
  const int id = run_to_end();
  ASSERT_EQ(lab_.state(id), "done");
  const json document = report(id);
  ASSERT_EQ(document["effects"].size(), 200U);
  int significant = 0;
  int decided = 0;
  for (const json& each : document["effects"]) {
    EXPECT_EQ(each["units"], 12);
    significant += each["p"].get<double>() < 0.05 ? 1 : 0;
    decided += each["verdict"] == "faster" || each["verdict"] == "slower" ? 1 : 0;
  }
  // Of the binomial distribution of 200 at 5 %, three standard deviations each way.
  EXPECT_GE(significant, 1);
  EXPECT_LE(significant, 19);
  EXPECT_LE(decided, 1);
  for (const json& each : document["samples"]) {
    EXPECT_EQ(each["samples_per_trial"], 10);
    EXPECT_LT(each["share_within"].get<double>(), 0.01);
  }
  EXPECT_EQ(samples(id).size(), 24U * 200 * 10);
}

}  // namespace
}  // namespace stab::test
