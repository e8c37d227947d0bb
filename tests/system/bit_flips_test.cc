// SPDX-License-Identifier: MIT
// Bits that change in the database of a finished run: what a query returns then is what it returned
// before, or an error.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "base/random.h"
#include "tests/system/lab.h"

namespace stab::test {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t seed = 20262;
// Each asks stabctl several times, whose start takes long under a sanitizer.
#ifdef STAB_SANITIZED
constexpr int few = 60;
#else
constexpr int few = 300;
#endif

std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

Output stabctl(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), std::string(STAB_BIN_DIR) + "/stabctl");
  return run_program(arguments, "/");
}

std::string first_difference(const std::string& answer, const std::string& wanted) {
  const auto at = std::ranges::mismatch(answer, wanted).in1 - answer.begin();
  const std::size_t from = static_cast<std::size_t>(std::max<std::ptrdiff_t>(at - 100, 0));
  return answer.substr(from, 200) + "\n-- and not --\n" + wanted.substr(from, 200);
}

TEST(BitFlips, AreSaidOrDoNotMatter) {
  const Lab lab;
  lab.write("plan.toml",
            "[experiment]\nname = \"flipped\"\n[[benchmark]]\nname = \"b\"\n"
            "run = [\"sleep\", \"${TIME}\"]\nrepetitions = 8\n"
            "[factor.t]\nlevels = { a = { TIME = \"0.001\" }, b = { TIME = \"0.002\" } }\n");
  const std::string state = lab.path("state");
  ASSERT_EQ(stabctl({"run", "--state", state, "--fail-on", "none", lab.path("plan.toml")}).code, 0);
  // The database by itself, without a log beside it.
  for (const auto& entry : fs::directory_iterator(state))
    ASSERT_TRUE(!entry.path().string().ends_with("-wal") || fs::file_size(entry.path()) == 0);
  const std::string path = state + "/stabd.db";
  const std::string whole = text_of(path);
  const std::vector<std::vector<std::string>> queries{
      {"export", "--state", state, "--format", "json"}, {"report", "--state", state, "--json"}};
  std::vector<std::string> wanted;
  for (const auto& query : queries) {
    const Output answer = stabctl(query);
    ASSERT_EQ(answer.code, 0) << answer.err;
    wanted.push_back(answer.out);
  }

  Random random(seed);
  std::map<std::string, int> outcomes;
  for (int flip = 0; flip < times(few, 5000); ++flip) {
    std::string changed = whole;
    const std::size_t at = random.below(changed.size());
    changed[at] = static_cast<char>(changed[at] ^ (1 << random.below(8)));
    std::ofstream(path, std::ios::binary) << changed;
    bool refused = false;
    for (std::size_t i = 0; i < queries.size(); ++i) {
      const Output answer = stabctl(queries[i]);
      if (answer.code == 0)
        EXPECT_TRUE(answer.out == wanted[i] || answer.out.contains("not known: ") ||
                    answer.out.contains("cannot be read: "))
            << "byte " << at << ":\n"
            << first_difference(answer.out, wanted[i]);
      else
        EXPECT_FALSE(answer.err.empty()) << answer.code;
      EXPECT_TRUE(answer.code == 0 || answer.code == 1) << answer.code << answer.err;
      refused = refused || answer.code != 0;
    }
    ++outcomes[refused ? "refused" : "same"];
  }
  // Both happen, or this shows little.
  EXPECT_GT(outcomes["refused"], 3);
  EXPECT_GT(outcomes["same"], 0);
}

}  // namespace
}  // namespace stab::test
