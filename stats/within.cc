// SPDX-License-Identifier: MIT
#include "stats/within.h"

#include <cmath>
#include <numeric>

#include "stats/terms.h"

namespace stab::stats {
namespace {

constexpr std::uint32_t subject_axis = 1;

// Where the numbers along one axis are: `outer` runs of `length` numbers, `inner` apart.
struct Axis {
  std::size_t outer;
  std::size_t length;
  std::size_t inner;

  [[nodiscard]] std::size_t at(std::size_t o, std::size_t l, std::size_t i) const {
    return (o * length + l) * inner + i;
  }
};

// Replaces the numbers along the axis by their mean, or by what is left without it.
std::vector<double> sweep(const std::vector<double>& table, const Axis& axis, bool centre) {
  std::vector<double> result(centre ? table.size() : axis.outer * axis.inner);
  for (std::size_t o = 0; o < axis.outer; ++o) {
    for (std::size_t i = 0; i < axis.inner; ++i) {
      double mean = 0;
      for (std::size_t l = 0; l < axis.length; ++l) mean += table[axis.at(o, l, i)];
      mean /= static_cast<double>(axis.length);
      if (!centre) result[o * axis.inner + i] = mean;
      for (std::size_t l = 0; centre && l < axis.length; ++l)
        result[axis.at(o, l, i)] = table[axis.at(o, l, i)] - mean;
    }
  }
  return result;
}

}  // namespace

double effect_ss(std::span<const std::size_t> shape, std::span<const double> table,
                 std::uint32_t effect) {
  std::vector<double> rest(table.begin(), table.end());
  double averaged = 1;
  std::size_t inner = 1;
  for (std::size_t a = shape.size(); a-- > 0;) {
    const bool centre = (effect >> a & 1U) != 0;
    rest =
        sweep(rest, {.outer = rest.size() / inner / shape[a], .length = shape[a], .inner = inner},
              centre);
    if (centre)
      inner *= shape[a];
    else
      averaged *= static_cast<double>(shape[a]);
  }
  return averaged * std::inner_product(rest.begin(), rest.end(), rest.begin(), 0.0);
}

WithinModel::WithinModel(std::span<const std::size_t> shape, std::span<const Moments> table,
                         double noise) {
  std::size_t cells = 1;
  for (const std::size_t levels : shape) cells *= levels;
  shape_.push_back(table.size() / cells);
  shape_.insert(shape_.end(), shape.begin(), shape.end());
  fit(table, noise);
}

void WithinModel::fit(std::span<const Moments> table, double noise) {
  double reciprocals = 0;
  double n = 0;
  for (const Moments& cell : table) {
    means_.push_back(cell.mean);
    reciprocals += 1 / static_cast<double>(cell.n);
    n += static_cast<double>(cell.n);
    fit_.within_ss += cell.ss;
    fit_.balanced = fit_.balanced && cell.n == table.front().n;
  }
  const double cells = static_cast<double>(table.size());
  multiplier_ = fit_.balanced ? static_cast<double>(table.front().n) : cells / reciprocals;
  fit_.within_df = n - cells;
  const auto denoise = [&](double ss) { return ss <= n * noise ? 0 : ss; };
  const auto ss = [&](std::uint32_t axes) {
    return denoise(multiplier_ * effect_ss(shape_, means_, axes));
  };
  fit_.within_ss = denoise(fit_.within_ss);
  fit_.subject_df = static_cast<double>(shape_.front() - 1);
  fit_.subject_ss = ss(subject_axis);
  const std::span<const std::size_t> treatments = std::span(shape_).subspan(1);
  for (const std::uint32_t term : all_terms(treatments, treatments.size())) {
    const double df = term_columns(term, treatments);
    fit_.terms.push_back({.treatments = term,
                          .df = df,
                          .ss = ss(term << 1U),
                          .error_df = df * fit_.subject_df,
                          .error_ss = ss(term << 1U | subject_axis)});
  }
}

double WithinModel::level_mean(std::size_t treatment, std::size_t level) const {
  std::size_t inner = 1;
  for (std::size_t a = treatment + 2; a < shape_.size(); ++a) inner *= shape_[a];
  const std::size_t length = shape_[treatment + 1];
  Moments mean;
  for (std::size_t i = 0; i < means_.size(); ++i)
    if (i / inner % length == level) mean.add(means_[i]);
  return mean.mean;
}

std::vector<double> WithinModel::subject_means(std::size_t treatment, std::size_t level) const {
  std::size_t inner = 1;
  for (std::size_t a = treatment + 2; a < shape_.size(); ++a) inner *= shape_[a];
  const std::size_t cells = means_.size() / shape_.front();
  const double count = static_cast<double>(cells / shape_[treatment + 1]);
  std::vector<double> weights(cells);
  for (std::size_t i = 0; i < cells; ++i)
    if (i / inner % shape_[treatment + 1] == level) weights[i] = 1 / count;
  return weighted(weights);
}

std::vector<double> WithinModel::weighted(std::span<const double> weights) const {
  std::vector<double> result;
  for (std::size_t begin = 0; begin < means_.size(); begin += weights.size())
    result.push_back(std::inner_product(weights.begin(), weights.end(),
                                        means_.begin() + static_cast<std::ptrdiff_t>(begin), 0.0));
  return result;
}

Estimate WithinModel::contrast(std::size_t treatment, std::size_t base, std::size_t level) const {
  Estimate result{.base = level_mean(treatment, base)};
  result.difference = level_mean(treatment, level) - *result.base;
  for (const WithinTerm& term : fit_.terms) {
    if (term.treatments != 1U << treatment || !(term.error_ss > 0)) continue;
    const double means =
        static_cast<double>(means_.size()) / static_cast<double>(shape_[treatment + 1]);
    const double one = term.error_ss / term.error_df / multiplier_ / means;
    result.variance = 2 * one;
    result.df = term.error_df;
    result.base_variance = one;
    result.base_covariance = -one;
  }
  return result;
}

}  // namespace stab::stats
