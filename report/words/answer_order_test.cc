// SPDX-License-Identifier: MIT
// The answer in the order of the question, and what is in it beside comparisons.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/words/answer.h"
#include "stats/analyse/analyse.h"

namespace stab::report {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

stats::Effect effect(const char* treatment, stats::Verdict verdict) {
  stats::Effect result{.subject = "sort",
                       .treatment = treatment,
                       .baseline = "no",
                       .level = "yes",
                       .ratio = 1.1,
                       .low = 1.05,
                       .high = 1.15,
                       .units = 20,
                       .verdict = verdict};
  result.p = 0.01;
  return result;
}

TEST(AnswerOrder, WhatTheQuestionNamesComesFirstWhateverIsKnownOfIt) {
  stats::Analysis analysis;
  analysis.spec.treatments = {"stack", "heap", "pads", "code", "opt"};
  for (const char* each : {"stack", "heap", "pads", "code", "opt"})
    analysis.effects.push_back(effect(each, stats::Verdict::unsure));
  analysis.effects[0].verdict = stats::Verdict::slower;
  EXPECT_THAT(answer(analysis), StartsWith("sort: stack=yes takes "));
  EXPECT_THAT(answer(analysis),
              HasSubstr("cannot tell whether the levels differ in 4 comparisons"));
  analysis.spec.asked = {"opt"};
  EXPECT_THAT(answer(analysis), StartsWith("sort: cannot tell whether opt=yes takes"));
  analysis.effects[4].verdict = stats::Verdict::faster;
  analysis.effects[1].verdict = stats::Verdict::slower;
  const std::string all = answer(analysis);
  EXPECT_THAT(all, StartsWith("sort: opt=yes takes "));
  EXPECT_LT(all.find("stack=yes"), all.find("heap=yes")) << "the others keep their order";
}

// A plan that asks whether -O3 is worth it may vary the layout, too.
TEST(AnswerOrder, TheUsersOwnTreatmentsComeBeforeBuiltInOnes) {
  stats::Analysis analysis;
  analysis.spec.treatments = {"stack", "opt", "heap", "cc"};
  analysis.spec.built_in = {"stack", "heap"};
  for (const char* each : {"stack", "opt", "heap", "cc"})
    analysis.effects.push_back(effect(each, stats::Verdict::slower));
  const auto expect_order = [&](const std::vector<const char*>& names) {
    const std::string all = answer(analysis);
    for (std::size_t i = 1; i < names.size(); ++i)
      EXPECT_LT(all.find(std::string(names[i - 1]) + "=yes"),
                all.find(std::string(names[i]) + "=yes"))
          << all;
  };
  expect_order({"opt", "cc", "stack", "heap"});
  analysis.spec.asked = {"heap"};
  expect_order({"heap", "opt", "cc", "stack"});
}

// Two treatments of two levels, twelve blocks: each is right for one level of the other.
stats::Analysis crossover(double size) {
  stats::Dataset data;
  data.columns = {{.name = "cc", .levels = {"clang", "gcc"}},
                  {.name = "opt", .levels = {"O2", "O3"}},
                  {.name = "k", .levels = {}}};
  for (std::uint32_t block = 0; block < 12; ++block) {
    data.columns[2].levels.push_back(std::to_string(block));
    for (std::uint32_t cc = 0; cc < 2; ++cc)
      for (std::uint32_t opt = 0; opt < 2; ++opt) {
        const double luck = (block * 7 + cc * 3 + opt * 5 + block * cc * opt) % 11;
        data.response.push_back(1000 + luck + (cc == opt ? 0 : size));
        const std::uint32_t codes[] = {cc, opt, block};
        for (std::size_t i = 0; i < 3; ++i) data.columns[i].codes.push_back(codes[i]);
      }
  }
  stats::Spec spec;
  spec.treatments = {"cc", "opt"};
  spec.block = "k";
  spec.equivalence = 0.02;
  return stats::analyse(data, spec);
}

TEST(AnswerOrder, ALargeInteractionIsPartOfTheAnswerWithTheChangeAtEachLevel) {
  const stats::Analysis crossed = crossover(100);
  EXPECT_THAT(answer(crossed), HasSubstr("\ncc and opt interact: their changes differ by -17"));
  EXPECT_THAT(
      answer(crossed),
      HasSubstr(
          "p < 0.0001), so a change averaged over their levels is misleading; opt=O2 -> O3 is +"));
  EXPECT_THAT(answer(crossed), HasSubstr(" % at cc=clang and -"));
  EXPECT_THAT(answer(crossover(0)), Not(HasSubstr("interact")));
}

TEST(AnswerOrder, AnInteractionWithinTheMarginIsNot) {
  stats::Analysis crossed = crossover(100);
  crossed.interactions[0].low = 0.99;
  crossed.interactions[0].high = 1.01;
  EXPECT_THAT(answer(crossed), Not(HasSubstr("interact")));
}

}  // namespace
}  // namespace stab::report
