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

TEST(NodeFacts, ReadBackAsTheyWereWritten) {
  for (const NodeFact& fact : {NodeFact{.node = "n1", .fact = "2-3"},
                               NodeFact{.node = "n-2.a", .fact = "a CPU: 8 CPUs in 4 cores"},
                               NodeFact{.node = "n3", .fact = ""}})
    EXPECT_EQ(node_fact(to_text(fact)), fact) << to_text(fact);
  EXPECT_EQ(to_text({.node = "n1", .fact = "2-3"}), "n1: 2-3") << "earlier versions read it, too";
  for (const char* other : {"", "n1", "n1:2-3", ":"}) EXPECT_FALSE(node_fact(other)) << other;
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
