// SPDX-License-Identifier: MIT
#include "causal/run/known_lines.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "causal/lines/file_state.h"

namespace stab::causal {
namespace {

using Key = std::vector<std::string>;

// Maps of a file that nobody changes, and of one that is not there.
class KnownLinesTest : public ::testing::Test {
 protected:
  static LineMap map_of(std::size_t lines) {
    return {.lines = std::vector<std::string>(lines, "a.c:1"),
            .files = {{.path = "/usr/bin/env", .state = state_of("/usr/bin/env")},
                      {.path = "/nowhere/at/all", .state = {}}}};
  }
  std::shared_ptr<const LineMap> find(KnownLines& known, const Key& key, LineMap map = map_of(1)) {
    const auto found = known.find(key, [&]() -> Result<LineMap> {
      ++reads_;
      return map;
    });
    return found ? *found : nullptr;
  }
  int reads_ = 0;
};

TEST_F(KnownLinesTest, AMapIsReadOnceForEachKey) {
  KnownLines known;
  const auto first = find(known, {"a", "b"});
  EXPECT_EQ(find(known, {"a", "b"}), first);
  EXPECT_NE(find(known, {"ab"}), first);
  EXPECT_NE(find(known, {"b", "a"}), first);
  EXPECT_EQ(find(known, {"a", "b"}), first);
  EXPECT_EQ(reads_, 3);
}

TEST_F(KnownLinesTest, WhatCannotBeReadIsTriedAgain) {
  KnownLines known;
  const auto failed = known.find({"a"}, []() -> Result<LineMap> { return fail("no such file"); });
  EXPECT_EQ(failed.error().message, "no such file");
  EXPECT_NE(find(known, {"a"}), nullptr);
  EXPECT_EQ(reads_, 1);
}

// K1.
TEST_F(KnownLinesTest, AFileInAnotherStateIsReadAgain) {
  const std::vector<FileState> others{{.device = 1}, {.inode = 1}, {.size = 1}, {.modified_ns = 1}};
  for (const FileState& other : others) {
    KnownLines known;
    LineMap map = map_of(1);
    FileState& state = map.files[0].state;
    state = {.device = state.device + other.device,
             .inode = state.inode + other.inode,
             .size = state.size + other.size,
             .modified_ns = state.modified_ns + other.modified_ns,
             .changed_ns = state.changed_ns};
    reads_ = 0;
    find(known, {"a"}, map);
    find(known, {"a"}, map);
    EXPECT_EQ(reads_, 2);
  }
}

TEST_F(KnownLinesTest, AFileThatWasMissingAndIsThereNowIsReadAgain) {
  KnownLines known;
  LineMap map = map_of(1);
  map.files.push_back({.path = "/proc/self/exe", .state = {}});
  find(known, {"a"}, map);
  find(known, {"a"}, map);
  EXPECT_EQ(reads_, 2);
}

TEST_F(KnownLinesTest, WhatHasJustChangedOrCannotBeToldIsNotKept) {
  KnownLines known;
  LineMap young = map_of(1);
  // Proc makes it when somebody looks, which is now.
  young.files[0] = {.path = "/proc/self", .state = state_of("/proc/self")};
  LineMap nameless = map_of(1);
  nameless.files.clear();
  for (const LineMap& map : {young, nameless}) {
    reads_ = 0;
    find(known, {"a"}, map);
    find(known, {"a"}, map);
    EXPECT_EQ(reads_, 2);
  }
}

// K2.
TEST_F(KnownLinesTest, TheMapThatWasUsedTheLongestAgoGoesFirst) {
  KnownLines known({.maps = 2, .records = 100});
  find(known, {"a"});
  find(known, {"b"});
  find(known, {"a"});
  find(known, {"c"});
  EXPECT_EQ(reads_, 3);
  find(known, {"a"});
  EXPECT_EQ(reads_, 3);
  find(known, {"b"});
  EXPECT_EQ(reads_, 4);
}

TEST_F(KnownLinesTest, LargeMapsAreFewerAndOneThatIsTooLargeIsNotKept) {
  KnownLines known({.maps = 9, .records = 100});
  find(known, {"a"}, map_of(60));
  find(known, {"b"}, map_of(30));
  find(known, {"large"}, map_of(99));
  find(known, {"large"}, map_of(99));
  EXPECT_EQ(reads_, 4);
  find(known, {"a"});
  find(known, {"b"});
  EXPECT_EQ(reads_, 4);
  find(known, {"c"}, map_of(50));
  find(known, {"b"});
  EXPECT_EQ(reads_, 5);
  find(known, {"a"}, map_of(60));
  EXPECT_EQ(reads_, 6);
}

}  // namespace
}  // namespace stab::causal
