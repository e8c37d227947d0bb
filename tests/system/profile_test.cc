// SPDX-License-Identifier: MIT
// Profiles of trials through the real programs: of functions that move all the time, in known
// shares. Where nothing may be sampled, the reason is looked at in their place.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/system/lab.h"

namespace stab::test {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;

class ProfileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(lab_.start_daemon());
    std::filesystem::copy_file(STAB_HOT, lab_.path("hot.c"));
  }

  // `few` computes a quarter of the time at "small" and as long at "large", when the rest takes longer.
  void write_plan(const std::string& measure) const {
    lab_.write("plan.toml",
               "[experiment]\nname = \"profiles\"\n[variables]\nCC = \"szc\"\n"
               "[randomize]\nperiod = \"5ms\"\nbudget = \"off\"\n"
               "[[benchmark]]\nname = \"hot\"\nrepetitions = 3\n"
               "build = \"${CC} -O1 -DTIMES=${TIMES} -o ${OUT} hot.c\"\n"
               "run = [\"${OUT}\", \"rounds\", \"2000\"]\n"
               "[factor.times]\n"
               "levels = { small = { TIMES = \"3\" }, large = { TIMES = \"6\" } }\n"
               "[measure]\n" +
                   measure);
  }
  int run_to_end(const std::string& measure) {
    write_plan(measure);
    const int id = lab_.submit("plan.toml");
    EXPECT_GT(id, 0);
    if (id > 0) EXPECT_TRUE(lab_.wait_until_final(id));
    return id;
  }
  [[nodiscard]] json profile(int id, const std::vector<std::string>& which) const {
    std::vector<std::string> words{"profile", "--json", std::to_string(id)};
    words.insert(words.end(), which.begin(), which.end());
    const Output out = lab_.ctl(words);
    EXPECT_EQ(out.code, 0) << out.err;
    return out.code == 0 ? json::parse(out.out) : json();
  }
  static double share(const json& profile, const std::string& function) {
    double share = 0;
    for (const json& each : profile["functions"])
      if (each["function"] == function) share += each["share"].get<double>();
    return share;
  }
  static json change(const json& profile, const std::string& function) {
    for (const json& each : profile["functions"])
      if (each["function"] == function) return each;
    ADD_FAILURE() << "no " << function << " in " << profile;
    return {};
  }

  Lab lab_;
};

TEST_F(ProfileTest, FindsFunctionsThatMoveAndWhichOfThemTakeLonger) {
  const int id = run_to_end("profile = \"task-clock:u\"\n");
  ASSERT_EQ(lab_.state(id), "done") << lab_.ctl({"logs", std::to_string(id)}).out;
  const json trials = lab_.trials(id);
  ASSERT_EQ(trials.size(), 6U);
  const json first = profile(id, {"0"});
  if (first["reason"] != "") {
    // The same is said once for the experiment.
    EXPECT_THAT(lab_.ctl({"logs", std::to_string(id)}).out,
                HasSubstr("task-clock:u cannot be sampled here: "));
    GTEST_SKIP() << first["reason"];
  }
  for (const json& trial : trials) {
    const json found = profile(id, {std::to_string(trial["position"].get<int>())});
    EXPECT_GT(trial["epochs"], 10) << trial;
    ASSERT_GT(found["samples"], 100) << found;
    const double times = trial["times"] == "small" ? 3 : 6;
    const double few = share(found, "few");
    const double many = share(found, "many");
    EXPECT_GT(few + many, 0.8) << found;
    // A hundred samples: the standard error of this share is below 0.045.
    EXPECT_NEAR(many / (few + many), times / (1 + times), 0.2) << found;
  }
  // The difference is that of `many`, which takes twice as long: far beyond any noise of shares.
  const json cells = profile(id, {"--cells", "hot times=small", "hot times=large"});
  EXPECT_EQ(cells["blocks"], 3);
  EXPECT_EQ(cells["functions"][0]["function"], "many") << cells;
  EXPECT_GT(change(cells, "many")["second"], 1.4 * change(cells, "many")["first"].get<double>());
  const Output text = lab_.ctl({"profile", std::to_string(id), "0"});
  EXPECT_THAT(text.out, AllOf(HasSubstr("samples of task-clock:u (requested: 997 per second)"),
                              HasSubstr("many")));
}

TEST_F(ProfileTest, StaysWithItsTrialsInArchivesAndGoesWithThem) {
  const int id = run_to_end("profile = \"task-clock:u\"\nprofile_hz = 200\n");
  const json before = profile(id, {"0"});
  EXPECT_EQ(before["hz"], 200);
  const std::string archive = lab_.path("kept.stab");
  ASSERT_EQ(lab_.ctl({"export", std::to_string(id), "--archive", archive}).code, 0);
  ASSERT_EQ(lab_.ctl({"import", archive, "--state", lab_.path("elsewhere")}).code, 0);
  const Output elsewhere =
      lab_.ctl({"profile", "--json", "--state", lab_.path("elsewhere"), "1", "0"});
  json after = json::parse(elsewhere.out);
  after["experiment"] = before["experiment"];
  EXPECT_EQ(after, before);
  ASSERT_EQ(lab_.ctl({"rm", std::to_string(id)}).code, 0);
  EXPECT_EQ(lab_.ctl({"profile", std::to_string(id), "0"}).code, 1);
}

TEST_F(ProfileTest, AnEventThatCannotBeSampledHasItsReasonInEachTrial) {
  // Switches of tasks happen in the kernel, so that nobody samples them there.
  const int id = run_to_end("profile = \"context-switches:u\"\n");
  EXPECT_EQ(lab_.state(id), "done");
  EXPECT_THAT(profile(id, {"1"})["reason"].get<std::string>(), HasSubstr("in the kernel"));
  EXPECT_THAT(lab_.ctl({"profile", std::to_string(id), "1"}).out, HasSubstr("It has no profile: "));
  EXPECT_THAT(
      lab_.ctl({"logs", std::to_string(id)}).out,
      HasSubstr("there are no profiles, because context-switches:u cannot be sampled here"));
}

TEST_F(ProfileTest, APlanThatRefusesWhatIsAbsentMeasuresNothing) {
  const int id = run_to_end("profile = \"context-switches:u\"\non_absent = \"refuse\"\n");
  EXPECT_EQ(lab_.state(id), "failed");
  EXPECT_EQ(lab_.trials(id).size(), 0U);
}

TEST_F(ProfileTest, WhatIsAskedWronglyIsRefused) {
  write_plan("profile = \"task-clok:u\"\n");
  for (const char* verb : {"submit", "check"}) {
    const Output out = lab_.ctl({verb, lab_.path("plan.toml")});
    EXPECT_EQ(out.code, 1) << verb;
    EXPECT_THAT(out.err, AllOf(HasSubstr("measure.profile"), HasSubstr("task-clok"))) << verb;
  }
  write_plan("profile = \"task-clock:u\"\nprofile_hz = 0\n");
  EXPECT_THAT(lab_.ctl({"check", lab_.path("plan.toml")}).err, HasSubstr("measure.profile_hz"));
  // The same plan without its mistakes.
  write_plan("profile = \"task-clock:u\"\nprofile_hz = 200\n");
  EXPECT_THAT(lab_.ctl({"check", lab_.path("plan.toml")}).out,
              HasSubstr("profiles: task-clock:u, 200 samples per second of running time"));
  EXPECT_EQ(json::parse(lab_.ctl({"check", "--json", lab_.path("plan.toml")}).out)["profile"]["hz"],
            200);
  const int id = run_to_end("");
  const Output none = lab_.ctl({"profile", std::to_string(id), "0"});
  EXPECT_EQ(none.code, 1);
  EXPECT_THAT(none.err, HasSubstr("set 'measure.profile' in its plan"));
  EXPECT_EQ(lab_.ctl({"profile", std::to_string(id)}).code, 1);
}

}  // namespace
}  // namespace stab::test
