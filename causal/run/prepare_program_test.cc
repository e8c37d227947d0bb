// SPDX-License-Identifier: MIT
#include "causal/run/prepare_program.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "causal/lines/line_map.h"

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

// Programs that clang built, replaced between runs as builds are.

namespace {

namespace fs = std::filesystem;

class ProgramsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = ::testing::TempDir() + "programs-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = fs::canonical(name).string();
  }
  void TearDown() override { fs::remove_all(folder_); }

  void shell(const std::string& command) const {
    ASSERT_EQ(std::system(("cd " + folder_ + " && " + command).c_str()), 0) << command;
  }
  // A program whose function begins behind so many empty lines.
  void build(int empty_lines, const std::string& options = "-g") const {
    std::ofstream(folder_ + "/p.c") << std::string(static_cast<std::size_t>(empty_lines), '\n')
                                    << "int main(int n, char** w) { (void)w; return n; }\n";
    shell("clang-22 -O1 -Wl,--build-id=none " + options + " -o p p.c");
  }
  // Files that have just changed are read again, whatever is known.
  static void pass_time() { std::this_thread::sleep_for(std::chrono::milliseconds(150)); }

  // nullptr: it cannot be profiled.
  std::shared_ptr<const LineMap> prepare(const std::string& tree = "") {
    const auto made = programs_.prepare({.word = folder_ + "/p", .below = folder_, .tree = tree});
    return made ? made->map : nullptr;
  }
  bool has(const std::shared_ptr<const LineMap>& map, int line) const {
    return map != nullptr &&
           std::ranges::find(map->lines, folder_ + "/p.c:" + std::to_string(line)) !=
               map->lines.end();
  }

  std::string folder_;
  Programs programs_{{.lines = STAB_BIN_DIR "/stab-lines", .library = ""}};
};

TEST_F(ProgramsTest, AProgramIsReadOnceUntilItIsReplaced) {
  build(0);
  pass_time();
  const auto first = prepare();
  ASSERT_TRUE(has(first, 1));
  EXPECT_EQ(prepare(), first);
  EXPECT_NE(prepare(folder_), first);
  EXPECT_EQ(prepare(folder_)->lines[0], "p.c:1");
  EXPECT_EQ(prepare(), first);

  build(6);
  EXPECT_TRUE(has(prepare(), 7));
  EXPECT_FALSE(has(prepare(), 1));
  pass_time();
  const auto second = prepare();
  EXPECT_EQ(prepare(), second);
}

TEST_F(ProgramsTest, WhatIsWrittenInPlaceWithItsTimeAndSizePutBackIsReadAgain) {
  build(0);
  shell("cp p old");
  build(1);
  shell("cp p new && cp old p");
  ASSERT_EQ(fs::file_size(folder_ + "/old"), fs::file_size(folder_ + "/new"));
  pass_time();
  const auto first = prepare();
  ASSERT_TRUE(has(first, 1));
  ASSERT_EQ(prepare(), first);
  shell("touch -r p time && cat new >p && touch -r time p");
  EXPECT_TRUE(has(prepare(), 2));
}

TEST_F(ProgramsTest, AnotherDebugFileIsReadThoughTheProgramIsTheSame) {
  const std::string strip =
      "objcopy --only-keep-debug p p.debug && strip --strip-debug p && "
      "objcopy --add-gnu-debuglink=p.debug p";
  const std::string same_id = "-g -Wl,--build-id=0x12345678";
  build(3, same_id);
  shell(strip + " && mv p.debug other.debug");
  build(0, same_id);
  shell(strip + " && mv p.debug one.debug");
  pass_time();
  EXPECT_EQ(prepare(), nullptr);
  EXPECT_EQ(prepare(), nullptr) << "no debug file";
  shell("cp one.debug p.debug");
  pass_time();
  const auto first = prepare();
  ASSERT_TRUE(has(first, 1));
  EXPECT_EQ(prepare(), first);
  shell("cp other.debug p.new && mv p.new p.debug");
  EXPECT_TRUE(has(prepare(), 4));
  shell("rm p.debug");
  EXPECT_EQ(prepare(), nullptr);
  shell("mkdir .debug && cp one.debug .debug/p.debug");
  EXPECT_TRUE(has(prepare(), 1));
}

}  // namespace
}  // namespace stab::causal
