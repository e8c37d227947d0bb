// SPDX-License-Identifier: MIT
#include "stats/designs/assumptions.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "stats/designs/designs.h"
#include "stats/designs/effects.h"
#include "stats/tests/diagnostics.h"
#include "stats/tests/variances.h"

namespace stab::stats {
namespace {

constexpr std::size_t most_for_shapiro_wilk = 5000;

// The blocks that have all cells, as the means of their cells, block after block.
struct CompleteBlocks {
  std::size_t cells = 0;
  std::size_t blocks = 0;
  std::vector<double> means{};
};

CompleteBlocks blocks_of(const Subject& subject) {
  CompleteBlocks result{.cells = by_cell(subject).size()};
  for (const Moments& cell : complete_blocks(subject, result.cells))
    result.means.push_back(cell.mean);
  result.blocks = result.means.size() / result.cells;
  return result;
}

// Contrast k compares cells 0 to k with cell k + 1. All blocks of a contrast come before the next
// contrast, and each contrast is centred.
std::vector<std::vector<double>> helmert(const CompleteBlocks& blocks) {
  std::vector<std::vector<double>> result;
  for (std::size_t k = 1; k < blocks.cells; ++k) {
    const double size = static_cast<double>(k);
    std::vector<double> series;
    for (std::size_t b = 0; b < blocks.blocks; ++b) {
      const std::span<const double> block =
          std::span(blocks.means).subspan(b * blocks.cells, blocks.cells);
      double sum = 0;
      for (std::size_t i = 0; i < k; ++i) sum += block[i];
      series.push_back((sum - size * block[k]) / std::sqrt(size * (size + 1)));
    }
    const double mean = moments(series).mean;
    for (double& x : series) x -= mean;
    result.push_back(std::move(series));
  }
  return result;
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

// Trials of one seed depend on each other; the means of seeds do not.
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
          nested ? "means of seeds, by cell" : "trials by cell", n, test->f, test->p);
  if (added.holds) return;
  if (!data.spec.block.empty() && data.spec.error != Error::own) {
    added.instead = "use error = \"own\", because the error is pooled over cells";
    return;
  }
  added.is_allowed_for = true;
  added.instead =
      "the changes and verdicts are still valid, because their intervals and tests do not pool "
      "variances";
}

// Numbers in the order of time: `series` series of one length, one after the other. Each has its
// own test; their z are added (Stouffer et al.: The American soldier, 1949) and their r averaged.
struct Ordered {
  std::vector<double> values{};
  std::size_t series = 1;
  std::string kind{};
};

Result<AutocorrelationTest> autocorrelation(const Ordered& ordered) {
  const std::size_t length = ordered.values.size() / ordered.series;
  AutocorrelationTest all;
  for (std::size_t i = 0; i < ordered.series; ++i) {
    const auto one = lag1_autocorrelation(std::span(ordered.values).subspan(i * length, length));
    if (!one) return one;
    all.r += one->r;
    all.z += one->z;
  }
  const double count = static_cast<double>(ordered.series);
  all.r /= count;
  all.z /= std::sqrt(count);
  all.p = std::erfc(std::abs(all.z) / std::numbers::sqrt2);
  return all;
}

// The contrasts within blocks, each divided by its own spread. Contrasts that do not vary are left
// out.
Ordered block_contrasts(const Prepared& data, const Subject& subject) {
  const CompleteBlocks blocks = blocks_of(subject);
  Ordered result{.series = 0,
                 .kind = blocks.cells == 2 ? "differences within blocks"
                                           : "contrasts within blocks, scaled to the same spread"};
  if (blocks.cells < 2 || blocks.blocks < 3) return result;
  for (const std::vector<double>& series : helmert(blocks)) {
    const Moments spread = moments(series);
    const double n = static_cast<double>(spread.n);
    if (!(spread.ss > n * data.noise)) continue;
    for (const double x : series) result.values.push_back(x / std::sqrt(spread.ss / (n - 1)));
    ++result.series;
  }
  return result;
}

// The residuals times their cell's weight in a contrast; each contrast is a series. A comparison
// suffers from neighbours that are alike only if they are on one side. In random order of the
// cells, the products of neighbours have either sign, so these series are then independent.
Ordered signed_residuals(const Subject& subject, std::span<const double> residuals) {
  constexpr std::size_t most_series = 15;
  const std::vector<Group> cells = by_cell(subject);
  Ordered result{.series = 0, .kind = "residuals in the order of trials, weighted by level"};
  result.values.reserve(residuals.size() * std::min(most_series, cells.size() - 1));
  for (std::size_t k = 1; k < cells.size() && result.series < most_series; ++k) {
    const double size = static_cast<double>(k);
    for (std::size_t i = 0; i < residuals.size(); ++i) {
      const std::uint32_t cell = subject.groups[subject.trials[i].group].cell;
      const double weight = cell < cells[k].cell ? 1 / size : cell == cells[k].cell ? -1 : 0;
      result.values.push_back(weight * residuals[i]);
    }
    ++result.series;
  }
  return result;
}

void add_independence(const Prepared& data, const Subject& subject, const Ordered& ordered,
                      Analysis& analysis, Notes& notes) {
  if (!data.spec.in_order) {
    notes.add("Independence is not tested, because the time order of the rows is not known.");
    return;
  }
  const bool allowed_for = has_own_blocks(data) && !data.spec.independent_blocks &&
                           ordered.values.size() >= least_for_dependence * ordered.series;
  const char* instead =
      allowed_for
          ? "the changes are still valid, because their intervals and p-values take the "
            "correlation of neighboring blocks into account"
          : "no test of individual trials is valid, because a correlation of neighboring trials "
            "makes the intervals too narrow. Use blocks, or compare more runs";
  const auto lag = autocorrelation(ordered);
  const auto runs = runs_test(ordered.values);
  if (!lag || !runs) {
    notes.add(subject.name,
              "independence is not tested: " + (lag ? runs.error().message : lag.error().message));
    return;
  }
  const std::size_t n = ordered.values.size();
  Assumption& first = add(analysis, subject.name, Property::independence, "lag-1 autocorrelation",
                          ordered.kind, n, lag->r, lag->p);
  const auto decide = [&](Assumption& added) {
    // The two tests of this assumption share its level.
    added.holds = 2 * added.p >= data.spec.alpha;
    if (added.holds) return;
    added.instead = instead;
    added.is_allowed_for = allowed_for;
  };
  decide(first);
  Assumption& second = add(analysis, subject.name, Property::independence, "runs", ordered.kind, n,
                           static_cast<double>(runs->runs), runs->p);
  decide(second);
}

}  // namespace

void add_normality(std::span<const double> values, std::string subject, std::string of,
                   std::string instead, Analysis& analysis, Notes& notes, bool is_allowed_for) {
  const bool small = values.size() <= most_for_shapiro_wilk;
  const auto test = small ? shapiro_wilk(values) : anderson_darling(values);
  if (!test) {
    notes.add(subject, fmt::format("normality is not tested: {}", test.error().message));
    return;
  }
  Assumption& added = add(analysis, std::move(subject), Property::normality,
                          small ? "Shapiro-Wilk" : "Anderson-Darling", std::move(of), values.size(),
                          test->statistic, test->p);
  if (added.holds) return;
  added.instead = std::move(instead);
  added.is_allowed_for = is_allowed_for;
}

void test_assumptions(const Prepared& data, const Subject& subject, std::span<const double> fitted,
                      Analysis& analysis, Notes& notes) {
  Ordered residuals{.kind = "residuals in the order of trials"};
  residuals.values.reserve(subject.trials.size());
  double ss = 0;
  for (const Trial& trial : subject.trials) {
    residuals.values.push_back(trial.y - fitted[trial.group]);
    ss += residuals.values.back() * residuals.values.back();
  }
  const std::size_t n = residuals.values.size();
  if (!(ss > static_cast<double>(n) * data.noise)) return;
  const bool are_many = n > most_for_shapiro_wilk;
  const char* instead =
      are_many
          ? "all results are still valid, because the mean of many trials is normally distributed"
          : "the rank-sum test and the permutation test are still valid";
  // Two numbers are equally far from their mean, whatever their distribution.
  constexpr std::size_t least_of_cell = 3;
  if (n >= least_of_cell * by_cell(subject).size())
    add_normality(residuals.values, subject.name, "residuals", instead, analysis, notes, are_many);
  else
    notes.add(subject.name, "normality is not tested: there are fewer than three trials per cell.");
  add_variances(data, subject, analysis, notes);
  if (!data.spec.block.empty()) return;
  // Without an order nothing is tested, and a million trials have many signed residuals.
  const bool compares = data.spec.in_order && data.spec.seed.empty() && by_cell(subject).size() > 1;
  add_independence(data, subject,
                   compares ? signed_residuals(subject, residuals.values) : residuals, analysis,
                   notes);
}

void test_blocks(const Prepared& data, const Subject& subject, Analysis& analysis, Notes& notes) {
  const Ordered contrasts = block_contrasts(data, subject);
  if (contrasts.series == 0) return;
  add_normality(contrasts.values, subject.name, contrasts.kind,
                "the signed-rank test is still valid", analysis, notes);
  add_independence(data, subject, contrasts, analysis, notes);
}

void test_pooling(const Prepared& data, const Subject& subject, Analysis& analysis, Notes& notes) {
  const Ordered contrasts = block_contrasts(data, subject);
  if (contrasts.series > 0) add_independence(data, subject, contrasts, analysis, notes);
  const auto series = helmert(blocks_of(subject));
  const auto test = brown_forsythe(series);
  if (!test) return;
  Assumption& added = add(analysis, subject.name, Property::equal_variances, "Brown-Forsythe",
                          fmt::format("contrasts within {}s", data.spec.block),
                          series.size() * series.front().size(), test->f, test->p);
  if (!added.holds)
    added.instead = "use error = \"own\", because treatments act differently from block to block";
}

void test_subject_effects(const Prepared& data, std::span<const double> effects,
                          const std::string& term, Analysis& analysis) {
  Notes unused;  // too few subjects are noted by the model
  add_normality(effects, "", fmt::format("effect of {} in each {}", term, data.spec.subject),
                fmt::format("the signed-rank test over {}s is still valid", data.spec.subject),
                analysis, unused);
}

}  // namespace stab::stats
