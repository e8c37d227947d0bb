// SPDX-License-Identifier: MIT
#include "stats/data/prepare_data.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "stats/oracle/data.h"
#include "stats/oracle/expect.h"

namespace stab::stats {
namespace {

using oracle::expect_close;

Spec spec() {
  Spec result;
  result.subject = "bench";
  result.treatments = {"opt", "aslr"};
  result.block = "block";
  return result;
}

TEST(PrepareData, GroupsHoldTheTrialsOfOneBlockAndCell) {
  const Dataset data = oracle::programs(1, {.subjects = 2, .opt = 2, .aslr = 3, .blocks = 4});
  const Prepared prepared = prepare_data(data, spec());
  ASSERT_EQ(prepared.subjects.size(), 2U);
  EXPECT_EQ(prepared.cells(), 6U);
  EXPECT_EQ(prepared.levels_of(4), (std::vector<std::size_t>{1, 1}));
  const Subject& second = prepared.subjects[1];
  ASSERT_EQ(second.groups.size(), 24U);
  EXPECT_EQ(second.groups[7].block, 1U);
  EXPECT_EQ(second.groups[7].cell, 1U);
  EXPECT_EQ(second.groups[7].raw.mean, data.response[24 + 7]);
  expect_close(prepared.scale.back(second.groups[7].y.mean), data.response[24 + 7]);
}

TEST(PrepareData, CellsPoolTheirBlocks) {
  const Dataset data = oracle::programs(1, {.subjects = 1, .opt = 2, .aslr = 1, .blocks = 4});
  const Prepared prepared = prepare_data(data, spec());
  const std::vector<Group> cells = by_cell(prepared.subjects.at(0));
  ASSERT_EQ(cells.size(), 2U);
  EXPECT_EQ(cells[1].raw.n, 4U);
  expect_close(cells[1].raw.mean,
               (data.response[1] + data.response[3] + data.response[5] + data.response[7]) / 4);
}

// Two numbers that happen to be close are no step of a clock, though millions of such steps would
// reach near any other number.
TEST(PrepareData, CloseNumbersAreNoClock) {
  Dataset data = oracle::programs(1, {.subjects = 1, .opt = 2, .aslr = 1, .blocks = 6});
  ASSERT_EQ(data.response.size(), 12U);
  data.response.assign(12, 20e6);
  data.centre = 0;
  data.response[3] = 21345678.9;
  data.response[7] = 22987654.3;
  data.response[9] = 20000000.15;
  EXPECT_EQ(prepare_data(data, spec()).step, 0);
  data.response[9] = 20e6 + 100;
  data.response[3] = 21e6;
  data.response[7] = 22e6;
  EXPECT_EQ(prepare_data(data, spec()).step, 100);
}

// An excluded trial may have had any number of its cell, whatever the spec says.
TEST(PrepareData, TheSpecsBoundsHoldForLostTrialsUnlessTheirOwnContradictThem) {
  Dataset data = oracle::programs(1, {.subjects = 1, .opt = 2, .aslr = 1, .blocks = 4});
  const std::vector<std::uint32_t> codes{0, 1, 0, 2};
  data.lists_lost = true;
  data.lost = {{.codes = codes},
               {.codes = codes, .at_least = 100},
               {.codes = codes, .at_least = 300},
               {.codes = codes, .excluded = true}};
  Spec bounded = spec();
  bounded.lost_at_least = 90;
  bounded.lost_at_most = 105;
  const Prepared prepared = prepare_data(data, bounded);
  ASSERT_EQ(prepared.lost.size(), 4U);
  expect_close(prepared.scale.back(prepared.lost[0].low), 90);
  expect_close(prepared.scale.back(prepared.lost[0].high), 105);
  expect_close(prepared.scale.back(prepared.lost[1].low), 100);
  expect_close(prepared.scale.back(prepared.lost[1].high), 105);
  expect_close(prepared.scale.back(prepared.lost[2].low), 300);
  EXPECT_TRUE(std::isinf(prepared.lost[2].high));
  EXPECT_TRUE(std::isinf(prepared.lost[3].low));
  EXPECT_TRUE(std::isinf(prepared.lost[3].high));
}

// More keys than are indexed directly: the same groups come out of the hashed index.
TEST(PrepareData, ManyBlocksGiveTheSameGroups) {
  Dataset data = oracle::programs(1, {.subjects = 1, .opt = 2, .aslr = 1, .blocks = 3});
  const Prepared few = prepare_data(data, spec());
  data.columns.push_back(oracle::column("wide", 1U << 21U, ""));
  for (std::size_t i = 0; i < data.response.size(); ++i) data.columns.back().codes.push_back(0);
  Dataset spread = data;
  spread.response.clear();
  for (Column& c : spread.columns) c.codes.clear();
  for (std::uint32_t i = 0; i < 1U << 20U; ++i) {
    spread.response.push_back(i + 1);
    for (std::size_t c = 0; c < 4; ++c) spread.columns[c].codes.push_back(c == 1 ? i % 2 : 0);
    spread.columns.back().codes.push_back(i);
  }
  Spec wide = spec();
  wide.block = "wide";
  const Prepared many = prepare_data(spread, wide);
  EXPECT_EQ(few.subjects.at(0).groups.size(), 6U);
  ASSERT_EQ(many.subjects.at(0).groups.size(), std::size_t{1} << 20U);
  EXPECT_EQ(many.subjects[0].groups[77].raw.mean, 78);
}

}  // namespace
}  // namespace stab::stats
