// SPDX-License-Identifier: MIT
// What a text report says of trials that rules of the plan excluded.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/sample_document.h"
#include "report/text.h"
#include "report/text_testing.h"

namespace stab::report {
namespace {

using testing::HasSubstr;
using testing::Not;

Document with_exclusions() {
  Document document = sample_document();
  Exclusions exclusions{.rules = {{.when = "steal_share > 0.01", .caught = 3, .open = 0},
                                  {.when = "throttled_per_s > 0", .caught = 0, .open = 60}},
                        .cells = {{.name = "hash opt=O1", .judged = 30, .disturbed = 0},
                                  {.name = "sort opt=O2", .judged = 30, .disturbed = 3}},
                        .disturbed = 3,
                        .lost = 1,
                        .alpha = 0.05,
                        .p = 0.21};
  exclusions.without = document.analysis.effects;
  for (stats::Effect& effect : exclusions.without) effect.verdict = stats::Verdict::unsure;
  document.exclusions = std::move(exclusions);
  return document;
}

TEST(Exclusions, SaysWhatWasExcludedByRuleAndByCell) {
  const std::string report = text(with_exclusions(), full);
  EXPECT_THAT(words_of(report),
              HasSubstr("Excluded 3 attempts were disturbed. In 1 trial, the last attempt was "
                        "disturbed, too. There is no sign that some cells are disturbed more often "
                        "than others (p = 0.210)."));
  EXPECT_THAT(words_of(report), HasSubstr("throttled_per_s > 0 0 60"));
  EXPECT_LT(report.find("sort opt=O2"), report.find("hash opt=O1"));
  EXPECT_THAT(text(sample_document(), full), Not(HasSubstr("Exclusions")));
}

TEST(Exclusions, TheResultWithoutTheRulesStandsBesideTheOther) {
  const std::string report = text(with_exclusions(), full);
  EXPECT_THAT(words_of(report), HasSubstr("like these O1 -> O2 -2.5 % (-3.7 to -1.2 %) faster "
                                          "-2.5 % (-3.7 to -1.2 %) cannot tell"));
}

TEST(Exclusions, AComparisonThatLostAllTrialsToRulesIsUnsureAndShown) {
  Document document = with_exclusions();
  EXPECT_FALSE(document.findings().unsure);
  stats::Effect lost = document.analysis.effects.back();
  lost.level = "O7";
  document.exclusions->vanished = {lost};
  EXPECT_TRUE(document.findings().unsure);
  const std::string report = words_of(text(document, full));
  EXPECT_THAT(report, HasSubstr("Warning: 1 comparison has no trials left and stays undecided"));
  EXPECT_THAT(report, HasSubstr("O1 -> O7 no trials left cannot tell -"));
}

TEST(Exclusions, ExclusionsThatDependOnTheCellAreAWarning) {
  Document document = with_exclusions();
  document.exclusions->p = 0.001;
  EXPECT_THAT(words_of(text(document, full)),
              HasSubstr("Warning: some cells are disturbed more often than others"));
}

}  // namespace
}  // namespace stab::report
