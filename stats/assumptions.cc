// SPDX-License-Identifier: MIT
#include "stats/assumptions.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "stats/contrasts.h"
#include "stats/equal_variances.h"
#include "stats/independence.h"
#include "stats/normality.h"

namespace stab::stats {
namespace {

constexpr std::size_t most_for_shapiro_wilk = 5000;

bool has_blocks(const Prepared& data) {
  return !data.spec.block.empty();
}

// The groups of blocks that have each of `cells` cells, with one trial each; in their order.
std::vector<std::span<const Group>> complete_blocks(const Subject& subject, std::size_t cells) {
  std::vector<std::span<const Group>> result;
  const std::span<const Group> groups = subject.groups;
  for (std::size_t begin = 0; begin < groups.size();) {
    std::size_t end = begin;
    bool once = true;
    for (; end < groups.size() && groups[end].block == groups[begin].block; ++end)
      once = once && groups[end].y.n == 1;
    if (once && end - begin == cells) result.push_back(groups.subspan(begin, end - begin));
    begin = end;
  }
  return result;
}

// Contrast k of cells 0 to k with cell k + 1, over all blocks, then the next contrast.
std::vector<double> helmert(const std::vector<std::span<const Group>>& blocks) {
  const std::size_t cells = blocks.front().size();
  std::vector<Moments> means(cells);
  for (const auto& block : blocks)
    for (std::size_t i = 0; i < cells; ++i) means[i].add(block[i].y.mean);
  std::vector<double> result;
  result.reserve(blocks.size() * (cells - 1));
  for (std::size_t k = 1; k < cells; ++k) {
    const double size = static_cast<double>(k);
    for (const auto& block : blocks) {
      double sum = 0;
      for (std::size_t i = 0; i < k; ++i) sum += block[i].y.mean - means[i].mean;
      const double own = block[k].y.mean - means[k].mean;
      result.push_back((sum - size * own) / std::sqrt(size * (size + 1)));
    }
  }
  return result;
}

// Residuals of a block sum to 0, which pulls neighbours apart by 1 / (its size - 1): that must be
// small beside the error of an autocorrelation, 1 / sqrt(n).
bool blocks_are_large(const Subject& subject, std::size_t n) {
  const auto blocks =
      static_cast<double>(subject.groups.back().block - subject.groups.front().block + 1);
  const double count = static_cast<double>(n);
  return count / blocks >= 4 * std::sqrt(count);
}

Assumption& add(Analysis& analysis, std::string subject, Property property, std::string test,
                std::string of, std::size_t n, double statistic, double p) {
  analysis.assumptions.push_back({.subject = std::move(subject),
                                  .property = property,
                                  .test = std::move(test),
                                  .of = std::move(of),
                                  .n = n,
                                  .statistic = statistic,
                                  .p = p,
                                  .holds = p >= analysis.spec.alpha});
  return analysis.assumptions.back();
}

// Trials of one seed are no independent numbers; the seeds' means are.
std::vector<std::vector<double>> seeds_by_cell(const Prepared& data, const Subject& subject) {
  std::vector<std::vector<double>> result(data.cells());
  for (const Group& seed : subject.groups) result[seed.cell].push_back(seed.y.mean);
  return result;
}

void add_variances(const Prepared& data, const Subject& subject, Analysis& analysis, Notes& notes) {
  const bool nested = data.spec.design == Design::nested;
  std::vector<std::vector<double>> groups =
      nested ? seeds_by_cell(data, subject) : by_cell_deviations(subject, by_cell(subject));
  std::size_t n = 0;
  std::erase_if(groups, [](const auto& group) { return group.size() < 2; });
  for (const auto& group : groups) n += group.size();
  if (groups.size() < 2) return;
  const auto test = brown_forsythe(groups);
  if (!test) {
    notes.add(subject.name, "equal variances are not tested: " + test.error().message);
    return;
  }
  Assumption& added =
      add(analysis, subject.name, Property::equal_variances, "Brown-Forsythe",
          nested ? "means of the seeds by cell" : "trials by cell", n, test->f, test->p);
  if (!added.holds)
    added.instead = has_blocks(data) ? "the paired t-test of the blocks, which pools no variance"
                                     : "Welch's test, which pools no variance";
}

// Each series is centred by itself, so each has its own test; their z are added (Stouffer et al.:
// The American soldier, 1949) and their r averaged.
Result<AutocorrelationTest> autocorrelation(const Residuals& residuals) {
  const std::size_t length = residuals.ordered.size() / residuals.series;
  AutocorrelationTest all;
  for (std::size_t i = 0; i < residuals.series; ++i) {
    const auto one = lag1_autocorrelation(std::span(residuals.ordered).subspan(i * length, length));
    if (!one) return one;
    all.r += one->r;
    all.z += one->z;
  }
  const double count = static_cast<double>(residuals.series);
  all.r /= count;
  all.z /= std::sqrt(count);
  all.p = std::erfc(std::abs(all.z) / std::numbers::sqrt2);
  return all;
}

void add_independence(const Subject& subject, const Residuals& residuals, Analysis& analysis,
                      Notes& notes) {
  const char* instead =
      "no test of single trials: intervals are too narrow if neighbours are alike; use blocks or "
      "compare more runs";
  const auto lag = autocorrelation(residuals);
  const auto runs = runs_test(residuals.ordered);
  if (!lag || !runs) {
    notes.add(subject.name,
              "independence is not tested: " + (lag ? runs.error().message : lag.error().message));
    return;
  }
  const std::size_t n = residuals.ordered.size();
  Assumption& first = add(analysis, subject.name, Property::independence, "lag-1 autocorrelation",
                          residuals.ordered_kind, n, lag->r, lag->p);
  if (!first.holds) first.instead = instead;
  Assumption& second = add(analysis, subject.name, Property::independence, "runs",
                           residuals.ordered_kind, n, static_cast<double>(runs->runs), runs->p);
  if (!second.holds) second.instead = instead;
}

std::string instead_of_normality(const Prepared& data, std::size_t n) {
  constexpr std::size_t many = 5000;
  if (n > many) return "nothing else is needed, the means of so many trials are normal";
  return has_blocks(data) ? "the signed-rank test" : "the rank-sum and the permutation test";
}

}  // namespace

Residuals residuals_of(const Prepared& data, const Subject& subject,
                       std::span<const double> fitted) {
  Residuals result{.kind = "residuals", .ordered_kind = "residuals in the order of trials"};
  result.all.reserve(subject.trials.size());
  for (const Trial& trial : subject.trials) result.all.push_back(trial.y - fitted[trial.group]);
  if (!has_blocks(data)) {
    result.ordered = result.all;
    return result;
  }
  const std::size_t cells = data.design_cells();
  const auto blocks = complete_blocks(subject, cells);
  if (cells > 1 && 2 * blocks.size() * cells > subject.trials.size()) {
    result.ordered = helmert(blocks);
    result.series = cells - 1;
    result.ordered_kind = cells == 2 ? "differences within blocks, in their order"
                                     : "contrasts within blocks, in their order";
    if (cells == 2) {
      result.all = result.ordered;
      result.kind = "differences within blocks";
    }
  } else if (blocks_are_large(subject, result.all.size())) {
    result.ordered = result.all;
  }
  return result;
}

void add_normality(std::span<const double> values, std::string subject, std::string of,
                   std::string instead, Analysis& analysis, Notes& notes) {
  const bool small = values.size() <= most_for_shapiro_wilk;
  const auto test = small ? shapiro_wilk(values) : anderson_darling(values);
  if (!test) {
    notes.add(subject, fmt::format("normality is not tested: {}", test.error().message));
    return;
  }
  Assumption& added = add(analysis, std::move(subject), Property::normality,
                          small ? "Shapiro-Wilk" : "Anderson-Darling", std::move(of), values.size(),
                          test->statistic, test->p);
  if (!added.holds) added.instead = std::move(instead);
}

void test_assumptions(const Prepared& data, const Subject& subject, std::span<const double> fitted,
                      Analysis& analysis, Notes& notes) {
  const Residuals residuals = residuals_of(data, subject, fitted);
  double ss = 0;
  for (const double r : residuals.all) ss += r * r;
  if (!(ss > static_cast<double>(residuals.all.size()) * data.noise)) return;  // noted by the model
  add_normality(residuals.all, subject.name, residuals.kind,
                instead_of_normality(data, residuals.all.size()), analysis, notes);
  add_variances(data, subject, analysis, notes);
  if (residuals.ordered.empty())
    notes.add(subject.name,
              "independence is not tested: blocks are not complete with one trial a cell, and too "
              "small for the order of trials.");
  else
    add_independence(subject, residuals, analysis, notes);
}

void test_subject_effects(const Prepared& data, std::span<const double> effects,
                          const std::string& term, Analysis& analysis) {
  Notes unused;  // too few subjects are noted by the model
  add_normality(effects, "", fmt::format("effect of {}, one number a {}", term, data.spec.subject),
                fmt::format("the signed-rank test over {}s", data.spec.subject), analysis, unused);
}

}  // namespace stab::stats
