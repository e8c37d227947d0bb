// SPDX-License-Identifier: MIT
#include "stabd/client/ab/conclusion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace stab::client {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

json effect(const std::string& level, const std::string& verdict, double ratio) {
  return {{"baseline", "old"},    {"level", level},      {"verdict", verdict},
          {"ratio", ratio},       {"low", ratio - 0.01}, {"high", ratio + 0.01},
          {"needed_units", 1000}, {"reason", nullptr}};
}

json report(const json& effects) {
  return {{"analysis", {{"equivalence", 0.01}}},
          {"effects", effects},
          {"trials", {{"ok", 90}, {"failed", 0}, {"skipped", 0}}},
          {"layouts", {{"randomized", 0}}}};
}

Conclusion of(const json& effects, const std::string& control = "") {
  return conclude(report(effects), control, std::chrono::seconds(2));
}

TEST(Conclusion, EachVersionHasASentence) {
  const Conclusion all = of({effect("new", "faster", 0.9), effect("newer", "same", 1.001),
                             effect("newest", "slower", 1.05)});
  EXPECT_THAT(all.sentences,
              ElementsAre("new is faster than old: -10 % (95 % interval -11 % to -9 %)",
                          HasSubstr("newer is as fast as old, within 1 %: +0.1 %"),
                          HasSubstr("newest is slower than old: +5 %")));
  EXPECT_TRUE(all.findings.regressed);
  EXPECT_FALSE(all.findings.unsure);
}

TEST(Conclusion, WhatCannotBeToldSaysWhatItTakes) {
  const Conclusion unsure = of(json::array({effect("new", "unsure", 1.02)}));
  EXPECT_THAT(unsure.sentences,
              ElementsAre(AllOf(HasSubstr("cannot tell whether new is faster or slower than old"),
                                HasSubstr("it takes about 1000 rounds, 33 min 20 s"))));
  EXPECT_FALSE(unsure.findings.regressed);
  EXPECT_TRUE(unsure.findings.unsure);
}

// What is not known counts as the case that needs somebody to look.
TEST(Conclusion, AnUnknownVerdictAndNoneAtAllAreUnsure) {
  EXPECT_TRUE(of(json::array({effect("new", "wonderful", 0.5)})).findings.unsure);
  EXPECT_TRUE(of(json::array()).findings.unsure);
  json empty = effect("new", "unsure", 1);
  empty["ratio"] = nullptr;
  EXPECT_THAT(of(json::array({empty})).sentences,
              ElementsAre(HasSubstr("there are too few trials")));
}

TEST(Conclusion, TrialsThatFailedAreSaidAndNothingIsSure) {
  json some = report(json::array({effect("new", "faster", 0.9)}));
  some["trials"]["failed"] = 7;
  some["trials"]["skipped"] = 3;
  const Conclusion conclusion = conclude(some, "", std::chrono::seconds(1));
  EXPECT_THAT(conclusion.sentences.back(), HasSubstr("10 of 100 trials failed or were skipped"));
  EXPECT_TRUE(conclusion.findings.unsure);
}

TEST(Conclusion, TheControlIsNoVersionAndItsChangeTakesTheAnswerBack) {
  const Conclusion fine =
      of({effect("new", "faster", 0.9), effect("old-again", "unsure", 1.01)}, "old-again");
  EXPECT_EQ(fine.sentences.size(), 1U);
  EXPECT_FALSE(fine.findings.unsure);
  for (const char* verdict : {"slower", "faster"}) {
    const Conclusion bad =
        of({effect("new", "faster", 0.9), effect("old-again", verdict, 1.1)}, "old-again");
    EXPECT_TRUE(bad.control_differs);
    EXPECT_TRUE(bad.findings.unsure);
    EXPECT_FALSE(bad.findings.regressed) << "the control is no version";
    EXPECT_THAT(bad.sentences.back(), HasSubstr("finds old different from itself"));
  }
}

TEST(Conclusion, AsMarkdownEachVersionIsARow) {
  json empty = effect("newer", "unsure", 1);
  empty["ratio"] = nullptr;
  json found = report({effect("new", "slower", 1.05), empty});
  for (const char* version : {"old", "new", "newer"})
    found["means"].push_back({{"levels", {{"version", version}}}, {"mean", 2e6}});
  const Conclusion conclusion = conclude(found, "", std::chrono::seconds(1));
  EXPECT_THAT(as_markdown(found, conclusion),
              AllOf(HasSubstr("|---|---|---|---|---|\n| `old` | 2 ms | | | |\n"
                              "| `new` | 2 ms | +5 % | +4 % to +6 % | slower |\n"
                              "| `newer` | 2 ms | | | unsure |\n\n- new is slower than old: +5 %"),
                    HasSubstr("\n- cannot compare newer with old: there are too few trials\n")));
}

TEST(Conclusion, WhatIsNotRandomIsNamed) {
  json found = report(json::array());
  EXPECT_THAT(randomized_parts(found, false),
              AllOf(HasSubstr("Not random: the places of functions, the places of blocks"),
                    HasSubstr("built with szc")));
  found["layouts"]["randomized"] = 3;
  EXPECT_EQ(randomized_parts(found, true),
            "Random in each trial: the environment's size, the addresses of stack, heap and "
            "libraries, the places of functions, the places of blocks in the heap.");
}

}  // namespace
}  // namespace stab::client
