// SPDX-License-Identifier: MIT
// Measures that a plan defines: numbers that its programs print, and what is computed of them.
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

class Measures : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(lab_.start_daemon()); }

  // Each trial runs the script; ${N} is 100 at one level and 200 at the other.
  void write_plan(const std::string& script, const std::string& more) const {
    lab_.write("plan.toml",
               "[experiment]\nname = \"measures\"\n"
               "[[benchmark]]\nname = \"shell\"\nrepetitions = 6\n"
               "run = [\"/bin/sh\", \"-c\", '''" +
                   script +
                   "''']\n"
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
  json report(int id) const {
    const Output out = lab_.ctl({"report", std::to_string(id), "--format", "json"});
    return json::parse(out.out);
  }

  Lab lab_;
};

const std::string measures =
    "[[measure.output]]\nname = \"ops\"\nregex = 'ops=(\\S+)'\nunit = \"1/s\"\ntake = \"last\"\n"
    "[[measure.output]]\nname = \"spent\"\njson = '/time/0'\nunit = \"ns\"\nfrom = \"stderr\"\n"
    "[measure.derived]\nshare = \"spent / (4 * ops)\"\n\"rss-left\" = \"wall / (ops - ops)\"\n";
const std::string script = R"(echo ops=1; echo ops=${N}.5; echo "{\"time\": [${N}]}" >&2)";

TEST_F(Measures, AreReadingsOfEachTrialAndOneOfThemIsTheResponse) {
  write_plan(script, measures + "[analysis]\nresponse = \"share\"\nbetter = \"higher\"\n");
  const int id = run_to_end();
  ASSERT_EQ(lab_.state(id), "done");
  const json trials = lab_.trials(id);
  ASSERT_EQ(trials.size(), 12U);
  for (const json& trial : trials) {
    const double n = trial["n"] == "few" ? 100 : 200;
    EXPECT_EQ(trial["status"], "ok");
    EXPECT_EQ(trial["ops"], n + 0.5);
    EXPECT_EQ(trial["ops.status"], "counted");
    EXPECT_EQ(trial["spent"], n);
    EXPECT_DOUBLE_EQ(trial["share"], n / (4 * (n + 0.5)));
    EXPECT_EQ(trial["rss-left.status"], "absent");
    EXPECT_TRUE(trial["rss-left"].is_null());
  }
  const json document = report(id);
  EXPECT_EQ(document["analysis"]["response"], "share");
  EXPECT_EQ(document["measures"][0]["name"], "ops");
  EXPECT_EQ(document["measures"][0]["counted"], 12);
  EXPECT_EQ(document["measures"][0]["unit"], "1/s");
  EXPECT_EQ(document["measures"][3]["name"], "rss-left");
  EXPECT_EQ(document["measures"][3]["reason"], "a divisor is 0");
  const Output text = lab_.ctl({"report", std::to_string(id), "--full"});
  EXPECT_THAT(text.out, AllOf(HasSubstr("Measures\n"), HasSubstr("ops"),
                              HasSubstr("rss-left: absent in 12 of the trials: a divisor is 0")));
  // Two experiments with the same response have a number in common.
  const int again = run_to_end();
  const Output compared = lab_.ctl({"compare", std::to_string(id), std::to_string(again)});
  EXPECT_THAT(compared.out, HasSubstr("share")) << compared.err;
}

TEST_F(Measures, AProgramThatPrintsNoNumberOnceHasNoneThenAndIsRightOtherwise) {
  // The first trial finds no folder.
  write_plan("mkdir " + lab_.path("was-here") + " 2>/dev/null && echo ops=many || echo ops=${N}",
             "[[measure.output]]\nname = \"ops\"\nregex = 'ops=(\\S+)'\n");
  const int id = run_to_end();
  ASSERT_EQ(lab_.state(id), "done");
  int absent = 0;
  for (const json& trial : lab_.trials(id)) {
    EXPECT_EQ(trial["status"], "ok");
    absent += trial["ops.status"] == "absent" ? 1 : 0;
    EXPECT_EQ(trial["ops"].is_null(), trial["ops.status"] == "absent");
  }
  EXPECT_EQ(absent, 1);
  EXPECT_EQ(report(id)["measures"][0]["reason"], "stdout: 'many' is not a usable number");
}

TEST_F(Measures, ATrialWithoutItsResponseIsNotMeasured) {
  write_plan("mkdir " + lab_.path("was-here") + " 2>/dev/null && echo ops=many || echo ops=${N}",
             "[[measure.output]]\nname = \"ops\"\nregex = 'ops=(\\S+)'\n"
             "[analysis]\nresponse = \"ops\"\n");
  const int id = run_to_end();
  int not_measured = 0;
  for (const json& trial : lab_.trials(id)) {
    if (trial["status"] == "ok") continue;
    ++not_measured;
    EXPECT_EQ(trial["status"], "not_measured");
    EXPECT_THAT(trial["reason"].get<std::string>(),
                HasSubstr("the response is ops, which this trial lacks: stdout: 'many' is not a "
                          "usable number"));
  }
  EXPECT_EQ(not_measured, 1);
}

TEST_F(Measures, CheckSaysWhatWillBeReadAndRefusesWhatCannotBe) {
  write_plan(script, measures);
  const Output out = lab_.ctl({"check", lab_.path("plan.toml")});
  EXPECT_EQ(out.code, 0) << out.err;
  EXPECT_THAT(out.out,
              AllOf(HasSubstr("reads ops (1/s): the last match of 'ops=(\\S+)' on stdout\n"),
                    HasSubstr("reads spent (ns): the number at '/time/0' in the JSON on stderr\n"),
                    HasSubstr("derives share: spent / (4 * ops)\n")));
  const Output as_json = lab_.ctl({"check", "--json", lab_.path("plan.toml")});
  const json list = json::parse(as_json.out)["measures"];
  EXPECT_EQ(list[0]["take"], "last");
  EXPECT_EQ(list[1]["json"], "/time/0");
  EXPECT_EQ(list[2]["formula"], "spent / (4 * ops)");

  write_plan(script, "[measure.derived]\nshare = \"spend / 2\"\n");
  for (const char* verb : {"check", "submit"}) {
    const Output refused = lab_.ctl({verb, lab_.path("plan.toml")});
    EXPECT_EQ(refused.code, 1) << verb;
    EXPECT_THAT(refused.err, HasSubstr("'spend' is not a counter, response or output measure"));
  }
}

TEST_F(Measures, SeveralResponsesAreComparedEachForItself) {
  write_plan(script, measures + "[analysis]\nresponse = [\"wall\", \"ops\"]\nhigher = [\"ops\"]\n");
  const Output check = lab_.ctl({"check", lab_.path("plan.toml")});
  EXPECT_THAT(check.out, HasSubstr("the plan also compares ops, with separate verdicts (more is "
                                   "better)\n"));
  const int id = run_to_end();
  const json document = report(id);
  EXPECT_EQ(document["analysis"]["response"], "wall");
  ASSERT_EQ(document["responses"].size(), 1U);
  EXPECT_EQ(document["responses"][0]["response"], "ops");
  EXPECT_EQ(document["responses"][0]["higher_is_better"], true);
  EXPECT_EQ(document["responses"][0]["effects"].size(), document["effects"].size());
  EXPECT_NEAR(document["responses"][0]["effects"][0]["ratio"].get<double>(), 200.5 / 100.5, 1e-9);
}

TEST_F(Measures, OtherBenchmarksThanThoseThatPrintItHaveNone) {
  write_plan(script,
             "[[benchmark]]\nname = \"silent\"\nrepetitions = 3\n"
             "run = [\"/bin/sh\", \"-c\", \"true ${N}\"]\n"
             "[[measure.output]]\nname = \"ops\"\nregex = 'ops=(\\S+)'\n"
             "take = \"first\"\nbenchmarks = [\"shell\"]\n"
             "[measure.derived]\ncost = \"wall / ops\"\ntwice = \"2 * wall\"\n");
  const int id = run_to_end();
  ASSERT_EQ(lab_.state(id), "done");
  for (const json& trial : lab_.trials(id)) {
    EXPECT_EQ(trial["status"], "ok");
    for (const char* name : {"ops", "cost"}) {
      EXPECT_EQ(trial[name].is_null(), trial["benchmark"] == "silent") << name;
      EXPECT_EQ(trial[std::string(name) + ".status"].is_null(), trial["benchmark"] == "silent");
    }
    EXPECT_EQ(trial["twice"], 2 * trial["wall_ns"].get<std::int64_t>());
  }
  const json list = report(id)["measures"];
  EXPECT_EQ(list[0]["counted"], 12);
  EXPECT_EQ(list[0]["absent"], 0);
  EXPECT_EQ(list[2]["counted"], 18);
}

TEST_F(Measures, TheExampleRuns) {
  const Output out =
      lab_.ctl({"submit", "--wait", std::string(STAB_SOURCE_DIR) + "/plans/output.toml"});
  EXPECT_EQ(lab_.state(1), "done") << out.err;
  const json document = report(1);
  EXPECT_EQ(document["trials"]["ok"], 40) << document["failures"];
  EXPECT_EQ(document["analysis"]["response"], "ns_per_lookup");
  for (const json& measure : document["measures"]) EXPECT_EQ(measure["counted"], 40) << measure;
  EXPECT_EQ(document["measures"].size(), 4U);
}

TEST_F(Measures, ADerivedResponseOfWhatThisMachineLacksMeasuresNothing) {
  // Switches happen in the kernel, so that nobody counts them there.
  write_plan("true ${N}",
             "[measure]\ncounters = [\"context-switches:u\"]\n"
             "[measure.derived]\nrate = \"'context-switches:u' / wall\"\n"
             "[analysis]\nresponse = \"rate\"\n");
  const int id = run_to_end();
  EXPECT_EQ(lab_.state(id), "failed");
  EXPECT_THAT(lab_.ctl({"status", std::to_string(id)}).out,
              HasSubstr("'analysis.response': context-switches:u cannot be counted"));
}

}  // namespace
}  // namespace stab::test
