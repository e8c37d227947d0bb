// SPDX-License-Identifier: MIT
#include "stats/causal/arrival_loads.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/random.h"
#include "stats/causal/simulate.h"

namespace stab::stats::causal {
namespace {

double none(double) {
  return 0;
}
double third(double x) {
  return x / 3;
}

struct Situation {
  double asked = 1;
  std::vector<TrueLine> lines{};
  double done = 1;  // visits per arrival
};

double near_one(Random& random, double width) {
  return 1 + width * (static_cast<double>(random.below(2001)) / 1000 - 1);
}

// Visits of point 0 are work done, those of point 1 its latency; runs and experiments differ in how
// much of what arrives is done.
Profile profile_at(std::uint64_t seed, const std::vector<Situation>& situations,
                   std::size_t runs = 5, std::size_t experiments = 60) {
  Random random(seed);
  Profile made;
  for (std::size_t i = 0; i < situations.size(); ++i) {
    const Situation& at = situations[i];
    Profile part = Simulation(derive(seed, "load", {i}))
                       .make({.lines = at.lines, .runs = runs, .experiments = experiments});
    made.lines = part.lines;
    made.loads.push_back({.asked = at.asked, .speedup_ns = i});
    for (Run& run : part.runs) {
      run.load = i;
      const double luck = near_one(random, 0.03);
      for (Experiment& each : run.experiments) {
        const auto count = static_cast<double>(each.visits.front().count);
        each.arrivals = static_cast<std::uint64_t>(count / at.done * luck * near_one(random, 0.05));
        each.visits.push_back({.point = 1,
                               .count = each.visits.front().count,
                               .departures = each.visits.front().count,
                               .inside = 4});
      }
      made.runs.push_back(std::move(run));
    }
  }
  made.points = {{.name = "done"}, {.name = "it", .kind = PointKind::latency}};
  return made;
}

TEST(Loads, EachHasItsArrivalsThroughputAndLatency) {
  const auto made =
      analyse_loads(profile_at(1, {{1, {{.gain = none}}}, {1.5, {{.gain = none}}}}), {});
  ASSERT_TRUE(made) << made.error().message;
  ASSERT_EQ(made->loads.size(), 2U);
  for (const AtLoad& at : made->loads) {
    EXPECT_NEAR(at.had.value().value, at.arrivals->value / made->loads[0].arrivals->value, 1e-9);
    ASSERT_EQ(at.points.size(), 2U);
    // 200 visits in half a second; four inside of which each takes 4 / 400 s.
    EXPECT_NEAR(at.points[0].measured.value, 400, 40);
    EXPECT_NEAR(at.points[0].per_arrival, 1, 0.04);
    EXPECT_NEAR(at.points[1].measured.value, 1e7, 1e6);
    EXPECT_TRUE(at.points[1].is_steady);
    ASSERT_TRUE(at.arrivals->interval);
    EXPECT_LT(at.arrivals->interval->low, at.arrivals->value);
    EXPECT_FALSE(at.points[0].is_saturated);
  }
}

TEST(Loads, OneRunHasNoInterval) {
  const auto made = analyse_loads(profile_at(2, {{1, {{.gain = none}}}}, 1), {});
  ASSERT_TRUE(made);
  EXPECT_FALSE(made->loads[0].arrivals->interval);
  EXPECT_TRUE(made->changes.empty());
}

TEST(Loads, FromOneOnThroughputDoesNotFollowArrivals) {
  const std::vector<TrueLine> line{{.gain = none}};
  const auto made = analyse_loads(
      profile_at(3, {{1, line}, {1.2, line}, {1.4, line, 0.8}, {1.6, line, 0.6}}), {});
  ASSERT_TRUE(made);
  std::vector<bool> saturated;
  for (const AtLoad& at : made->loads) saturated.push_back(at.points[0].is_saturated);
  EXPECT_THAT(saturated, ::testing::ElementsAre(false, false, true, true));
}

TEST(Loads, WhereNothingArrivesLaterIsNoLoad) {
  Profile profile = profile_at(4, {{1, {{.gain = none}}}});
  for (causal::Run& run : profile.runs)
    for (std::size_t i = 30; i < run.experiments.size(); ++i) {
      run.experiments[i].arrivals = 0;
      run.experiments[i].visits.front().count *= 9;
    }
  const auto made = analyse_loads(profile, {});
  ASSERT_TRUE(made);
  EXPECT_NEAR(made->loads[0].points[0].per_arrival, 1, 0.04);
}

TEST(Loads, ALineThatMattersOnlyAtOneOfThemIsNamed) {
  const auto made = analyse_loads(profile_at(5, {{1, {{.gain = none}, {.gain = third}}},
                                                 {1.5, {{.gain = third}, {.gain = third}}}}),
                                  {});
  ASSERT_TRUE(made);
  // Both points have the same times.
  ASSERT_EQ(made->changes.size(), 4U);
  for (const Change& each : made->changes) {
    EXPECT_EQ(each.differs, each.line == 0) << each.adjusted_p;
    EXPECT_EQ(each.slopes.size(), 2U);
  }
  EXPECT_EQ(made->changes.front().line, 0U);
}

TEST(Loads, OneThatCannotBeAnalysedIsLeftOut) {
  Profile profile = profile_at(6, {{1, {{.gain = none}}}, {2, {{.gain = none}}}});
  for (causal::Run& run : profile.runs)
    if (run.load == 1) run.experiments.clear();
  const auto made = analyse_loads(profile, {});
  ASSERT_TRUE(made);
  EXPECT_EQ(made->loads.size(), 1U);
  for (causal::Run& run : profile.runs) run.experiments.clear();
  EXPECT_FALSE(analyse_loads(profile, {}));
}

// At loads that change nothing: how often is any line said to differ, and how often is a load said to
// be saturated at which just 2 % fewer of what arrives is done? Three errors of a share of so many.
TEST(Loads, FalseFindingsAreRare) {
  constexpr int profiles = 200;
  for (const double slope_sd : {0.0, 0.05}) {
    const std::vector<TrueLine> lines{{.gain = none, .noise = 0.02, .slope_sd = slope_sd},
                                      {.gain = none, .noise = 0.15, .slope_sd = slope_sd},
                                      {.gain = third, .noise = 0.03, .slope_sd = slope_sd}};
    int differing = 0;
    int saturated = 0;
    for (int i = 0; i < profiles; ++i) {
      const auto made = analyse_loads(
          profile_at(1000 + static_cast<std::uint64_t>(i),
                     {{1, lines}, {1.2, lines, saturated_share}, {1.4, lines, saturated_share}}),
          {.draws = 50});
      ASSERT_TRUE(made);
      ASSERT_EQ(made->changes.size(), 6U);
      differing += std::ranges::any_of(made->changes, &Change::differs) ? 1 : 0;
      saturated += std::ranges::any_of(made->loads,
                                       [](const AtLoad& at) { return at.points[0].is_saturated; })
                       ? 1
                       : 0;
    }
    const double most = 0.05 + 3 * std::sqrt(0.05 * 0.95 / profiles);
    EXPECT_LT(static_cast<double>(differing) / profiles, most) << slope_sd;
    EXPECT_LT(static_cast<double>(saturated) / profiles, most) << slope_sd;
    RecordProperty("differing", differing);
    RecordProperty("saturated", saturated);
  }
}

}  // namespace
}  // namespace stab::stats::causal
