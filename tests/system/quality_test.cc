// SPDX-License-Identifier: MIT
// What is known of the machine around each trial, whatever machine this is.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "machine/observer.h"
#include "tests/system/lab.h"

namespace stab::test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

class Quality : public ::testing::Test {
 protected:
  // The attempts at a plan with this script.
  json trials_of(const std::string& script) {
    lab_.write("script.sh", script);
    lab_.write("plan.toml",
               "[experiment]\nname = \"around\"\n[[benchmark]]\nname = \"b\"\nrepetitions = 2\n"
               "run = [\"/bin/sh\", \"script.sh\"]\n");
    EXPECT_TRUE(lab_.start_daemon());
    id_ = lab_.submit("plan.toml");
    EXPECT_GT(id_, 0);
    if (id_ == 0) return {};
    EXPECT_TRUE(lab_.wait_until_final(id_));
    EXPECT_EQ(lab_.state(id_), "done");
    return lab_.trials(id_);
  }

  Lab lab_;
  int id_ = 0;
};

TEST_F(Quality, AProgramThatSleepsNTimesHasAtLeastNVoluntarySwitches) {
  const json trials = trials_of("for i in 1 2 3 4 5 6 7 8 9 10; do sleep 0.01; done\n");
  ASSERT_EQ(trials.size(), 2U);
  for (const json& trial : trials) EXPECT_GE(trial["context-switches-voluntary"], 10) << trial;
}

// Both are on the trial's only CPU, so one has to make room for the other.
TEST_F(Quality, AProgramThatSharesItsCpuHasInvoluntarySwitchesAndMovesNowhere) {
  const json trials = trials_of(
      "while :; do :; done & other=$!\n"
      "i=0; while [ $i -lt 200000 ]; do i=$((i + 1)); done\n"
      "kill $other; wait $other; exit 0\n");
  ASSERT_EQ(trials.size(), 2U);
  for (const json& trial : trials) {
    EXPECT_GT(trial["context-switches-involuntary"], 0) << trial;
    if (trial["cpu-migrations.status"] == "counted") {
      EXPECT_EQ(trial["cpu-migrations"], 0) << trial;
    }
    if (trial["interrupts.status"] == "counted") {
      EXPECT_GT(trial["interrupts"], 0) << trial;
    }
  }
}

TEST_F(Quality, EachSourceHasAColumnWithAValueOrAReason) {
  const json trials = trials_of("exit 0\n");
  ASSERT_EQ(trials.size(), 2U);
  const Output csv = lab_.ctl({"export", std::to_string(id_), "--format", "csv"});
  const std::string header = csv.out.substr(0, csv.out.find('\n'));
  for (const machine::Source& source : machine::sources()) {
    const std::string name(source.reading);
    EXPECT_THAT(header, HasSubstr("," + name + "," + name + ".status"));
    for (const json& trial : trials) {
      const bool absent = trial[name + ".status"] == "absent";
      EXPECT_EQ(trial[name].is_null(), absent) << name;
    }
  }
  lab_.end_daemon(SIGTERM);
  const Output reasons =
      run_program({"/usr/bin/sqlite3", lab_.path("state/stabd.db"),
                   "SELECT count(*) FROM reading WHERE (status = 'absent') <> (reason <> '')"},
                  lab_.folder());
  EXPECT_EQ(reasons.out, "0\n") << reasons.err;
}

}  // namespace
}  // namespace stab::test
