// SPDX-License-Identifier: MIT
// The reference figures of NIST SP 800-22 revision 1a, appendix B, for the first million binary
// digits of e.
#include <gtest/gtest.h>

#include "tests/randomness/digits_of_e.h"
#include "tests/randomness/nist.h"

namespace stab::randomness {
namespace {

TEST(NistMillion, OfEGivesTheReferenceFigures) {
  constexpr double digits = 0.000001;
  const Bits e = e_digits(1000000);
  EXPECT_NEAR(frequency(e), 0.953749, digits);
  EXPECT_NEAR(block_frequency(e, 128), 0.211072, digits);
  EXPECT_NEAR(cumulative_sums(e, Direction::forward), 0.669887, digits);
  EXPECT_NEAR(cumulative_sums(e, Direction::backward), 0.724266, digits);
  EXPECT_NEAR(runs(e), 0.561917, digits);
  EXPECT_NEAR(longest_run(e), 0.718945, digits);
  EXPECT_NEAR(rank(e), 0.306156, digits);
  EXPECT_NEAR(spectral(e), 0.847187, digits);
}

}  // namespace
}  // namespace stab::randomness
