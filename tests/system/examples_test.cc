// SPDX-License-Identifier: MIT
// Plans of the folder plans/, as a user runs them but with fewer blocks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>

#include "tests/system/lab.h"

namespace stab::test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

class Examples : public ::testing::Test {
 protected:
  Examples() { std::filesystem::copy(source_ + "/plans/programs", lab_.path("programs")); }

  // The report.
  json run(const std::string& name, const std::string& blocks) const {
    const Output plan =
        run_program({"/bin/sed", "s/^repetitions = [0-9]*/repetitions = " + blocks + "/",
                     source_ + "/plans/" + name},
                    "/");
    lab_.write("plan.toml", plan.out);
    const Output ran = lab_.ctl({"run", "--state", state(), lab_.path("plan.toml")});
    const Output text = lab_.ctl({"report", "--state", state(), "--json"});
    json document = json::parse(text.out, nullptr, false);
    EXPECT_TRUE(document.is_object()) << ran.err << text.err;
    return document;
  }
  std::string state() const { return lab_.path("state"); }

  const std::string source_ = STAB_SOURCE_DIR;
  Lab lab_;
};

// Each plan of the folder, those of the README among them.
TEST_F(Examples, EveryPlanIsAccepted) {
  std::size_t plans = 0;
  for (const auto& file : std::filesystem::directory_iterator(source_ + "/plans")) {
    if (file.path().extension() != ".toml") continue;
    ++plans;
    const Output checked = lab_.ctl({"check", file.path().string()});
    EXPECT_EQ(checked.code, 0) << file.path() << checked.err;
  }
  EXPECT_GE(plans, 15U);
}

TEST_F(Examples, AChosenOrderIsComparedWhileCodeStaysWhereItIs) {
  const json document = run("layout_optimization.toml", "3");
  EXPECT_EQ(document["trials"]["ok"], 6) << document["failures"];
  ASSERT_EQ(document["effects"].size(), 1U);
  const Output rows = lab_.ctl({"export", "1", "--state", state(), "--format", "json"});
  const json trials = json::parse(rows.out, nullptr, false);
  ASSERT_EQ(trials.size(), 6U) << rows.err;
  for (const json& row : trials) {
    EXPECT_THAT(std::string(row["randomization"]), Not(HasSubstr("code"))) << row;
    EXPECT_THAT(std::string(row["randomization"]), HasSubstr("stack")) << row;
  }
}

TEST_F(Examples, OptimizationLevelsAreComparedInPairs) {
  const json document = run("opt_levels.toml", "2");
  EXPECT_EQ(document["trials"]["ok"], 24) << document["failures"];
  EXPECT_EQ(document["effects"].size(), 12U);
}

TEST_F(Examples, ProgramsOfBothCompilersMoveAndPrintTheSame) {
  const json document = run("compilers.toml", "2");
  EXPECT_EQ(document["trials"]["ok"], 16) << document["failures"];
  EXPECT_EQ(document["effects"].size(), 4U);
  const Output rows = lab_.ctl({"export", "1", "--state", state(), "--format", "json"});
  const json trials = json::parse(rows.out, nullptr, false);
  ASSERT_EQ(trials.size(), 16U) << rows.err;
  for (const json& row : trials)
    EXPECT_THAT(std::string(row["randomization"]), HasSubstr("code")) << row;
}

TEST_F(Examples, ProfilesLinkTimeOptimizationAndBoltAreComparedAndBoltsCodeStays) {
  const std::string llvm = "/usr/lib/llvm-22/";
  // ./dev test installs them.
  for (const auto& [file, package] :
       {std::pair{"bin/llvm-bolt", "bolt-22"},
        {"bin/llvm-profdata", "llvm-22"},
        {"lib/clang/22/lib/linux/libclang_rt.profile-x86_64.a", "libclang-rt-22-dev"}}) {
    if (std::filesystem::exists(llvm + file)) continue;
    const char* no_skips = std::getenv("STAB_NO_SKIPS");
    if (no_skips != nullptr && *no_skips != '\0')
      FAIL() << package << " is not installed, and the test may not be skipped (STAB_NO_SKIPS)";
    GTEST_SKIP() << "plans/pgo.toml needs " << package << ", which is not installed";
  }
  const json document = run("pgo.toml", "2");
  EXPECT_EQ(document["trials"]["ok"], 16) << document["failures"];
  EXPECT_EQ(document["effects"].size(), 6U);
  const Output rows = lab_.ctl({"export", "1", "--state", state(), "--format", "json"});
  const json trials = json::parse(rows.out, nullptr, false);
  ASSERT_EQ(trials.size(), 16U) << rows.err;
  std::set<std::string> builds;
  for (const json& row : trials) {
    builds.insert(row["build"]);
    EXPECT_EQ(row["layout_note"] != "", row["optimization"] == "BOLT") << row;
  }
  EXPECT_EQ(builds.size(), 16U);
  EXPECT_EQ(document["layouts"]["in_place"], 4);
  EXPECT_THAT(joined(lab_.ctl({"report", "--state", state(), "--full"}).out),
              HasSubstr("szc did not build the programs; in 4 trials, BOLT has "
                        "rewritten the program's code and dropped the relocations"));
}

TEST_F(Examples, SimulatedCountsAnswerWithFiveBlocks) {
  const json document = run("simulated.toml", "5");
  EXPECT_EQ(document["trials"]["ok"], 20) << document["failures"];
  EXPECT_EQ(document["simulated"], true);
  ASSERT_EQ(document["effects"].size(), 2U);
  for (const json& effect : document["effects"]) {
    EXPECT_NE(effect["verdict"], "unsure") << effect;
    EXPECT_LT(effect["ratio"], 1) << effect;
  }
  EXPECT_EQ(document["responses"].size(), 2U);
}

TEST_F(Examples, ACausalProfileIsOfEachCell) {
  const json document = run("causal.toml", "1");
  EXPECT_EQ(document["trials"]["ok"], 2) << document["failures"];
  ASSERT_EQ(document["causal"].size(), 2U);
  for (const json& cell : document["causal"]) EXPECT_EQ(cell["points"][0]["name"], "item") << cell;
}

TEST_F(Examples, AProfileSaysWhichFunctionTakesTheTime) {
  const json document = run("profile.toml", "3");
  EXPECT_EQ(document["trials"]["ok"], 6) << document["failures"];
  const json first = json::parse(lab_.ctl({"profile", "1", "0", "--state", state(), "--json"}).out,
                                 nullptr, false);
  ASSERT_TRUE(first.is_object());
  if (first["reason"] != "") GTEST_SKIP() << first["reason"];
  const Output cells = lab_.ctl(
      {"profile", "1", "--state", state(), "--cells", "shapes heap=false", "shapes heap=true"});
  EXPECT_EQ(cells.code, 0) << cells.err;
  EXPECT_THAT(cells.out, HasSubstr("Union::contains"));
}

}  // namespace
}  // namespace stab::test
