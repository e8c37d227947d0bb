// SPDX-License-Identifier: MIT
// Of more trials than a page keeps it has a sample.
#include "stabd/results/pages/shots.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>
#include <vector>

#include "stabd/results/testing.h"

namespace stab::results {
namespace {

using report::html::most_shots;
using report::html::Shot;

// Many numbers in few trials: a program that measures 20 benchmarks.
const std::string samples = R"([experiment]
name = "sorting"
seed = 11
[defaults]
repetitions = 1100
[[benchmark]]
name = "bm"
run = ["/bin/bm", "${MODE}"]
[[measure.output]]
name = "time"
google_benchmark = "real_time"
[analysis]
response = "time"
[factor.mode]
levels = { slow = { MODE = "s" }, fast = { MODE = "f" } }
)";

class ShotsTest : public DocumentTest {
 protected:
  void SetUp() override {
    begin(samples);
    std::vector<Trial> trials;
    for (const plan::Trial& planned : expansion_.trials) {
      trials.push_back(trial(planned));
      for (int i = 0; i < 20; ++i)
        trials.back().samples.push_back({.measure = "time",
                                         .subject = "b" + std::to_string(i),
                                         .unit = "ns",
                                         .values = {100.0 + planned.position}});
    }
    ASSERT_TRUE(store_->add_trials(trials));
  }
};

TEST_F(ShotsTest, OfTooManyNumbersItKeepsAFixedSampleOfThemAll) {
  const auto found = read_shots(*store_, experiment_, plan_);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->ok, 44'000U);
  EXPECT_EQ(found->kept_ok, most_shots);
  EXPECT_EQ(found->shots.size(), most_shots);
  const auto key = [](const Shot& shot) { return std::tuple(shot.position, shot.cell); };
  EXPECT_TRUE(std::ranges::is_sorted(found->shots, {}, key));
  EXPECT_EQ(std::ranges::adjacent_find(found->shots, {}, key), found->shots.end());
  // Each tenth of the experiment has its share: 4400 of which 4000 are kept.
  for (std::uint32_t tenth = 0; tenth < 10; ++tenth) {
    const auto kept = std::ranges::count_if(
        found->shots, [&](const Shot& shot) { return shot.position / 220 == tenth; });
    EXPECT_NEAR(static_cast<double>(kept), 4000, 120) << tenth;  // six standard deviations
  }
  const auto again = read_shots(*store_, experiment_, plan_);
  ASSERT_TRUE(again);
  EXPECT_TRUE(std::ranges::equal(found->shots, again->shots, {}, key, key));
}

}  // namespace
}  // namespace stab::results
