// SPDX-License-Identifier: MIT
// What doc/guide.md tells users to do works, in the order in which it stands there, and so does README's first plan.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "tests/system/lab.h"

namespace stab::test {
namespace {

struct Block {
  std::string kind;  // "sh", "toml"
  std::string text;
};

std::vector<Block> blocks_of(const std::string& document) {
  std::ifstream text(std::string(STAB_SOURCE_DIR) + "/" + document);
  std::vector<Block> blocks;
  bool inside = false;
  for (std::string line; std::getline(text, line);) {
    if (!line.starts_with("```")) {
      if (inside) blocks.back().text += line + "\n";
      continue;
    }
    inside = !inside;
    if (inside) blocks.push_back({.kind = line.substr(3), .text = ""});
  }
  return blocks;
}

// "sum.c" of "// sum.c" in the first line.
std::string file_of(const Block& block) {
  const std::size_t name = block.text.find(' ') + 1;
  return block.text.substr(name, block.text.find('\n') - name);
}

TEST(Guide, IsFollowedFromItsBeginningToItsEnd) {
  Lab lab;
  if (!own_state_folder(lab.path("xdg"))) GTEST_SKIP() << "mounts of our own are not allowed here";
  int written = 0;
  int run = 0;
  for (const Block& block : blocks_of("doc/guide.md")) {
    if (block.kind == "c" || block.kind == "toml") {
      lab.write(file_of(block), block.text);
      ++written;
    }
    if (block.kind != "sh") continue;
    const Output said = run_program({"/bin/bash", "-euc", "cd \"$0\"; PATH=$1:$PATH; eval \"$2\"",
                                     lab.folder(), STAB_BIN_DIR, block.text},
                                    lab.folder());
    EXPECT_EQ(said.code, 0) << block.text << said.err;
    EXPECT_FALSE(said.out.empty()) << block.text;
    ++run;
  }
  drop_state_folder();
  EXPECT_GE(written, 3);
  EXPECT_GE(run, 4);
}

std::string text_of(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(std::string(STAB_SOURCE_DIR) + "/" + path).rdbuf();
  return text.str();
}

// The indented blocks of a section, without their indentation.
std::vector<std::string> indented_blocks(const std::string& document, const std::string& title) {
  const std::size_t begin = document.find("\n## " + title + "\n");
  if (begin == std::string::npos) return {};
  std::istringstream section(document.substr(begin + 1, document.find("\n## ", begin + 1) - begin));
  std::vector<std::string> blocks;
  std::string gap;  // empty lines, which may be inside a block
  bool inside = false;
  for (std::string line; std::getline(section, line);) {
    if (line.empty()) {
      gap += "\n";
      continue;
    }
    const bool indented = line.starts_with("    ");
    if (indented && !inside) blocks.emplace_back();
    if (indented) blocks.back() += (inside ? gap : "") + line.substr(4) + "\n";
    inside = indented;
    gap.clear();
  }
  return blocks;
}

// As it is written there, from the folder of the repository.
TEST(Readme, TheFirstPlanRunsAsItStands) {
  const std::vector<std::string> blocks =
      indented_blocks(text_of("README.md"), "A first plan of your own");
  ASSERT_GE(blocks.size(), 2U);
  // The commands follow the plan after an empty line.
  const std::size_t end = blocks.front().find("\nbuild/bin/");
  ASSERT_NE(end, std::string::npos) << blocks.front();
  const std::string plan = blocks.front().substr(0, end);
  const std::string commands = blocks.front().substr(end + 1);
  EXPECT_TRUE(text_of("plans/inline.toml").ends_with("\n\n" + plan)) << plan;

  Lab lab;
  if (!own_state_folder(lab.path("xdg"))) GTEST_SKIP() << "mounts of our own are not allowed here";
  std::filesystem::create_directories(lab.path("plans"));
  std::filesystem::create_directories(lab.path("build"));
  std::filesystem::copy(std::string(STAB_SOURCE_DIR) + "/plans/programs",
                        lab.path("plans/programs"));
  std::filesystem::create_symlink(STAB_BIN_DIR, lab.path("build/bin"));
  lab.write("plans/inline.toml", plan);
  const Output said = run_program(
      {"/bin/bash", "-euc", "cd \"$0\"; eval \"$1\"", lab.folder(), commands}, lab.folder());
  drop_state_folder();
  EXPECT_EQ(said.code, 0) << said.err;
  EXPECT_THAT(said.out, ::testing::HasSubstr("Does -fno-inline hurt?"));
  EXPECT_THAT(said.out, ::testing::HasSubstr("60 ok, 0 failed")) << said.err;
}

}  // namespace
}  // namespace stab::test
