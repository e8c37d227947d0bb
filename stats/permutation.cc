// SPDX-License-Identifier: MIT
#include "stats/permutation.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <vector>

#include "base/random.h"
#include "stats/sample.h"

namespace stab::stats {
namespace {

// n choose k, if it is at most `most`.
std::optional<std::size_t> choose(std::size_t n, std::size_t k, std::size_t most) {
  k = std::min(k, n - k);
  double result = 1;
  for (std::size_t i = 1; i <= k; ++i) {
    result *= static_cast<double>(n - k + i) / static_cast<double>(i);
    if (result > static_cast<double>(most) + 0.5) return std::nullopt;
  }
  return static_cast<std::size_t>(std::llround(result));
}

// Sums of k of the centred numbers; as far from 0 as the observed one, or farther.
class Counter {
 public:
  Counter(std::vector<double> centred, std::size_t k) : x_(std::move(centred)), k_(k) {
    double size = 0;
    for (const double x : x_) size += std::abs(x);
    limit_ = std::abs(std::accumulate(x_.begin(), x_.begin() + offset(k), 0.0)) - 1e-12 * size;
  }

  [[nodiscard]] std::size_t all() const { return deal(0, k_, 0); }

  [[nodiscard]] std::size_t drawn(std::size_t times, std::uint64_t seed) {
    Random random(seed);
    std::size_t far = 0;
    for (std::size_t t = 0; t < times; ++t) {
      double sum = 0;
      for (std::size_t i = 0; i < k_; ++i) {
        std::swap(x_[i], x_[i + random.below(x_.size() - i)]);
        sum += x_[i];
      }
      if (std::abs(sum) >= limit_) ++far;
    }
    return far;
  }

 private:
  static std::ptrdiff_t offset(std::size_t i) { return static_cast<std::ptrdiff_t>(i); }

  // Choices of `left` numbers from x[first] on, added to `sum`.
  [[nodiscard]] std::size_t deal(std::size_t first, std::size_t left, double sum) const {
    if (left == 0) return std::abs(sum) >= limit_ ? 1 : 0;
    std::size_t far = 0;
    for (std::size_t i = first; i + left <= x_.size(); ++i)
      far += deal(i + 1, left - 1, sum + x_[i]);
    return far;
  }

  std::vector<double> x_;
  std::size_t k_;
  double limit_ = 0;
};

}  // namespace

Result<PermutationTest> permutation_test(std::span<const double> a, std::span<const double> b,
                                         const PermutationOptions& options) {
  for (const auto& sample : {a, b})
    if (const auto usable = require_sample(sample, 1, "a permutation test"); !usable)
      return std::unexpected(usable.error());
  Moments all = moments(a);
  all.merge(moments(b));
  if (!varies(all)) return fail("numbers that are all equal have no permutation test");
  // The smaller sample is the one that is dealt: its sum tells the difference.
  const auto& [few, many] = a.size() <= b.size() ? std::pair(a, b) : std::pair(b, a);
  std::vector<double> centred(few.begin(), few.end());
  centred.insert(centred.end(), many.begin(), many.end());
  for (double& x : centred) x -= all.mean;
  Counter counter(std::move(centred), few.size());
  PermutationTest test{.difference = moments(b).mean - moments(a).mean};
  if (const auto arrangements = choose(all.n, few.size(), options.most_exact)) {
    test.exact = true;
    test.arrangements = *arrangements;
    test.p = static_cast<double>(counter.all()) / static_cast<double>(*arrangements);
    return test;
  }
  if (options.drawn == 0) return fail("a permutation test needs one arrangement or more");
  test.arrangements = options.drawn;
  test.p = (static_cast<double>(counter.drawn(options.drawn, options.seed)) + 1) /
           (static_cast<double>(options.drawn) + 1);
  return test;
}

}  // namespace stab::stats
