// SPDX-License-Identifier: MIT
#include "store/records.h"

#include <gtest/gtest.h>

namespace stab::store {
namespace {

TEST(Statuses, ReadBackAsTheyWereWritten) {
  for (int i = 0; i <= static_cast<int>(TrialStatus::not_measured); ++i) {
    const auto status = static_cast<TrialStatus>(i);
    EXPECT_EQ(trial_status(to_string(status)), status);
  }
  for (int i = 0; i <= static_cast<int>(BuildStatus::failed); ++i) {
    const auto status = static_cast<BuildStatus>(i);
    EXPECT_EQ(build_status(to_string(status)), status);
  }
  for (int i = 0; i <= static_cast<int>(counters::Status::absent); ++i) {
    const auto status = static_cast<counters::Status>(i);
    EXPECT_EQ(counters::reading_status(to_string(status)), status);
  }
}

TEST(Statuses, AnUnknownTextIsNone) {
  EXPECT_FALSE(trial_status("fine"));
  EXPECT_FALSE(trial_status(""));
  EXPECT_FALSE(build_status("ok"));
  EXPECT_FALSE(counters::reading_status("COUNTED"));
}

TEST(Source, IsABranchOrNoneAndTheFullNameOfACommit) {
  const std::string commit(40, 'a');
  for (const char* branch : {"main", "", "me@home/fix"}) EXPECT_TRUE(is_source(branch, commit));
  for (const char* branch : {"a\nb", "a\x1b[2J"}) EXPECT_FALSE(is_source(branch, commit));
  EXPECT_FALSE(is_source(std::string(5'000, 'b'), commit));
  for (const char* other : {"HEAD", "", ".", "abc123"}) EXPECT_FALSE(is_source("main", other));
}

TEST(Nodes, HaveANameALineAndAListOfCpus) {
  const Node node{.name = "n-2.a", .hardware = "a CPU: 8 CPUs in 4 cores", .trial_cpus = "2-3"};
  EXPECT_TRUE(is_possible(node));
  EXPECT_TRUE(is_possible({.name = "n1"}));
  for (const auto member : {&Node::name, &Node::hardware, &Node::trial_cpus}) {
    Node other = node;
    other.*member = "a\nb";
    EXPECT_FALSE(is_possible(other));
  }
  EXPECT_FALSE(is_possible({.name = ""}));
}

TEST(FailedBuilds, GiveTheirErrorToTheirTrials) {
  EXPECT_EQ(reason_of_failed_build("a.c:1: error: no"), "the build failed: a.c:1: error: no");
  EXPECT_EQ(reason_of_failed_build(""), "the build failed");
}

TEST(Numbers, OfATrialHaveTheNamesThatPlansHaveForThem) {
  Trial trial;
  trial.wall_ns = 5;
  trial.user_ns = 3;
  trial.max_rss_bytes = 4096;
  trial.layout.region_ns = 7;
  trial.readings = {counters::counted("ops", "1/s", 2.5)};
  EXPECT_EQ(number_of(trial, "wall"), counters::counted("wall", "ns", 5));
  EXPECT_EQ(number_of(trial, "region"), counters::counted("region", "ns", 7));
  EXPECT_EQ(number_of(trial, "max_rss"), counters::counted("max_rss", "bytes", 4096));
  EXPECT_EQ(number_of(trial, "ops"), trial.readings[0]);
  EXPECT_EQ(number_of(trial, "cpu"), counters::absent("cpu", "ns", "it was not measured"));
  EXPECT_EQ(number_of(trial, "system"), counters::absent("system", "ns", "it was not measured"));
  trial.system_ns = 4;
  EXPECT_EQ(number_of(trial, "cpu"), counters::counted("cpu", "ns", 7));
  EXPECT_EQ(number_of(trial, "other"), std::nullopt);
}

}  // namespace
}  // namespace stab::store
