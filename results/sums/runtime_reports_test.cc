// SPDX-License-Identifier: MIT
#include "results/sums/runtime_reports.h"

#include <gtest/gtest.h>

namespace stab::results {
namespace {

using store::Layout;

Layout moved(std::int64_t bytes, std::int64_t epochs = 1, bool repeated = false) {
  return {.randomized = true,
          .kind = repeated ? "code repeated" : "code once",
          .epochs = epochs,
          .text_bytes = 1000,
          .moved_bytes = bytes,
          .random_code = true,
          .random_stack = false,
          .random_heap = false,
          .repeated = repeated};
}

report::Layouts sum(const std::vector<Layout>& layouts) {
  LayoutCounter counter;
  for (const Layout& layout : layouts) counter.add(layout);
  return counter.result();
}

TEST(Layouts, OfNoTrialsAreNone) {
  const report::Layouts none = sum({});
  EXPECT_EQ(none.randomized + none.unrandomized + none.without_runtime, 0U);
  EXPECT_FALSE(none.median_share);
  EXPECT_FALSE(none.median_epochs);
}

TEST(Layouts, AreCountedByWhatTheProgramsDid) {
  const report::Layouts all = sum({moved(900), Layout{.randomized = false}, Layout(), moved(1000)});
  EXPECT_EQ(all.randomized, 2U);
  EXPECT_EQ(all.unrandomized, 1U);
  EXPECT_EQ(all.without_runtime, 1U);
  EXPECT_EQ(all.kinds, "code once");
  EXPECT_DOUBLE_EQ(all.median_share.value(), 0.95);
  EXPECT_DOUBLE_EQ(all.least_share.value(), 0.9);
  EXPECT_EQ(all.few_epochs, 0U);
}

TEST(Layouts, WhatWasRandomIsAFactAndNotAWordOfTheDescription) {
  const report::Layouts all = sum(
      {moved(1), Layout{.randomized = true, .random_stack = true, .random_heap = true},
       Layout{.randomized = true, .kind = "code stack heap shuffled repeated 5ms", .epochs = 2}});
  EXPECT_EQ(all.random_code, 1U);
  EXPECT_EQ(all.random_stack, 1U);
  EXPECT_EQ(all.random_heap, 1U);
  EXPECT_EQ(all.few_epochs, 0U);
}

TEST(Layouts, ProgramsWhoseFilesRuleARuntimeOutAreCountedWithTheReasons) {
  const Layout fixed{.note = "the program is linked statically"};
  const report::Layouts all = sum({moved(900), Layout(), fixed, fixed, Layout{.note = "b"}});
  EXPECT_EQ(all.without_runtime, 4U);
  EXPECT_EQ(all.in_place, 3U);
  EXPECT_EQ(all.why_in_place, "b; the program is linked statically");
  EXPECT_EQ(sum({moved(1)}).why_in_place, "");
}

TEST(Layouts, FewOnesMatterOnlyWhereTheyRepeat) {
  const report::Layouts all =
      sum({moved(1, 1), moved(1, 29, true), moved(1, 30, true), moved(1, 50, true)});
  EXPECT_EQ(all.few_epochs, 1U);
  EXPECT_DOUBLE_EQ(all.median_epochs.value(), 29.5);
  EXPECT_EQ(all.kinds, "code once, code repeated");
}

TEST(Layouts, HeapsOfWhichMostIsFixedAreCounted) {
  const auto heap = [](std::int64_t fixed) {
    return Layout{.randomized = true,
                  .kind = "heap shuffled once",
                  .heap_operations = 9,
                  .heap_bytes = 1000,
                  .heap_fixed_bytes = fixed};
  };
  const report::Layouts all = sum({heap(500), heap(501), heap(1000), moved(1)});
  EXPECT_EQ(all.fixed_heaps, 2U);
  EXPECT_DOUBLE_EQ(all.median_fixed.value(), 0.501);
  EXPECT_FALSE(sum({moved(1)}).median_fixed);
}

TEST(Layouts, ATrialWithoutNumbersHasNoShare) {
  EXPECT_FALSE(sum({Layout{.randomized = true, .kind = "code once"}}).median_share);
  EXPECT_FALSE(sum({Layout{.randomized = true, .text_bytes = 0, .moved_bytes = 0}}).median_share);
}

}  // namespace
}  // namespace stab::results
