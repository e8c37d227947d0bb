// SPDX-License-Identifier: MIT
#include "tests/randomness/nist.h"

#include <algorithm>
#include <array>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/special_functions/gamma.hpp>
#include <cmath>
#include <complex>
#include <numbers>
#include <numeric>
#include <span>

namespace stab::randomness {
namespace {

using std::numbers::pi;

double to_double(std::size_t n) {
  return static_cast<double>(n);
}

std::size_t ones(std::span<const std::uint8_t> bits) {
  return static_cast<std::size_t>(std::ranges::count(bits, 1));
}

double chi_squared_p(double chi2, double degrees) {
  return boost::math::gamma_q(degrees / 2, chi2 / 2);
}

double chi_squared(std::span<const std::size_t> counts, std::span<const double> shares) {
  const double n = to_double(std::accumulate(counts.begin(), counts.end(), std::size_t{0}));
  double chi2 = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const double expected = n * shares[i];
    chi2 += (to_double(counts[i]) - expected) * (to_double(counts[i]) - expected) / expected;
  }
  return chi2;
}

std::size_t longest_run_in(std::span<const std::uint8_t> bits) {
  std::size_t longest = 0;
  std::size_t now = 0;
  for (const std::uint8_t bit : bits) {
    now = bit == 1 ? now + 1 : 0;
    longest = std::max(longest, now);
  }
  return longest;
}

// Table 2.4.4 of the standard: the classes are runs up to `first`, each longer one, and all from
// the last on.
struct RunClasses {
  std::size_t block;
  std::size_t first;
  std::vector<double> shares;
};

RunClasses run_classes(std::size_t n) {
  if (n < 6272) return {8, 1, {0.2148, 0.3672, 0.2305, 0.1875}};
  if (n < 750000) return {128, 4, {0.1174, 0.2430, 0.2493, 0.1752, 0.1027, 0.1124}};
  return {10000, 10, {0.0882, 0.2092, 0.2483, 0.1933, 0.1208, 0.0675, 0.0727}};
}

using Rows = std::vector<std::uint64_t>;

// Of a square matrix over the field of two elements, a row a word.
std::size_t rank_of(Rows rows) {
  std::size_t rank = 0;
  for (std::size_t column = 0; column < rows.size(); ++column) {
    const auto pivot = std::find_if(rows.begin() + static_cast<std::ptrdiff_t>(rank), rows.end(),
                                    [&](std::uint64_t row) { return (row >> column & 1) != 0; });
    if (pivot == rows.end()) continue;
    std::swap(*pivot, rows[rank]);
    for (std::size_t r = 0; r < rows.size(); ++r)
      if (r != rank && (rows[r] >> column & 1) != 0) rows[r] ^= rows[rank];
    ++rank;
  }
  return rank;
}

// The share of random m x m matrices of rank r.
double rank_share(double m, double r) {
  double share = std::exp2(r * (2 * m - r) - m * m);
  for (double i = 0; i < r; ++i)
    share *= std::pow(1 - std::exp2(i - m), 2) / (1 - std::exp2(i - r));
  return share;
}

using Complex = std::complex<double>;

// Cooley and Tukey's way for any length, quick if its factors are small.
class Transform {
 public:
  explicit Transform(std::size_t length) {
    for (std::size_t i = 0; i < length; ++i)
      roots_.push_back(std::polar(1.0, -2 * pi * to_double(i) / to_double(length)));
  }

  // Of every `step`-th of the values.
  [[nodiscard]] std::vector<Complex> of(const Complex* values, std::size_t step = 1) const {
    const std::size_t n = roots_.size() / step;
    if (n == 1) return {*values};
    std::size_t factor = 2;
    while (n % factor != 0) ++factor;
    const std::size_t part = n / factor;
    std::vector<Complex> result(n);
    for (std::size_t i = 0; i < factor; ++i) {
      const std::vector<Complex> piece = of(values + i * step, step * factor);
      for (std::size_t k = 0; k < n; ++k) result[k] += piece[k % part] * roots_[i * k % n * step];
    }
    return result;
  }

 private:
  std::vector<Complex> roots_;
};

double normal(double x) {
  return boost::math::cdf(boost::math::normal(), x);
}

}  // namespace

double frequency(const Bits& bits) {
  const double n = to_double(bits.size());
  return std::erfc(std::abs(2 * to_double(ones(bits)) - n) / std::sqrt(2 * n));
}

double block_frequency(const Bits& bits, std::size_t block) {
  const std::size_t blocks = bits.size() / block;
  double chi2 = 0;
  for (std::size_t i = 0; i < blocks; ++i) {
    const double share =
        to_double(ones(std::span(bits).subspan(i * block, block))) / to_double(block);
    chi2 += 4 * to_double(block) * (share - 0.5) * (share - 0.5);
  }
  return chi_squared_p(chi2, to_double(blocks));
}

double runs(const Bits& bits) {
  const double n = to_double(bits.size());
  const double share = to_double(ones(bits)) / n;
  if (std::abs(share - 0.5) >= 2 / std::sqrt(n)) return 0;  // the frequency test fails
  double count = 1;
  for (std::size_t i = 1; i < bits.size(); ++i) count += bits[i] != bits[i - 1] ? 1 : 0;
  const double both = 2 * share * (1 - share);
  return std::erfc(std::abs(count - n * both) / (std::sqrt(2 * n) * both));
}

double longest_run(const Bits& bits) {
  const RunClasses classes = run_classes(bits.size());
  std::vector<std::size_t> counts(classes.shares.size());
  for (std::size_t at = 0; at + classes.block <= bits.size(); at += classes.block) {
    const std::size_t longest = longest_run_in(std::span(bits).subspan(at, classes.block));
    const std::size_t above = longest < classes.first ? 0 : longest - classes.first;
    ++counts[std::min(above, counts.size() - 1)];
  }
  return chi_squared_p(chi_squared(counts, classes.shares), to_double(counts.size() - 1));
}

double rank(const Bits& bits, std::size_t side) {
  std::array<std::size_t, 3> counts{};
  for (std::size_t at = 0; at + side * side <= bits.size(); at += side * side) {
    Rows rows(side);
    for (std::size_t i = 0; i < side * side; ++i)
      rows[i / side] |= std::uint64_t{bits[at + i]} << (i % side);
    ++counts[std::min<std::size_t>(side - rank_of(std::move(rows)), 2)];
  }
  // As in the standard, which has no others, for matrices of any size.
  constexpr double usual = 32;
  std::array<double, 3> shares{rank_share(usual, usual), rank_share(usual, usual - 1), 0};
  shares[2] = 1 - shares[0] - shares[1];
  return chi_squared_p(chi_squared(counts, shares), 2);
}

double spectral(const Bits& bits) {
  const double n = to_double(bits.size());
  std::vector<Complex> values;
  for (const std::uint8_t bit : bits) values.emplace_back(bit == 1 ? 1.0 : -1.0);
  values = Transform(values.size()).of(values.data());
  const double threshold = std::sqrt(std::log(1 / 0.05) * n);
  const auto below =
      std::count_if(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(bits.size() / 2),
                    [&](const Complex& value) { return std::abs(value) < threshold; });
  const double expected = 0.95 * n / 2;
  const double off = (static_cast<double>(below) - expected) / std::sqrt(n * 0.95 * 0.05 / 4);
  return std::erfc(std::abs(off) / std::numbers::sqrt2);
}

double cumulative_sums(const Bits& bits, Direction direction) {
  const double n = to_double(bits.size());
  double sum = 0;
  double z = 0;
  for (std::size_t i = 0; i < bits.size(); ++i) {
    sum += bits[direction == Direction::forward ? i : bits.size() - 1 - i] == 1 ? 1 : -1;
    z = std::max(z, std::abs(sum));
  }
  const double root = std::sqrt(n);
  double p = 1;
  for (double k = std::trunc((-n / z + 1) / 4); k <= std::trunc((n / z - 1) / 4); ++k)
    p -= normal((4 * k + 1) * z / root) - normal((4 * k - 1) * z / root);
  for (double k = std::trunc((-n / z - 3) / 4); k <= std::trunc((n / z - 1) / 4); ++k)
    p += normal((4 * k + 3) * z / root) - normal((4 * k + 1) * z / root);
  return p;
}

std::vector<Outcome> all_tests(const Bits& bits) {
  // The block must be at least 20 bits and a hundredth of the sequence.
  const std::size_t block = std::max<std::size_t>(20, bits.size() / 99 + 1);
  return {{"frequency", frequency(bits)},
          {"block frequency", block_frequency(bits, block)},
          {"cumulative sums", cumulative_sums(bits, Direction::forward)},
          {"cumulative sums backward", cumulative_sums(bits, Direction::backward)},
          {"runs", runs(bits)},
          {"longest run", longest_run(bits)},
          {"rank", rank(bits)},
          {"spectral", spectral(bits)}};
}

double entropy(const Bits& bits) {
  std::array<std::size_t, 256> counts{};
  const std::size_t words = bits.size() / 8;
  for (std::size_t w = 0; w < words; ++w) {
    std::size_t word = 0;
    for (std::size_t i = 0; i < 8; ++i) word = word * 2 + bits[w * 8 + i];
    ++counts[word];
  }
  double sum = 0;
  for (const std::size_t count : counts) {
    if (count == 0) continue;
    const double share = to_double(count) / to_double(words);
    sum -= share * std::log2(share);
  }
  return sum / 8;
}

}  // namespace stab::randomness
