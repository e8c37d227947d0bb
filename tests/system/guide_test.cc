// SPDX-License-Identifier: MIT
// What doc/guide.md tells users to do works, in the order in which it stands there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
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

}  // namespace
}  // namespace stab::test
