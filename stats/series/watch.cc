// SPDX-License-Identifier: MIT
#include "stats/series/watch.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace stab::stats {
namespace {

// n times the variance of a mean of n numbers of an AR(1) series with variance 1.
double inflation_of(double correlation, double n) {
  if (!(correlation > 0)) return 1;
  const double rest = 1 - correlation;
  return (1 + correlation) / rest -
         2 * correlation * (1 - std::pow(correlation, n)) / (n * rest * rest);
}

// The place of a t statistic among normal ones (Wallace, Annals of Mathematical Statistics 1959).
double normal_of(double t, double df) {
  return (8 * df + 1) / (8 * df + 3) * std::sqrt(df * std::log1p(t * t / df));
}

// Sums over the first numbers of a part of the series.
class Sums {
 public:
  void add(double x) {
    sum_.push_back(sum_.back() + x);
    squares_.push_back(squares_.back() + x * x);
    products_.push_back(products_.back() + (numbers_.empty() ? 0 : x * numbers_.back()));
    numbers_.push_back(x);
  }
  [[nodiscard]] std::size_t size() const { return numbers_.size(); }

  // How far the numbers behind the first m are from these, on the scale of a normal distribution.
  [[nodiscard]] double distance(std::size_t m) const {
    const double before = static_cast<double>(m);
    const double behind = static_cast<double>(size() - m);
    const double mean = sum_[m] / before;
    const double squares = squares_[m] - before * mean * mean;
    const double difference = (sum_.back() - sum_[m]) / behind - mean;
    // Equal numbers differ by their digits alone.
    const double rounding = std::numeric_limits<double>::epsilon() * squares_[m];
    if (!(squares > 16 * rounding)) return 0;
    const double products = products_[m] - mean * (sum_[m] - numbers_.front()) -
                            mean * (sum_[m] - numbers_[m - 1]) + (before - 1) * mean * mean;
    // Corrected for the bias of short series.
    constexpr double most = 0.9;
    const double correlation =
        std::clamp((before * products / squares + 1) / (before - 3), 0.0, most);
    const double own = inflation_of(correlation, before);
    const double variance = squares / (before - 1) / std::max(0.05, 1 - (own - 1) / (before - 1));
    const double error =
        std::sqrt(variance * (own / before + inflation_of(correlation, behind) / behind));
    const double square = correlation * correlation;
    const double df = std::max(1.0, (before - 1) * (1 - square) / (1 + square));
    return normal_of(difference / error, df);
  }

 private:
  std::vector<double> numbers_{};
  std::vector<double> sum_{0};
  std::vector<double> squares_{0};
  std::vector<double> products_{0};
};

// How far a place is out of the ordinary, as a square. Means of many numbers change slowly from place
// to place, so a series has fewer of them than of short ones, and their limit is lower: a small step
// takes many numbers to be seen.
double score_of(double distance, std::size_t behind) {
  return distance * distance + std::log(static_cast<double>(behind));
}

// Simulated: at most 5 % of series reach 4.85 in 1,000 numbers, with correlations of 0 to 0.3. The tail
// of a normal distribution gives the limits of other levels.
double limit_of(double alpha) {
  constexpr double simulated = 4.85;
  constexpr double level = 0.05;
  return std::sqrt(std::max(1.0, simulated * simulated + 2 * std::log(level / alpha)));
}

}  // namespace

std::vector<Alarm> watch(std::span<const double> series, const WatchOptions& options) {
  const std::size_t start = std::max<std::size_t>(5, options.start);
  const double limit = limit_of(options.alpha);
  std::vector<Alarm> alarms;
  std::size_t begin = 0;
  while (begin < series.size()) {
    Sums sums;
    std::size_t change = 0;
    for (std::size_t i = begin; i < series.size() && change == 0; ++i) {
      // Distances from the first number keep their digits.
      sums.add(series[i] - series[begin]);
      double farthest = limit * limit;
      // Far back the places are farther apart: neighbouring ones say nearly the same there.
      for (std::size_t behind = 1; behind <= options.window && behind + start <= sums.size();
           behind += behind < 20 ? 1 : behind / 10) {
        const double score = score_of(sums.distance(sums.size() - behind), behind);
        if (score <= farthest) continue;
        farthest = score;
        change = i + 1 - behind;
      }
      if (change > 0) alarms.push_back({.raised = i, .at = change});
    }
    if (change == 0) break;
    begin = change;
  }
  return alarms;
}

}  // namespace stab::stats
