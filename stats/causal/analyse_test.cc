// SPDX-License-Identifier: MIT
#include "stats/causal/analyse.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <tuple>
#include <vector>

#include "stats/causal/simulate.h"

namespace stab::stats::causal {
namespace {

using ::testing::HasSubstr;

double none(double) {
  return 0;
}
double third(double x) {
  return x / 3;
}
double capped(double x) {
  return std::min(x * 0.4, 0.045);
}
double worse(double x) {
  return -0.2 * x;
}

const Line& line_of(const PointResult& point, std::size_t line) {
  return *std::ranges::find(point.lines, line, &Line::line);
}

TEST(CausalAnalysis, TheBestLineIsFirstAndContentionIsNamed) {
  const Profile profile = Simulation(1).make(
      {.lines = {{.gain = none}, {.gain = worse}, {.gain = third}, {.gain = capped}}});
  const auto made = analyse(profile, {});
  ASSERT_TRUE(made) << made.error().message;
  ASSERT_EQ(made->points.size(), 1U);
  EXPECT_TRUE(made->runs_are_clusters);
  const PointResult& point = made->points.front();
  EXPECT_EQ(point.lines.front().line, 2U);
  EXPECT_EQ(point.lines.front().finding, Finding::helps);
  EXPECT_NEAR(point.lines.front().slope.value, 1.0 / 3, 0.03);
  EXPECT_NEAR(point.lines.front().at_quarter.value, 1.0 / 12, 0.02);
  EXPECT_EQ(point.lines.back().line, 1U);
  EXPECT_EQ(point.lines.back().finding, Finding::contention);
  EXPECT_EQ(line_of(point, 0).finding, Finding::unclear);
  EXPECT_LT(point.lines.front().half_after_hour,
            point.lines.front().at_quarter.interval.high - point.lines.front().at_quarter.value);
}

// The change of a line, its interval and p are by one estimate: none of them contradicts another one.
TEST(CausalAnalysis, TheIntervalExcludesNoChangeWherePSaysSo) {
  const Options options;
  int lines = 0;
  for (unsigned seed = 1; seed <= 40; ++seed) {
    const auto made =
        analyse(Simulation(seed).make({.lines = {{.gain = none},
                                                 {.gain = [](double x) { return 0.03 * x; }},
                                                 {.gain = capped}},
                                       .phase = 0.5}),
                options);
    ASSERT_TRUE(made);
    for (const Line& line : made->points.front().lines) {
      if (line.finding == Finding::too_few) continue;
      ++lines;
      const auto& interval = line.at_quarter.interval;
      EXPECT_EQ(line.p < options.alpha, interval.low > 0 || interval.high < 0) << seed;
      if (line.finding == Finding::helps) EXPECT_GT(line.at_quarter.value, 0);
      if (line.finding == Finding::contention) EXPECT_LT(line.at_quarter.value, 0);
    }
  }
  EXPECT_GT(lines, 100);
}

TEST(CausalAnalysis, AGainThatHoldsInOnePhaseIsOfThatPart) {
  const auto made = analyse(Simulation(2).make({.lines = {{.gain = third}}, .phase = 0.25}), {});
  ASSERT_TRUE(made);
  const Line& line = made->points.front().lines.front();
  EXPECT_NEAR(line.phase, 0.25, 0.01);
  EXPECT_NEAR(line.slope.value, 1.0 / 12, 0.01);
}

// Where a line is most of its phase, half of its experiments hold several times the work.
TEST(CausalAnalysis, WorkUnderSpeedupsDoesNotMakeAPhaseLonger) {
  const auto most = [](double x) { return 0.9 * x; };
  const Profile profile = Simulation(2).make(
      {.lines = {{.gain = most, .share = 0.9}, {.gain = none, .share = 0.1}}, .phase = 0.5});
  const auto made = analyse(profile, {});
  ASSERT_TRUE(made);
  for (const Line& line : made->points.front().lines) EXPECT_NEAR(line.phase, 0.5, 0.02);
  EXPECT_NEAR(line_of(made->points.front(), 0).slope.value, 0.45, 0.03);
}

// Its times of whole runs have the pauses in them, and it does not say how long they were.
TEST(CausalAnalysis, PhasesOfCozsFilesAreByTheirOwnTimes) {
  const auto most = [](double x) { return 0.9 * x; };
  Profile profile = Simulation(2).make({.lines = {{.gain = most, .share = 0.9}}, .phase = 0.5});
  for (auto& run : profile.runs)
    for (auto& each : run.experiments) run.effective_ns += std::exchange(each.paused_ns, 0);
  const auto made = analyse(profile, {});
  ASSERT_TRUE(made);
  EXPECT_NEAR(made->points.front().lines.front().phase, 0.5, 0.02);
}

TEST(CausalAnalysis, FewerThanFiveRunsAreSaid) {
  const auto made = analyse(Simulation(3).make({.lines = {{.gain = third}}, .runs = 2}), {});
  ASSERT_TRUE(made);
  EXPECT_FALSE(made->runs_are_clusters);
  EXPECT_EQ(made->points.front().lines.front().finding, Finding::helps);
}

TEST(CausalAnalysis, TooFewIsSaidAsSuch) {
  const auto made =
      analyse(Simulation(4).make({.lines = {{.gain = third}}, .runs = 5, .experiments = 2}), {});
  ASSERT_TRUE(made);
  const Line& line = made->points.front().lines.front();
  EXPECT_EQ(line.finding, Finding::too_few);
  EXPECT_THAT(line.too_few, HasSubstr(" of "));
}

TEST(CausalAnalysis, ALineWhosePointIsNeverVisitedAtASpeedupSaysSo) {
  Profile profile = Simulation(5).make({.lines = {{.gain = third}}});
  for (causal::Run& run : profile.runs)
    for (auto& each : run.experiments)
      if (each.speedup != 0) each.visits.clear();
  const auto made = analyse(profile, {});
  ASSERT_TRUE(made) << made.error().message;
  const Line& line = made->points.front().lines.front();
  EXPECT_EQ(line.finding, Finding::too_few);
  EXPECT_EQ(line.too_few,
            "while this line had a virtual speedup, the progress point was never visited");
}

// A latency point's number inside is anybody's in a file.
TEST(CausalAnalysis, TimesThatNoNumberComparesAreSaid) {
  for (const double inside : {1e-300, 1e-160, 1e300}) {
    Profile profile = Simulation(5).make({.lines = {{.gain = third}}});
    profile.points.front().kind = PointKind::latency;
    for (causal::Run& run : profile.runs)
      for (auto& each : run.experiments)
        for (Visits& visits : each.visits) visits.inside = each.speedup == 0 ? inside : 1 / inside;
    const auto made = analyse(profile, {});
    ASSERT_TRUE(made) << made.error().message;
    const Line& line = made->points.front().lines.front();
    EXPECT_EQ(line.finding, Finding::too_few) << inside;
    EXPECT_THAT(line.too_few, HasSubstr("to compute their ratio"));
    EXPECT_TRUE(line.steps.empty()) << "no number that is none is passed on";
    EXPECT_EQ(line.at_quarter.interval.high, 0);
  }
}

TEST(CausalAnalysis, APointThatIsNotVisitedIsAnErrorThatSaysWhatToDo) {
  Profile profile = Simulation(5).make({.lines = {{.gain = third}}});
  for (causal::Run& run : profile.runs)
    for (auto& each : run.experiments) each.visits.clear();
  const auto made = analyse(profile, {});
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error().message, HasSubstr("no progress point was visited"));
  EXPECT_THAT(analyse(Profile{}, {}).error().message, HasSubstr("no experiment"));
}

// Arrivals a second are fixed, and there are as many inside as latency makes of that.
Profile with_latency(bool is_steady) {
  Profile profile = Simulation(6).make({.lines = {{.gain = third}}, .run_sd = 0});
  profile.points.front().kind = PointKind::latency;
  for (causal::Run& run : profile.runs)
    for (auto& each : run.experiments) {
      Visits& visits = each.visits.front();
      visits.count = each.effective_ns / 1'000'000;
      visits.departures = is_steady ? visits.count : visits.count / 2;
      visits.inside = 40 * (1 - third(each.speedup / 1000.0));
    }
  return profile;
}

TEST(CausalAnalysis, LatencyIsByLittlesLaw) {
  const auto made = analyse(with_latency(true), {});
  ASSERT_TRUE(made);
  const PointResult& point = made->points.front();
  EXPECT_TRUE(point.is_steady);
  EXPECT_NEAR(point.base.value_or(0), 40e6, 1e5) << "40 inside, one in a millisecond";
  EXPECT_NEAR(point.lines.front().slope.value, 1.0 / 3, 0.01);
  EXPECT_FALSE(analyse(with_latency(false), {})->points.front().is_steady);
}

TEST(CausalAnalysis, RunsOfOneExperimentHaveTheirBaselineInOthers) {
  const auto made =
      analyse(Simulation(7).make({.lines = {{.gain = third}}, .runs = 80, .experiments = 1}), {});
  ASSERT_TRUE(made);
  EXPECT_TRUE(made->is_end_to_end);
  EXPECT_NEAR(made->points.front().lines.front().slope.value, 1.0 / 3, 0.08);
}

TEST(CausalAnalysis, OneExperimentInAPartOfEachRunHasAPhase) {
  const auto made = analyse(
      Simulation(7).make({.lines = {{.gain = third}}, .runs = 80, .experiments = 1, .phase = 0.5}),
      {});
  ASSERT_TRUE(made);
  EXPECT_FALSE(made->is_end_to_end);
  const Line& line = made->points.front().lines.front();
  EXPECT_EQ(line.runs, 80U);
  EXPECT_NEAR(line.phase, 0.5, 0.05);
  EXPECT_NEAR(line.slope.value, 1.0 / 6, 0.06);
}

TEST(CausalAnalysis, WithoutTheTimeOfRunsOneExperimentEachIsAWholeRun) {
  Profile profile =
      Simulation(7).make({.lines = {{.gain = third}}, .runs = 80, .experiments = 1, .phase = 0.5});
  for (causal::Run& run : profile.runs) run.effective_ns = 0;
  const auto made = analyse(profile, {});
  ASSERT_TRUE(made);
  EXPECT_TRUE(made->is_end_to_end);
  EXPECT_EQ(made->points.front().lines.front().phase, 1);
}

// Each run is timed from end to end, and half of them with a speedup.
Profile with_timed_runs(std::uint64_t seed, double (*gain)(double)) {
  Profile profile =
      Simulation(seed).make({.lines = {{.gain = gain}}, .runs = 20, .experiments = 1});
  for (std::size_t i = 0; i < profile.runs.size(); ++i) {
    causal::Run& run = profile.runs[i];
    Experiment& whole = run.experiments.front();
    const unsigned wanted = i % 2 == 0 ? 0 : 250;
    const double change = (1 - gain(wanted / 1000.0)) / (1 - gain(whole.speedup / 1000.0));
    const double visits = static_cast<double>(whole.visits.front().count);
    whole.effective_ns =
        static_cast<std::uint64_t>(static_cast<double>(whole.effective_ns) / visits * change);
    whole.speedup = wanted;
    whole.visits.front().count = 1;
    run.effective_ns = whole.effective_ns;
    run.samples.front().count = whole.line_samples = whole.effective_ns / 10'000;
  }
  return profile;
}

TEST(CausalAnalysis, AVisitARunIsEnoughWhereRunsAreTimed) {
  constexpr int profiles = 400;
  int covered = 0;
  int alarms = 0;
  for (std::uint64_t seed = 0; seed < profiles; ++seed) {
    const auto helping = analyse(with_timed_runs(seed, third), {.draws = 100});
    const Gain& gain = helping->points.front().lines.front().at_quarter;
    covered += gain.interval.low <= third(0.25) && third(0.25) <= gain.interval.high ? 1 : 0;
    const auto idle = analyse(with_timed_runs(seed, none), {.draws = 100});
    const Finding found = idle->points.front().lines.front().finding;
    ASSERT_NE(found, Finding::too_few);
    alarms += found == Finding::unclear ? 0 : 1;
  }
  // Two standard errors of 400 coins.
  EXPECT_GE(covered, 0.93 * profiles);
  EXPECT_LE(alarms, 0.07 * profiles);
}

TEST(CausalAnalysis, FewVisitsOfPartsOfRunsAreTooFew) {
  const auto made =
      analyse(Simulation(8).make({.lines = {{.gain = third}}, .experiments = 4, .visits = 1}), {});
  ASSERT_TRUE(made);
  EXPECT_THAT(made->points.front().lines.front().too_few, HasSubstr(" of 50 needed visits"));
}

// All intervals of a line hold at once in 95 % of profiles or more, and any finding about two lines
// without an effect is in at most 5 %: over runs that differ, lines that do not have the same slope in
// each run, and noise that differs from run to run and from line to line.
struct Kept {
  int lines = 0;
  int covered = 0;
  int steps = 0;
  int covered_near = 0;
  int profiles = 0;
  int alarms = 0;
};

// Each by itself, where the curve has no corner within reach.
void count_near(const Line& line, const std::function<double(double)>& gain, Kept& kept) {
  for (const Step& step : line.steps) {
    const double truth = gain(step.speedup);
    const double corner = gain(step.speedup - 0.1) + gain(step.speedup + 0.1) - 2 * truth;
    if (std::fabs(corner) > 1e-9) continue;
    ++kept.steps;
    const Interval& near = step.near.interval;
    kept.covered_near += near.low <= truth && truth <= near.high ? 1 : 0;
  }
}

Kept simulate(std::size_t runs, std::size_t experiments, double slope_sd, int profiles) {
  Kept kept;
  const std::vector<TrueLine> lines{{.gain = none, .noise = 0.02, .slope_sd = slope_sd},
                                    {.gain = none, .noise = 0.15, .slope_sd = slope_sd},
                                    {.gain = third, .noise = 0.03, .slope_sd = slope_sd},
                                    {.gain = capped, .noise = 0.05, .slope_sd = slope_sd}};
  for (int i = 0; i < profiles; ++i) {
    const Profile profile = Simulation(1000 + static_cast<std::uint64_t>(i))
                                .make({.lines = lines, .runs = runs, .experiments = experiments});
    const auto made = analyse(profile, {.draws = 500});
    bool has_alarm = false;
    for (const Line& line : made->points.front().lines) {
      if (line.finding == Finding::too_few) continue;
      const auto& gain = lines[line.line].gain;
      ++kept.lines;
      const bool all = std::ranges::all_of(line.steps, [&](const Step& step) {
        const double truth = gain(step.speedup);
        return step.gain.interval.low <= truth && truth <= step.gain.interval.high;
      });
      kept.covered += all ? 1 : 0;
      count_near(line, gain, kept);
      if (line.line < 2) has_alarm = has_alarm || line.finding != Finding::unclear;
    }
    ++kept.profiles;
    kept.alarms += has_alarm ? 1 : 0;
  }
  return kept;
}

TEST(CausalAnalysis, NearASpeedupManyExperimentsTellMore) {
  const auto made = analyse(Simulation(9).make({.lines = {{.gain = third}}}), {});
  ASSERT_TRUE(made);
  const Line& line = made->points.front().lines.front();
  for (const Step& step : line.steps) {
    EXPECT_NEAR(step.near.value, third(step.speedup), 0.03) << step.speedup;
    const double alone = step.gain.interval.high - step.gain.interval.low;
    const double near = step.near.interval.high - step.near.interval.low;
    // Of the first and the last it is one experiment's speedup, and the interval is of one alone.
    EXPECT_LT(near, (step.speedup > 0.14 && step.speedup < 0.91 ? 0.6 : 1.0) * alone)
        << step.speedup;
  }
}

class Coverage : public ::testing::TestWithParam<std::tuple<int, int, double>> {};

TEST_P(Coverage, IsNear95PercentAndFalseAlarmsAreRare) {
  const auto [runs, experiments, slope_sd] = GetParam();
  constexpr int profiles = 200;
  const Kept kept = simulate(static_cast<std::size_t>(runs), static_cast<std::size_t>(experiments),
                             slope_sd, profiles);
  ASSERT_GT(kept.lines, profiles * 2);
  const double covered = static_cast<double>(kept.covered) / kept.lines;
  const double alarms = static_cast<double>(kept.alarms) / kept.profiles;
  // Steps of a line are not independent: as many as there are lines are counted.
  EXPECT_GT(static_cast<double>(kept.covered_near) / kept.steps,
            0.95 - 3 * std::sqrt(0.05 * 0.95 / kept.lines));
  // Three errors of a share of so many.
  EXPECT_GT(covered, 0.95 - 3 * std::sqrt(0.05 * 0.95 / kept.lines));
  EXPECT_LT(alarms, 0.05 + 3 * std::sqrt(0.05 * 0.95 / kept.profiles));
}

INSTANTIATE_TEST_SUITE_P(Profiles, Coverage,
                         ::testing::Values(std::tuple(5, 60, 0.0), std::tuple(5, 60, 0.05),
                                           std::tuple(10, 100, 0.03), std::tuple(20, 40, 0.05)));

}  // namespace
}  // namespace stab::stats::causal
