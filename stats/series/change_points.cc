// SPDX-License-Identifier: MIT
#include "stats/series/change_points.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>

#include "base/random.h"

namespace stab::stats {
namespace {

struct Part {
  std::size_t from = 0;
  std::size_t to = 0;  // index behind the last number
};

struct Cut {
  std::size_t at = 0;
  double statistic = -1;
};

// Sums of the distances from one number to all numbers before another, so each cut takes a few
// additions.
class Distances {
 public:
  explicit Distances(std::size_t longest) : row_(longest + 1), sums_(longest * (longest + 1)) {}

  void set(std::span<const double> numbers) {
    row_ = numbers.size() + 1;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      double* const sums = &sums_[i * row_];
      sums[0] = 0;
      for (std::size_t j = 0; j < numbers.size(); ++j)
        sums[j + 1] = sums[j] + std::abs(numbers[i] - numbers[j]);
    }
  }
  // The sum of the distances from number `i` to the numbers in [from, to).
  [[nodiscard]] double sum(std::size_t i, std::size_t from, std::size_t to) const {
    return sums_[i * row_ + to] - sums_[i * row_ + from];
  }

 private:
  std::size_t row_;
  std::vector<double> sums_;
};

double mean_of_pairs(double sum, std::size_t n) {
  return 2 * sum / (static_cast<double>(n) * static_cast<double>(n - 1));
}

double energy(double between, double left, double right, std::size_t m, std::size_t n) {
  const double mn = static_cast<double>(m) * static_cast<double>(n);
  return mn / static_cast<double>(m + n) *
         (2 * between / mn - mean_of_pairs(left, m) - mean_of_pairs(right, n));
}

// Returns the best cut of the numbers [0, count).
Cut best_cut(const Distances& distances, std::size_t count, std::size_t shortest) {
  Cut best;
  double left = 0;  // sum over all pairs in [0, at)
  for (std::size_t at = 1; at + shortest <= count; ++at) {
    left += distances.sum(at - 1, 0, at - 1);
    if (at < shortest) continue;
    double between = 0;
    double right = 0;
    for (std::size_t end = at + 1; end <= count; ++end) {
      between += distances.sum(end - 1, 0, at);
      right += distances.sum(end - 1, at, end - 1);
      if (end - at < shortest) continue;
      const double statistic = energy(between, left, right, at, end - at);
      if (statistic > best.statistic) best = {.at = at, .statistic = statistic};
    }
  }
  return best;
}

class Divider {
 public:
  Divider(std::span<const double> series, const ChangePointOptions& options)
      : series_(series),
        options_(options),
        shortest_(std::max<std::size_t>(2, options.shortest)),
        distances_(series.size()),
        random_(derive(options.seed, "change_points")) {}

  ChangePoints divide() {
    ChangePoints result;
    parts_.push_back({.from = 0, .to = series_.size()});
    while (true) {
      const Cut cut = best_of(series_);
      if (cut.statistic < 0) break;
      const double p = p_of(cut.statistic);
      if (p > options_.alpha) {
        result.p_of_next = p;
        break;
      }
      result.found.push_back({.at = cut.at, .statistic = cut.statistic, .p = p});
      cut_at(cut.at);
    }
    std::ranges::sort(result.found, {}, &ChangePoint::at);
    return result;
  }

 private:
  Cut best_of(std::span<const double> numbers) {
    Cut best;
    for (const Part& part : parts_) {
      if (part.to - part.from < 2 * shortest_) continue;
      distances_.set(numbers.subspan(part.from, part.to - part.from));
      const Cut cut = best_cut(distances_, part.to - part.from, shortest_);
      if (cut.statistic > best.statistic)
        best = {.at = part.from + cut.at, .statistic = cut.statistic};
    }
    return best;
  }

  // Numbers change places within their parts only. Stops as soon as p will be above alpha whatever
  // the other permutations give; p is then based on the permutations that were drawn.
  double p_of(double statistic) {
    std::vector<double> numbers(series_.begin(), series_.end());
    // Sums in another order may differ in their last digits.
    const double threshold = statistic * (1 - 1e-9);
    const auto share = [](std::size_t some, std::size_t drawn) {
      return static_cast<double>(some) / static_cast<double>(drawn + 1);
    };
    std::size_t as_large = 1;
    std::size_t drawn = 0;
    while (drawn < options_.permutations &&
           share(as_large, options_.permutations) <= options_.alpha) {
      for (const Part& part : parts_)
        random_.shuffle(std::span(numbers).subspan(part.from, part.to - part.from));
      ++drawn;
      if (best_of(numbers).statistic >= threshold) ++as_large;
    }
    return share(as_large, drawn);
  }

  void cut_at(std::size_t at) {
    const auto inside = [at](const Part& part) { return part.from < at && at < part.to; };
    const auto part = std::ranges::find_if(parts_, inside);
    assert(part != parts_.end());
    const std::size_t to = part->to;
    part->to = at;
    parts_.push_back({.from = at, .to = to});
  }

  std::span<const double> series_;
  ChangePointOptions options_;
  std::size_t shortest_;
  Distances distances_;
  Random random_;
  std::vector<Part> parts_;
};

}  // namespace

double least_p(std::size_t numbers) {
  if (numbers < 4) return 1;
  const std::array<std::size_t, 3> groups{std::max<std::size_t>(2, (numbers + 2) / 3),
                                          std::max<std::size_t>(2, (numbers + 1) / 3),
                                          numbers >= 6 ? numbers / 3 : numbers - 4};
  double arrangements = 1;
  std::size_t placed = 0;
  for (const std::size_t group : groups)
    for (std::size_t i = 1; i <= group; ++i)
      arrangements *= static_cast<double>(++placed) / static_cast<double>(i);
  return 2 / arrangements;
}

ChangePoints change_points(std::span<const double> series, const ChangePointOptions& options) {
  assert(series.size() < 65'536);
  assert(std::ranges::all_of(series, [](double each) { return std::isfinite(each); }));
  return Divider(series, options).divide();
}

}  // namespace stab::stats
