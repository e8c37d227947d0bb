// SPDX-License-Identifier: MIT
// Events that a plan asks for, counted in each trial, whatever this machine can count: what it cannot has a reason.
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

const std::string subject = STAB_SUBJECT;

class Counters : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(lab_.start_daemon()); }

  // What the status of an event is to a trial here: "counted" or "absent".
  json event(const std::string& name) const {
    const Output out = lab_.ctl({"counters", "--json", name});
    EXPECT_EQ(out.code, 0) << out.err;
    for (const json& each : json::parse(out.out)["events"])
      if (each["name"] == name) return each;
    ADD_FAILURE() << "no event " << name;
    return {};
  }

  // A trial of the program touches so many pages as the level says.
  void write_plan(const std::string& measure, const std::string& analysis = "") const {
    lab_.write("plan.toml",
               "[experiment]\nname = \"counts\"\n"
               "[[benchmark]]\nname = \"pages\"\nrepetitions = 5\n"
               "run = [\"" +
                   subject +
                   "\", \"pages\", \"${PAGES}\"]\n"
                   "[factor.pages]\n"
                   "levels = { few = { PAGES = \"1000\" }, many = { PAGES = \"3000\" } }\n"
                   "[measure]\n" +
                   measure + "[analysis]\n" + analysis);
  }
  int run_to_end() {
    const int id = lab_.submit("plan.toml");
    EXPECT_GT(id, 0);
    if (id > 0) EXPECT_TRUE(lab_.wait_until_final(id));
    return id;
  }

  Lab lab_;
};

TEST_F(Counters, AreReadingsOfEachTrialAndOneOfThemIsTheResponse) {
  if (event("minor-faults")["status"] == "absent") GTEST_SKIP() << event("minor-faults")["reason"];
  write_plan("counters = [[\"minor-faults:u\", \"page-faults:u\"], \"task-clock\", \"cycles\"]\n",
             "response = \"minor-faults:u\"\nlog = false\n");
  const int id = run_to_end();
  EXPECT_EQ(lab_.state(id), "done");
  const std::string hardware = event("branches")["status"];
  const json trials = lab_.trials(id);
  ASSERT_EQ(trials.size(), 10U);
  for (const json& trial : trials) {
    EXPECT_EQ(trial["minor-faults:u.status"], "counted");
    EXPECT_GE(trial["minor-faults:u"], trial["pages"] == "few" ? 1000 : 3000);
    EXPECT_LT(trial["minor-faults:u"], trial["pages"] == "few" ? 1500 : 3500);
    EXPECT_EQ(trial["task-clock.status"], "counted");
    EXPECT_GT(trial["task-clock"], 0);
    if (hardware == "absent") {
      EXPECT_EQ(trial["cycles.status"], "absent");
      EXPECT_TRUE(trial["cycles"].is_null());
    }
  }
  const Output report = lab_.ctl({"report", std::to_string(id), "--format", "json"});
  const json document = json::parse(report.out);
  EXPECT_EQ(document["analysis"]["response"], "minor-faults:u") << report.out.substr(0, 2000);
  const json& counters = document["counters"];
  ASSERT_EQ(counters.size(), 4U);
  EXPECT_EQ(counters[0]["counted"], 10);
  EXPECT_TRUE(counters[0]["reason"].is_null());
  EXPECT_EQ(counters[3]["absent"], hardware == "absent" ? 10 : 0);
  EXPECT_EQ(counters[3]["reason"].is_null(), hardware != "absent");
  const Output text = lab_.ctl({"report", std::to_string(id)});
  EXPECT_THAT(text.out, HasSubstr("minor-faults:u"));
  // What is absent is said once for the experiment, with the reason.
  if (hardware == "absent") {
    const Output log = lab_.ctl({"logs", std::to_string(id)});
    EXPECT_THAT(log.out, HasSubstr("cycles cannot be counted here: "));
  }
}

TEST_F(Counters, APlanThatRefusesWhatIsAbsentMeasuresNothing) {
  // Switches happen in the kernel, so that nobody counts them there.
  write_plan("counters = [\"context-switches:u\"]\non_absent = \"refuse\"\n");
  const int id = run_to_end();
  EXPECT_EQ(lab_.state(id), "failed");
  EXPECT_EQ(lab_.trials(id).size(), 0U);
  EXPECT_THAT(lab_.ctl({"status", std::to_string(id)}).out,
              HasSubstr("context-switches:u cannot be counted here: it happens in the kernel"));
}

TEST_F(Counters, AResponseThatIsAbsentMeasuresNothing) {
  write_plan("counters = [\"context-switches:u\"]\n", "response = \"context-switches:u\"\n");
  const int id = run_to_end();
  EXPECT_EQ(lab_.state(id), "failed");
  EXPECT_THAT(lab_.ctl({"status", std::to_string(id)}).out,
              HasSubstr("'analysis.response': context-switches:u cannot be counted"));
}

TEST_F(Counters, ARecordOfWhatIsAbsentIsTheStandard) {
  write_plan("counters = [\"context-switches:u\"]\n");
  const int id = run_to_end();
  EXPECT_EQ(lab_.state(id), "done");
  for (const json& trial : lab_.trials(id)) {
    EXPECT_EQ(trial["status"], "ok");
    EXPECT_EQ(trial["context-switches:u.status"], "absent");
  }
}

TEST_F(Counters, AMisspeltNameIsRefusedBeforeItIsQueued) {
  write_plan("counters = [\"task-clok\"]\n");
  for (const char* verb : {"submit", "check"}) {
    const Output out = lab_.ctl({verb, lab_.path("plan.toml")});
    EXPECT_EQ(out.code, 1) << verb << ": " << out.out;
    EXPECT_THAT(out.err, AllOf(HasSubstr("task-clok"), HasSubstr("did you mean 'task-clock'?")))
        << verb;
  }
}

TEST_F(Counters, CheckSaysWhatWillBeAbsent) {
  write_plan("counters = [\"context-switches:u\", \"task-clock\"]\n");
  const Output out = lab_.ctl({"check", lab_.path("plan.toml")});
  EXPECT_EQ(out.code, 0) << out.err;
  EXPECT_THAT(out.out,
              HasSubstr("context-switches:u cannot be counted here: it happens in the kernel"));
}

}  // namespace
}  // namespace stab::test
