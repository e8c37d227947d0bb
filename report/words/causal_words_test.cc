// SPDX-License-Identifier: MIT
#include "report/words/causal_words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace stab::report {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// 1000 samples with one period between them, where one was asked for each millisecond.
std::vector<std::string> remarks_at(std::uint64_t period_ns, bool is_by_timer) {
  stats::causal::Profile profile;
  profile.runs.emplace_back();
  profile.runs.back().sampling = stats::causal::Sampling{
      .samples = 1000, .sampled_ns = 1000 * period_ns, .is_by_timer = is_by_timer};
  return sampling_remarks(profile, std::chrono::milliseconds(1),
                          {.scope = "--scope", .experiment = "--experiment"});
}

TEST(SamplingRemarks, AnotherPeriodIsSaidWithItsReason) {
  EXPECT_THAT(remarks_at(4'000'000, false),
              ElementsAre("On average, a sample represents 4.0 ms of CPU time instead of 1.0 ms, "
                          "because samples are taken by perf events."));
  EXPECT_THAT(remarks_at(4'000'000, true),
              ElementsAre("On average, a sample represents 4.0 ms of CPU time instead of 1.0 ms, "
                          "because samples are taken by a timer (kernel.perf_event_paranoid does "
                          "not permit perf events)."));
  EXPECT_THAT(remarks_at(1'000'000, false), IsEmpty());
}

TEST(SamplingRemarks, ATimerThatKeepsThePeriodIsOnlyNamed) {
  EXPECT_THAT(remarks_at(1'000'000, true),
              ElementsAre("Samples are taken by a timer (kernel.perf_event_paranoid does not "
                          "permit perf events)."));
}

}  // namespace
}  // namespace stab::report
