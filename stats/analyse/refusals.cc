// SPDX-License-Identifier: MIT
#include "stats/analyse/refusals.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "stats/data/notes.h"
#include "stats/data/prepare_data.h"
#include "stats/data/terms.h"
#include "stats/designs/designs.h"
#include "stats/designs/effects.h"
#include "stats/designs/table.h"
#include "stats/models/own_error.h"
#include "stats/numbers/distribution.h"
#include "stats/numbers/root.h"
#include "stats/verdicts/analysis.h"
#include "stats/verdicts/decide.h"
#include "stats/verdicts/dependence.h"

namespace stab::stats {
namespace {

// Lost trials limit what is known. A trial that failed, timed out or was excluded has no number,
// and the other numbers may say nothing about it. So each comparison that lost trials has bounds,
// with an interval that contains the one true change (Imbens and Manski, Econometrica 2004):
//  1. `extremes`: the comparison is computed twice, with each lost number as small and as large as
//     its limits permit. A trial that timed out took at least its limit. A number that a rule
//     excluded lies within the limits of its cell. Without a limit there is no bound.
//  2. `monotone`: Lee's bounds (Review of Economic Studies 2009) of single programs. They assume
//     that one level loses every trial that the other would lose, and some more.
//  3. Whatever the bounds, the dependence of losses on the cell is tested. A comparison whose sign
//     the interval does not keep has no verdict; `same` needs the whole interval within the margin.
//     With `random`, the bounds of 1 are shown, but they decide nothing.
//  4. If the interval does not keep the sign of an interaction, or if it has no bounds although
//     trials were lost, the answer only says that the interaction is possible.

constexpr double unbounded = std::numeric_limits<double>::infinity();
constexpr double far = 1e200;  // beyond all numbers whose squares can be summed

// A subject, its cells, and a comparison's weights of these cells, which are above 0 on the level's
// side.
struct Compared {
  std::size_t number = 0;
  const Subject* subject = nullptr;
  std::vector<Group> cells{};
  Contrast contrast{};

  // A cell with weight 0 is not used in the comparison.
  [[nodiscard]] double weight(std::uint32_t cell) const {
    const auto found = std::ranges::lower_bound(cells, cell, {}, &Group::cell);
    if (found == cells.end() || found->cell != cell) return 0;
    return contrast.weights[static_cast<std::size_t>(found - cells.begin())];
  }
};

// A comparison, or an interaction of treatments with two levels each, that is estimated.
struct Question {
  Scope scope = Scope::subject;
  std::string subject{};
  std::optional<Comparison> comparison{};
  std::uint32_t term = 0;  // of the interaction

  [[nodiscard]] Contrast contrast(const Prepared& data, const std::vector<Group>& cells) const {
    return comparison ? contrast_of(data, cells, *comparison)
                      : interaction_contrast(data, cells, term);
  }
  // Interactions are differences of means, and so are the changes of STABILIZER's tests.
  [[nodiscard]] Estimand estimand(const Prepared& data) const {
    const bool own = data.spec.method == Method::stabilizer && scope == Scope::subject;
    return comparison && !own ? data.spec.estimand : Estimand::mean;
  }
};

Question question_of(const Comparison& comparison) {
  return {.scope = comparison.scope, .subject = comparison.subject, .comparison = comparison};
}

std::optional<Estimate> over_suite(const Prepared& data, const Question& question) {
  return suite_estimate(data, question.scope, [&](const std::vector<Group>& cells) {
    return question.contrast(data, cells);
  });
}

// Returns the numbers of the scope's subjects.
std::vector<std::size_t> subjects_of(const Prepared& data, Scope scope,
                                     const std::string& subject) {
  std::vector<std::size_t> result;
  if (scope == Scope::subject) {
    for (std::size_t i = 0; i < data.subjects.size(); ++i)
      if (data.subjects[i].name == subject) result.push_back(i);
  } else {
    for (const Subject* member : suite_members(data))
      result.push_back(static_cast<std::size_t>(member - data.subjects.data()));
  }
  return result;
}

std::vector<Compared> compared_in(const Prepared& data, const Question& question) {
  std::vector<Compared> result;
  for (const std::size_t i : subjects_of(data, question.scope, question.subject)) {
    const Subject& subject = data.subjects[i];
    Compared one{.number = i, .subject = &subject, .cells = by_cell(subject)};
    one.contrast = question.contrast(data, one.cells);
    if (!one.contrast.weights.empty()) result.push_back(std::move(one));
  }
  return result;
}

bool has_all_cells(const Subject& subject, std::size_t cells) {
  std::size_t blocks = 0;
  for (std::size_t i = 0; i < subject.groups.size(); ++i)
    blocks += i == 0 || subject.groups[i].block != subject.groups[i - 1].block ? 1 : 0;
  return subject.groups.size() == blocks * cells;
}

// Adds a lost trial for each seed that one of the two arms lacks.
void add_lost_seeds(const Prepared& data, const Compared& compared, std::vector<LostTrial>& lost) {
  std::set<std::pair<std::uint32_t, std::uint32_t>> there;
  std::set<std::uint32_t> seeds;
  for (const LostTrial& each : lost) there.emplace(each.seed, each.cell);
  for (const Group& group : compared.subject->groups) {
    there.emplace(group.seed, group.cell);
    seeds.insert(group.seed);
  }
  for (const std::uint32_t seed : seeds)
    for (const Group& cell : compared.cells)
      if (compared.weight(cell.cell) != 0 && !there.contains({seed, cell.cell}))
        lost.push_back({.subject = static_cast<std::uint32_t>(compared.number),
                        .cell = cell.cell,
                        .seed = seed,
                        .low = data.least,
                        .high = data.most});
}

// Returns the lost trials of the cells that are compared. If the dataset doesn't list losses, a
// cell that a block lacks was lost.
std::vector<LostTrial> lost_of(const Prepared& data, const Compared& compared) {
  std::vector<LostTrial> lost;
  for (const LostTrial& each : data.lost)
    if (each.subject == compared.number && compared.weight(each.cell) != 0) lost.push_back(each);
  const Subject& subject = *compared.subject;
  if (!data.lists_lost && is_padding_study(data)) add_lost_seeds(data, compared, lost);
  if (data.lists_lost || data.spec.block.empty() || has_all_cells(subject, compared.cells.size()))
    return lost;
  std::set<std::pair<std::uint32_t, std::uint32_t>> known;
  for (const LostTrial& each : lost) known.emplace(each.block, each.cell);
  const std::vector<Group>& groups = subject.groups;
  // A pooled error weighs trials, so as many are lost as other blocks have on average.
  const auto trials_of = [&](const Group& cell) -> std::size_t {
    if (has_own_blocks(data)) return 1;
    const auto is_there = [&](const Group& group) { return group.cell == cell.cell; };
    const auto blocks = static_cast<std::size_t>(std::ranges::count_if(groups, is_there));
    return (cell.y.n + blocks - 1) / blocks;
  };
  for (std::size_t begin = 0; begin < groups.size();) {
    const std::uint32_t block = groups[begin].block;
    for (std::size_t c = 0; c < compared.cells.size(); ++c) {
      const std::uint32_t cell = compared.cells[c].cell;
      const bool there =
          begin < groups.size() && groups[begin].block == block && groups[begin].cell == cell;
      begin += there ? 1 : 0;
      if (there || compared.contrast.weights[c] == 0 || known.contains({block, cell})) continue;
      lost.insert(lost.end(), trials_of(compared.cells[c]),
                  {.subject = static_cast<std::uint32_t>(compared.number),
                   .block = block,
                   .cell = cell,
                   .low = data.least,
                   .high = data.most});
    }
  }
  return lost;
}

// An excluded number may have been any number of its cell.
void widen_excluded(const Subject& subject, std::vector<LostTrial>& lost) {
  if (std::ranges::none_of(lost, &LostTrial::excluded)) return;
  std::map<std::uint32_t, Interval> ranges;
  for (const Trial& trial : subject.trials) {
    const auto [at, fresh] = ranges.try_emplace(subject.groups[trial.group].cell,
                                                Interval{.low = trial.y, .high = trial.y});
    at->second.low = std::min(at->second.low, trial.y);
    at->second.high = std::max(at->second.high, trial.y);
  }
  for (LostTrial& each : lost) {
    const auto range = ranges.find(each.cell);
    if (!each.excluded || range == ranges.end()) continue;
    // A trial without a number of its own has the bounds of its cell.
    if (std::isinf(each.low)) each.low = range->second.low;
    if (std::isinf(each.high)) each.high = range->second.high;
    each.low = std::min(each.low, range->second.low);
    each.high = std::max(each.high, range->second.high);
  }
}

// Empty if nothing was lost.
std::vector<std::vector<LostTrial>> lost_of_each(const Prepared& data,
                                                 std::span<const Compared> all) {
  std::vector<std::vector<LostTrial>> lost;
  bool any = false;
  for (const Compared& each : all) {
    lost.push_back(lost_of(data, each));
    widen_excluded(*each.subject, lost.back());
    any = any || !lost.back().empty();
  }
  if (!any) lost.clear();
  return lost;
}

// The number of lost units of one side, and the number of all its units.
struct Side {
  std::size_t lost = 0;
  std::size_t of = 0;
  [[nodiscard]] double share() const {
    return of == 0 ? 0 : static_cast<double>(lost) / static_cast<double>(of);
  }
};

struct Loss {
  std::string unit{};  // the unit that is counted
  Side base{};
  Side level{};

  // The excess of one side's losses, as a share of the other side's units.
  [[nodiscard]] double excess() const {
    const auto [least, most] = std::minmax(base.share(), level.share());
    return least < 1 ? (most - least) / (1 - least) : 0;
  }
};

Loss count(const Prepared& data, const Compared& compared, std::span<const LostTrial> lost) {
  Loss loss{.unit = "trial"};
  if (!has_own_blocks(data)) {
    for (const Group& group : compared.subject->groups) {
      const double weight = compared.weight(group.cell);
      if (weight != 0) (weight < 0 ? loss.base : loss.level).of += group.y.n;
    }
    for (const LostTrial& each : lost) {
      Side& side = compared.weight(each.cell) < 0 ? loss.base : loss.level;
      ++side.lost;
      ++side.of;
    }
    return loss;
  }
  loss.unit = data.spec.block;
  std::set<std::uint32_t> all;
  std::set<std::uint32_t> base;
  std::set<std::uint32_t> level;
  for (const Group& group : compared.subject->groups)
    if (compared.weight(group.cell) != 0) all.insert(group.block);
  for (const LostTrial& each : lost) {
    all.insert(each.block);
    (compared.weight(each.cell) < 0 ? base : level).insert(each.block);
  }
  loss.base = {.lost = base.size(), .of = all.size()};
  loss.level = {.lost = level.size(), .of = all.size()};
  return loss;
}

// The p of "losses do not depend on the cell": blocks with and without the cell, or trials, which a
// padding study compares within their seed.
std::optional<double> p_of(const Prepared& data, const Compared& compared,
                           std::span<const LostTrial> lost) {
  std::vector<Marked> marks;
  const bool blocks = has_own_blocks(data);
  const bool seeds = is_padding_study(data);
  const auto stratum_of = [&](const auto& each) {
    return blocks ? each.block : seeds ? each.seed : 0;
  };
  const auto cell_of = [&](std::uint32_t cell) {
    return static_cast<std::uint32_t>(
        std::ranges::lower_bound(compared.cells, cell, {}, &Group::cell) - compared.cells.begin());
  };
  for (const Group& group : compared.subject->groups)
    for (std::size_t i = 0; compared.weight(group.cell) != 0 && i < (blocks ? 1 : group.y.n); ++i)
      marks.push_back({.stratum = stratum_of(group), .cell = cell_of(group.cell)});
  for (const LostTrial& each : lost)
    marks.push_back({.stratum = stratum_of(each), .cell = cell_of(each.cell), .marked = true});
  return dependence_on_cell(marks, data.spec.random_seed, data.spec.alpha).p;
}

// The estimate at one end, or nothing if that end has no bound.
using End = std::optional<Estimate>;

// Returns the subject with its lost trials added: as large as possible in the cells for which
// `is_largest` is true, and otherwise as small as possible. `endless` are the blocks in which the
// number is infinite.
Subject filled(const Subject& subject, std::span<const LostTrial> lost, const Scale& scale,
               auto&& is_largest, std::set<std::uint32_t>& endless) {
  Subject result{.name = subject.name, .groups = subject.groups};
  for (const LostTrial& each : lost) {
    double value = is_largest(each.cell) ? each.high : each.low;
    Group group;
    if (std::isinf(value)) {
      endless.insert(each.block);
      value = value > 0 ? far : -far;
    } else {
      group.raw.add(scale.back(value) - scale.centre);
    }
    group.subject = each.subject;
    group.block = each.block;
    group.cell = each.cell;
    group.seed = each.seed;
    group.y.add(value);
    result.groups.push_back(group);
  }
  const auto place = [](const Group& group) {
    return std::tuple(group.block, group.cell, group.seed);
  };
  std::ranges::sort(result.groups, {}, place);
  std::vector<Group> merged;
  for (const Group& group : result.groups) {
    if (merged.empty() || place(merged.back()) != place(group)) {
      merged.push_back(group);
      continue;
    }
    merged.back().y.merge(group.y);
    merged.back().raw.merge(group.raw);
  }
  result.groups = std::move(merged);
  return result;
}

// Copies the data without single trials, which estimates don't need.
Prepared with_subjects(const Prepared& data, std::vector<Subject> subjects) {
  Prepared result;
  result.spec = data.spec;
  result.scale = data.scale;
  result.treatments = data.treatments;
  result.subjects = std::move(subjects);
  result.noise = data.noise;
  result.repeated = data.repeated;
  result.block_rank = data.block_rank;
  // Blocks that have only lost trials come last.
  if (!result.block_rank.empty())
    for (const Subject& subject : result.subjects)
      for (const Group& group : subject.groups)
        while (result.block_rank.size() <= group.block)
          result.block_rank.push_back(static_cast<std::uint32_t>(result.block_rank.size()));
  return result;
}

// Returns the average of blocks of which `endless` are infinite, or nothing if these matter. A
// typical run ignores a fifth of the blocks at each end, and a median ignores the blocks beyond its
// interval.
End average_of_blocks(const Prepared& data, const Compared& observed, const Subject& with_lost,
                      std::size_t endless) {
  const UnitNumbers numbers = block_numbers(with_lost, observed.cells, observed.contrast);
  const double n = static_cast<double>(numbers.units.size());
  if (data.spec.estimand == Estimand::typical &&
      static_cast<double>(endless) > std::floor(trimmed_share * n))
    return std::nullopt;
  // The dependence of blocks is known only for blocks that have numbers.
  const UnitNumbers there = block_numbers(*observed.subject, observed.cells, observed.contrast);
  Estimate mean = mean_over_blocks(data, there);
  mean.independent *= n / static_cast<double>(there.units.size());
  return estimate_of(data, data.spec.estimand, numbers, mean);
}

End end_of(const Prepared& data, const Question& question, std::span<const Compared> all,
           std::span<const std::vector<LostTrial>> lost, const Estimate& own, bool high_end) {
  std::set<std::uint32_t> endless;
  std::vector<Subject> subjects;
  for (const Subject& subject : data.subjects) {
    const auto found = std::ranges::find(all, &subject, &Compared::subject);
    if (found == all.end()) {
      subjects.push_back({.name = subject.name, .groups = subject.groups});
      continue;
    }
    // At the low end, lost trials are as small as possible at the level and as large as possible at
    // the baseline; at the high end the reverse.
    subjects.push_back(filled(
        subject, lost[static_cast<std::size_t>(found - all.begin())], data.scale,
        [&](std::uint32_t cell) { return (found->weight(cell) > 0) == high_end; }, endless));
  }
  Prepared with_lost = with_subjects(data, std::move(subjects));
  with_lost.spec.estimand = question.estimand(data);
  const Compared& one = all.front();
  const bool single = question.scope == Scope::subject;
  if (single && with_lost.spec.estimand != Estimand::mean && has_own_blocks(data))
    return average_of_blocks(with_lost, one, with_lost.subjects[one.number], endless.size());
  if (!endless.empty()) return std::nullopt;
  if (!single) return over_suite(with_lost, question);
  const Subject& subject = with_lost.subjects[one.number];
  if (is_padding_study(data) && question.comparison) {
    End end = padding_estimate(with_lost, subject, *question.comparison);
    if (end) end->base = std::nullopt;  // the ratio's base is 1, like that of the effect itself
    return end;
  }
  if (data.spec.design == Design::nested && !data.spec.seed.empty()) {
    // seed_means() needs the order of cells.
    Subject by_seed = subject;
    std::ranges::sort(by_seed.groups, {},
                      [](const Group& group) { return std::tuple(group.cell, group.seed); });
    const Subject units{.name = subject.name, .groups = seed_means(by_seed)};
    const std::vector<Group> cells = by_cell(units);
    return subject_estimator(with_lost, units, cells)(one.contrast);
  }
  if (has_own_blocks(data) || data.spec.block.empty() || !question.comparison) {
    const std::vector<Group> cells = by_cell(subject);
    return subject_estimator(with_lost, subject, cells)(one.contrast);
  }
  // The pooled error stays, and only the means move.
  Estimate result = own;
  result.difference = 0;
  const std::vector<Group> cells = by_cell(subject);
  for (std::size_t i = 0; i < cells.size(); ++i)
    result.difference += one.contrast.weights[i] * cells[i].y.mean;
  return result;
}

// The means of the remaining numbers if a share is cut off at the top, or at the bottom.
Interval trimmed_means(std::vector<double> values, double share) {
  std::ranges::sort(values);
  const double n = static_cast<double>(values.size());
  const auto cut = std::min(values.size() - 1, static_cast<std::size_t>(std::ceil(share * n)));
  const std::span<const double> numbers = values;
  return {.low = moments(numbers.first(values.size() - cut)).mean,
          .high = moments(numbers.subspan(cut)).mean};
}

// The difference on the model's scale if the side that lost less also loses the other side's share,
// either of its largest or of its smallest numbers.
std::optional<Interval> lee_bounds(const Prepared& data, const Compared& one, const Loss& loss,
                                   double difference) {
  const Subject& subject = *one.subject;
  if (has_own_blocks(data)) {
    const UnitNumbers numbers = block_numbers(subject, one.cells, one.contrast);
    if (numbers.difference.size() < 2) return std::nullopt;
    return trimmed_means(numbers.difference, loss.excess());
  }
  const bool trims_base = loss.level.share() > loss.base.share();
  const std::vector<std::vector<double>> deviations = by_cell_deviations(subject, one.cells);
  Interval shift{};
  for (std::size_t i = 0; i < one.cells.size(); ++i) {
    const double weight = one.contrast.weights[i];
    if (weight == 0 || (weight < 0) != trims_base) continue;
    const Interval own = trimmed_means(deviations[i], loss.excess());
    shift.low += std::abs(weight) * own.low;
    shift.high += std::abs(weight) * own.high;
  }
  if (trims_base) return Interval{.low = difference - shift.high, .high = difference - shift.low};
  return Interval{.low = difference + shift.low, .high = difference + shift.high};
}

// Both ends of a comparison.
struct Ends {
  End low{};
  End high{};
};

// Lee's bounds of a typical run: the typical run of the blocks that are left if a share of them is
// cut off, either those with the largest or those with the smallest changes. Too few blocks have no
// bounds.
Ends typical_ends(const Prepared& data, const Compared& one, double share) {
  const UnitNumbers all = block_numbers(*one.subject, one.cells, one.contrast);
  std::vector<double> sorted = all.difference;
  std::ranges::sort(sorted);
  const double n = static_cast<double>(sorted.size());
  const std::size_t cut = std::min(sorted.size(), static_cast<std::size_t>(std::ceil(share * n)));
  const std::size_t kept = sorted.size() - cut;
  Estimate mean = mean_over_blocks(data, all);
  mean.independent *= static_cast<double>(kept) / n;
  const auto end = [&](std::size_t first) {
    const auto left = std::span<const double>(sorted).subspan(first, kept);
    UnitNumbers rest;
    rest.difference.assign(left.begin(), left.end());
    return trimmed_mean_of(rest, mean, data.noise);
  };
  return {.low = end(0), .high = end(cut)};
}

// Returns how many standard errors the interval reaches beyond its bounds, which are `gap` errors
// apart. One point needs a two-sided quantile, and bounds that are far apart need the one-sided
// quantile.
std::optional<double> reach_beyond(double gap, double df, double alpha) {
  const auto one_sided = t_upper_quantile(alpha, df);
  const auto two_sided = t_upper_quantile(alpha / 2, df);
  if (!one_sided || !two_sided || std::isinf(gap)) return one_sided;
  const auto excess = [&](double c) -> std::optional<double> {
    const auto below = t_two_sided(c, df);
    const auto above = t_two_sided(c + gap, df);
    if (!below || !above) return std::nullopt;
    return alpha - *below / 2 - *above / 2;
  };
  return find_root(excess, *one_sided, *two_sided).value_or(*two_sided);
}

// Leaves out the share of a median's numbers that one level has lost more of: the largest for the
// lower bound, the smallest for the upper one.
void leave(Estimate& low, Estimate& high, double share) {
  const std::vector<double>& numbers = *low.ordered;
  const double count = static_cast<double>(numbers.size());
  const auto cut = static_cast<std::ptrdiff_t>(std::min(count, std::ceil(share * count)));
  low.independent *= 1 - static_cast<double>(cut) / count;
  high.independent = low.independent;
  high.ordered = std::make_shared<const std::vector<double>>(numbers.begin() + cut, numbers.end());
  low.ordered = std::make_shared<const std::vector<double>>(numbers.begin(), numbers.end() - cut);
}

// Medians have an interval for each end, so both ends hold together whatever lies between them.
Interval with_ranks(const End& low, const End& high, double alpha, double step) {
  const auto interval = [&](const End& end) {
    const auto own = end ? difference_interval(*end, alpha) : std::nullopt;
    return own.value_or(Interval{.low = -unbounded, .high = unbounded});
  };
  Interval result{.low = interval(low).low - step, .high = interval(high).high + step};
  // A lost trial's share of a comparison may be small.
  constexpr double far_share = far / 1e9;
  if (result.low < -far_share) result.low = -unbounded;
  if (result.high > far_share) result.high = unbounded;
  return result;
}

// The interval on the model's scale, with the error of the bounds. An end without a bound is
// infinite, and a bound without an error has no error here either.
Interval with_error(const End& low, const End& high, double alpha, double step) {
  if ((low && low->ordered) || (high && high->ordered)) return with_ranks(low, high, alpha, step);
  const auto error = [](const End& end) { return end ? std::sqrt(end->variance) : 0; };
  const double larger = std::max(error(low), error(high));
  double gap = unbounded;
  if (low && high) {
    const double apart = std::max(0.0, high->difference - low->difference);
    gap = larger > 0 ? apart / larger : 0;
  }
  double df = unbounded;
  for (const End& end : {low, high})
    if (end) df = std::min(df, end->df);
  const auto c = alpha > 0 && df > 0 ? reach_beyond(gap, df, alpha) : std::nullopt;
  Interval result{.low = -unbounded, .high = unbounded};
  if (!c) return result;
  if (low) result.low = low->difference - *c * error(low) - step;
  if (high) result.high = high->difference + *c * error(high) + step;
  return result;
}

// `end` has a baseline of its own.
std::optional<double> ratio_at(const Prepared& data, const Estimate& own, const End& end,
                               double difference) {
  if (std::isinf(difference)) return std::nullopt;
  if (own.log) return std::exp(difference);
  if (!own.has_ratio()) return std::nullopt;
  const double base = end && end->base ? *end->base + data.scale.origin : 0;
  return 1 + difference / (base > 0 ? base : *own.base);
}

// "between -1 % and +2 %", "-1 % or more"; differences if there is no ratio.
std::string range_words(const Effect& effect) {
  const auto words = [](std::optional<double> ratio, std::optional<double> difference) {
    if (ratio) return fmt::format("{:+.3g} %", 100 * (*ratio - 1));
    return difference ? fmt::format("{:+.3g}", *difference) : "";
  };
  const std::string low = words(effect.loss_low, effect.loss_difference_low);
  const std::string high = words(effect.loss_high, effect.loss_difference_high);
  if (!low.empty() && !high.empty()) return fmt::format("between {} and {}", low, high);
  if (!low.empty()) return low + " or more";
  if (!high.empty()) return high + " or less";
  return "anything, because the missing values may have any size";
}

void note_loss(const Prepared& data, const Loss& loss, const Effect& effect, Notes& notes) {
  const std::string depends =
      !effect.loss_p
          ? ""
          : fmt::format(" (whether this depends on the cell: {})", p_words(*effect.loss_p));
  std::string text = fmt::format(
      "trials are missing{}. The level {}={} lacks {} of {}, and the level {} lacks {} of {} {}. ",
      depends, effect.treatment, effect.baseline, loss.base.lost, loss.base.of, effect.level,
      loss.level.lost, loss.level.of, plural(loss.unit));
  const bool is_bounded = effect.loss_low || effect.loss_high || effect.loss_difference_low ||
                          effect.loss_difference_high;
  const std::string error = is_bounded ? ", including the error of these bounds" : "";
  if (effect.loss_bounds == Losses::monotone)
    text += fmt::format(
        "Lee's bounds assume that the level with more losses would also lose every trial that the "
        "other level lost. Under this assumption, the change of {} is {}{}.",
        effect.level, range_words(effect), error);
  else
    text += fmt::format(
        "The missing trials may have any values within their limits, so the change of {} could be "
        "{}{}.",
        effect.level, range_words(effect), error);
  if (data.spec.losses == Losses::random)
    text +=
        " As requested, the missing trials are assumed to be missing at random, so they do not "
        "affect the verdict.";
  notes.add(effect.subject, text);
}

void note_advice(Notes& notes) {
  notes.add(
      "Run the missing trials again. Or, if a limit such as a timeout ended these trials, give "
      "this limit ('--lost-at-least' and '--lost-at-most' of 'stabctl analyze'). An experiment "
      "already uses its timeouts as limits. If few trials are missing, you can ask about a typical "
      "run instead ('--average typical', 'analysis.estimand'). You can also make an assumption "
      "about the missing trials ('--losses monotone' or 'random', 'analysis.losses').");
}

// The estimate of the effect's mean change. The paper's procedure has rank tests, which have none.
std::optional<Estimate> mean_change(const Prepared& data, const Effect& effect,
                                    std::span<const Compared> all) {
  if (data.spec.method != Method::stabilizer || effect.scope != Scope::subject)
    return effect.estimate;
  if (all.empty() || !effect.p) return std::nullopt;
  const Compared& one = all.front();
  auto own = subject_estimator(data, *one.subject, one.cells)(one.contrast);
  if (own && own->base) own->base = *own->base + data.scale.origin;
  return own;
}

bool may_have_lost(const Prepared& data, std::size_t subject) {
  if (std::ranges::any_of(data.lost,
                          [&](const LostTrial& each) { return each.subject == subject; }))
    return true;
  if (data.lists_lost) return false;
  const Subject& one = data.subjects[subject];
  return data.spec.block.empty() ? by_cell(one).size() < data.design_cells()
                                 : !has_all_cells(one, data.design_cells());
}

bool may_have_lost(const Prepared& data, Scope scope, const std::string& subject) {
  return std::ranges::any_of(subjects_of(data, scope, subject),
                             [&](std::size_t i) { return may_have_lost(data, i); });
}

// Returns the number of cells in which no subject of the scope has a trial, if nothing else speaks
// for a loss: they may have been left out on purpose. Else returns 0.
std::size_t only_empty_cells(const Prepared& data, Scope scope, const std::string& subject) {
  if (data.lists_lost || scope != Scope::subject) return 0;
  for (std::size_t i = 0; i < data.subjects.size(); ++i) {
    const Subject& one = data.subjects[i];
    if (one.name != subject) continue;
    const std::size_t there = by_cell(one).size();
    if (std::ranges::any_of(data.lost, [&](const LostTrial& each) { return each.subject == i; }))
      return 0;
    if (!data.spec.block.empty() && !has_all_cells(one, there)) return 0;
    return data.design_cells() - there;
  }
  return 0;
}

// Sets the effect's loss_* if it lost trials, and takes back a verdict that the lost trials leave
// open. `family` is the number of comparisons that are corrected together.
void refuse_lost(const Prepared& data, std::size_t family, Effect& effect, Notes& notes) {
  if (effect.exact) return;
  if (!is_padding_study(data) && !may_have_lost(data, effect.scope, effect.subject)) return;
  const auto comparison = comparison_of(data, effect);
  if (!comparison) return;
  const Question question = question_of(*comparison);
  const std::vector<Compared> all = compared_in(data, question);
  const auto estimate = mean_change(data, effect, all);
  if (!estimate) return;
  const std::vector<std::vector<LostTrial>> lost = lost_of_each(data, all);
  if (lost.empty()) return;
  const bool single = effect.scope == Scope::subject;
  // Lee's bounds exist for one program, and for differences but not for percentages.
  const bool lee = data.spec.losses == Losses::monotone && single && !is_padding_study(data);
  const Estimate& own = *estimate;
  const double alpha =
      data.level(data.spec.alpha / static_cast<double>(std::max<std::size_t>(1, family)));
  Loss loss;
  if (single) {
    loss = count(data, all.front(), lost.front());
    if (data.spec.assumptions) effect.loss_p = p_of(data, all.front(), lost.front());
  }
  End low;
  End high;
  if (lee && has_own_blocks(data) && effect.estimand == Estimand::typical) {
    const Ends ends = typical_ends(data, all.front(), loss.excess());
    low = ends.low;
    high = ends.high;
  } else if (lee) {
    const auto bounds = lee_bounds(data, all.front(), loss, own.difference);
    if (!bounds) return;
    // Fewer numbers are left, so the error is larger.
    low = own;
    low->difference = bounds->low;
    low->variance = own.variance / (1 - std::min(0.99, loss.excess()));
    high = low;
    high->difference = bounds->high;
    // A median's interval ends at numbers that the bound leaves.
    if (own.ordered) leave(*low, *high, loss.excess());
  } else {
    low = end_of(data, question, all, lost, own, false);
    high = end_of(data, question, all, lost, own, true);
  }
  const Interval wide = with_error(low, high, alpha, own.bound);
  effect.loss_bounds = lee ? Losses::monotone : Losses::extremes;
  effect.loss_low = ratio_at(data, own, lee ? End{} : low, wide.low);
  effect.loss_high = ratio_at(data, own, lee ? End{} : high, wide.high);
  if (!own.log && !is_padding_study(data)) {
    if (std::isfinite(wide.low)) effect.loss_difference_low = wide.low;
    if (std::isfinite(wide.high)) effect.loss_difference_high = wide.high;
  }
  if (single) note_loss(data, loss, effect, notes);
  if (!effect.reason.empty() || data.spec.losses == Losses::random) return;
  const bool claimed = effect.verdict == Verdict::faster || effect.verdict == Verdict::slower;
  const double change = effect.difference.value_or(own.difference);
  const bool turned = claimed && (change < 0 ? wide.high >= 0 : wide.low <= 0);
  const double margin = data.spec.equivalence.value_or(0);
  const bool left_margin =
      effect.verdict == Verdict::same && (!effect.loss_high || *effect.loss_high > 1 + margin ||
                                          !effect.loss_low || *effect.loss_low < 1 / (1 + margin));
  if (!turned && !left_margin) return;
  withhold(effect, turned ? "the missing trials may reverse the change"
                          : "the missing trials may hide a change");
  if (!lee) note_advice(notes);
}

std::optional<std::uint32_t> term_named(const Prepared& data, const std::string& name) {
  for (const std::uint32_t term : two_level_interactions(data))
    if (term_name(term, layout(data).names) == name) return term;
  return std::nullopt;
}

std::string range_words(const Prepared& data, const Interaction& each) {
  const auto words = [&](double value) {
    return data.scale.log ? fmt::format("{:+.3g} %", 100 * (value - 1))
                          : fmt::format("{:+.3g}", value);
  };
  if (each.loss_low && each.loss_high)
    return fmt::format("between {} and {}", words(*each.loss_low), words(*each.loss_high));
  if (each.loss_low) return words(*each.loss_low) + " or more";
  if (each.loss_high) return words(*each.loss_high) + " or less";
  return "anything, because the missing values may have any size";
}

constexpr const char* made_by_losses = "the missing trials may have caused the interaction";

// Returns whether the interaction is significant, and nothing has cast doubt on it so far.
bool is_stated(const Prepared& data, const Interaction& interaction) {
  return interaction.reason.empty() && interaction.p_adjusted &&
         *interaction.p_adjusted < data.spec.alpha;
}

// Sets the interaction's loss_* if it lost trials, and its reason if they may have made it.
void refuse_lost(const Prepared& data, std::size_t family, Interaction& interaction, Notes& notes) {
  const auto term = term_named(data, interaction.term);
  if (!term) return;
  const Question question{
      .scope = interaction.scope, .subject = interaction.subject, .comparison = {}, .term = *term};
  const std::vector<Compared> all = compared_in(data, question);
  const std::vector<std::vector<LostTrial>> lost = lost_of_each(data, all);
  if (lost.empty()) return;
  const Estimate none{};  // only comparisons with a pooled error keep what they had
  const End low = end_of(data, question, all, lost, none, false);
  const End high = end_of(data, question, all, lost, none, true);
  const double alpha =
      data.level(data.spec.alpha / static_cast<double>(std::max<std::size_t>(1, family)));
  double bound = 0;
  for (const Compared& one : all) bound += bound_of(step_errors(data, *one.subject), one.contrast);
  const Interval wide = with_error(low, high, alpha, bound / static_cast<double>(all.size()));
  const auto back = [&](double x) { return data.scale.log ? std::exp(x) : x; };
  if (std::isfinite(wide.low)) interaction.loss_low = back(wide.low);
  if (std::isfinite(wide.high)) interaction.loss_high = back(wide.high);
  const bool is_kept = wide.low > 0 || wide.high < 0;
  if (is_kept || data.spec.losses == Losses::random) return;
  if (!is_stated(data, interaction)) return;
  interaction.reason = made_by_losses;
  notes.add(
      interaction.subject,
      fmt::format("the interaction of {} is significant (adjusted {}), but trials are missing. "
                  "These trials may have any values within their limits, so the interaction could "
                  "be {}. Therefore, the answer does not state the interaction as certain.",
                  interaction.term, p_words(*interaction.p_adjusted),
                  range_words(data, interaction)));
}

std::string cell_words(const Prepared& data, std::size_t cell, std::size_t but) {
  const std::vector<std::size_t> levels = data.levels_of(cell);
  std::vector<std::string> words;
  for (std::size_t t = 0; t < levels.size(); ++t)
    if (t != but && data.treatments[t].levels.size() > 1)
      words.push_back(data.treatments[t].name + "=" + data.treatments[t].levels[levels[t]]);
  return fmt::format("{}", fmt::join(words, " "));
}

// 1.
void refuse_apart(const Prepared& data, Effect& effect, Notes& notes) {
  if (effect.estimate || effect.scope != Scope::subject || !effect.reason.empty()) return;
  const Subject* subject = subject_named(data, effect.subject);
  const auto comparison = comparison_of(data, effect);
  if (subject == nullptr || !comparison) return;
  const std::vector<Group> cells = by_cell(*subject);
  const std::string both = fmt::format("the levels {0}={1} and {0}={2}", effect.treatment,
                                       effect.baseline, effect.level);
  if (contrast_of(data, cells, *comparison).weights.empty()) {
    withhold(effect, "a comparison needs trials in two cells that differ only in this treatment");
    notes.add(effect.subject,
              fmt::format("{0} can't be compared: a comparison needs trials in two cells that "
                          "differ only in {1}. More trials in the same cells can't help. Add cells "
                          "that differ only in {1}.",
                          both, effect.treatment));
  } else if (has_own_blocks(data)) {
    withhold(effect, fmt::format("no {} has trials of both levels", data.spec.block));
    notes.add(
        effect.subject,
        fmt::format(
            "{0} can't be compared: no {1} has trials of both levels. More trials can't help. Run "
            "both levels in each {1}. If {1} is not a block, leave {1} out of the analysis.",
            both, data.spec.block));
  }
}

// 2. The squared correlation of a trial's place in time with its level. It is 0.75 if all of one
//    level comes before all of the other; with 20 trials in random order, fewer than one in 1,000
//    series reach 0.5.
constexpr double mostly_time = 0.5;

double time_share(const Prepared& data, const Subject& subject, const Comparison& comparison) {
  Moments level;
  Moments place;
  double products = 0;
  for (const Trial& trial : subject.trials) {
    const std::size_t own = data.levels_of(subject.groups[trial.group].cell)[comparison.treatment];
    if (own != comparison.base && own != comparison.level) continue;
    const double x = static_cast<double>(place.n);
    const double y = own == comparison.level ? 1 : 0;
    const double from_mean = x - place.mean;
    place.add(x);
    level.add(y);
    products += from_mean * (y - level.mean);
  }
  return level.ss > 0 && place.ss > 0 ? products * products / level.ss / place.ss : 0;
}

void refuse_time(const Prepared& data, Effect& effect, Notes& notes) {
  if (!data.spec.in_order || data.spec.one_after_other || !data.spec.block.empty()) return;
  if (data.spec.design == Design::padding_study || !effect.reason.empty()) return;
  const auto comparison = comparison_of(data, effect);
  if (!comparison) return;
  double most = 0;
  for (const Subject& subject : data.subjects)
    if (effect.scope != Scope::subject || subject.name == effect.subject)
      most = std::max(most, time_share(data, subject, *comparison));
  if (most <= mostly_time) return;
  withhold(effect, "one level was measured before the other, so time may have caused the change");
  notes.add(
      effect.subject,
      fmt::format("the levels {0}={1} and {0}={2} were measured one after the other, so anything "
                  "that changed on the machine meanwhile looks like a change between the levels. "
                  "No number of trials can tell a change of the machine from a change between the "
                  "levels. Interleave the trials of the two levels, in blocks or in random order, "
                  "as 'stabctl ab' does.",
                  effect.treatment, effect.baseline, effect.level));
}

// 3.
void refuse_raw_suite(const Prepared& data, Analysis& analysis, Notes& notes) {
  if (data.scale.log || analysis.suite == 0 || data.spec.method == Method::stabilizer) return;
  struct Size {
    std::string name;
    double mean = 0;
  };
  std::vector<Size> sizes;
  for (const Subject& subject : data.subjects) {
    Moments raw;
    for (const Group& group : subject.groups) raw.merge(group.raw);
    sizes.push_back({subject.name, raw.mean + data.scale.centre});
  }
  const auto [least, most] = std::ranges::minmax_element(sizes, {}, &Size::mean);
  constexpr double alike = 2;
  if (!(least->mean > 0) || most->mean <= alike * least->mean) return;
  bool any = false;
  for (Effect& effect : analysis.effects) {
    if (effect.scope == Scope::subject || !effect.reason.empty()) continue;
    withhold(effect,
             fmt::format("the largest {} dominates the mean of raw values", data.spec.subject));
    any = true;
  }
  if (any)
    notes.add(fmt::format(
        "The {0}s differ in size: the {1} of {2} is {3:.3g} times that of {4}, so the largest {0} "
        "dominates the mean of raw values. To give each {0} the same weight, use logarithms "
        "('--log' of 'stabctl analyze' or 'analysis.log = true' in a plan).",
        data.spec.subject, data.spec.response, most->name, most->mean / least->mean, least->name));
}

// Returns whether the effect is a mean over subjects that have no block in common. Then no block has
// a mean over the subjects, so there is no typical block or median block.
bool shares_no_blocks(const Prepared& data, const Effect& effect) {
  const auto comparison = comparison_of(data, effect);
  if (effect.scope != Scope::these || data.spec.block.empty() || !comparison) return false;
  std::vector<UnitNumbers> own;
  for (const Compared& each : compared_in(data, question_of(*comparison)))
    own.push_back(block_numbers(*each.subject, each.cells, each.contrast));
  return are_disjoint(own);
}

// 7. The paper's procedure has estimands of its own.
void refuse_estimand(const Prepared& data, Effect& effect, Notes& notes) {
  if (!effect.estimate || !effect.reason.empty() || effect.estimand == data.spec.estimand) return;
  if (data.spec.method == Method::stabilizer || data.spec.design == Design::calibration) return;
  if (data.spec.origin != Origin::trial && effect.estimate->variance == 0) return;
  const bool median = data.spec.estimand == Estimand::median;
  const std::string what = median ? "the median" : "a typical run";
  constexpr const char* ask_mean =
      "'--average mean' of 'stabctl analyze' or 'analysis.estimand = \"mean\"' in a plan";
  if (shares_no_blocks(data, effect)) {
    const std::string& subject = data.spec.subject;
    const std::string& block = data.spec.block;
    withhold(effect, fmt::format("the {}s have no {} in common", subject, block));
    notes.add(fmt::format(
        "There is no verdict about {0} over these {1}s: it is computed from their mean change in "
        "each {2}, but the {1}s have no {2} in common. More {2}s can't help. If the {1}s ran "
        "in the same {2}s, give these {2}s the same names. Or ask about the mean ({3}).",
        what, subject, block, ask_mean));
    return;
  }
  const bool has_units =
      !effect.unit.empty() && (effect.unit == data.spec.block || effect.unit == data.spec.subject);
  withhold(effect, has_units ? fmt::format("too few {}s for {}", effect.unit, what)
                             : fmt::format("{} needs blocks", what));
  if (has_units)
    notes.add(effect.subject, fmt::format("{} needs at least {} {}s, and there are {}, so there is "
                                          "no verdict. Add {}s, or ask about the mean ({}).",
                                          what, median ? least_for_median : least_exact,
                                          effect.unit, effect.units, effect.unit, ask_mean));
  else
    notes.add(effect.subject,
              fmt::format(
                  "{} is computed from changes within blocks, but this comparison has no "
                  "blocks, so there is no verdict. Measure in blocks, or ask about the mean ({}).",
                  what, ask_mean));
}

// 5. A p this small holds at any level that matters, even from few independent blocks.
constexpr double beyond_doubt = 0.001;

void refuse_dependent(const Prepared& data, Effect& effect, Notes& notes) {
  if (!effect.estimate || !effect.reason.empty()) return;
  const Estimate& estimate = *effect.estimate;
  if (!too_few_independent(estimate)) return;
  const auto& p = effect.verdict == Verdict::same ? effect.p_same_adjusted : effect.p_adjusted;
  if (p && *p < beyond_doubt) return;
  withhold(effect, fmt::format("too few independent {}s", data.spec.block));
  notes.add(
      effect.subject,
      fmt::format("the changes of {2} in neighboring {0}s have a correlation of {1:.2f}. So {3} "
                  "{0}s tell only as much as {4:.1f} independent {0}s, which are too few for a "
                  "verdict. Use many more {0}s, or {0}s that are farther apart in time.",
                  data.spec.block, estimate.autocorrelation, effect.treatment, estimate.in_time,
                  estimate.independent));
}

// Describes the numbers if two tests disagree, without guessing the reason.
std::string looks_of(const Prepared& data, const Effect& effect) {
  const Randomization& test = *effect.randomization;
  std::vector<std::string> words;
  if (test.skewness)
    words.push_back(
        fmt::format("the {}s' changes have a skewness of {:.2g}", effect.unit, *test.skewness));
  if (effect.estimate && effect.estimate->in_time > 0)
    words.push_back(fmt::format("the correlation between neighboring changes is {:.2f}",
                                effect.estimate->autocorrelation));
  if (test.without && effect.ratio && !test.influential.empty())
    words.push_back(fmt::format("without {} {}, the change is {:+.3g} % instead of {:+.3g} %",
                                data.spec.block, test.influential, 100 * (*test.without - 1),
                                100 * (*effect.ratio - 1)));
  return words.empty() ? "" : fmt::format(" The numbers: {}.", fmt::join(words, ", "));
}

// Whether no order of so few units could make the p of the randomization test small enough.
bool has_too_few_orders(const Randomization& test, std::size_t family, double alpha) {
  return test.least * static_cast<double>(std::max<std::size_t>(1, family)) >= alpha;
}

// 6.
void refuse_by_order(const Prepared& data, std::size_t family, Effect& effect, Notes& notes) {
  if (!effect.randomization || !effect.reason.empty() || !effect.p_adjusted) return;
  const Randomization& test = *effect.randomization;
  const double alpha = data.spec.alpha;
  const bool is_same = effect.verdict == Verdict::same;
  const auto& by_order = is_same ? test.p_same_adjusted : test.p_adjusted;
  const std::string pair =
      fmt::format("{}={} and {}", effect.treatment, effect.baseline, effect.level);
  if (has_too_few_orders(test, family, alpha)) {
    if (effect.verdict != Verdict::unsure)
      notes.add(
          effect.subject,
          fmt::format(
              "{} are too few for a randomization test at this significance level, so the verdict "
              "rests on the test of the mean change alone.",
              count_words(test.units, effect.unit)));
    return;
  }
  if (effect.verdict == Verdict::unsure) {
    if (effect.held_back || !test.p_adjusted || *test.p_adjusted >= alpha ||
        *effect.p_adjusted < alpha)
      return;
    notes.add(effect.subject,
              fmt::format("two tests of {} disagree, so there is no verdict. The randomization "
                          "test finds that the levels differ in some {}s (adjusted {}). The test "
                          "of the mean change finds no difference ({}).{}",
                          pair, effect.unit, p_words(*test.p_adjusted), p_words(*effect.p_adjusted),
                          looks_of(data, effect)));
    return;
  }
  if (by_order && *by_order < alpha) return;
  const double own = is_same ? effect.p_same_adjusted.value_or(1) : *effect.p_adjusted;
  notes.add(
      effect.subject,
      fmt::format("two tests of {} disagree, so there is no verdict. The test of the mean change "
                  "gives {} (adjusted), but the randomization test gives {}{}.{}",
                  pair, p_words(own), by_order ? p_words(*by_order) : "none",
                  test.settled ? ""
                               : fmt::format(" after {} draws, which is too close to {} to tell",
                                             test.draws, alpha),
                  looks_of(data, effect)));
  withhold(effect, "the randomization test does not agree");
}

// Verdicts also need the randomization test, which assumes no distribution, unless there are too
// few units for it. The sign test of a median assumes no distribution either. Without a verdict,
// the intervals are all there is, and they assume one.
void allow_for_distributions(const Prepared& data,
                             const std::map<const Effect*, std::size_t>& family,
                             Analysis& analysis) {
  for (Assumption& each : analysis.assumptions) {
    if (each.holds || each.is_allowed_for || each.property != Property::normality) continue;
    const Scope scope =
        each.subject.empty() && analysis.suite > 0 ? Scope::like_these : Scope::subject;
    bool is_any_decided = false;
    bool is_any_tested = false;
    bool are_all_free = true;
    for (const Effect& effect : analysis.effects) {
      const bool is_own = effect.subject == each.subject && effect.scope == scope;
      // The mean over these subjects rests on the model of each of them.
      const bool is_over_all = !each.subject.empty() && effect.scope == Scope::these;
      if ((!is_own && !is_over_all) || !effect.p || effect.verdict == Verdict::unsure ||
          is_control(effect, data.spec))
        continue;
      is_any_decided = true;
      if (effect.estimate && effect.estimate->ordered) continue;
      is_any_tested = true;
      const auto found = family.find(&effect);
      are_all_free =
          are_all_free && effect.randomization &&
          !has_too_few_orders(*effect.randomization, found == family.end() ? 1 : found->second,
                              data.spec.alpha);
    }
    each.is_allowed_for = is_any_decided && are_all_free;
    if (is_any_tested && each.is_allowed_for)
      each.instead =
          "the verdicts are still valid, because they also need the randomization test, which does "
          "not assume normality";
  }
}

// 8. Machines like these are a sample, so a machine may be missing if that is by chance.
void refuse_lacking_machines(const Prepared& data, Analysis& analysis, Notes& notes) {
  if (analysis.lacking_machines.empty()) return;
  const std::string lacking = fmt::format("{}", fmt::join(analysis.lacking_machines, ", "));
  const std::string kind = data.spec.subject;
  for (Effect& effect : analysis.effects) {
    const bool by_chance = effect.scope == Scope::like_these && data.spec.losses == Losses::random;
    // Without an answer over machines, the change on a machine is no answer either.
    const bool is_own = effect.scope == Scope::subject && analysis.suite > 0;
    if (is_own || by_chance || !effect.reason.empty()) continue;
    withhold(effect, fmt::format("not all {}s have both levels: {}", kind, lacking));
  }
  notes.add(fmt::format(
      "Some {0}s lack trials of a level, or have no {1} with all levels: {2}. The change on these "
      "{0}s is not known, and the mean of the other {0}s says nothing about this change. Measure "
      "on these {0}s again. Or remove their rows, so that the answer is only about the other {0}s.",
      kind, data.spec.block.empty() ? "block" : data.spec.block, lacking));
}

void refuse_single_blocks(const Prepared& data, Effect& effect, const Analysis& analysis,
                          Notes& notes) {
  if (effect.scope != Scope::these || !effect.reason.empty() || effect.p || effect.exact) return;
  std::vector<std::string> single;
  for (const Effect& each : analysis.effects)
    if (each.scope == Scope::subject && each.treatment == effect.treatment &&
        each.baseline == effect.baseline && each.level == effect.level &&
        (!each.estimate || !each.estimate->has_error()))
      single.push_back(each.subject);
  if (single.empty()) return;
  const std::string unit = data.spec.block.empty() ? "trial" : data.spec.block;
  withhold(effect, fmt::format("no error on {}", fmt::join(single, ", ")));
  notes.add(
      fmt::format("To estimate a {0}'s own error, at least two {1}s are needed, and some {0}s "
                  "have fewer. So there is no verdict on these {0}s. Run more {1}s on: {2}. An "
                  "answer about {0}s like these does not need each {0}'s own error.",
                  data.spec.subject, unit, fmt::join(single, ", ")));
}

}  // namespace

void bound_mean(const Prepared& data, const Subject& subject, std::uint32_t cell, CellMean& mean) {
  if (data.spec.origin != Origin::trial) return;
  std::vector<LostTrial> lost;
  for (const LostTrial& each : data.lost)
    if (&data.subjects[each.subject] == &subject && each.cell == cell) lost.push_back(each);
  mean.lost = lost.size();
  if (lost.empty()) return;
  if (data.spec.losses == Losses::random) {
    mean.loss_low = mean.loss_high = mean.mean;
    mean.loss_interval_low = mean.low;
    mean.loss_interval_high = mean.high;
    return;
  }
  widen_excluded(subject, lost);
  Subject one;
  std::ranges::copy_if(subject.groups, std::back_inserter(one.groups),
                       [&](const Group& group) { return group.cell == cell; });
  const bool by_seed =
      is_padding_study(data) || (data.spec.design == Design::nested && !data.spec.seed.empty());
  const auto mean_at = [&](bool largest) -> End {
    std::set<std::uint32_t> endless;
    Subject all = filled(one, lost, data.scale, [&](std::uint32_t) { return largest; }, endless);
    if (!endless.empty()) return std::nullopt;
    if (by_seed) all.groups = seed_means(all);
    const Moments y = by_cell(all).front().y;
    const double n = static_cast<double>(y.n);
    return Estimate{
        .difference = y.mean, .variance = y.variance().value_or(0) / n, .df = n - 1, .units = y.n};
  };
  const auto back = [&](double value) {
    const double result = data.scale.back(value);
    return std::isfinite(value) && std::isfinite(result) ? std::optional(result) : std::nullopt;
  };
  const End low = mean_at(false);
  const End high = mean_at(true);
  if (low) mean.loss_low = back(low->difference);
  if (high) mean.loss_high = back(high->difference);
  const Interval wide = with_error(low, high, data.spec.alpha, 0);
  mean.loss_interval_low = back(wide.low);
  mean.loss_interval_high = back(wide.high);
}

void note_empty_cells(const Prepared& data, const Analysis& analysis, Notes& notes) {
  if (!data.spec.chains.empty() || data.active().size() < 2) return;
  for (const Effect& effect : analysis.effects) {
    if (effect.scope != Scope::subject) continue;
    const Subject* subject = subject_named(data, effect.subject);
    const auto comparison = comparison_of(data, effect);
    if (subject == nullptr || !comparison) continue;
    const std::vector<Group> cells = by_cell(*subject);
    if (cells.size() == data.cells()) continue;
    const Sides pair = sides(data, cells, *comparison);
    const std::size_t all = data.cells() / data.treatments[comparison->treatment].levels.size();
    if (pair.base.empty() || pair.base.size() == all) continue;
    constexpr std::size_t most = 3;
    std::string where =
        fmt::format("{} of {} combinations of the other treatments' levels", pair.base.size(), all);
    if (pair.base.size() <= most) {
      std::vector<std::string> words;
      for (const std::size_t i : pair.base)
        words.push_back(cell_words(data, cells[i].cell, comparison->treatment));
      where = fmt::format("{}", fmt::join(words, " and at "));
    }
    notes.add(
        effect.subject,
        fmt::format(
            "the levels {0}={1} and {0}={2} are compared only at {3}. At the other combinations of "
            "levels, the change is not known, because one of the two levels has no trial.",
            effect.treatment, effect.baseline, effect.level, where));
  }
}

namespace {

// Keeps few_independent only if it is the reason.
void refuse_dependent(const Prepared& data, Interaction& interaction, Notes& notes) {
  const auto few = std::exchange(interaction.few_independent, std::nullopt);
  if (!few || !is_stated(data, interaction) || *interaction.p_adjusted < beyond_doubt) return;
  interaction.few_independent = few;
  interaction.reason = fmt::format("too few independent {}s", data.spec.block);
  notes.add(interaction.subject,
            fmt::format("the interaction of {2} is significant (adjusted {5}), but its values in "
                        "neighboring {0}s have a correlation of {1:.2f}. So {3} {0}s tell only as "
                        "much as {4:.1f} independent {0}s. These are too few, so the answer does "
                        "not state the interaction as certain.",
                        data.spec.block, few->autocorrelation, interaction.term, few->in_time,
                        few->independent, p_words(*interaction.p_adjusted)));
}

// An interaction without a size has no bounds.
void refuse_unbounded(const Prepared& data, Interaction& interaction, Notes& notes) {
  if (data.spec.losses == Losses::random || interaction.has_size()) return;
  if (!is_stated(data, interaction)) return;
  interaction.reason = made_by_losses;
  const std::size_t empty = only_empty_cells(data, interaction.scope, interaction.subject);
  const std::string found = fmt::format("the interaction of {} is significant (adjusted {}), but ",
                                        interaction.term, p_words(*interaction.p_adjusted));
  notes.add(
      interaction.subject,
      empty > 0
          ? fmt::format("{}there are no trials at {} of {} combinations of levels. If this is on "
                        "purpose, say so with '--losses random'. If trials at these combinations "
                        "failed or were too slow, the missing trials may have caused the "
                        "interaction, so the answer does not state the interaction as certain.",
                        found, empty, data.design_cells())
          : found +
                "trials are missing, and the interaction has no bounds. Bounds exist only if "
                "every treatment has two levels and every cell has trials. So the answer does "
                "not state the interaction as certain. Run the missing trials again, or assume "
                "that they are missing at random ('--losses random', 'analysis.losses').");
}

// Copies the reason to the tables' rows that are this interaction.
void set_reason(const Interaction& interaction, Analysis& analysis) {
  for (AnovaTable& table : analysis.tables)
    for (AnovaRow& row : table.rows)
      if (table.subject == interaction.subject && table.scope == interaction.scope &&
          row.term == interaction.term)
        row.reason = interaction.reason;
}

}  // namespace

void refuse_interactions(const Prepared& data, Analysis& analysis, Notes& notes) {
  for (Interaction& each : analysis.interactions) {
    if (data.spec.origin == Origin::trial && may_have_lost(data, each.scope, each.subject)) {
      refuse_lost(data, interactions_tested(analysis, each.scope), each, notes);
      refuse_unbounded(data, each, notes);
    }
    // Comes last: missing trials without bounds may have made an interaction of any size.
    refuse_dependent(data, each, notes);
    if (!each.reason.empty()) set_reason(each, analysis);
  }
}

void refuse(const Prepared& data, Analysis& analysis, Notes& notes) {
  std::map<const Effect*, std::size_t> family;
  for (const std::vector<Effect*>& each : families_of(analysis))
    for (const Effect* effect : each) family[effect] = each.size();
  for (Effect& effect : analysis.effects) {
    refuse_apart(data, effect, notes);
    refuse_estimand(data, effect, notes);
    refuse_time(data, effect, notes);
  }
  refuse_raw_suite(data, analysis, notes);
  refuse_lacking_machines(data, analysis, notes);
  if (data.spec.machines)
    for (Effect& effect : analysis.effects) refuse_single_blocks(data, effect, analysis, notes);
  for (Effect& effect : analysis.effects) {
    refuse_lost(data, family[&effect], effect, notes);
    refuse_dependent(data, effect, notes);
    refuse_by_order(data, family[&effect], effect, notes);
  }
  allow_for_distributions(data, family, analysis);
}

}  // namespace stab::stats
