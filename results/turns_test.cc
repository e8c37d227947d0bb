// SPDX-License-Identifier: MIT
// Numbers of which each block has some, and numbers that somebody asks for.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "design/trial_list.h"
#include "report/json.h"
#include "report/text.h"
#include "results/document.h"
#include "results/testing.h"

namespace stab::results {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Not;

// Three numbers, of which each block has those of its set.
const std::string by_turns = tables +
                             "[measure]\nrotate = [['rare', 'often'], ['often'], ['other']]\n"
                             "[measure.derived]\nshare = 'rare / often'\n"
                             "[analysis]\nresponse = ['rare', 'wall', 'often', 'share']\n";
Change with_turns(const plan::Plan& plan) {
  return [&plan](Trial& trial) {
    const bool fast = trial.levels["mode"] == "fast";
    const auto noise = static_cast<std::int64_t>(trial.position * 7 % 5);
    trial.wall_ns = *trial.wall_ns + noise;
    const std::uint32_t set = plan::set_of(plan, trial.block, trial.warmup);
    for (const std::string& name : plan.rotated[set])
      trial.readings.push_back(counters::counted(name, "", (fast ? 500 : 900) + noise));
    if (set == 0) trial.readings.push_back(counters::counted("share", "", fast ? 1.5 : 1.25));
  };
}
// With so many blocks.
std::string with_blocks(std::string text, int blocks) {
  return text.replace(text.find("repetitions = 4"), 15, fmt::format("repetitions = {}", blocks));
}

TEST_F(DocumentTest, WhatTakesTurnsIsComparedInItsBlocks) {
  begin(with_blocks(by_turns, 12));
  run(with_turns(plan_));
  const auto all = document();
  ASSERT_EQ(all.others.size(), 3U);
  const auto expect = [](const stats::Analysis& analysis, std::size_t blocks,
                         stats::Verdict verdict) {
    SCOPED_TRACE(analysis.spec.response);
    ASSERT_EQ(analysis.effects.size(), 2U);
    for (const stats::Effect& effect : analysis.effects) {
      EXPECT_EQ(effect.units, blocks);
      EXPECT_EQ(effect.verdict, verdict);
      EXPECT_EQ(effect.reason, "");
    }
    EXPECT_EQ(analysis.withheld, "");
  };
  expect(all.analysis, 4, stats::Verdict::faster);
  expect(all.others[0], 12, stats::Verdict::faster);
  expect(all.others[1], 8, stats::Verdict::faster);
  EXPECT_EQ(all.others[2].effects[0].units, 4U);
  EXPECT_EQ(all.analysis.means[0].n, 4U);
  EXPECT_EQ(all.trials.ok, 48U);
  EXPECT_EQ(all.trials.failed, 0U);
  EXPECT_EQ(all.analysis.notes[0],
            "rare was counted in only 4 of 12 blocks, because events take turns "
            "('measure.rotate'), so the comparison uses only these blocks.");
  EXPECT_THAT(all.others[0].notes, Each(Not(HasSubstr("turn"))));
  EXPECT_EQ(all.others[1].notes[0].substr(0, 40), "often was counted in only 8 of 12 blocks");
  EXPECT_EQ(all.analysis.spec.unit, stats::Unit::number) << "whichever block was the first";
  ASSERT_EQ(all.counters.size(), 3U);
  for (const report::Counter& each : all.counters) {
    EXPECT_EQ(each.absent, 0U) << each.name;
    EXPECT_EQ(each.of_blocks, 12U);
    EXPECT_EQ(each.blocks, each.name == "often" ? 8U : 4U);
    EXPECT_EQ(each.counted, 4 * each.blocks);
  }
  EXPECT_THAT(report::text(all, {.full = true}),
              HasSubstr("often: counted in 8 of 12 blocks, because"));
  const auto root = nlohmann::json::parse(report::json(all));
  EXPECT_EQ(root["counters"][0]["blocks"], 4);
  EXPECT_EQ(root["counters"][0]["of_blocks"], 12);
}

TEST_F(DocumentTest, WhatTakesTurnsIsComparedAsIfItsBlocksWereAll) {
  for (const std::string more : {"", "error = 'pooled'\n", "log = false\nequivalence = '1%'\n",
                                 "[design]\nkind = 'within-subjects'\n",
                                 "programs = 'these'\n[design]\nkind = 'within-subjects'\n"}) {
    SCOPED_TRACE(more);
    begin(with_blocks(by_turns, 12) + more);
    const plan::Plan rotating = plan_;
    run(with_turns(rotating));
    const auto some = document();
    begin(tables + "[measure]\ncounters = ['rare']\n[analysis]\nresponse = 'rare'\n" + more);
    // The trials of the other experiment, block for block.
    std::map<std::tuple<std::uint32_t, std::string, std::string>, std::int64_t> numbers;
    std::uint32_t next = 0;
    for (std::uint32_t block = 0; block < 12; ++block) {
      if (plan::set_of(rotating, block, false) != 0) continue;
      for (const plan::Trial& planned : plan::expand(rotating).trials) {
        if (planned.warmup || planned.block != block) continue;
        const auto noise = static_cast<std::int64_t>(planned.position * 7 % 5);
        const std::string mode = planned.levels[0].name;
        numbers[{next, rotating.benchmarks[planned.benchmark].name, mode}] =
            (mode == "fast" ? 500 : 900) + noise;
      }
      ++next;
    }
    run([&](Trial& trial) {
      trial.readings = {counters::counted(
          "rare", "", numbers[{trial.block, trial.benchmark, trial.levels["mode"]}])};
    });
    const auto whole = document();
    ASSERT_EQ(whole.analysis.effects.size(), some.analysis.effects.size());
    ASSERT_FALSE(whole.analysis.effects.empty());
    for (std::size_t i = 0; i < whole.analysis.effects.size(); ++i) {
      EXPECT_NEAR(whole.analysis.effects[i].df.value_or(0), some.analysis.effects[i].df.value_or(0),
                  1e-6);
      EXPECT_NEAR(*whole.analysis.effects[i].low, *some.analysis.effects[i].low, 1e-9);
      EXPECT_NEAR(*whole.analysis.effects[i].p, *some.analysis.effects[i].p, 1e-9);
    }
    // One note says of the one that it takes turns; the others are the same.
    EXPECT_EQ(std::vector(some.analysis.notes.begin() + 1, some.analysis.notes.end()),
              whole.analysis.notes);
  }
}

TEST_F(DocumentTest, WhatABlockOfItsTurnLacksIsMissing) {
  begin(with_blocks(by_turns, 12));
  const Change turns = with_turns(plan_);
  bool lost = false;
  run([&](Trial& trial) {
    turns(trial);
    if (lost || trial.warmup || trial.readings[0].name != "rare") return;
    trial.readings[0] = counters::absent("rare", "", "not counted");
    lost = true;
  });
  const auto all = document();
  EXPECT_THAT(all.analysis.notes, Contains(HasSubstr("1 of 8 trials of ")));
  EXPECT_EQ(all.others[0].withheld, "");
  EXPECT_EQ(all.counters[0].absent, 1U);
}

TEST_F(DocumentTest, IsAboutTheNumberThatIsAskedFor) {
  begin(with_blocks(by_turns, 12));
  const Change turns = with_turns(plan_);
  run([&](Trial& trial) {
    turns(trial);
    trial.readings.push_back(counters::counted("page-faults-minor", "", 7 + trial.block));
  });
  const auto asked = [&](const Asked& about) {
    auto made = make_document(*store_, experiment_, "", about);
    return made ? *made : report::Document{.reason = made.error().message};
  };
  const auto often = asked({.response = "often"});
  EXPECT_EQ(often.analysis.spec.response, "often");
  EXPECT_TRUE(often.others.empty());
  EXPECT_EQ(often.analysis.effects[0].units, 8U);
  EXPECT_EQ(often.analysis.effects[0].p, document().others[1].effects[0].p);
  EXPECT_EQ(often.analysis.effects[0].verdict, stats::Verdict::faster);
  EXPECT_THAT(often.analysis.notes, Each(Not(HasSubstr("by chance"))));
  EXPECT_EQ(asked({.response = "often", .better = "higher"}).analysis.effects[0].verdict,
            stats::Verdict::slower);
  const auto faults = asked({.response = "page-faults-minor"});
  EXPECT_EQ(faults.analysis.effects[0].units, 12U);
  EXPECT_EQ(
      faults.analysis.notes[0],
      "This report compares page-faults-minor, but the plan compares rare. If you look at many "
      "responses, some show a change by chance.");
  EXPECT_EQ(asked({.response = "user"}).analysis.spec.unit, stats::Unit::nanoseconds);
  EXPECT_THAT(asked({.response = "oftn"}).reason,
              AllOf(HasSubstr("no trial of experiment 1 has the response 'oftn' (did you mean "
                              "'often'?); the responses are wall, user, "),
                    HasSubstr("page-faults-minor")));
  EXPECT_EQ(asked({.response = "often", .better = "more"}).reason,
            "--better more: use lower or higher");
  EXPECT_THAT(asked({.better = "higher"}).reason, HasSubstr("--better needs --metric"));
}

TEST_F(DocumentTest, ANumberThatItsDesignCannotCompareIsNoneToAskFor) {
  const auto refusal = [&](const Asked& about) {
    const auto made = make_document(*store_, experiment_, "", about);
    return made ? "" : made.error().message;
  };
  begin(tables + "[[exclude]]\nwhen = 'involuntary_switches_per_s > 1000'\n");
  run([&](Trial& trial) {
    trial.readings.push_back(counters::counted("context-switches-involuntary", "", 1));
  });
  EXPECT_THAT(refusal({.response = "context-switches-involuntary"}),
              HasSubstr("the plan's exclusion rule 'involuntary_switches_per_s > 1000' measures "
                        "the same quantity as the response"));
  std::string text = by_turns.substr(0, by_turns.find("[analysis]"));
  text.erase(text.find("repetitions = 4"), 15);
  begin(text + "[design]\nkind = 'one-way'\nstop = { rule = 'sequential', min = 5, max = 6 }\n");
  run(with_turns(plan_));
  EXPECT_THAT(
      refusal({.response = "rare"}),
      HasSubstr(
          "'rare' cannot be compared, because 'measure.rotate' counts it only in some blocks, "
          "and design.stop counts blocks"));
  const auto user = make_document(*store_, experiment_, "", {.response = "user"});
  ASSERT_TRUE(user) << user.error().message;
  EXPECT_THAT(user->stopping->words,
              HasSubstr("; this rule was applied to wall, and the experiment had 6 blocks"));
}

}  // namespace
}  // namespace stab::results
