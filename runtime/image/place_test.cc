// SPDX-License-Identifier: MIT
#include "runtime/image/place.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <vector>

namespace stab::rt {
namespace {

struct Layout {
  std::vector<std::uint32_t> order;
  std::vector<std::uint32_t> position;  // by rank
  std::vector<std::uint32_t> of;        // by function

  Layout(const std::vector<std::uint32_t>& sizes, std::uint64_t span, std::uint64_t seed)
      : order(sizes.size()), position(sizes.size()), of(sizes.size()) {
    std::vector<std::uint32_t> scratch(2 * sizes.size());
    Random random(seed);
    const auto count = static_cast<std::uint32_t>(sizes.size());
    place(sizes.data(), count, span, random, order.data(), position.data(), scratch.data());
    for (std::size_t k = 0; k < order.size(); ++k) of[order[k]] = position[k];
  }
};

std::vector<std::uint32_t> some_sizes(std::size_t count) {
  std::vector<std::uint32_t> sizes(count);
  Random random(count);
  for (auto& size : sizes) size = static_cast<std::uint32_t>(1 + random.below(60));
  return sizes;
}

std::uint64_t span_of(const std::vector<std::uint32_t>& sizes) {
  return span_for(std::accumulate(sizes.begin(), sizes.end(), std::uint64_t{0}));
}

// |z| of a fair coin.
double imbalance(int ones, int n) {
  return std::abs(2.0 * ones - n) / std::sqrt(n);
}

TEST(Span, IsAMultipleOf256KilobytesWithRoomForTwice) {
  for (const std::uint64_t total : {1u, 1000u, 100000u, 1000000u}) {
    EXPECT_EQ(span_for(total) * unit % (256 << 10), 0u);
    EXPECT_GE(span_for(total), 2 * total);
  }
}

TEST(Place, NeverOverlapsAndAscends) {
  for (const std::size_t count : {1u, 2u, 5u, 45u, 700u, 5000u}) {
    const auto sizes = some_sizes(count);
    const std::uint64_t span = span_of(sizes);
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      const Layout layout(sizes, span, seed);
      EXPECT_EQ(std::set<std::uint32_t>(layout.order.begin(), layout.order.end()).size(), count);
      for (std::size_t k = 1; k < count; ++k)
        ASSERT_GE(layout.position[k], layout.position[k - 1] + sizes[layout.order[k - 1]]);
      EXPECT_LT(layout.position[count - 1], span);
    }
  }
}

TEST(Place, OfFunctionsWithoutSizeIsHarmless) {
  const std::vector<std::uint32_t> sizes = {0, 3, 0, 5};
  const Layout layout(sizes, span_of(sizes), 3);
  EXPECT_NE(layout.of[1], layout.of[3]);
}

TEST(Place, OfNothingDoesNothing) {
  place(nullptr, 0, span_for(0), *std::make_unique<Random>(1), nullptr, nullptr, nullptr);
}

TEST(Place, RefusesASpanThatIsTooSmallOrNotWhole) {
  const std::vector<std::uint32_t> sizes = {span_step, 3};
  EXPECT_DEATH(Layout(sizes, span_step, 1), "place.cc:[0-9]+: Placement 1 does not hold");
  EXPECT_DEATH(Layout(sizes, 4 * span_step + 1, 1), "Placement 1 does not hold");
}

TEST(Place, IsNotValidIfCopiesOverlapOrOneIsMissing) {
  const std::vector<std::uint32_t> sizes = {4, 7, 20};
  std::vector<std::uint32_t> scratch(6);
  const auto valid = [&](const std::vector<std::uint32_t>& order,
                         const std::vector<std::uint32_t>& position) {
    return is_valid_placement(sizes.data(), 3, 100, order.data(), position.data(), scratch.data());
  };
  EXPECT_TRUE(valid({2, 0, 1}, {0, 20, 24}));
  EXPECT_TRUE(valid({2, 0, 1}, {0, 20, 99}));
  EXPECT_FALSE(valid({2, 0, 1}, {0, 19, 24}));
  EXPECT_FALSE(valid({2, 0, 1}, {0, 24, 20}));
  EXPECT_FALSE(valid({2, 0, 0}, {0, 20, 24}));
  EXPECT_FALSE(valid({2, 0, 3}, {0, 20, 24}));
  EXPECT_FALSE(valid({2, 0, 1}, {0, 20, 100}));
}

TEST(Place, DiffersBySeedAndRepeatsForTheSameSeed) {
  const auto sizes = some_sizes(45);
  EXPECT_EQ(Layout(sizes, span_of(sizes), 1).of, Layout(sizes, span_of(sizes), 1).of);
  EXPECT_NE(Layout(sizes, span_of(sizes), 1).of, Layout(sizes, span_of(sizes), 2).of);
}

// Address bits 4 to 17 are bits 0 to 13 of a position. Every bit of every function is a fair coin
// over seeds.
TEST(Place, MakesBits4To17OfEachAddressUniform) {
  const auto sizes = some_sizes(45);
  constexpr int seeds = 4000;
  std::vector<std::vector<int>> ones(sizes.size(), std::vector<int>(14));
  for (int seed = 0; seed < seeds; ++seed) {
    const Layout layout(sizes, span_of(sizes), static_cast<std::uint64_t>(seed));
    for (std::size_t f = 0; f < sizes.size(); ++f)
      for (unsigned bit = 0; bit < 14; ++bit)
        ones[f][bit] += static_cast<int>((layout.of[f] >> bit) & 1);
  }
  // 630 coins: beyond 4.5 standard deviations none is expected (p = 0.004 for the family).
  for (const auto& function : ones)
    for (const int n : function) EXPECT_LT(imbalance(n, seeds), 4.5);
}

TEST(Place, MakesDifferencesOfPairsUniform) {
  const auto sizes = some_sizes(45);
  constexpr int seeds = 4000;
  constexpr std::size_t pairs = 30;
  std::vector<std::vector<int>> ones(pairs, std::vector<int>(14));
  for (int seed = 0; seed < seeds; ++seed) {
    const Layout layout(sizes, span_of(sizes), static_cast<std::uint64_t>(seed) + 1000000);
    for (std::size_t p = 0; p < pairs; ++p)
      for (unsigned bit = 0; bit < 14; ++bit)
        ones[p][bit] += static_cast<int>(((layout.of[p] - layout.of[p + 7]) >> bit) & 1);
  }
  for (const auto& pair : ones)
    for (const int n : pair) EXPECT_LT(imbalance(n, seeds), 4.5);
}

// The page within 256 KB (bits 12 to 17) of one function, given the page of another: 64 x 64 cells
// would need more seeds, so the distance in pages is tested: 64 cells.
TEST(Place, SpreadsTheDistanceOfTwoFunctionsOverAllPages) {
  const std::vector<std::uint32_t> sizes = {4, 7, 20, 3, 9, 12, 30, 2, 5, 6};
  constexpr int seeds = 64 * 400;
  std::vector<int> cells(64);
  for (int seed = 0; seed < seeds; ++seed) {
    const Layout layout(sizes, span_of(sizes), static_cast<std::uint64_t>(seed));
    ++cells[((layout.of[0] - layout.of[9]) >> 8) & 63];
  }
  double chi_squared = 0;
  for (const int n : cells) chi_squared += std::pow(n - 400.0, 2) / 400.0;
  EXPECT_LT(chi_squared, 103.4);  // 0.1 % point for 63 degrees of freedom
}

}  // namespace
}  // namespace stab::rt
