// SPDX-License-Identifier: MIT
#include "stats/tests/randomization.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "base/random.h"
#include "stats/numbers/summary.h"
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

namespace {

constexpr std::size_t most_units = 2048;
constexpr std::size_t first_draws = 1'999;  // an interval of deals is made from these, too
constexpr std::size_t first_trimmed = 999;  // a draw sorts all numbers
constexpr std::size_t most_draws = 1'000'000;
constexpr std::size_t most_dealing_steps = 400'000'000;  // about a second
constexpr std::size_t most_counted = 14;                 // for signs: 16384 arrangements

// Counts, for each hypothesis, the arrangements that are as far off as the observed one.
struct Far {
  std::size_t differs = 0;
  std::size_t above = 0;  // of "the difference is at the upper margin": as far below it
  std::size_t below = 0;
};

// Wilson's interval at five standard errors (JASA 1927). It is wrong in fewer than 1 of 100,000
// tests, after all stages of drawing.
DrawnP drawn_p(std::size_t far, std::size_t draws) {
  constexpr double z = 5;
  const double n = static_cast<double>(draws);
  const double k = static_cast<double>(far);
  const double centre = (k + z * z / 2) / (n + z * z);
  const double half = z * std::sqrt(k * (n - k) / n + z * z / 4) / (n + z * z);
  return {.p = (k + 1) / (n + 1),
          .low = std::max(0.0, centre - half),
          .high = std::min(1.0, centre + half)};
}

DrawnP counted_p(std::size_t far, std::size_t all) {
  const double p = static_cast<double>(far) / static_cast<double>(all);
  return {.p = p, .low = p, .high = p};
}

// Returns whether more draws may matter: a limit lies between the bounds of p, or p lies between a
// family's limits and its bounds are so far apart that the high end says little about p.
bool is_in_doubt(const DrawnP& p, std::span<const double> limits) {
  if (limits.empty()) return false;
  constexpr double close = 1.2;
  const auto [least, most] = std::ranges::minmax(limits);
  const auto has = [&](double limit) { return p.low <= limit && limit <= p.high; };
  return has(least) || has(most) || (p.low > least && p.high < most && p.high > close * p.p);
}

void set_p(const Far& far, const RandomizationOptions& options, RandomizationTest& test) {
  const auto p = [&](std::size_t n) {
    return test.all ? counted_p(n, test.draws) : drawn_p(n, test.draws);
  };
  test.differs = p(far.differs);
  if (options.margin) test.same = p(std::max(far.above, far.below));
  test.settled = test.all || (!is_in_doubt(test.differs, options.limits) &&
                              !(test.same && is_in_doubt(*test.same, options.limits)));
}

// Draws until no limit is in doubt. `draw(far)` counts one arrangement.
template <class Draw>
void draw_all(const RandomizationOptions& options, std::size_t first, std::size_t most, Draw draw,
              RandomizationTest& test) {
  Far far;
  for (std::size_t target = first;; target = std::min(most, 4 * target)) {
    for (; test.draws < target; ++test.draws) draw(far);
    set_p(far, options, test);
    if (test.settled || target == most) return;
  }
}

// The 1 - alpha interval between typical values, or nothing if there are too few for such
// quantiles.
std::optional<Interval> between(std::vector<double>& typical, double alpha) {
  const auto k = static_cast<std::size_t>(alpha / 2 * static_cast<double>(typical.size() + 1));
  if (k == 0) return std::nullopt;
  const auto at = [&](std::size_t i) {
    const auto place = typical.begin() + static_cast<std::ptrdiff_t>(i);
    std::ranges::nth_element(typical, place);
    return *place;
  };
  const double low = at(k - 1);
  return Interval{.low = low, .high = at(typical.size() - k)};
}

// The sum of signed numbers, and how many of them kept their sign minus how many did not.
struct Signed {
  double sum = 0;
  double count = 0;
  Signed& operator+=(const Signed& other) {
    sum += other.sum;
    count += other.count;
    return *this;
  }
};

// Sums numbers by bytes of signs, so an arrangement takes one look-up for eight numbers.
class SignSums {
 public:
  explicit SignSums(std::span<const Signed> units) : bytes_((units.size() + 7) / 8) {
    table_.resize(bytes_ * 256);
    for (std::size_t byte = 0; byte < bytes_; ++byte)
      for (std::size_t signs = 0; signs < 256; ++signs)
        for (std::size_t bit = 0; bit < 8 && 8 * byte + bit < units.size(); ++bit) {
          const Signed& unit = units[8 * byte + bit];
          const double sign = (signs >> bit & 1) != 0 ? -1 : 1;
          table_[byte * 256 + signs] += {sign * unit.sum, sign * unit.count};
        }
  }

  // `next()` returns the signs of the next 64 numbers; a set bit changes a sign.
  template <class Next>
  Signed of(Next next) const {
    Signed total;
    std::uint64_t signs = 0;
    for (std::size_t byte = 0; byte < bytes_; ++byte, signs >>= 8) {
      if (byte % 8 == 0) signs = next();
      total += table_[byte * 256 + (signs & 255)];
    }
    return total;
  }

 private:
  std::size_t bytes_;
  std::vector<Signed> table_;
};

// Joins neighbours so that there are at most most_units units. Most units are single numbers.
std::vector<Signed> units_of(std::span<const double> numbers) {
  const std::size_t n = numbers.size();
  const std::size_t units = std::min(n, most_units);
  std::vector<Signed> result(units);
  for (std::size_t i = 0; i < n; ++i) result[i * units / n] += {numbers[i], 1};
  return result;
}

// The trimmed mean of the numbers minus `shift`, each with its sign, divided by the error.
class TrimmedStatistic {
 public:
  TrimmedStatistic(std::vector<double> numbers, double share)
      : numbers_(std::move(numbers)),
        cut_(static_cast<std::size_t>(share * static_cast<double>(numbers_.size()))) {}

  [[nodiscard]] double of(const std::vector<double>& signs, double shift) {
    values_.resize(numbers_.size());
    for (std::size_t i = 0; i < numbers_.size(); ++i) values_[i] = signs[i] * (numbers_[i] - shift);
    const auto low = values_.begin() + static_cast<std::ptrdiff_t>(cut_);
    const auto high = values_.end() - 1 - static_cast<std::ptrdiff_t>(cut_);
    std::ranges::nth_element(values_, low);
    std::ranges::nth_element(low, high, values_.end());
    const Moments kept = moments(std::span(low, high + 1));
    const double n = static_cast<double>(numbers_.size());
    const double c = static_cast<double>(cut_);
    const double mean = (kept.mean * (n - 2 * c) + c * (*low + *high)) / n;
    const double ss = kept.ss + (n - 2 * c) * (kept.mean - mean) * (kept.mean - mean) +
                      c * ((*low - mean) * (*low - mean) + (*high - mean) * (*high - mean));
    if (ss > 0) return kept.mean / std::sqrt(ss);
    return kept.mean == 0 ? 0 : std::copysign(std::numeric_limits<double>::infinity(), kept.mean);
  }

 private:
  std::vector<double> numbers_;
  std::size_t cut_;
  std::vector<double> values_{};
};

// Close numbers count as equal, because rounding depends on the order of sums.
bool is_as_far(double value, double observed, double scale) {
  return value >= observed - 1e-12 * scale || (std::isinf(observed) && value == observed);
}

void test_trimmed(const std::vector<Signed>& units, const RandomizationOptions& options,
                  RandomizationTest& test) {
  std::vector<double> numbers;
  for (const Signed& unit : units) numbers.push_back(unit.sum / unit.count);
  TrimmedStatistic statistic(std::move(numbers), options.share);
  std::vector<double> signs(units.size(), 1.0);
  const double observed = statistic.of(signs, 0);
  const Interval margin = options.margin.value_or(Interval{});
  const double at_high = options.margin ? statistic.of(signs, margin.high) : 0;
  const double at_low = options.margin ? statistic.of(signs, margin.low) : 0;
  const auto count = [&](Far& far) {
    far.differs += is_as_far(std::abs(statistic.of(signs, 0)), std::abs(observed), 1) ? 1 : 0;
    if (!options.margin) return;
    far.above += is_as_far(-statistic.of(signs, margin.high), -at_high, 1) ? 1 : 0;
    far.below += is_as_far(statistic.of(signs, margin.low), at_low, 1) ? 1 : 0;
  };
  if (test.all) {
    Far far;
    for (std::uint64_t mask = 0; mask < test.draws; ++mask) {
      for (std::size_t i = 0; i < signs.size(); ++i) signs[i] = (mask >> i & 1) != 0 ? -1 : 1;
      count(far);
    }
    set_p(far, options, test);
    return;
  }
  Random random(options.seed);
  draw_all(
      options, first_trimmed,
      std::max<std::size_t>(first_draws, most_dealing_steps / 400 / units.size()),
      [&](Far& far) {
        std::uint64_t bits = 0;
        for (std::size_t i = 0; i < signs.size(); ++i, bits >>= 1) {
          if (i % 64 == 0) bits = random.next();
          signs[i] = (bits & 1) != 0 ? -1 : 1;
        }
        count(far);
      },
      test);
}

void test_means(const std::vector<Signed>& units, const RandomizationOptions& options,
                RandomizationTest& test) {
  const SignSums sums(units);
  const Signed observed = sums.of([] { return std::uint64_t{0}; });
  const Interval margin = options.margin.value_or(Interval{});
  double scale = 0;
  for (const Signed& unit : units)
    scale += std::abs(unit.sum) + unit.count * (std::abs(margin.low) + std::abs(margin.high));
  std::vector<double> typical;
  const auto count = [&](const Signed& one, Far& far) {
    far.differs += is_as_far(std::abs(one.sum), std::abs(observed.sum), scale) ? 1 : 0;
    const auto shifted = [](const Signed& each, double by) { return each.sum - by * each.count; };
    far.above +=
        is_as_far(-shifted(one, margin.high), -shifted(observed, margin.high), scale) ? 1 : 0;
    far.below += is_as_far(shifted(one, margin.low), shifted(observed, margin.low), scale) ? 1 : 0;
    if (typical.size() < std::max(first_draws, std::size_t{1} << most_counted) &&
        one.count != observed.count)
      typical.push_back((observed.sum - one.sum) / (observed.count - one.count));
  };
  if (test.all) {
    Far far;
    for (std::uint64_t mask = 0; mask < test.draws; ++mask)
      count(sums.of([&] { return mask; }), far);
    set_p(far, options, test);
  } else {
    Random random(options.seed);
    const std::size_t last = units.size() % 64;
    const std::uint64_t used = last == 0 ? ~std::uint64_t{0} : (std::uint64_t{1} << last) - 1;
    std::size_t words = 0;
    draw_all(
        options, first_draws, most_draws,
        [&](Far& far) {
          words = (units.size() + 63) / 64;
          count(sums.of([&] { return random.next() & (--words == 0 ? used : ~std::uint64_t{0}); }),
                far);
        },
        test);
  }
  test.interval = between(typical, options.alpha);
}

}  // namespace

std::optional<RandomizationTest> test_signs(std::span<const double> differences,
                                            const RandomizationOptions& options) {
  if (differences.size() < 2) return std::nullopt;
  const std::vector<Signed> units = units_of(differences);
  RandomizationTest test{.units = units.size()};
  test.least = std::exp2(1 - static_cast<double>(units.size()));
  test.all = units.size() <= most_counted;
  if (test.all) test.draws = std::size_t{1} << units.size();
  if (options.share > 0)
    test_trimmed(units, options, test);
  else
    test_means(units, options, test);
  return test;
}

namespace {

// The sums from which a side of a stratum gets its mean and variance if the level's numbers are
// shifted by any amount. A mark is set on the level's numbers; `xx` is the sum of squares, and
// `marked` is the sum of the numbers with a mark.
struct SideSums {
  double n = 0;
  double x = 0;
  double xx = 0;
  double marks = 0;
  double marked = 0;

  void add(double number, bool mark) {
    ++n;
    x += number;
    xx += number * number;
    marks += mark ? 1 : 0;
    marked += mark ? number : 0;
  }
  [[nodiscard]] SideSums less(const SideSums& other) const {
    return {n - other.n, x - other.x, xx - other.xx, marks - other.marks, marked - other.marked};
  }
  [[nodiscard]] double mean(double shift) const { return (x - shift * marks) / n; }
  [[nodiscard]] double error(double shift) const {
    const double squares = xx - 2 * shift * marked + shift * shift * marks;
    const double m = mean(shift);
    return std::max(0.0, squares - n * m * m) / (n - 1) / n;
  }
};

struct DealtStratum {
  std::vector<std::pair<double, bool>> numbers{};  // each with whether it was the level's
  std::size_t levels = 0;
  SideSums all{};
};

using Dealt = std::vector<SideSums>;  // the level's side, by stratum

double dealt_statistic(const std::vector<DealtStratum>& strata, const Dealt& dealt, double shift,
                       double noise) {
  double difference = 0;
  double variance = 0;
  for (std::size_t i = 0; i < strata.size(); ++i) {
    const SideSums base = strata[i].all.less(dealt[i]);
    difference += dealt[i].mean(shift) - base.mean(shift);
    variance += dealt[i].error(shift) + base.error(shift);
  }
  return difference / std::sqrt(variance + noise);
}

Dealt deal_again(std::vector<DealtStratum>& strata, Random& random) {
  Dealt dealt;
  for (DealtStratum& stratum : strata) {
    auto& numbers = stratum.numbers;
    const std::size_t few = std::min(stratum.levels, numbers.size() - stratum.levels);
    SideSums side;
    for (std::size_t i = 0; i < few; ++i) {
      std::swap(numbers[i], numbers[i + random.below(numbers.size() - i)]);
      side.add(numbers[i].first, numbers[i].second);
    }
    dealt.push_back(few == stratum.levels ? side : stratum.all.less(side));
  }
  return dealt;
}

std::vector<double> batch_means(std::span<const double> numbers, std::size_t size) {
  std::vector<double> result;
  for (std::size_t begin = 0; begin + size <= numbers.size(); begin += size)
    result.push_back(moments(numbers.subspan(begin, size)).mean);
  return result;
}

// Returns the shift at which the two-sided p falls to alpha, on one side of the estimate.
std::optional<double> end_of(const std::vector<DealtStratum>& strata,
                             const std::vector<Dealt>& draws, const Dealt& observed,
                             double estimate, double error, double direction, double alpha,
                             double noise) {
  const auto is_possible = [&](double shift) {
    const double own = std::abs(dealt_statistic(strata, observed, shift, noise));
    const auto far = std::ranges::count_if(draws, [&](const Dealt& dealt) {
      return std::abs(dealt_statistic(strata, dealt, shift, noise)) >= own * (1 - 1e-12);
    });
    return static_cast<double>(far + 1) > alpha * static_cast<double>(draws.size() + 1);
  };
  double inside = estimate;
  double outside = estimate + direction * 4 * error;
  for (int i = 0; is_possible(outside); ++i, outside = estimate + 2 * (outside - estimate))
    if (i == 6) return std::nullopt;
  for (int i = 0; i < 24; ++i) {
    const double middle = (inside + outside) / 2;
    (is_possible(middle) ? inside : outside) = middle;
  }
  return inside;
}

double log_choose(double n, double k) {
  return std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1);
}

}  // namespace

std::optional<RandomizationTest> test_deals(std::span<const Stratum> strata,
                                            const RandomizationOptions& options) {
  std::size_t total = 0;
  for (const Stratum& stratum : strata) total += stratum.base.size() + stratum.level.size();
  const std::size_t batch = (total + most_units - 1) / most_units;
  std::vector<DealtStratum> all;
  Dealt observed;
  RandomizationTest test;
  double arrangements = 0;
  double scale = 0;
  double centre = 0;
  for (const Stratum& stratum : strata) {
    const std::vector<double> base = batch_means(stratum.base, batch);
    const std::vector<double> level = batch_means(stratum.level, batch);
    if (base.size() < 2 || level.size() < 2) return std::nullopt;
    // One number is subtracted from both sides, so that squares keep their digits.
    centre = moments(base).mean;
    DealtStratum dealt{.levels = level.size()};
    SideSums side;
    for (const double x : level) {
      dealt.numbers.emplace_back(x - centre, true);
      side.add(x - centre, true);
    }
    for (const double x : base) dealt.numbers.emplace_back(x - centre, false);
    for (const auto& [x, mark] : dealt.numbers) dealt.all.add(x, mark);
    scale = std::max(scale, dealt.all.xx);
    const auto n = static_cast<double>(dealt.numbers.size());
    arrangements += log_choose(n, static_cast<double>(level.size()));
    test.units += dealt.numbers.size();
    observed.push_back(side);
    all.push_back(std::move(dealt));
  }
  if (all.empty() || !(scale > 0)) return std::nullopt;
  test.least = std::min(1.0, 2 * std::exp(-arrangements));
  const double noise = 1e-24 * scale;
  const std::vector<DealtStratum> original = all;
  const Interval margin = options.margin.value_or(Interval{});
  const auto statistic = [&](const Dealt& dealt, double shift) {
    return dealt_statistic(original, dealt, shift, noise);
  };
  const double own = std::abs(statistic(observed, 0));
  const double own_high = statistic(observed, margin.high);
  const double own_low = statistic(observed, margin.low);
  Random random(options.seed);
  std::vector<Dealt> draws;
  draw_all(
      options, first_draws,
      std::max<std::size_t>(first_draws,
                            std::min(most_draws, most_dealing_steps / 10 / test.units)),
      [&](Far& far) {
        Dealt dealt = deal_again(all, random);
        far.differs += is_as_far(std::abs(statistic(dealt, 0)), own, own) ? 1 : 0;
        if (options.margin) {
          far.above +=
              is_as_far(-statistic(dealt, margin.high), -own_high, std::abs(own_high)) ? 1 : 0;
          far.below += is_as_far(statistic(dealt, margin.low), own_low, std::abs(own_low)) ? 1 : 0;
        }
        if (draws.size() < first_draws) draws.push_back(std::move(dealt));
      },
      test);
  double estimate = 0;
  double error = 0;
  for (std::size_t i = 0; i < original.size(); ++i) {
    const SideSums base = original[i].all.less(observed[i]);
    estimate += (observed[i].mean(0) - base.mean(0));
    error += observed[i].error(0) + base.error(0);
  }
  const auto strata_count = static_cast<double>(original.size());
  estimate /= strata_count;
  error = std::sqrt(error) / strata_count;
  if (!(error > 0)) return test;
  const auto low = end_of(original, draws, observed, estimate, error, -1, options.alpha, noise);
  const auto high = end_of(original, draws, observed, estimate, error, 1, options.alpha, noise);
  if (low && high) test.interval = Interval{.low = *low, .high = *high};
  return test;
}

}  // namespace stab::stats
