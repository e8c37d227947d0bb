// SPDX-License-Identifier: MIT
#include "stabd/client/ab/conclusion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace stab::client::ab {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::SizeIs;

json effect(const std::string& level, const std::string& verdict, double ratio) {
  return {{"baseline", "old"},    {"level", level},      {"verdict", verdict},
          {"ratio", ratio},       {"low", ratio - 0.01}, {"high", ratio + 0.01},
          {"needed_units", 1000}, {"reason", nullptr}};
}

// As the report of one beside a control.
json held_back(json one, const std::string& verdict) {
  one["verdict"] = "unsure";
  one["held_back"] = verdict;
  one["control_reach"] = 0.11;
  return one;
}

json report(const json& effects) {
  json means = json::array();
  means.push_back({{"levels", {{"version", "old"}}}, {"mean", 2e6}, {"n", 50}});
  for (const json& each : effects)
    means.push_back({{"levels", {{"version", each["level"]}}}, {"mean", 2e6}, {"n", 50}});
  return {{"analysis", {{"equivalence", 0.01}}},
          {"effects", effects},
          {"means", means},
          {"duration_s", 100.0}};
}

Compared versions(std::vector<std::string> names, const std::string& control = "") {
  Compared compared{.versions = std::move(names), .control = control};
  for (const std::string& each : compared.versions)
    compared.trials[each] = {.ok = 50, .moved = 50, .printed = {"x"}};
  if (!control.empty()) compared.trials[control] = {.ok = 50, .moved = 50, .printed = {"x"}};
  return compared;
}

Conclusion of(const json& one, const std::string& control = "") {
  return conclude(report(json::array({one})), versions({"old", "new"}, control));
}

TEST(Conclusion, EachVersionHasASentence) {
  const Conclusion all =
      conclude(report({effect("new", "faster", 0.9), effect("newer", "same", 1.001),
                       effect("newest", "slower", 1.05), effect("last", "slower", 4.2)}),
               versions({"old", "new", "newer", "newest", "last"}));
  EXPECT_THAT(
      all.sentences(),
      ElementsAre("new is faster than old: -10 % (95 % interval -11 % to -9 %)",
                  HasSubstr("newer is as fast as old, within 1 %: +0.1 %"),
                  HasSubstr("newest is slower than old: +5 %"),
                  "last is slower than old: 4.2 times as long (95 % interval 4.19 to 4.21 times)"));
  EXPECT_TRUE(all.findings.regressed);
  EXPECT_FALSE(all.findings.unsure);
}

TEST(Conclusion, WhatCannotBeToldSaysWhatItTakes) {
  const Conclusion unsure = of(effect("new", "unsure", 1.02));
  EXPECT_THAT(
      unsure.sentences(),
      ElementsAre(AllOf(HasSubstr("cannot tell whether new is faster or slower than old"),
                        HasSubstr("; about 1000 rounds, 33 min 20 s, would settle it to within 1 % "
                                  "(--budget); a larger --margin or --metric cpu needs less"))));
  EXPECT_FALSE(unsure.findings.regressed);
  EXPECT_TRUE(unsure.findings.unsure);
}

TEST(Conclusion, WhatCannotBeToldHasANextStepWhateverIsKnown) {
  const auto sentence = [](const json& needed, double seconds) {
    json open = effect("new", "unsure", 1.01);
    open["needed_units"] = needed;
    json all = report(json::array({open}));
    all["duration_s"] = seconds;
    return conclude(all, versions({"old", "new"})).sentences().front();
  };
  EXPECT_THAT(sentence(nullptr, 100), EndsWith("; a longer --budget may settle it"));
  EXPECT_THAT(sentence(1'000'000, 1e6),
              EndsWith("; that would take more than a century: choose a larger --margin"));
  EXPECT_THAT(sentence(50, 100), EndsWith("; about 200 rounds, 6 min 40 s, would make the interval "
                                          "half as wide (--budget)"));
}

TEST(Conclusion, AReasonThatNoNumberShowsStandsInTheAnswer) {
  json early = effect("new", "unsure", 2.5);
  early["reason"] = "too few independent blocks";
  EXPECT_THAT(
      of(early).sentences(),
      ElementsAre(EndsWith("; no verdict: too few independent blocks (a longer --budget may "
                           "help; --full says more)")));
}

TEST(Conclusion, VersionsThatOneCommandBuiltWithDifferentCompilersHaveNoVerdict) {
  Compared compared = versions({"old", "new"});
  compared.trials["new"].moved = 0;
  const auto all = [&] {
    return conclude(report(json::array({effect("new", "faster", 0.8)})), compared);
  };
  EXPECT_EQ(all().lines[0].verdict, "faster") << "programs may come from anywhere";
  compared.built = true;
  EXPECT_EQ(all().lines[0].verdict, "unsure");
  EXPECT_TRUE(all().findings.unsure);
  EXPECT_THAT(all().sentences(),
              ElementsAre(AllOf(HasSubstr("no verdict, because szc built old but not new"),
                                HasSubstr("by itself new is faster than old"))));
  compared.trials["old"].moved = 0;
  EXPECT_EQ(all().lines[0].verdict, "faster") << "no version has szc's runtime";
}

// What is not known counts as the case that needs somebody to look.
TEST(Conclusion, AnUnknownVerdictAndNoneAtAllAreUnsure) {
  EXPECT_TRUE(of(effect("new", "wonderful", 0.5)).findings.unsure);
  const Conclusion none = conclude(report(json::array()), versions({"old", "new"}));
  EXPECT_TRUE(none.findings.unsure);
  EXPECT_THAT(
      none.sentences(),
      ElementsAre("cannot compare new with old: there are too few trials; use a longer --budget"));
  json empty = effect("new", "unsure", 1);
  for (const char* each : {"low", "high", "ratio"}) {
    empty[each] = nullptr;
    EXPECT_THAT(of(empty).sentences(), ElementsAre(HasSubstr("there are too few trials")));
    if (each != std::string("ratio")) empty[each] = 1;
  }
}

TEST(Conclusion, TheSizeOfCodeIsSaidWhereAllHaveOne) {
  Compared compared = versions({"old", "new", "newer", "newest"});
  const auto said = [&] {
    return conclude(report(json::array({effect("new", "same", 1)})), compared).code;
  };
  EXPECT_EQ(said(), "");
  compared.trials["old"].code = {20'000};
  compared.trials["new"].code = {25'000};
  compared.trials["newer"].code = {20'000};
  EXPECT_EQ(said(), "");
  compared.trials["newest"].code = {19'500};
  EXPECT_EQ(said(),
            "Code: old has 20000 bytes, new 25000 (25 % more), newer as many, newest 19500 (2.5 % "
            "less).");
  // Somebody wrote another program meanwhile.
  compared.trials["new"].code.insert(7);
  EXPECT_EQ(said(), "");
}

TEST(Conclusion, AVersionThatFailsAtTimesIsNotCompared) {
  for (const char* failing : {"old", "new"}) {
    Compared compared = versions({"old", "new"});
    compared.trials[failing] = {.ok = 40, .lost = 10, .why = "ended with exit code 1"};
    const Conclusion conclusion =
        conclude(report(json::array({effect("new", "slower", 1.5)})), compared);
    EXPECT_THAT(conclusion.sentences(),
                ElementsAre("cannot compare new with old: " + std::string(failing) +
                            " failed in 10 of 50 trials (ended with exit code 1)"));
    EXPECT_FALSE(conclusion.findings.regressed);
    EXPECT_TRUE(conclusion.findings.unsure);
    EXPECT_THAT(as_markdown(report(json::array({effect("new", "slower", 1.5)})), conclusion),
                HasSubstr("| `new` | 2 ms |  | none |"));
  }
}

TEST(Conclusion, TheControlIsNoVersionAndSaysWhatThisMachineCanTell) {
  const auto with = [](const char* verdict) {
    json control = effect("old-again", verdict, 1.1);
    control["control_reach"] = 0.11;
    return conclude(report({effect("new", "faster", 0.8), control}),
                    versions({"old", "new"}, "old-again"));
  };
  for (const char* verdict : {"same", "unsure"}) {
    EXPECT_EQ(with(verdict).sentences().back(),
              "the control, two measurements of old: +10 % (95 % interval +9 % to +11 %): this "
              "machine can detect changes beyond -9.9 % or +11 %");
    EXPECT_NEAR(with(verdict).control->can_tell.value(), 0.11, 1e-12);
    EXPECT_FALSE(with(verdict).findings.unsure);
  }
  for (const char* verdict : {"slower", "faster"}) {
    const Conclusion different = with(verdict);
    EXPECT_THAT(different.lines, SizeIs(1));
    EXPECT_FALSE(different.findings.regressed) << "the control is no version";
    EXPECT_FALSE(different.findings.unsure) << "the change is larger than the control's";
    EXPECT_THAT(different.sentences().back(),
                AllOf(HasSubstr("old differs from itself"), HasSubstr("+10 %"),
                      HasSubstr("only changes beyond -9.9 % or +11 % get a verdict")));
    EXPECT_FALSE(different.control->can_tell);
    EXPECT_NEAR(different.control->reach.value(), 0.11, 1e-12);
  }
}

TEST(Conclusion, WhatTheControlHoldsBackIsNoVerdictAndSaysWhy) {
  json control = effect("old-again", "unsure", 1.05);
  control["control_reach"] = 0.11;
  const auto said = [&](const char* verdict, double ratio) {
    return conclude(report({held_back(effect("new", "", ratio), verdict), control}),
                    versions({"old", "new"}, "old-again"));
  };
  const Conclusion change = said("slower", 1.06);
  EXPECT_EQ(change.lines[0].verdict, "unsure");
  EXPECT_TRUE(change.findings.unsure);
  EXPECT_FALSE(change.findings.regressed);
  EXPECT_THAT(change.sentences().front(),
              AllOf(HasSubstr("cannot tell whether new is faster or slower than old: +6 %"),
                    HasSubstr(", but old may differ from itself by -9.9 % or +11 %; about ")));
  EXPECT_THAT(said("same", 1.0).sentences().front(),
              AllOf(HasSubstr("cannot tell whether new is as fast as old, within 1 %"),
                    HasSubstr(", but old may differ from itself by -9.9 % or +11 %")));
}

TEST(Conclusion, BesideAControlThatFailedThereIsNoVerdict) {
  Compared failed = versions({"old", "new"}, "old-again");
  failed.trials["old-again"] = {.ok = 0, .lost = 50, .why = "it was killed"};
  const Conclusion none = conclude(report(json::array({effect("new", "slower", 1.9)})), failed);
  EXPECT_EQ(none.lines[0].verdict, "unsure");
  EXPECT_TRUE(none.findings.unsure);
  EXPECT_FALSE(none.findings.regressed);
  EXPECT_THAT(none.sentences().front(), HasSubstr("cannot tell without a control"));
  EXPECT_THAT(none.sentences().back(), HasSubstr("old-again failed in 50 of 50 trials"));
}

TEST(Conclusion, WhatIsNotRandomIsNamed) {
  const json found = report(json::array({effect("new", "same", 1)}));
  Compared compared = versions({"old", "new"});
  EXPECT_EQ(conclude(found, compared).randomized,
            "The size of the environment is random in each block. Random in each trial: the "
            "addresses of stack, heap and libraries, the positions of functions, the positions of "
            "heap blocks. Not random: the sizes of stack frames.");
  compared.trials["old"].moved = 49;
  EXPECT_THAT(
      conclude(found, compared).randomized,
      AllOf(HasSubstr("Not random: the positions of functions of old, the sizes of"),
            HasSubstr("random in new but not in old, so the cost of szc's runtime is part")));
  compared.trials["new"].moved = 0;
  compared.why_no_heap = "--no-heap";
  EXPECT_THAT(conclude(found, compared).randomized,
              AllOf(HasSubstr("stack, heap and libraries. Not random: the positions of functions, "
                              "the positions of heap blocks (--no-heap), the sizes of"),
                    HasSubstr("come from two lucky layouts;")));
}

TEST(Conclusion, OutputIsTheSameOnlyIfAllOfItIsKnownToBe) {
  const json found = report(json::array({effect("new", "same", 1)}));
  Compared compared = versions({"old", "new"});
  EXPECT_EQ(conclude(found, compared).same_output, true);
  compared.trials["new"].printed = {"y"};
  EXPECT_EQ(conclude(found, compared).same_output, false);
  compared.trials["new"].printed = {"x", "y"};
  EXPECT_EQ(conclude(found, compared).same_output, std::nullopt);
  compared.trials["new"].printed.clear();
  EXPECT_EQ(conclude(found, compared).same_output, std::nullopt);
}

TEST(Conclusion, AsMarkdownEachVersionIsARow) {
  const json found = report(json::array({effect("new", "slower", 1.05)}));
  EXPECT_THAT(as_markdown(found, conclude(found, versions({"old", "new"}))),
              HasSubstr("|---|---|---|---|\n| `old` | 2 ms |  |  |\n"
                        "| `new` | 2 ms | +5 % (95 % interval +4 % to +6 %) | slower |\n\n"
                        "- new is slower than old: +5 %"));
}

}  // namespace
}  // namespace stab::client::ab
