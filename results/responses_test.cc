// SPDX-License-Identifier: MIT
// Several responses in one plan.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "base/fd.h"
#include "report/json.h"
#include "report/sections/sections.h"
#include "report/text.h"
#include "results/testing.h"

namespace stab::results {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;

// "fast" takes half of the time, and fewer instructions, or more of them where times and counts are
// to be opposed.
Change with_instructions(bool opposed) {
  return [opposed](Trial& trial) {
    const bool fast = trial.levels["mode"] == "fast";
    const std::int64_t noise = trial.position % 3;
    trial.readings = {counters::counted("instructions", "", (fast == opposed ? 900 : 500) + noise),
                      counters::counted("cycles", "", 70 + std::int64_t{trial.block})};
    trial.wall_ns = *trial.wall_ns + noise;
  };
}
const std::string three_responses = tables +
                                    "[measure]\ncounters = ['instructions', 'cycles']\n"
                                    "[analysis]\nresponse = ['wall', 'instructions', 'cycles']\n";

TEST_F(DocumentTest, EachFurtherResponseHasAFamilyOfItsOwn) {
  begin(three_responses);
  run(with_instructions(false));
  const auto all = document();
  EXPECT_EQ(all.analysis.spec.response, "wall");
  ASSERT_EQ(all.others.size(), 2U);
  EXPECT_EQ(all.others[0].spec.response, "instructions");
  EXPECT_EQ(all.others[0].spec.unit, stats::Unit::number);
  ASSERT_EQ(all.others[0].effects.size(), all.analysis.effects.size());
  for (const stats::Effect& effect : all.others[0].effects) {
    EXPECT_NEAR(effect.ratio.value_or(0), 5.0 / 9, 0.01);
    EXPECT_EQ(effect.verdict, stats::Verdict::faster);
  }
  for (const stats::Effect& effect : all.others[1].effects)
    EXPECT_EQ(effect.verdict, stats::Verdict::unsure);
  EXPECT_TRUE(report::disagreements(all).empty());
  // It says what a plan of this response alone would say.
  begin(tables +
        "[measure]\ncounters = ['instructions', 'cycles']\n"
        "[analysis]\nresponse = 'instructions'\n");
  run(with_instructions(false));
  const auto alone = document();
  ASSERT_EQ(alone.analysis.effects.size(), all.others[0].effects.size());
  for (std::size_t i = 0; i < alone.analysis.effects.size(); ++i) {
    EXPECT_EQ(alone.analysis.effects[i].p_adjusted, all.others[0].effects[i].p_adjusted);
    EXPECT_EQ(alone.analysis.effects[i].low, all.others[0].effects[i].low);
  }
}

// The trials that lack it may be those that one level made slow.
TEST_F(DocumentTest, WhereTrialsLackAResponseThereIsNoVerdictOnIt) {
  for (const bool zero : {false, true}) {
    begin(three_responses);
    run([zero](Trial& trial) {
      with_instructions(false)(trial);
      if (trial.block != 0 || trial.levels["mode"] != "fast") return;
      trial.readings[0] = zero ? counters::counted("instructions", "", 0)
                               : counters::absent("instructions", "", "not counted");
    });
    const auto all = document();
    for (const stats::Effect& effect : all.analysis.effects)
      EXPECT_EQ(effect.verdict, stats::Verdict::faster);
    ASSERT_FALSE(all.others[0].effects.empty());
    for (const stats::Effect& effect : all.others[0].effects)
      EXPECT_EQ(effect.verdict, stats::Verdict::unsure);
    EXPECT_EQ(all.others[0].withheld, "some trials have no instructions above 0 (see the notes)");
    EXPECT_THAT(
        all.others[0].notes,
        Contains(HasSubstr("1 of 8 trials of quick have no instructions above 0. There is no "
                           "verdict, because the levels may influence")));
  }
}

TEST_F(DocumentTest, SaysWhereATimeAndACountDisagree) {
  begin(three_responses);
  run(with_instructions(true));
  const auto all = document();
  const auto sentences = report::disagreements(all);
  ASSERT_EQ(sentences.size(), all.analysis.effects.size());
  EXPECT_THAT(sentences[0],
              AllOf(HasSubstr("mode, from slow to fast: the change of wall is -50"),
                    HasSubstr(", but the change of instructions is +"),
                    HasSubstr("the time and the count disagree about which level is better")));
  EXPECT_THAT(
      report::text(all, {.full = true}),
      AllOf(HasSubstr("Changes of instructions\n"), HasSubstr("Changes of cycles\n"),
            HasSubstr("The p-values and intervals of each response"),
            HasSubstr("Times and counts disagree\n"),
            HasSubstr("doc/statistics.md explains when to trust times and when to trust counts")));
  EXPECT_THAT(read_file(STAB_SOURCE_DIR "/doc/statistics.md", 1 << 20).value(),
              HasSubstr("## Times and counts: when to trust which\n"));
  const auto root = nlohmann::json::parse(report::json(all));
  ASSERT_EQ(root["responses"].size(), 2U);
  EXPECT_EQ(root["responses"][0]["response"], "instructions");
  EXPECT_EQ(root["responses"][0]["verdict"], "slower");
  EXPECT_EQ(root["responses"][0]["effects"].size(), root["effects"].size());
  EXPECT_EQ(root["disagreements"].size(), sentences.size());
  EXPECT_EQ(root["verdict"], "faster");
}

TEST_F(DocumentTest, WhatIsDerivedOrHasAUnitIsNoCountThatATimeDisagreesWith) {
  begin(tables +
        "[[measure.output]]\nname = 'instructions'\nregex = '(x)'\nunit = '1/s'\n"
        "[measure.derived]\ncost = 'wall / instructions'\n"
        "[analysis]\nresponse = ['wall', 'instructions', 'cost']\n");
  run([](Trial& trial) {
    with_instructions(true)(trial);
    trial.readings.push_back(trial.readings[0]);
    trial.readings.back().name = "cost";
  });
  const auto all = document();
  ASSERT_EQ(all.others.size(), 2U);
  for (const stats::Analysis& other : all.others)
    for (const stats::Effect& effect : other.effects)
      EXPECT_EQ(effect.verdict, stats::Verdict::slower);
  EXPECT_TRUE(report::disagreements(all).empty());
}

}  // namespace
}  // namespace stab::results
