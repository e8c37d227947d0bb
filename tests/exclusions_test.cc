// SPDX-License-Identifier: MIT
// Experiments whose truth is known, made by the daemon's schedule and rules and read by `stabctl
// report`: rules that catch every cell alike keep the rate of wrong verdicts, and rules that catch
// one cell more are noticed.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/random.h"
#include "design/trial_list.h"
#include "plan/reading/testing.h"
#include "results/exclusion.h"
#include "stabd/daemon/session/schedule.h"
#include "store/test_support.h"
#include "tests/system/lab.h"

namespace stab {
namespace {

using nlohmann::json;

std::string plan_text(std::uint64_t seed) {
  return fmt::format(
      "[experiment]\nname = 'simulated'\nseed = {}\n[defaults]\nrepetitions = 20\n"
      "exclude_repeats = 2\n[[benchmark]]\nname = 'b'\nrun = ['/bin/true', '${{X}}']\n"
      "[factor.x]\nlevels = {{ a = {{ X = '1' }}, b = {{ X = '2' }} }}\n"
      "[[exclude]]\nwhen = 'steal_share > 1%'\n"
      "[[exclude]]\nwhen = 'involuntary_switches_per_s > 50'\n",
      seed);
}

class Simulation : public ::testing::Test {
 protected:
  // How likely a trial of this block and level is disturbed: it then takes a fifth longer.
  using Odds = std::function<double(std::uint32_t block, const std::string& level)>;

  // Both levels take 10 ms, with a common part of the block and a noise of 1 % each.
  void measure(std::uint64_t seed, const Odds& odds) {
    // What a report opens stays small.
    if (seed % 50 == 1) {
      store_.reset();
      folder_ = std::make_unique<store::TemporaryDirectory>();
      store_ = store::open_or_fail(*folder_ / "stabd.db");
    }
    const std::string text = plan_text(seed);
    const plan::Plan plan = plan::good_plan(text);
    const plan::Expansion expansion = plan::expand(plan);
    const auto id = store_->add_experiment({.name = plan.name,
                                            .plan = text,
                                            .state = "done",
                                            .submitted_ns = 1,
                                            .trials = expansion.trials.size()});
    ASSERT_TRUE(id);
    id_ = *id;
    Random random(derive(seed, "simulation"));
    const auto uniform = [&] { return (static_cast<double>(random.next() >> 11) + 0.5) * 0x1p-53; };
    const auto normal = [&] {
      return std::sqrt(-2 * std::log(uniform())) * std::cos(2 * M_PI * uniform());
    };
    std::vector<double> of_block(expansion.blocks);
    for (double& part : of_block) part = 0.02 * normal();
    daemon::Schedule schedule(plan, expansion);
    std::vector<store::Trial> rows;
    for (std::int64_t now = 1; const auto step = schedule.next(); ++now) {
      const plan::Trial trial = expansion.trials[step->position];
      const std::string& level = trial.levels[0].name;
      const bool disturbed = uniform() < odds(trial.block, level);
      const double time = 10'000'000 * std::exp(of_block[trial.block] + 0.01 * normal() +
                                                (disturbed ? std::log(1.2) : 0));
      store::Trial row{.experiment = id_,
                       .position = step->position,
                       .attempt = step->attempt,
                       .block = trial.block,
                       .benchmark = "b",
                       .levels = {{"x", level}},
                       .seed = trial.seed,
                       .status = store::TrialStatus::ok,
                       .exit_code = 0,
                       .started_ns = now,
                       .wall_ns = static_cast<std::int64_t>(time)};
      row.readings = {counters::absent("steal-ns", "ns", "not here"),
                      counters::counted("context-switches-involuntary", "", disturbed ? 3 : 0)};
      exclusion::mark(plan.exclude, row);
      row.last = schedule.is_last(*step, row.status);
      schedule.record(*step, row.status);
      rows.push_back(std::move(row));
    }
    ASSERT_TRUE(store_->add_trials(rows));
  }

  json report() {
    const test::Output output =
        test::run_program({STAB_BIN_DIR "/stabctl", "report", std::to_string(id_), "--state",
                           *folder_ / "", "--format", "json"},
                          "/");
    json report = json::parse(output.out, nullptr, false);
    EXPECT_TRUE(report.is_object()) << output.err;
    return report;
  }

  std::unique_ptr<store::TemporaryDirectory> folder_;
  std::unique_ptr<store::Store> store_;
  store::Id id_ = 0;
};

// With AddressSanitizer each report takes ten times as long and says the same.
#if __has_feature(address_sanitizer)
constexpr int share = 10;
#else
constexpr int share = 1;
#endif

double width(const json& effect) {
  return std::log(effect["high"].get<double>() / effect["low"].get<double>());
}

// Every second block has a burst, in which a trial in two is disturbed, whatever its level.
TEST_F(Simulation, RulesThatCatchAllCellsAlikeKeepTheRateOfWrongVerdicts) {
  const auto odds = [](std::uint32_t block, const std::string&) {
    return block % 2 == 0 ? 0.5 : 0.1;
  };
  const int experiments = test::times(500 / share, 4000);
  int wrong = 0;
  int warned = 0;
  int narrower = 0;
  for (int i = 0; i < experiments; ++i) {
    measure(static_cast<std::uint64_t>(i + 1), odds);
    const json found = report();
    wrong += found["effects"][0]["verdict"] != "unsure" ? 1 : 0;
    const json& exclusions = found["exclusions"];
    warned += exclusions["depends_on_cell"].get<bool>() ? 1 : 0;
    EXPECT_EQ(exclusions["rules"][0]["caught"], 0);
    if (exclusions["disturbed"] == 0) continue;
    EXPECT_GT(exclusions["rules"][0]["not_judged"].get<int>(), 0);
    narrower += width(found["effects"][0]) < width(exclusions["effects_without"][0]) ? 1 : 0;
  }
  // 5 % and four standard errors.
  const double most = 0.05 * experiments + 4 * std::sqrt(0.0475 * experiments);
  fmt::print("{} experiments: {} wrong verdicts, {} warnings, {} narrower by the rules\n",
             experiments, wrong, warned, narrower);
  EXPECT_LE(wrong, most);
  EXPECT_LE(warned, most);
  EXPECT_GE(narrower, experiments * 8 / 10);
}

TEST_F(Simulation, RulesThatCatchOneCellMoreAreNoticed) {
  const auto odds = [](std::uint32_t, const std::string& level) {
    return level == "b" ? 0.6 : 0.05;
  };
  const int experiments = test::times(30 / share, 500);
  int warned = 0;
  for (int i = 0; i < experiments; ++i) {
    measure(static_cast<std::uint64_t>(i + 1), odds);
    const json exclusions = report()["exclusions"];
    warned += exclusions["depends_on_cell"].get<bool>() ? 1 : 0;
    ASSERT_EQ(exclusions["cells"].size(), 2U);
    EXPECT_EQ(exclusions["cells"][1]["cell"], "b x=b");
    EXPECT_GT(exclusions["cells"][1]["disturbed"].get<int>(),
              exclusions["cells"][0]["disturbed"].get<int>());
  }
  fmt::print("{} experiments: {} warnings\n", experiments, warned);
  EXPECT_GE(warned, experiments * 8 / 10);
}

}  // namespace
}  // namespace stab
