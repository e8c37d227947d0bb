// SPDX-License-Identifier: MIT
// The analysis of a part of all cells: half of 2^4, d = a:b:c. Expected values are written out: for
// complete blocks each term's sum of squares is that of one orthogonal contrast.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "stats/analyse/analyse.h"
#include "stats/models/factorial.h"
#include "stats/oracle/data.h"
#include "stats/verdicts/analysis.h"

namespace stab::stats {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

constexpr std::size_t blocks = 12;

Spec spec_of() {
  Spec spec;
  spec.treatments = {"a", "b", "c", "d"};
  spec.block = "block";
  spec.chains = {{1, "b:c:d"}, {2, "a:c:d"}, {4, "a:b:d"}, {8, "a:b:c"},
                 {3, "c:d"},   {5, "b:d"},   {6, "a:d"}};
  return spec;
}

int sign(std::uint32_t cell, std::uint32_t effect) {
  return (std::popcount(effect) - std::popcount(effect & cell)) % 2 == 0 ? 1 : -1;
}

// By run: the levels of a, b, c as bits, and d their product.
std::uint32_t cell_of(std::uint32_t run) {
  return run | (sign(run, 7) > 0 ? 8U : 0U);
}

// `a` changes log times by 0.2 from its first level to its second, a:b by 0.1 on top.
Dataset simulate(double sd = 0.01) {
  oracle::Normal normal(11);
  Dataset data;
  data.columns = {{"block", {}, {}},
                  {"a", {"0", "1"}, {}},
                  {"b", {"0", "1"}, {}},
                  {"c", {"0", "1"}, {}},
                  {"d", {"0", "1"}, {}}};
  for (std::uint32_t block = 0; block < blocks; ++block) {
    data.columns[0].levels.push_back(std::to_string(block));
    const double slice = 0.1 * normal.next();
    for (std::uint32_t run = 0; run < 8; ++run) {
      const std::uint32_t cell = cell_of(run);
      data.response.push_back(
          std::exp(slice + 0.1 * sign(cell, 1) + 0.025 * sign(cell, 3) + sd * normal.next()));
      data.columns[0].codes.push_back(block);
      for (std::uint32_t t = 0; t < 4; ++t) data.columns[t + 1].codes.push_back(cell >> t & 1);
    }
  }
  return data;
}

// The contrast of the signs, over all rows.
double contrast(const Dataset& data, std::uint32_t effect) {
  double sum = 0;
  for (std::size_t row = 0; row < data.response.size(); ++row)
    sum +=
        sign(cell_of(static_cast<std::uint32_t>(row % 8)), effect) * std::log(data.response[row]);
  return sum;
}

TEST(Fraction, HasOneTermForEachChain) {
  const Dataset data = simulate();
  const Analysis analysis = analyse(data, spec_of());
  ASSERT_EQ(analysis.tables.size(), 1U);
  const AnovaTable& table = analysis.tables.front();
  EXPECT_EQ(table.formula,
            "log(wall) ~ a + b + c + d + a:b + a:c + b:c + "
            "Error(block/(a + b + c + d + a:b + a:c + b:c))");
  ASSERT_EQ(table.rows.size(), 15U);
  for (std::size_t i = 0; i < 7; ++i) {
    const AliasChain chain = spec_of().chains[i];
    const double z = contrast(data, chain.effect);
    const AnovaRow& row = table.rows[2 * i + 1];
    EXPECT_EQ(row.df, 1);
    EXPECT_NEAR(row.ss, z * z / (8 * blocks), 1e-12) << i;
    EXPECT_EQ(row.aliases, chain.aliases);
    EXPECT_EQ(table.rows[2 * i + 2].df, blocks - 1);
  }
}

TEST(Fraction, EffectsAreThoseOfTheHalves) {
  const Dataset data = simulate();
  const Analysis analysis = analyse(data, spec_of());
  ASSERT_EQ(analysis.effects.size(), 4U);
  const Effect& a = analysis.effects.front();
  EXPECT_NEAR(*a.ratio, std::exp(2 * contrast(data, 1) / (8 * blocks)), 1e-12);
  EXPECT_EQ(a.verdict, Verdict::slower);
  EXPECT_EQ(a.aliases, "b:c:d");
  EXPECT_NEAR(*a.ratio, std::exp(0.2), 0.01);
  for (std::size_t i = 1; i < 4; ++i) EXPECT_EQ(analysis.effects[i].verdict, Verdict::unsure);
  EXPECT_FALSE(a.alternatives.empty());
}

TEST(Fraction, InteractionsNameTheirAliases) {
  const Analysis analysis = analyse(simulate(), spec_of());
  ASSERT_EQ(analysis.interactions.size(), 3U);
  EXPECT_EQ(analysis.interactions[0].term, "a:b");
  EXPECT_EQ(analysis.interactions[0].aliases, "c:d");
  EXPECT_NEAR(*analysis.interactions[0].ratio, std::exp(0.1), 0.01);
  EXPECT_TRUE(analysis.interactions[0].spread);
  EXPECT_THAT(
      analysis.notes,
      Contains(HasSubstr("a:b (or an effect that looks the same in this design: c:d) interact")));
}

TEST(Fraction, ItsBlocksAreCompleteWithItsOwnCells) {
  const Analysis analysis = analyse(simulate(), spec_of());
  EXPECT_EQ(std::ranges::count(analysis.assumptions, Property::independence, &Assumption::property),
            2);
  for (const std::string& note : analysis.notes) EXPECT_THAT(note, Not(HasSubstr("not tested")));
}

TEST(Fraction, OfResolutionThreeSaysWhatAMainEffectMayBe) {
  Spec spec = spec_of();
  const auto noted = [&] {
    return Contains(HasSubstr(
        "Main effects cannot be distinguished from interactions between two treatments (here a is "
        "also b:c, b is also a:c, c is also a:b)"));
  };
  EXPECT_THAT(analyse(simulate(), spec).notes, Not(noted()));
  spec.treatments = {"a", "b", "c"};
  spec.chains = {{1, "b:c"}, {2, "a:c"}, {4, "a:b"}};
  EXPECT_THAT(analyse(simulate(), spec).notes, noted());
}

// A block that lacks a trial is left out: what it says of a chain hangs on the others.
TEST(Fraction, ABlockThatLostATrialIsLeftOut) {
  Dataset data = simulate(0.001);
  data.response[5] = std::nan("");
  const Analysis analysis = analyse(data, spec_of());
  EXPECT_EQ(analysis.tables.front().rows.back().df, blocks - 2);
  EXPECT_NEAR(*analysis.effects.front().ratio, std::exp(0.2), 0.001);
  EXPECT_THAT(analysis.notes, Contains(HasSubstr("blocks lack a cell")));
}

TEST(Fraction, WithoutOneOfItsCellsNothingIsCompared) {
  Dataset data = simulate();
  for (std::size_t row = 0; row < data.response.size(); row += 8) data.response[row] = std::nan("");
  const Analysis analysis = analyse(data, spec_of());
  for (const Effect& effect : analysis.effects) EXPECT_FALSE(effect.ratio);
  EXPECT_THAT(analysis.notes, Contains(HasSubstr("a 1 can't be compared")));
  EXPECT_TRUE(analysis.interactions.empty());
  EXPECT_THAT(analysis.notes,
              Contains(HasSubstr("The interactions of a:b, a:c, b:c are not tested, because some "
                                 "combinations of levels have no trials")));
}

}  // namespace
}  // namespace stab::stats
