// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "runtime/epoch/threads.h"

namespace stab::rt {
namespace {

constexpr std::uint32_t most = 8;
constexpr int slots = 2 * most;

TEST(IdIndex, FindsWhatWasAdded) {
  static IdIndex<most> index;
  EXPECT_EQ(index.find(7), nullptr);
  ASSERT_TRUE(index.add(7, 3));
  ASSERT_NE(index.find(7), nullptr);
  EXPECT_EQ(*index.find(7), 3u);
  EXPECT_EQ(index.find(8), nullptr);
}

TEST(IdIndex, TellsNumbersOfOneSlotApart) {
  static IdIndex<most> index;
  for (int i = 0; i < 3; ++i)
    ASSERT_TRUE(index.add(slots - 1 + i * slots, static_cast<std::uint32_t>(i)));
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(*index.find(slots - 1 + i * slots), static_cast<std::uint32_t>(i));
  EXPECT_EQ(index.find(slots - 1 + 3 * slots), nullptr);
  EXPECT_EQ(index.find(0), nullptr);
}

// Index 1: a search for what is not there ends.
TEST(IdIndex, IsFullAtItsMost) {
  static IdIndex<most> index;
  for (int id = 1; id <= static_cast<int>(most); ++id) EXPECT_TRUE(index.add(id, 0));
  EXPECT_FALSE(index.add(100, 0));
  EXPECT_EQ(index.find(100), nullptr);
}

// Index 2.
TEST(IdIndex, ForgetsAll) {
  static IdIndex<most> index;
  for (int round = 0; round < 5; ++round) {
    for (int id = 1; id <= static_cast<int>(most); ++id) {
      EXPECT_EQ(index.find(id + round), nullptr);
      EXPECT_TRUE(index.add(id + round, static_cast<std::uint32_t>(round)));
    }
    EXPECT_EQ(*index.find(round + 1), static_cast<std::uint32_t>(round));
    index.clear();
  }
}

}  // namespace
}  // namespace stab::rt
