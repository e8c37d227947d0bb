// SPDX-License-Identifier: MIT
// Programs that clang built, replaced between runs as builds are.
#include "causal/run/prepare_program.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>

namespace stab::causal {
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
    shell("clang-19 -O1 -Wl,--build-id=none " + options + " -o p p.c");
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
