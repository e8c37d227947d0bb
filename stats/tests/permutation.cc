// SPDX-License-Identifier: MIT
#include "stats/tests/permutation.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "base/random.h"
#include "stats/numbers/order.h"
#include "stats/tests/sample.h"

namespace stab::stats {
namespace {

// The numbers of a stratum, scaled so that the sum of the smaller side is the stratum's part of the
// statistic. An arrangement chooses `dealt` of the numbers as that side.
struct Deck {
  std::vector<double> scores{};
  std::size_t dealt = 0;
};

// Makes a stratum's deck from its numbers, the level's first. They are centred and multiplied by
// `factor`.
Deck deck_of(std::vector<double> scores, std::size_t levels, double factor) {
  const double centre = moments(scores).mean;
  const std::size_t bases = scores.size() - levels;
  if (bases < levels) {  // the sums of the two sides differ only in sign
    std::ranges::reverse(scores);
    factor = -factor;
  }
  for (double& score : scores) score = (score - centre) * factor;
  return {.scores = std::move(scores), .dealt = std::min(levels, bases)};
}

std::vector<double> joined(const Stratum& stratum) {
  std::vector<double> all = stratum.level;
  all.insert(all.end(), stratum.base.begin(), stratum.base.end());
  return all;
}

// n choose k, or nothing if it exceeds `most`.
std::optional<std::size_t> choose(std::size_t n, std::size_t k, std::size_t most) {
  double result = 1;
  for (std::size_t i = 1; i <= k; ++i) {
    result *= static_cast<double>(n - k + i) / static_cast<double>(i);
    if (result > static_cast<double>(most) + 0.5) return std::nullopt;
  }
  return static_cast<std::size_t>(std::llround(result));
}

std::optional<std::size_t> arrangements_of(const std::vector<Deck>& decks, std::size_t most) {
  std::size_t product = 1;
  for (const Deck& deck : decks) {
    const auto own = choose(deck.scores.size(), deck.dealt, most / product);
    if (!own) return std::nullopt;
    product *= *own;
  }
  return product;
}

// Counts the arrangements whose statistic is at least as far from 0 as the observed one.
class Counter {
 public:
  explicit Counter(std::vector<Deck> decks) : decks_(std::move(decks)) {
    double size = 0;
    for (const Deck& deck : decks_)
      for (std::size_t i = 0; i < deck.scores.size(); ++i) {
        size += std::abs(deck.scores[i]);
        if (i < deck.dealt) observed_ += deck.scores[i];
      }
    limit_ = std::abs(observed_) - 1e-12 * size;
  }

  [[nodiscard]] double observed() const { return observed_; }
  [[nodiscard]] std::size_t all() const { return deal(0, 0, decks_.front().dealt, 0); }

  [[nodiscard]] std::size_t drawn(std::size_t times, std::uint64_t seed) {
    Random random(seed);
    std::size_t far = 0;
    for (std::size_t t = 0; t < times; ++t) {
      double sum = 0;
      for (Deck& deck : decks_) sum += shuffled(deck, random);
      if (std::abs(sum) >= limit_) ++far;
    }
    return far;
  }

 private:
  static double shuffled(Deck& deck, Random& random) {
    double sum = 0;
    for (std::size_t i = 0; i < deck.dealt; ++i) {
      std::swap(deck.scores[i], deck.scores[i + random.below(deck.scores.size() - i)]);
      sum += deck.scores[i];
    }
    return sum;
  }

  // Counts the arrangements that are as far off: it chooses `left` numbers from this deck, starting
  // at `first`, and then the numbers of later decks, and adds them all to `sum`.
  [[nodiscard]] std::size_t deal(std::size_t deck, std::size_t first, std::size_t left,
                                 double sum) const {
    if (left == 0) {
      if (deck + 1 == decks_.size()) return std::abs(sum) >= limit_ ? 1 : 0;
      return deal(deck + 1, 0, decks_[deck + 1].dealt, sum);
    }
    const std::vector<double>& scores = decks_[deck].scores;
    std::size_t far = 0;
    for (std::size_t i = first; i + left <= scores.size(); ++i)
      far += deal(deck, i + 1, left - 1, sum + scores[i]);
    return far;
  }

  std::vector<Deck> decks_;
  double observed_ = 0;
  double limit_ = 0;
};

Result<PermutationTest> test_of(std::vector<Deck> decks, const PermutationOptions& options) {
  const auto arrangements =
      arrangements_of(decks, std::max(options.most_exact, fewest_arrangements));
  if (arrangements && *arrangements < fewest_arrangements)
    return fail("there are too few arrangements of the values for a permutation test");
  Counter counter(std::move(decks));
  PermutationTest test{.statistic = counter.observed()};
  if (arrangements && *arrangements <= options.most_exact) {
    test.exact = true;
    test.arrangements = *arrangements;
    test.p = static_cast<double>(counter.all()) / static_cast<double>(*arrangements);
    return test;
  }
  if (options.drawn == 0) return fail("a permutation test needs at least one arrangement");
  test.arrangements = options.drawn;
  test.p = (static_cast<double>(counter.drawn(options.drawn, options.seed)) + 1) /
           (static_cast<double>(options.drawn) + 1);
  return test;
}

Result<void> require_strata(std::span<const Stratum> strata) {
  bool any_varies = false;
  for (const Stratum& stratum : strata) {
    for (const std::vector<double>* side : {&stratum.base, &stratum.level})
      if (auto usable = require_sample(*side, 1, "a permutation test"); !usable) return usable;
    any_varies = any_varies || varies(moments(joined(stratum)));
  }
  if (!any_varies) return fail("a permutation test needs values that are not all equal");
  return {};
}

}  // namespace

Result<PermutationTest> permutation_test(std::span<const Stratum> strata,
                                         const PermutationOptions& options) {
  if (const auto usable = require_strata(strata); !usable) return std::unexpected(usable.error());
  std::vector<Deck> decks;
  for (const Stratum& stratum : strata) {
    const double levels = static_cast<double>(stratum.level.size());
    const double bases = static_cast<double>(stratum.base.size());
    const double factor = (1 / levels + 1 / bases) / static_cast<double>(strata.size());
    decks.push_back(deck_of(joined(stratum), stratum.level.size(), factor));
  }
  return test_of(std::move(decks), options);
}

Result<PermutationTest> stratified_rank_sum(std::span<const Stratum> strata,
                                            const PermutationOptions& options) {
  if (const auto usable = require_strata(strata); !usable) return std::unexpected(usable.error());
  std::vector<Deck> decks;
  for (const Stratum& stratum : strata) {
    std::vector<double> places = ranks(joined(stratum)).ranks;
    const double factor = 1 / (static_cast<double>(places.size()) + 1);
    decks.push_back(deck_of(std::move(places), stratum.level.size(), factor));
  }
  return test_of(std::move(decks), options);
}

}  // namespace stab::stats
