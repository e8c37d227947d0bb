// SPDX-License-Identifier: MIT
// Expected values: oracle/tests.R.
#include <gtest/gtest.h>

#include <cmath>

#include "stats/numbers/distribution.h"
#include "stats/oracle/expect.h"
#include "stats/oracle/tests_expected.h"

namespace stab::stats {
namespace {

namespace r = oracle::r;

TEST(Tails, NoncentralDistributionsAgreeWithR) {
  const std::span<const double> t = r::noncentral_t;
  for (std::size_t i = 0; i < t.size(); i += 4)
    oracle::expect_near("noncentral_t_cdf",
                        {noncentral_t_cdf(t[i], t[i + 1], t[i + 2]).value_or(-1)},
                        t.subspan(i + 3, 1), 1e-9);
  const std::span<const double> f = r::noncentral_f;
  for (std::size_t i = 0; i < f.size(); i += 5)
    oracle::expect_near("noncentral_f_cdf",
                        {noncentral_f_cdf(f[i], f[i + 1], f[i + 2], f[i + 3]).value_or(-1)},
                        f.subspan(i + 4, 1), 1e-8);  // R's own series ends at 1e-9
}

TEST(Tails, ALogarithmGoesOnWhereTheProbabilityEnds) {
  EXPECT_NEAR(log_normal_cdf(-30.0000001), log_normal_cdf(-29.9999999), 1e-5);
  EXPECT_NEAR(log_normal_cdf(-37), std::log(normal_cdf(-37)), 1e-6);
  EXPECT_NEAR(log_normal_cdf(-100), -5005.524208, 1e-5);  // R: pnorm(-100, log.p = TRUE)
}

TEST(Tails, QuantilesInvert) {
  EXPECT_NEAR(normal_cdf(*normal_quantile(0.975)), 0.975, 1e-15);
  EXPECT_NEAR(*chi_squared_cdf(*chi_squared_quantile(0.05, 7), 7), 0.05, 1e-14);
  EXPECT_NEAR(*t_two_sided(2.2281388519862744, 10), 0.05, 1e-14);    // published: 2.228
  EXPECT_NEAR(*f_quantile(0.95, 3, 20), 3.0983912121407795, 1e-11);  // published: 3.10
}

TEST(Tails, WhatIsNotDefinedIsAbsent) {
  const double nan = std::nan("");
  EXPECT_FALSE(normal_quantile(0));
  EXPECT_FALSE(normal_quantile(1));
  EXPECT_FALSE(normal_quantile(nan));
  EXPECT_FALSE(t_two_sided(nan, 5));
  EXPECT_FALSE(chi_squared_cdf(-1, 5));
  EXPECT_FALSE(chi_squared_quantile(0.5, 0));
  EXPECT_FALSE(f_quantile(0.5, 1, nan));
  EXPECT_FALSE(noncentral_t_cdf(1, 5, nan));
  EXPECT_FALSE(noncentral_f_cdf(1, 5, 5, -1));
}

}  // namespace
}  // namespace stab::stats
