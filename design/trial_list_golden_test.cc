// SPDX-License-Identifier: MIT
// The same plan and seed give the same trials on every machine and in every version: the list is
// compared with one that is checked in. When the list must change, all stored experiments become
// another experiment: think twice.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <string>

#include "base/fd.h"
#include "design/model.h"
#include "design/resolve.h"
#include "design/trial_list.h"
#include "plan/reading/testing.h"

namespace stab::plan {
namespace {

std::string in_testdata(const std::string& name) {
  return std::string(STAB_SOURCE_DIR "/plan/testdata/") + name;
}

std::string line_of(const Plan& plan, const Trial& trial) {
  const Task task = resolve(plan, trial);
  std::vector<std::string> levels;
  for (std::size_t i = 0; i < trial.levels.size(); ++i)
    levels.push_back(fmt::format("{}={}", plan.factors[i].name, trial.levels[i].name));
  return fmt::format("{} {}{} {} cell={} {} seed={} aslr={} env_bytes={} run={} build={}{}\n",
                     trial.position, trial.warmup ? "warmup" : "block", trial.block,
                     plan.benchmarks[trial.benchmark].name, trial.cell, fmt::join(levels, " "),
                     trial.seed, task.aslr, task.env_bytes, fmt::join(task.run, " "), task.build,
                     trial.set ? fmt::format(" set={}", *trial.set) : "");
}

std::string listing(const Plan& plan) {
  const Expansion expansion = expand(plan);
  std::string text;
  for (const auto& [benchmark, model, programs] : models(plan, expansion)) {
    text += fmt::format("model {}{}: {}\n", benchmark, programs, model.formula);
    for (const Term& term : model.terms)
      text += fmt::format("  {}/{} {}\n", term.stratum, term.name, term.df);
  }
  for (const Trial& trial : expansion.trials) text += line_of(plan, trial);
  return text;
}

class Golden : public testing::TestWithParam<const char*> {};

TEST_P(Golden, ExpandsToTheListThatIsCheckedIn) {
  const std::string name = GetParam();
  const auto text = read_file(in_testdata(name + ".toml"), max_plan_bytes);
  ASSERT_TRUE(text) << text.error().message;
  const Plan plan = good_plan(*text);
  EXPECT_EQ(count_trials(plan), expand(plan).trials.size());
  const std::string actual = listing(plan);
  const std::string kept = testing::TempDir() + name + ".actual";
  ASSERT_TRUE(write_file_atomically(kept, actual));
  const auto expected = read_file(in_testdata(name + ".golden"), max_plan_bytes);
  ASSERT_TRUE(expected) << expected.error().message;
  EXPECT_TRUE(*expected == actual)
      << "compare " << in_testdata(name + ".golden") << " with " << kept;
}

INSTANTIATE_TEST_SUITE_P(Plans, Golden,
                         testing::Values("factorial", "nested", "custom", "within", "padding",
                                         "calibration", "fractional", "rotate"),
                         [](const auto& plan) { return std::string(plan.param); });

}  // namespace
}  // namespace stab::plan
