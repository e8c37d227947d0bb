// SPDX-License-Identifier: MIT
#include "stats/variance_components.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "stats/distribution.h"
#include "stats/sample.h"
#include "stats/tails.h"

namespace stab::stats {
namespace {

double square(double x) {
  return x * x;
}

// Upper points of F at `tail`; an infinite number of degrees of freedom below is chi-squared.
std::optional<double> upper_f(double tail, double df1, double df2) {
  return f_quantile(1 - tail, df1, df2);
}

std::optional<double> upper_chi(double tail, double df) {
  const auto x = chi_squared_quantile(1 - tail, df);
  return x ? std::optional(*x / df) : std::nullopt;
}

// The interval of (between - within) / size with `tail` on either side.
std::optional<Interval> between_interval(const MeanSquares& squares, double tail) {
  const double df1 = squares.between_df;
  const double df2 = squares.within_df;
  const auto chi1_up = upper_chi(tail, df1);
  const auto chi1_down = upper_chi(1 - tail, df1);
  const auto chi2_up = upper_chi(tail, df2);
  const auto chi2_down = upper_chi(1 - tail, df2);
  const auto f_up = upper_f(tail, df1, df2);
  const auto f_down = upper_f(1 - tail, df1, df2);
  if (!chi1_up || !chi1_down || !chi2_up || !chi2_down || !f_up || !f_down) return std::nullopt;
  const double g1 = 1 - 1 / *chi1_up;
  const double h1 = 1 / *chi1_down - 1;
  const double g2 = 1 - 1 / *chi2_up;
  const double h2 = 1 / *chi2_down - 1;
  const double g12 = (square(*f_up - 1) - square(g1 * *f_up) - square(h2)) / *f_up;
  const double h12 = (square(1 - *f_down) - square(h1 * *f_down) - square(g2)) / *f_down;
  const double a = squares.between;
  const double b = squares.within;
  const double below = square(g1 * a) + square(h2 * b) + g12 * a * b;
  const double above = square(h1 * a) + square(g2 * b) + h12 * a * b;
  const Interval interval{(a - b - std::sqrt(std::max(0.0, below))) / squares.size,
                          (a - b + std::sqrt(std::max(0.0, above))) / squares.size};
  return Interval{std::max(0.0, interval.low), std::max(0.0, interval.high)};
}

std::optional<Interval> within_interval(const MeanSquares& squares, double tail) {
  const auto up = upper_chi(tail, squares.within_df);
  const auto down = upper_chi(1 - tail, squares.within_df);
  if (!up || !down || !(*down > 0)) return std::nullopt;
  return Interval{squares.within / *up, squares.within / *down};
}

struct Sums {
  MeanSquares anova;
  MeanSquares unweighted;
};

Sums sums_of(std::span<const Moments> groups) {
  Moments all;
  Moments means;
  double within = 0;
  double n_squares = 0;
  double reciprocals = 0;
  for (const Moments& group : groups) {
    const double n = static_cast<double>(group.n);
    all.merge(group);
    means.add(group.mean);
    within += group.ss;
    n_squares += n * n;
    reciprocals += 1 / n;
  }
  const double n = static_cast<double>(all.n);
  const double k = static_cast<double>(groups.size());
  MeanSquares anova{.between = std::max(0.0, all.ss - within) / (k - 1),
                    .between_df = k - 1,
                    .within = within / (n - k),
                    .within_df = n - k,
                    .size = (n - n_squares / n) / (k - 1)};
  MeanSquares unweighted = anova;
  unweighted.size = k / reciprocals;
  unweighted.between = unweighted.size * means.ss / (k - 1);
  return {.anova = anova, .unweighted = unweighted};
}

bool is_valid(const MeanSquares& s) {
  return s.between_df > 0 && s.within_df > 0 && s.size > 0 && s.between >= 0 && s.within > 0 &&
         std::isfinite(s.between) && std::isfinite(s.within);
}

}  // namespace

Result<ComponentIntervals> variance_components(const MeanSquares& squares, double alpha) {
  if (const auto usable = require_alpha(alpha); !usable) return std::unexpected(usable.error());
  if (!is_valid(squares))
    return fail("variance components need groups, and numbers that vary within groups");
  const auto between = between_interval(squares, alpha / 2);
  const auto within = within_interval(squares, alpha / 2);
  const auto p = f_tail(squares.between / squares.within, squares.between_df, squares.within_df);
  if (!between || !within || !p)
    return fail("the intervals of the variance components are beyond what can be computed");
  ComponentIntervals result{
      .between = std::max(0.0, (squares.between - squares.within) / squares.size),
      .between_interval = *between,
      .within = squares.within,
      .within_interval = *within,
      .p = *p};
  result.share = result.between / (result.between + result.within);
  return result;
}

Result<ComponentIntervals> variance_components(std::span<const Moments> groups, double alpha) {
  if (groups.size() < 2) return fail("variance components need two groups or more");
  if (std::ranges::any_of(groups, [](const Moments& group) { return group.n == 0; }))
    return fail("variance components need a number or more in each group");
  if (std::ranges::all_of(groups, [](const Moments& group) { return group.n < 2; }))
    return fail("groups of one number each do not tell the variance within groups");
  if (std::ranges::none_of(groups, [](const Moments& group) { return varies(group); }))
    return fail(
        "the numbers do not vary within groups, so there is nothing to compare groups with");
  const Sums sums = sums_of(groups);
  auto result = variance_components(sums.anova, alpha);
  if (!result) return result;
  const auto between = between_interval(sums.unweighted, alpha / 2);
  if (!between)
    return fail("the intervals of the variance components are beyond what can be computed");
  result->between_interval = *between;
  return result;
}

}  // namespace stab::stats
