// SPDX-License-Identifier: MIT
#include "runtime/base/random.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

namespace stab::rt {
namespace {

TEST(Random, IsTheSameForTheSameSeed) {
  Random a(7);
  Random b(7);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(a.next(), b.next());
}

TEST(Random, GivesThePublishedValues) {
  // Output of the reference implementation for the seed 1234567.
  Random random(1234567);
  EXPECT_EQ(random.next(), 6457827717110365317u);
  EXPECT_EQ(random.next(), 3203168211198807973u);
  EXPECT_EQ(random.next(), 9817491932198370423u);
}

TEST(Random, StaysBelowTheBound) {
  Random random(1);
  for (const std::uint64_t bound : {std::uint64_t{1}, std::uint64_t{2}, std::uint64_t{3},
                                    std::uint64_t{1000}, (std::uint64_t{1} << 63) + 1, UINT64_MAX})
    for (int i = 0; i < 1000; ++i) EXPECT_LT(random.below(bound), bound);
}

TEST(Random, IsUniformBelowABoundThatIsNoPowerOfTwo) {
  constexpr int bins = 29;
  constexpr int draws = 290000;
  std::array<int, bins> seen{};
  Random random(99);
  for (int i = 0; i < draws; ++i) ++seen[random.below(bins)];
  constexpr double expected = static_cast<double>(draws) / bins;
  double chi_squared = 0;
  for (const int n : seen) chi_squared += std::pow(n - expected, 2) / expected;
  EXPECT_LT(chi_squared, 56.9);  // 0.1 % point for 28 degrees of freedom
  EXPECT_GT(chi_squared, 8.4);
}

TEST(Random, BytesTakeEveryValue) {
  std::array<int, 256> seen{};
  Random random(5);
  for (int i = 0; i < 4096; ++i) ++seen[random.next() & 255];
  for (const int n : seen) EXPECT_GT(n, 0);
}

}  // namespace
}  // namespace stab::rt
