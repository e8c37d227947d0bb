// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <string>

#include "base/text.h"
#include "instrumenter/driver/command.h"

namespace stab::driver {
namespace {

// What clang says of the option when nothing follows it.
std::string answer_of_clang(std::string_view option) {
  const std::string command = fmt::format("clang-22 '-###' {} 2>&1", shell_quote(option));
  std::FILE* pipe = popen(command.c_str(), "r");  // NOLINT: the option is quoted
  std::string answer;
  std::array<char, 4096> buffer;
  while (std::fgets(buffer.data(), buffer.size(), pipe) != nullptr) answer += buffer.data();
  pclose(pipe);
  return answer;
}

TEST(ClangOptions, EachOptionThatTakesTheNextArgumentMissesItInClang) {
  for (const std::string_view option : options_with_next()) {
    EXPECT_NE(answer_of_clang(option).find("is missing"), std::string::npos) << option;
  }
}

TEST(ClangOptions, PhasesAndQuestionsDoNotLink) {
  EXPECT_TRUE(stops_before_link("-c"));
  EXPECT_TRUE(stops_before_link("-print-search-dirs"));
  EXPECT_TRUE(stops_before_link("--version"));
  EXPECT_FALSE(stops_before_link("-v"));
  EXPECT_FALSE(stops_before_link("-shared"));
  EXPECT_FALSE(stops_before_link("-cool"));
}

}  // namespace
}  // namespace stab::driver
