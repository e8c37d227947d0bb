// SPDX-License-Identifier: MIT
#include "stats/series/watch.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

namespace stab::stats {
namespace {

// Converts a t statistic to the scale of a normal distribution (Wallace, Annals of Mathematical
// Statistics 1959).
double normal_of(double t, double df) {
  return std::copysign((8 * df + 1) / (8 * df + 3) * std::sqrt(df * std::log1p(t * t / df)), t);
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
  void clear() {
    numbers_.clear();
    for (std::vector<double>* each : {&sum_, &squares_, &products_}) each->resize(1);
  }

  // Returns how far the numbers behind the first m are from the first m, on the scale of a normal
  // distribution: the t statistic of a step in a first-order autoregressive series (generalised
  // least squares).
  [[nodiscard]] double distance(std::size_t m) const {
    const double n = static_cast<double>(size());
    const double behind = static_cast<double>(size() - m);
    const std::optional<double> known = correlation(m);
    if (!known) return 0;
    const double c = *known;
    // Each number minus c times the number before it is independent of the others. In these terms a
    // level counts as 1 - c, but a step counts in full in its first number.
    const double level = 1 - c;
    const double first = numbers_.front();
    const double before_last = sum_[size() - 1];
    const double x_x = (1 - c * c) + (n - 1) * level * level;
    const double s_s = 1 + (behind - 1) * level * level;
    const double x_s = level * (1 + (behind - 1) * level);
    const double x_y = (1 - c * c) * first + level * (sum_.back() - first - c * before_last);
    const double s_y = numbers_[m] - c * numbers_[m - 1] +
                       level * (sum_.back() - sum_[m + 1] - c * (before_last - sum_[m]));
    const double y_y = (1 - c * c) * first * first + (squares_.back() - first * first) -
                       2 * c * products_.back() + c * c * squares_[size() - 1];
    const double determinant = x_x * s_s - x_s * x_s;
    const double mean = (s_s * x_y - x_s * s_y) / determinant;
    const double step = (x_x * s_y - x_s * x_y) / determinant;
    const double rest = y_y - mean * x_y - step * s_y;
    if (!(rest > rounding())) return 0;
    const double error = std::sqrt(rest / (n - 2) * x_x / determinant);
    return normal_of(step / error, n - 3);
  }

 private:
  // Equal numbers differ only by rounding.
  [[nodiscard]] double rounding() const {
    return 16 * std::numeric_limits<double>::epsilon() * squares_.back();
  }

  // The correlation of neighbours, with each side measured from its own mean. Returns nothing if
  // the numbers do not vary.
  [[nodiscard]] std::optional<double> correlation(std::size_t m) const {
    Side sides = side(0, m);
    double numbers = static_cast<double>(m);
    double means = 1;
    if (size() - m > 1) {
      const Side behind = side(m, size());
      sides.squares += behind.squares;
      sides.products += behind.products;
      numbers = static_cast<double>(size());
      // The mean of a few numbers hardly reduces the correlation of all numbers.
      constexpr double few = 5;
      means += std::min(1.0, static_cast<double>(size() - m - 1) / few);
    }
    if (!(sides.squares > rounding())) return std::nullopt;
    // The estimate of a short series is too low: by 1 / n for each mean on average, and by another
    // 3 c / n (Marriott and Pope, Biometrika 1954). It is also raised by a tenth of a standard
    // error, because false alarms cost more than a little delay.
    constexpr double most = 0.9;
    constexpr double raised = 0.1;
    const double r = (numbers * sides.products / sides.squares + means) / (numbers - 3 * means);
    return std::clamp(r + raised * std::sqrt(std::max(0.0, 1 - r * r) / numbers), 0.0, most);
  }

  struct Side {
    double squares = 0;   // of distances from the mean
    double products = 0;  // of neighbours' distances from the mean
  };
  // Sums over the numbers [from, to).
  [[nodiscard]] Side side(std::size_t from, std::size_t to) const {
    const double n = static_cast<double>(to - from);
    const double sum = sum_[to] - sum_[from];
    const double mean = sum / n;
    return {.squares = squares_[to] - squares_[from] - n * mean * mean,
            .products = products_[to] - products_[from + 1] -
                        mean * (2 * sum - numbers_[from] - numbers_[to - 1]) +
                        (n - 1) * mean * mean};
  }

  std::vector<double> numbers_{};
  std::vector<double> sum_{0};
  std::vector<double> squares_{0};
  std::vector<double> products_{0};
};

// The evidence for a change at a place: the square of its distance, adjusted so that one limit fits
// all places. If many numbers follow the place, their mean changes slowly and is rarely extreme by
// chance, so a smaller distance is enough; small steps need many numbers. If few numbers precede
// the place, they say little about the correlation, so a larger distance is needed.
double score_of(double distance, std::size_t before, std::size_t behind) {
  constexpr double lower = 2.5;
  constexpr std::size_t many = 30;
  constexpr double higher = 60;
  return distance * distance + lower * std::log(static_cast<double>(std::min(behind, many))) -
         higher / static_cast<double>(before);
}

// In simulations, at most 5 % of series reach this limit in 1,000 numbers, with correlations of 0
// to 0.3. The tail of a normal distribution gives the limits of other levels.
double limit_of(double alpha) {
  constexpr double simulated = 27.8;
  constexpr double level = 0.05;
  return std::max(1.0, simulated + 2 * std::log(level / alpha));
}

// Scores changes in a part of the series, whose numbers are added one after the other.
class Numbers {
 public:
  Numbers(std::span<const double> part, std::size_t) : part_(part) {}
  // Distances from the first number keep their digits.
  void add() { sums_.add(part_[sums_.size()] - part_.front()); }
  [[nodiscard]] double score(std::size_t place) const {
    return score_of(sums_.distance(place), place, sums_.size() - place);
  }

 private:
  std::span<const double> part_;
  Sums sums_;
};

// The limit that speaks most against a change to more, or to less.
double limit_against(const Limits& number, bool is_before, bool more) {
  return is_before == more ? number.high : number.low;
}

// The same for numbers within limits. Each place needs sums of its own, because the same number is
// at its other limit if it lies on the other side of the place.
class Bounded {
 public:
  Bounded(std::span<const Limits> part, std::size_t start) : part_(part), start_(start) {}
  void add() {
    const Limits& next = part_[size_++];
    without_limit_ += next.has_both() ? 0 : 1;
    finite_lows_.push_back(finite_lows_.back() + (std::isfinite(next.low) ? 1 : 0));
    finite_highs_.push_back(finite_highs_.back() + (std::isfinite(next.high) ? 1 : 0));
  }
  [[nodiscard]] double score(std::size_t place) {
    return std::max(score(place, true), score(place, false));
  }

 private:
  double score(std::size_t place, bool more) {
    const std::span<const Limits> all = part_.first(size_);
    const std::size_t known = (more ? finite_highs_ : finite_lows_)[place];
    if (known < start_ || !std::isfinite(limit_against(all[place], false, more))) return 0;
    const double with_all = score_of_all(least_favourable(all, place, more), place, known, more);
    if (without_limit_ == 0 || without_limit_ > few_without_limit || !all[place].has_both())
      return with_all;
    std::vector<double> others;
    std::size_t before = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (!all[i].has_both()) continue;
      others.push_back(limit_against(all[i], i < place, more));
      before += i < place ? 1 : 0;
    }
    if (before < start_) return with_all;
    return std::max(with_all, score_of_all(others, before, before, more));
  }

  // `known` is the number of numbers before the place that have their limit.
  double score_of_all(std::span<const double> numbers, std::size_t place, std::size_t known,
                      bool more) {
    sums_.clear();
    for (const double x : numbers) sums_.add(x - numbers.front());
    const double distance = sums_.distance(place);
    return (distance > 0) == more ? score_of(distance, known, numbers.size() - place) : 0;
  }

  std::span<const Limits> part_;
  std::size_t start_;
  std::size_t size_ = 0;
  std::size_t without_limit_ = 0;
  std::vector<std::size_t> finite_lows_{0};  // among the first numbers
  std::vector<std::size_t> finite_highs_{0};
  Sums sums_;
};

template <class Part, class T>
std::vector<Alarm> watch_parts(std::span<const T> series, const WatchOptions& options) {
  const std::size_t start = std::max<std::size_t>(10, options.start);
  const double limit = limit_of(options.alpha);
  std::vector<Alarm> alarms;
  std::size_t begin = 0;
  while (begin < series.size()) {
    Part part(series.subspan(begin), start);
    std::size_t change = 0;
    for (std::size_t i = begin; i < series.size() && change == 0; ++i) {
      part.add();
      const std::size_t size = i + 1 - begin;
      double farthest = limit;
      // Far back, fewer places are compared, because neighbouring places say nearly the same.
      for (std::size_t behind = 1; behind + start <= size;
           behind += behind < 20 ? 1 : behind / 10) {
        const double score = part.score(size - behind);
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

}  // namespace

std::vector<Alarm> watch(std::span<const double> series, const WatchOptions& options) {
  return watch_parts<Numbers>(series, options);
}

std::vector<double> least_favourable(std::span<const Limits> series, std::size_t place, bool more) {
  constexpr double endless = std::numeric_limits<double>::infinity();
  std::vector<double> result(series.size());
  double smallest = endless;
  double largest = -endless;
  for (std::size_t i = 0; i < series.size(); ++i) {
    result[i] = limit_against(series[i], i < place, more);
    if (!std::isfinite(result[i])) continue;
    smallest = std::min(smallest, result[i]);
    largest = std::max(largest, result[i]);
  }
  if (smallest > largest) return {};
  for (std::size_t i = 0; i < series.size(); ++i) {
    if (std::isfinite(result[i])) continue;
    const bool is_largest = (i < place) == more;
    result[i] = is_largest ? std::max(series[i].low, largest) : std::min(series[i].high, smallest);
  }
  return result;
}

std::vector<Alarm> watch_limits(std::span<const Limits> series, const WatchOptions& options) {
  return watch_parts<Bounded>(series, options);
}

}  // namespace stab::stats
