// SPDX-License-Identifier: MIT
#include "design/fractional.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <set>

namespace stab::plan {
namespace {

using testing::ElementsAre;

std::vector<std::string> letters(std::size_t k) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < k; ++i) names.emplace_back(1, static_cast<char>('a' + i));
  return names;
}

// How many words have 3, 4, 5 .. treatments, up to the longest.
std::vector<std::size_t> word_lengths(std::size_t k, std::size_t p) {
  const auto design = fractional_design(letters(k), p);
  EXPECT_TRUE(design);
  std::vector<std::size_t> counts;
  for (const std::uint32_t word : design->words) {
    const std::size_t length = static_cast<std::size_t>(std::popcount(word));
    counts.resize(std::max(counts.size(), length - 2));
    ++counts[length - 3];
  }
  return counts;
}

// The table of NIST's handbook, 5.3.3.4.7, after Box, Hunter and Hunter, 1978.
TEST(Fractional, ResolutionsAreThePublishedOnes) {
  const std::vector<std::vector<std::size_t>> rows{
      {3, 1, 3}, {4, 1, 4}, {5, 1, 5},  {5, 2, 3},  {6, 1, 6},  {6, 2, 4}, {6, 3, 3}, {7, 1, 7},
      {7, 2, 4}, {7, 3, 4}, {7, 4, 3},  {8, 2, 5},  {8, 3, 4},  {8, 4, 4}, {9, 2, 6}, {9, 3, 4},
      {9, 4, 4}, {9, 5, 3}, {10, 3, 5}, {10, 4, 4}, {10, 5, 4}, {10, 6, 3}};
  for (const auto& row : rows) {
    const auto design = fractional_design(letters(row[0]), row[1]);
    ASSERT_TRUE(design);
    EXPECT_EQ(design->resolution, row[2]) << row[0] << "-" << row[1];
    EXPECT_EQ(design->cells.size(), std::size_t{1} << (row[0] - row[1]));
  }
}

// Fries and Hunter, 1980; Chen, Sun and Wu: A catalogue of two-level and three-level fractional
// factorial designs with small runs, International Statistical Review 1993.
TEST(Fractional, AberrationIsMinimal) {
  EXPECT_THAT(word_lengths(7, 2), ElementsAre(0, 1, 2));
  EXPECT_THAT(word_lengths(7, 3), ElementsAre(0, 7));
  EXPECT_THAT(word_lengths(8, 2), ElementsAre(0, 0, 2, 1));
  EXPECT_THAT(word_lengths(8, 3), ElementsAre(0, 3, 4));
  EXPECT_THAT(word_lengths(8, 4), ElementsAre(0, 14, 0, 0, 0, 1));
  EXPECT_THAT(word_lengths(9, 3), ElementsAre(0, 1, 4, 2));
  EXPECT_THAT(word_lengths(9, 4), ElementsAre(0, 6, 8, 0, 0, 1));
  EXPECT_THAT(word_lengths(10, 4), ElementsAre(0, 2, 8, 4, 0, 1));
  EXPECT_THAT(word_lengths(10, 5), ElementsAre(0, 10, 16, 0, 0, 5));
  EXPECT_THAT(word_lengths(10, 6), ElementsAre(8, 18, 16, 8, 8, 5));
}

TEST(Fractional, TheHalfOfFourTreatments) {
  const auto design = fractional_design(letters(4), 1);
  ASSERT_TRUE(design);
  EXPECT_THAT(defining_relation(*design), ElementsAre("d = a:b:c", "I = a:b:c:d"));
  const auto chains = alias_chains(*design);
  ASSERT_EQ(chains.size(), 7U);
  EXPECT_EQ(effect_name(chains[0][0], design->treatments), "a");
  EXPECT_EQ(alias_text(std::span(chains[0]).subspan(1), design->treatments), "b:c:d");
  EXPECT_EQ(effect_name(chains[4][0], design->treatments), "a:b");
  EXPECT_EQ(alias_text(std::span(chains[4]).subspan(1), design->treatments), "c:d");
}

// The treatments of a plan, by name: half of a 2^3 sees each main effect with an interaction.
TEST(Fractional, AliasesHaveThePlansNames) {
  const auto design = fractional_design(std::vector<std::string>{"code", "stack", "heap"}, 1);
  ASSERT_TRUE(design);
  EXPECT_THAT(defining_relation(*design), ElementsAre("heap = code:stack", "I = code:stack:heap"));
  EXPECT_EQ(alias_text(aliases(*design, 4), design->treatments), "code:stack");
}

TEST(Fractional, ManyAliasesAreCounted) {
  const auto design = fractional_design(letters(7), 4);
  ASSERT_TRUE(design);
  EXPECT_TRUE(alias_text(aliases(*design, 1), design->treatments).ends_with(" and 11 more"));
}

Result<FractionalDesign> generated(std::size_t k, const std::vector<std::string>& texts) {
  std::vector<Generator> generators;
  for (const std::string& text : texts) {
    const auto generator = read_generator(text, letters(k));
    if (!generator) return std::unexpected(generator.error());
    generators.push_back(*generator);
  }
  return fractional_design(letters(k), generators);
}

TEST(Fractional, AnyTreatmentCanBeGenerated) {
  const auto design = generated(4, {" a=b:c : d"});
  ASSERT_TRUE(design) << design.error().message;
  EXPECT_THAT(defining_relation(*design), ElementsAre("a = b:c:d", "I = a:b:c:d"));
  EXPECT_EQ(design->resolution, 4U);
  const auto same = fractional_design(letters(4), 1);
  EXPECT_EQ(std::set(design->cells.begin(), design->cells.end()),
            std::set(same->cells.begin(), same->cells.end()));
}

TEST(Fractional, WrongGeneratorsSayWhy) {
  EXPECT_EQ(generated(4, {"a:b:c"}).error().message, "a generator must look like \"d = a:b:c\"");
  EXPECT_EQ(generated(4, {"d = a:x"}).error().message,
            "'x' is not a treatment of this plan: write \"d = a:b:c\"");
  EXPECT_EQ(generated(4, {"d = a:a"}).error().message,
            "the generator of 'd' must be a product of at least two treatments");
  EXPECT_EQ(generated(5, {"d = a:b", "d = a:c"}).error().message,
            "the treatment 'd' has two generators: remove one");
  EXPECT_EQ(generated(5, {"d = a:b", "e = a:d"}).error().message,
            "the generator of 'e' contains 'd', which has a generator itself: use treatments "
            "without generators");
  EXPECT_EQ(generated(5, {"d = a:b", "e = b:a"}).error().message,
            "two treatments have the generator a:b, so their main effects cannot be told apart: "
            "change one generator");
  EXPECT_EQ(generated(5, {"b = a:c", "d = a:c:e", "e = a:c"}).error().message,
            "5 treatments need more than 5 cells to tell their main effects apart");
}

TEST(Fractional, AResolutionGetsTheFewestCells) {
  const auto cells = [](std::size_t k, std::size_t resolution) {
    return fractional_of_resolution(letters(k), resolution).value().cells.size();
  };
  EXPECT_EQ(cells(3, 3), 4U);
  EXPECT_EQ(cells(4, 4), 8U);
  EXPECT_EQ(cells(5, 3), 8U);
  EXPECT_EQ(cells(5, 5), 16U);
  EXPECT_EQ(cells(7, 3), 8U);
  EXPECT_EQ(cells(8, 4), 16U);
  EXPECT_EQ(
      fractional_of_resolution(letters(3), 4).error().message,
      "a fractional design of 3 treatments cannot have resolution 4: use a resolution of at most "
      "3, or a full-factorial design");
}

int sign_of(const std::vector<std::uint8_t>& cell, std::uint32_t effect) {
  int sign = 1;
  for (std::size_t t = 0; t < cell.size(); ++t)
    if ((effect >> t & 1) != 0 && cell[t] == 0) sign = -sign;
  return sign;
}

// What aliasing means: two effects have the same sign in every cell, or they are orthogonal.
TEST(Fractional, CellsAndAliasesSayTheSame) {
  for (const auto& [k, p] : {std::pair(5U, 2U), {6U, 2U}, {7U, 4U}}) {
    const auto design = fractional_design(letters(k), p);
    ASSERT_TRUE(design);
    EXPECT_EQ(std::set(design->cells.begin(), design->cells.end()).size(), design->cells.size());
    for (std::uint32_t effect = 1; effect < 1U << k; ++effect) {
      const auto same = aliases(*design, effect);
      for (std::uint32_t other = 0; other < 1U << k; ++other) {
        int product = 0;
        for (const auto& cell : design->cells)
          product += sign_of(cell, effect) * sign_of(cell, other);
        const bool is_alias = other == effect || std::ranges::find(same, other) != same.end();
        ASSERT_EQ(product, is_alias ? static_cast<int>(design->cells.size()) : 0);
      }
    }
  }
}

TEST(Fractional, AFullDesignHasNoAliases) {
  const auto design = fractional_design(letters(3), 0);
  ASSERT_TRUE(design);
  EXPECT_EQ(design->cells.size(), 8U);
  EXPECT_EQ(design->resolution, 0U);
  EXPECT_TRUE(defining_relation(*design).empty());
  EXPECT_EQ(alias_chains(*design).size(), 7U);
  for (const auto& chain : alias_chains(*design)) EXPECT_EQ(chain.size(), 1U);
}

TEST(Fractional, WhatCannotBeDesignedSaysWhy) {
  EXPECT_FALSE(fractional_design({}, 0));
  EXPECT_FALSE(fractional_design(letters(11), 2));
  EXPECT_FALSE(fractional_design(std::vector<std::string>{"a", "a", "b"}, 1));
  EXPECT_EQ(fractional_design(letters(4), 2).error().message,
            "4 treatments need more than 4 cells to tell their main effects apart");
  EXPECT_FALSE(fractional_design(letters(3), 3));
}

}  // namespace
}  // namespace stab::plan
