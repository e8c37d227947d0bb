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
}

// The 15 p-values of an example in which Bonferroni rejects 3 at 5 % (Benjamini and Hochberg, 1995,
// 3.2).
TEST(Multiplicity, ThePublishedExampleRejectsThree) {
  const std::vector<double> p{0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344,
                              0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0};
  EXPECT_EQ(std::ranges::count_if(*holm(p), [](double x) { return x <= 0.05; }), 3);
}

TEST(Multiplicity, NoneAreNoneAndOneIsItself) {
  EXPECT_TRUE(holm({})->empty());
  EXPECT_EQ(holm(std::vector{0.03})->front(), 0.03);
}

TEST(Multiplicity, WhatIsNoPIsRefused) {
  EXPECT_FALSE(holm(std::vector{0.5, std::nan("")}));
  EXPECT_FALSE(holm(std::vector{-0.1}));
  EXPECT_FALSE(holm(std::vector{1.5}));
}

}  // namespace
}  // namespace stab::stats
