// SPDX-License-Identifier: MIT
// Intervals that a report draws beside their numbers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>

#include "report/sample_document.h"
#include "report/text.h"

namespace stab::report {
namespace {

using testing::ContainsRegex;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

constexpr std::size_t widest = 100;

// The table of changes.
std::string changes_of(const Document& document) {
  const std::string all = analysis_text("data", document.analysis);
  const std::size_t begin = all.find("\n  benchmark");
  return all.substr(begin, all.find("\n\n  faster:", begin) - begin);
}

TEST(Pictures, AnIntervalLiesWhereItsNumbersSay) {
  Document document = sample_document();
  auto& effects = document.analysis.effects;
  effects.resize(2);
  for (auto& effect : effects) effect.scope = stats::Scope::subject;
  effects[0].subject = "sort";
  effects[1].subject = "json";
  effects[0].ratio = 0.9;
  effects[0].low_adjusted = 0.8;
  effects[0].high_adjusted = 1.0;
  effects[1].ratio = 1.1;
  effects[1].low_adjusted = 1.0;
  effects[1].high_adjusted = 1.2;
  const std::string table = changes_of(document);
  EXPECT_THAT(table, ContainsRegex("verdict      -20 % +0 +\\+20 %\n"));
  EXPECT_THAT(table, HasSubstr("cannot tell  [----o---]\n"));
  EXPECT_THAT(table, EndsWith("faster                [----o---]"));
}

TEST(Pictures, TheyKeepTheWidthOfThePageAndLeaveWhereThereIsNoRoom) {
  Document document = sample_document();
  const auto lines_fit = [](const std::string& table) {
    std::istringstream lines(table);
    for (std::string line; std::getline(lines, line);)
      if (line.size() > widest) return false;
    return true;
  };
  EXPECT_TRUE(lines_fit(changes_of(document))) << changes_of(document);
  EXPECT_THAT(changes_of(document), HasSubstr("o---"));
  for (auto& effect : document.analysis.effects) effect.level = std::string(60, 'x');
  EXPECT_THAT(changes_of(document), Not(HasSubstr("o---")));
}

TEST(Pictures, AChangeWithoutAnIntervalHasNone) {
  Document document = sample_document();
  for (auto& effect : document.analysis.effects) effect.low_adjusted.reset();
  EXPECT_THAT(changes_of(document), Not(HasSubstr("o---")));
}

}  // namespace
}  // namespace stab::report
