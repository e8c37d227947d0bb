// SPDX-License-Identifier: MIT
// Whether numbers that were drawn many times are uniform in chosen bits.
#pragma once

#include <algorithm>
#include <array>
#include <boost/math/distributions/binomial.hpp>
#include <boost/math/distributions/chi_squared.hpp>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace stab::testing {

// draws[k][i]: the i-th quantity in the k-th draw.
using Draws = std::vector<std::vector<std::uint64_t>>;

struct Verdict {
  std::size_t tests = 0;
  double smallest = 1;     // p of the test that fits worst
  std::string where = "";  // which it is

  // Bonferroni: with uniform draws false for at most `alpha` of all families.
  [[nodiscard]] bool uniform(double alpha) const {
    return smallest * static_cast<double>(tests) >= alpha;
  }
  void add(double p, const std::string& what) {
    ++tests;
    if (p >= smallest) return;
    smallest = p;
    where = what;
  }
};

// Two-sided and exact: ones out of n tosses of a fair coin.
inline double fair_coin_p(std::size_t ones, std::size_t n) {
  const auto tail = static_cast<double>(std::min(ones, n - ones));
  return std::min(1.0,
                  2 * boost::math::cdf(boost::math::binomial(static_cast<double>(n), 0.5), tail));
}

// Sixteen equally likely values.
inline double sixteen_bins_p(const std::array<std::size_t, 16>& bins, std::size_t n) {
  const double expected = static_cast<double>(n) / 16;
  double chi2 = 0;
  for (const std::size_t count : bins) {
    const double off = static_cast<double>(count) - expected;
    chi2 += off * off / expected;
  }
  return boost::math::cdf(boost::math::complement(boost::math::chi_squared(15), chi2));
}

// Each bit from `first` to `last` of each quantity is 1 in half of the draws.
inline Verdict test_bits(const Draws& draws, unsigned first, unsigned last) {
  Verdict verdict;
  for (std::size_t i = 0; i < draws.front().size(); ++i)
    for (unsigned bit = first; bit <= last; ++bit) {
      std::size_t ones = 0;
      for (const auto& draw : draws) ones += draw[i] >> bit & 1U;
      verdict.add(fair_coin_p(ones, draws.size()),
                  "bit " + std::to_string(bit) + " of number " + std::to_string(i));
    }
  return verdict;
}

// Each group of four adjacent bits has each of its values equally often: bits that are fair one by
// one but always agree fail here.
inline Verdict test_nibbles(const Draws& draws, unsigned first, unsigned last) {
  Verdict verdict;
  for (std::size_t i = 0; i < draws.front().size(); ++i)
    for (unsigned bit = first; bit + 3 <= last; ++bit) {
      std::array<std::size_t, 16> bins{};
      for (const auto& draw : draws) ++bins[draw[i] >> bit & 15U];
      verdict.add(sixteen_bins_p(bins, draws.size()),
                  "bits " + std::to_string(bit) + " and up of number " + std::to_string(i));
    }
  return verdict;
}

}  // namespace stab::testing
