// SPDX-License-Identifier: MIT
// What doc/guide.md tells users to do works, in the order in which it stands there, and so does README.md.
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
  std::string kind;  // "sh", "toml", "cmake"
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
    if (block.kind == "c" || block.kind == "toml" || block.kind == "cmake") {
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
  EXPECT_GE(written, 4);
  EXPECT_GE(run, 5);
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

// The words with which the lines of an example begin, without numbers: they show which command's output it is, whatever
// it measured.
std::vector<std::string> beginnings(const std::string& example) {
  std::istringstream lines(example);
  std::vector<std::string> found;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t begin = line.find_first_not_of(' ');
    if (begin == std::string::npos) continue;
    const std::size_t end = line.find_first_of(" :(", begin);
    const std::string word = line.substr(begin, end - begin);
    if (word.size() >= 3 &&
        word.find_first_not_of("abcdefghijklmnopqrstuvwxyz"
                               "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == std::string::npos)
      found.push_back(word);
  }
  return found;
}

// An example's lines stand in the output of its command: those that begin with a word, by that word.
void expect_shape(const std::string& example, const std::string& output) {
  const std::vector<std::string> words = beginnings(example);
  EXPECT_GE(words.size(), 2U) << example;
  const std::vector<std::string> printed = beginnings(output);
  for (const std::string& word : words) EXPECT_THAT(printed, ::testing::Contains(word)) << output;
}

class Readme : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!own_state_folder(lab_.path("xdg")))
      GTEST_SKIP() << "mounts of our own are not allowed here";
  }
  void TearDown() override { drop_state_folder(); }

  Output run(const std::string& commands) {
    return run_program({"/bin/bash", "-euc", "cd \"$0\"; PATH=$1:$PATH; eval \"$2\"", lab_.folder(),
                        STAB_BIN_DIR, commands},
                       lab_.folder());
  }

  Lab lab_;
};

TEST_F(Readme, ComparesTwoCommandsAsItStands) {
  const std::vector<std::string> blocks =
      indented_blocks(text_of("README.md"), "Two commands, no plan");
  ASSERT_GE(blocks.size(), 2U);
  std::string commands = blocks[0];
  // Fewer numbers take less time; the commands stay as they are.
  const std::size_t count = commands.find("100000");
  ASSERT_NE(count, std::string::npos) << commands;
  const Output said = run(commands.replace(count, 6, "2000"));
  EXPECT_EQ(said.code, 0) << said.err;
  expect_shape(blocks[1], said.out);
}

TEST_F(Readme, ThePlanRunsAsItStands) {
  const std::vector<std::string> blocks = indented_blocks(text_of("README.md"), "A plan");
  ASSERT_GE(blocks.size(), 3U);
  EXPECT_TRUE(text_of("plans/inline.toml").ends_with("\n\n" + blocks[0])) << blocks[0];
  std::filesystem::create_directories(lab_.path("plans"));
  std::filesystem::copy(std::string(STAB_SOURCE_DIR) + "/plans/programs",
                        lab_.path("plans/programs"));
  lab_.write("plans/inline.toml", blocks[0]);
  const Output said = run(blocks[1]);
  EXPECT_EQ(said.code, 0) << said.err;
  EXPECT_THAT(said.out, ::testing::HasSubstr("Does inlining help?"));
  EXPECT_THAT(said.out, ::testing::HasSubstr("60 ok, 0 failed")) << said.err;
  expect_shape(blocks[2], said.out);
}

}  // namespace
}  // namespace stab::test
