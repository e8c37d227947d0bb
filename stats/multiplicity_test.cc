// SPDX-License-Identifier: MIT
// Expected values: oracle/tests.R.
#include "stats/multiplicity.h"

#include <gtest/gtest.h>

#include <cmath>

#include "stats/oracle/deviation.h"
#include "stats/oracle/tests_expected.h"

namespace stab::stats {
namespace {

namespace r = oracle::r;

void expect_all(const char* name, const Result<std::vector<double>>& values,
                std::span<const double> expected) {
  ASSERT_TRUE(values);
  ASSERT_EQ(values->size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i)
    oracle::expect_near(name, {(*values)[i]}, expected.subspan(i, 1), 1e-14);
}

TEST(Multiplicity, AgreesWithR) {
  expect_all("holm", holm(r::p_raw), r::p_holm);
  expect_all("benjamini_hochberg", benjamini_hochberg(r::p_raw), r::p_bh);
}

// The 15 p-values of the paper's example, which rejects 4 at 5 % (Benjamini and Hochberg, 1995,
// 3.2); Bonferroni rejects 3.
TEST(Multiplicity, ThePublishedExampleRejectsFour) {
  const std::vector<double> p{0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344,
                              0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0};
  const auto below = [](const Result<std::vector<double>>& values) {
    return std::ranges::count_if(*values, [](double x) { return x <= 0.05; });
  };
  EXPECT_EQ(below(benjamini_hochberg(p)), 4);
  EXPECT_EQ(below(holm(p)), 3);
}

TEST(Multiplicity, NoneAreNoneAndOneIsItself) {
  EXPECT_TRUE(holm({})->empty());
  EXPECT_TRUE(benjamini_hochberg({})->empty());
  EXPECT_EQ(holm(std::vector{0.03})->front(), 0.03);
}

TEST(Multiplicity, WhatIsNoPIsRefused) {
  EXPECT_FALSE(holm(std::vector{0.5, std::nan("")}));
  EXPECT_FALSE(holm(std::vector{-0.1}));
  EXPECT_FALSE(benjamini_hochberg(std::vector{1.5}));
}

}  // namespace
}  // namespace stab::stats
