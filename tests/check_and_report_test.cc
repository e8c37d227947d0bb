// SPDX-License-Identifier: MIT
// What `stabctl check` says before anything runs is what the report does: the same models, and as
// many comparisons with as many degrees of freedom.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "design/model.h"
#include "design/trial_list.h"
#include "plan/reading/testing.h"
#include "results/document.h"
#include "results/prediction.h"
#include "stats/verdicts/decide.h"
#include "store/test_support.h"

namespace stab {
namespace {

std::string corpus(const std::string& name) {
  std::ostringstream text;
  text << std::ifstream(STAB_SOURCE_DIR "/plan/reading/corpus/" + name, std::ios::binary).rdbuf();
  return text.str();
}

// Numbers without a pattern, so that every term has an error.
std::int64_t some_time(std::uint64_t seed) {
  return 1'000'000 + static_cast<std::int64_t>(seed * 2654435761 % 100'000);
}

store::Trial success(const plan::Plan& plan, const plan::Trial& planned, store::Id experiment) {
  const std::int64_t time = some_time(planned.seed);
  store::Trial trial{.experiment = experiment,
                     .position = planned.position,
                     .block = planned.block,
                     .warmup = planned.warmup,
                     .benchmark = plan.benchmarks[planned.benchmark].name,
                     .seed = planned.seed,
                     .status = store::TrialStatus::ok,
                     .exit_code = 0,
                     .started_ns = 1000 + std::int64_t{planned.position},
                     .wall_ns = time,
                     .user_ns = time,
                     .system_ns = 70,
                     .max_rss_bytes = time};
  trial.layout.region_ns = time;
  for (std::size_t i = 0; i < plan.factors.size(); ++i)
    trial.levels[plan.factors[i].name] = planned.levels[i].name;
  return trial;
}

report::Document run(const std::string& text) {
  const plan::Plan plan = plan::good_plan(text);
  const store::TemporaryDirectory directory;
  const auto store = store::open_or_fail(directory / "stab.db");
  store::Experiment experiment{.name = plan.name,
                               .plan = text,
                               .state = "done",
                               .reason = "",
                               .trials = plan::count_trials(plan)};
  experiment.id = store->add_experiment(experiment).value();
  for (const plan::Trial& planned : plan::expand(plan).trials) {
    const auto added = store->add_trial(success(plan, planned, experiment.id));
    EXPECT_TRUE(added) << added.error().message;
  }
  auto document = results::make_document(*store, experiment, "");
  if (!document) ADD_FAILURE() << document.error().message;
  return document.value_or(report::Document());
}

std::string row(const std::string& stratum, const std::string& term, double df,
                const std::string& aliases) {
  return fmt::format("  {} | {} | {} | {}\n", stratum, term, df, aliases);
}

std::string fitted(const stats::Analysis& analysis) {
  std::string text;
  for (const stats::AnovaTable& table : analysis.tables) {
    const char* programs = table.scope == stats::Scope::these        ? "these"
                           : table.scope == stats::Scope::like_these ? "like-these"
                                                                     : "";
    text += fmt::format("{}{}: {}\n", table.subject, programs, table.formula);
    for (const stats::AnovaRow& each : table.rows)
      text += row(each.stratum, each.term, each.df, each.aliases);
  }
  return text;
}

std::string planned(const plan::Plan& plan) {
  std::string text;
  for (const auto& [benchmark, model, programs] : plan::models(plan, plan::expand(plan))) {
    text += fmt::format("{}{}: {}\n", benchmark, programs, model.formula);
    for (const plan::Term& term : model.terms)
      text += row(term.stratum, term.name, static_cast<double>(term.df), term.aliases);
  }
  return text;
}

// Welch's test has fewer degrees of freedom than planned, the less alike its arms vary; programs
// that are crossed with blocks have more, the more of the variation is the blocks'.
void expect_errors(const plan::Plan& plan, const results::prediction::Family& family,
                   const std::vector<const stats::Effect*>& effects) {
  EXPECT_EQ(effects.size(), family.comparisons);
  for (const stats::Effect* effect : effects)
    for (const results::prediction::OwnError& error : family.errors) {
      if (error.benchmark != effect->subject) continue;
      const auto df = static_cast<double>(error.df);
      if (plan.design.kind == plan::DesignKind::nested) {
        EXPECT_LE(*effect->df, df);
        EXPECT_GE(*effect->df, df / 2);
      } else if (effect->scope == stats::Scope::like_these) {
        EXPECT_GE(*effect->df, df);
      } else {
        // Blocks that look a little alike count as a few less.
        EXPECT_LE(*effect->df, df);
        EXPECT_GE(*effect->df, 0.95 * df);
      }
    }
}

void expect_families(const plan::Plan& plan, const stats::Analysis& analysis) {
  const auto families = results::prediction::families(plan);
  std::size_t all = 0;
  for (const results::prediction::Family& family : families) {
    std::vector<const stats::Effect*> effects;
    for (const stats::Effect& effect : analysis.effects)
      if (effect.scope == family.scope && effect.p) effects.push_back(&effect);
    expect_errors(plan, family, effects);
    all += family.comparisons;
  }
  EXPECT_EQ(all, static_cast<std::size_t>(std::ranges::count_if(
                     analysis.effects, [](const auto& effect) { return effect.p.has_value(); })));
  if (!families.empty()) EXPECT_EQ(families.front().scope, stats::deciding_scope(analysis));
}

void expect_same(const std::string& text) {
  const plan::Plan plan = plan::good_plan(text);
  const stats::Analysis analysis = run(text).analysis;
  const std::string models = planned(plan);
  EXPECT_NE(models, "");
  EXPECT_EQ(fitted(analysis), models);
  expect_families(plan, analysis);
}

class ModelsOfThePlan : public ::testing::TestWithParam<const char*> {};

TEST_P(ModelsOfThePlan, AreThoseOfTheReport) {
  expect_same(corpus(GetParam()));
}

INSTANTIATE_TEST_SUITE_P(Corpus, ModelsOfThePlan,
                         ::testing::Values("custom.toml", "everything.toml", "fractional.toml",
                                           "nested.toml", "padding.toml", "pooled.toml",
                                           "stop.toml", "these.toml", "within.toml"));

const std::string four = R"([experiment]
name = "t"
[defaults]
repetitions = 3
[[benchmark]]
name = "b"
run = ["b", "${A}", "${B}"]
[factor.a]
levels = { a1 = { A = "1" }, a2 = { A = "2" } }
[factor.b]
levels = { b1 = { B = "1" }, b2 = { B = "2" }, b3 = { B = "3" } }
[factor.aslr]
levels = [false, true]
[factor.env_bytes]
levels = [0, 64]
)";

TEST(Models, HaveTheirTermsInTheSameOrder) {
  expect_same(four);
  expect_same(four + "[analysis]\nerror = 'pooled'\nlog = false\n");
}

TEST(Models, OfListedCellsHaveTheSameDegreesOfFreedom) {
  std::string cells;
  for (const char* cell : {"1 1 false 0", "2 2 false 0", "1 3 true 0", "2 1 true 64",
                           "1 2 false 64", "2 3 false 64", "2 1 false 0", "1 1 true 0"}) {
    std::istringstream levels(cell);
    std::string a;
    std::string b;
    std::string aslr;
    std::string bytes;
    levels >> a >> b >> aslr >> bytes;
    cells +=
        fmt::format("{{ a = 'a{}', b = 'b{}', aslr = {}, env_bytes = {} }}, ", a, b, aslr, bytes);
  }
  const std::string listed = four + "[design]\nkind = 'custom'\ncells = [" + cells + "]\n";
  expect_same(listed);
  expect_same(listed + "[analysis]\nerror = 'pooled'\n");
}

TEST(Models, WithoutATreatmentHaveOnlyBlocks) {
  expect_same(plan::smallest + "repetitions = 3\n");
}

// Where nothing can be tested: A/A comparisons are no model of the report's.
TEST(Models, OfCalibrationsAreThoseOfTheirComparisons) {
  EXPECT_TRUE(run(corpus("calibration.toml")).analysis.tables.empty());
}

}  // namespace
}  // namespace stab
