// SPDX-License-Identifier: MIT
// For tests: an experiment with stored trials, and its document.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "design/trial_list.h"
#include "plan/reading/testing.h"
#include "results/document.h"
#include "results/trials.h"
#include "store/test_support.h"

namespace stab::results {

using store::Trial;
using store::TrialStatus;

inline const std::string tables = R"([experiment]
name = "sorting"
question = "Is it faster?"
seed = 11
[defaults]
repetitions = 4
warmup = 1
[[benchmark]]
name = "bubble"
run = ["/bin/bubble", "${MODE}"]
[[benchmark]]
name = "quick"
run = ["/bin/quick", "${MODE}"]
[factor.mode]
levels = { slow = { MODE = "s" }, fast = { MODE = "f" } }
[factor.env_bytes]
random = { per = "block", min = 0, max = 4096 }
)";

// Lets a test change a trial before it is stored.
using Change = std::function<void(Trial&)>;

class DocumentTest : public ::testing::Test {
 protected:
  DocumentTest() : store_(store::open_or_fail(directory_ / "stab.db")) {}

  void begin(const std::string& plan) {
    plan_ = plan::good_plan(plan);
    expansion_ = plan::expand(plan_);
    experiment_ = {.name = "sorting",
                   .plan = plan,
                   .state = "done",
                   .reason = "by itself",
                   .stopped_by = store::StopCause::rule};
    experiment_.id = store_->add_experiment(experiment_).value();
  }
  // A successful trial of 1 ms, or of 2 ms at the level "slow".
  [[nodiscard]] Trial trial(const plan::Trial& planned) const {
    Trial trial{.experiment = experiment_.id,
                .position = planned.position,
                .block = planned.block,
                .warmup = planned.warmup,
                .benchmark = plan_.benchmarks[planned.benchmark].name,
                .seed = planned.seed,
                .status = TrialStatus::ok,
                .exit_code = 0,
                .started_ns = 1000 + std::int64_t{planned.position},
                .user_ns = 300,
                .system_ns = 70,
                .max_rss_bytes = 4096};
    trial.levels = stored_levels(plan_, planned);
    const bool is_slow =
        std::ranges::find(planned.levels, "slow", &plan::Level::name) != planned.levels.end();
    trial.wall_ns = is_slow ? 2'000'000 : 1'000'000;
    return trial;
  }
  void store(const Trial& trial) {
    const auto added = store_->add_trial(trial);
    ASSERT_TRUE(added) << added.error().message;
  }
  // Stores all trials of the plan.
  void run(const Change& change = [](Trial&) {}) {
    for (const plan::Trial& planned : expansion_.trials) {
      Trial done = trial(planned);
      change(done);
      store(done);
    }
  }
  report::Document document(const std::string& database = "") {
    auto made = make_document(*store_, experiment_, database);
    if (!made) ADD_FAILURE() << made.error().message;
    return made.value_or(report::Document());
  }

  store::TemporaryDirectory directory_;
  std::unique_ptr<store::Store> store_;
  plan::Plan plan_;
  plan::Expansion expansion_;
  store::Experiment experiment_;
};

inline const stats::CellMean* mean_of(const report::Document& document,
                                      const std::string& benchmark, const std::string& level) {
  for (const stats::CellMean& mean : document.analysis.means)
    if (mean.subject == benchmark && mean.levels == std::vector{level}) return &mean;
  ADD_FAILURE() << "no mean of " << benchmark << " at " << level;
  return nullptr;
}

}  // namespace stab::results
