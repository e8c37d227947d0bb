// SPDX-License-Identifier: MIT
#include "client/ab/conclusion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "client/ab/ab.h"

namespace stab::client::ab {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

using stats::Verdict;
using Effects = std::vector<stats::Effect>;

stats::Effect effect(const std::string& level, Verdict verdict, double ratio) {
  stats::Effect one;
  one.treatment = "version";
  one.baseline = "old";
  one.level = level;
  one.verdict = verdict;
  one.ratio = ratio;
  one.low = ratio - 0.01;
  one.high = ratio + 0.01;
  one.needed = 1000;
  return one;
}

// As the report of one beside a control.
stats::Effect held_back(stats::Effect one, Verdict verdict) {
  one.verdict = Verdict::unsure;
  one.held_back = verdict;
  one.reach = {.share = 0.11};
  return one;
}

report::Document report(const Effects& effects) {
  report::Document document;
  document.duration = std::chrono::seconds(100);
  stats::Analysis& analysis = document.analysis;
  analysis.spec.equivalence = 0.01;
  analysis.spec.unit = stats::Unit::nanoseconds;
  analysis.spec.treatments = {"version"};
  analysis.means.push_back({.levels = {"old"}, .n = 50, .mean = 2e6});
  for (const stats::Effect& each : effects)
    analysis.means.push_back({.levels = {each.level}, .n = 50, .mean = 2e6});
  analysis.effects = effects;
  return document;
}

Compared versions(std::vector<std::string> names, const std::string& control = "") {
  Compared compared{.versions = std::move(names), .control = control};
  for (const std::string& each : compared.versions)
    compared.trials[each] = {.ok = 50, .moved = 50, .printed = {"x"}};
  if (!control.empty()) compared.trials[control] = {.ok = 50, .moved = 50, .printed = {"x"}};
  return compared;
}

Conclusion of(const stats::Effect& one, const std::string& control = "") {
  return conclude(report({one}), versions({"old", "new"}, control));
}

TEST(Conclusion, EachVersionHasASentence) {
  const Conclusion all = conclude(
      report({effect("new", Verdict::faster, 0.9), effect("newer", Verdict::same, 1.001),
              effect("newest", Verdict::slower, 1.05), effect("last", Verdict::slower, 4.2)}),
      versions({"old", "new", "newer", "newest", "last"}));
  EXPECT_THAT(
      all.sentences(),
      ElementsAre("new is faster than old: -10.0 % (95 % interval -11.0 % to -9.0 %)",
                  HasSubstr("newer is as fast as old, within 1 %: +0.1 %"),
                  HasSubstr("newest is slower than old: +5.0 %"),
                  "last is slower than old: 4.2 times as long (95 % interval 4.19 to 4.21 times)"));
  stats::Effect wide = effect("new", Verdict::slower, 2.3);
  wide.low = 2;
  wide.high = 2.7;
  EXPECT_THAT(of(wide).sentences(),
              ElementsAre(HasSubstr("2.3 times as long (95 % interval 2.0 to 2.7 times)")));
  EXPECT_TRUE(all.findings.regressed);
  EXPECT_FALSE(all.findings.unsure);
}

TEST(Conclusion, ARatioOfCpuTimesIsATime) {
  report::Document document = report({effect("new", Verdict::slower, 3.0)});
  document.analysis.spec.response = "relative_cpu";
  document.analysis.spec.unit = stats::Unit::number;
  const Conclusion slower = conclude(document, versions({"old", "new"}));
  EXPECT_THAT(slower.sentences(),
              ElementsAre(HasSubstr("new is slower than old in CPU time: 3 times as long")));
}

TEST(Conclusion, WhatCannotBeToldSaysWhatItTakes) {
  const Conclusion unsure = of(effect("new", Verdict::unsure, 1.02));
  EXPECT_THAT(unsure.sentences(),
              ElementsAre(AllOf(
                  HasSubstr("cannot tell whether new is faster or slower than old"),
                  HasSubstr("; about 1000 rounds, 33 min 20 s, would settle it to within 1 % "
                            "(--budget); a larger --margin or --beside needs fewer rounds"))));
  EXPECT_FALSE(unsure.findings.regressed);
  EXPECT_TRUE(unsure.findings.unsure);
}

TEST(Conclusion, WhatCannotBeToldHasANextStepWhateverIsKnown) {
  const auto sentence = [](std::optional<std::size_t> needed, std::chrono::seconds duration) {
    stats::Effect open = effect("new", Verdict::unsure, 1.01);
    open.needed = needed;
    report::Document all = report({open});
    all.duration = duration;
    return conclude(all, versions({"old", "new"})).sentences().front();
  };
  EXPECT_THAT(sentence(std::nullopt, 100s), EndsWith("; a longer --budget may settle it"));
  EXPECT_THAT(sentence(1'000'000, 1'000'000s),
              EndsWith("; that would take more than a century: choose a larger --margin"));
  EXPECT_THAT(sentence(50, 100s),
              EndsWith("; about 200 rounds, 6 min 40 s, would make the interval "
                       "half as wide (--budget)"));
}

TEST(Foresight, ABudgetThatCannotSettleTheComparisonIsSaidWithWhatHelps) {
  const protocol::Change open{
      .baseline = "old", .level = "new", .ratio = 1.005, .verdict = "unsure", .needed = 3120};
  const SoFar wall{.done = 10, .most = 122, .round = 2500ms, .margin = 0.01, .response = "wall"};
  EXPECT_EQ(foresee({open}, wall),
            "this budget is enough for about 122 rounds, but about 3120 rounds, 2 h 10 min, would "
            "settle the comparison to within 1 %: use --beside, a larger --margin or a longer "
            "--budget");
  SoFar beside = wall;
  beside.response = "relative_cpu";
  EXPECT_THAT(foresee({open}, beside), HasSubstr("1 %: use a larger --margin or a longer"));
  const auto with = [&](auto change) {
    protocol::Change other = open;
    change(other);
    return foresee({other}, wall);
  };
  EXPECT_EQ(with([](protocol::Change& each) { each.needed = 200; }), "") << "that may be enough";
  EXPECT_EQ(with([](protocol::Change& each) { each.needed.reset(); }), "");
  EXPECT_EQ(with([](protocol::Change& each) { each.verdict = "slower"; }), "");
  EXPECT_EQ(with([](protocol::Change& each) { each.control = true; }), "");
  EXPECT_EQ(with([](protocol::Change& each) { each.ratio = 1.3; }), "") << "it will be found";
  protocol::Change longer = open;
  longer.needed = 9'000'000;
  SoFar days = wall;
  days.round = 86'400s;
  EXPECT_THAT(foresee({open, longer}, days),
              HasSubstr("but about 9000000 rounds, more than a century, would"));
  SoFar limited = wall;
  limited.limit = 3000;
  EXPECT_THAT(foresee({open}, limited),
              EndsWith("1 %: use --beside or a larger --margin ('stabctl ab' runs at most 3000 "
                       "rounds)"));
}

TEST(Conclusion, AReasonThatNoNumberShowsStandsInTheAnswer) {
  stats::Effect early = effect("new", Verdict::unsure, 2.5);
  early.reason = "too few independent blocks";
  EXPECT_THAT(
      of(early).sentences(),
      ElementsAre(EndsWith("; no verdict: too few independent blocks (a longer --budget may "
                           "help; --full says more)")));
}

TEST(Conclusion, VersionsThatOneCommandBuiltWithDifferentCompilersHaveNoVerdict) {
  Compared compared = versions({"old", "new"});
  compared.trials["new"].moved = 0;
  const auto all = [&] {
    return conclude(report({effect("new", Verdict::faster, 0.8)}), compared);
  };
  EXPECT_EQ(all().lines[0].verdict, "faster") << "programs may come from anywhere";
  compared.built = true;
  EXPECT_EQ(all().lines[0].verdict, "unsure");
  EXPECT_TRUE(all().findings.unsure);
  EXPECT_THAT(
      all().sentences(),
      ElementsAre(AllOf(HasSubstr("no verdict, because szc built old but not new"),
                        HasSubstr("the numbers alone would mean: new is faster than old"))));
  compared.trials["old"].moved = 0;
  EXPECT_EQ(all().lines[0].verdict, "faster") << "no version has szc's runtime";
}

// What is not known counts as the case that needs somebody to look.
TEST(Conclusion, NoComparisonIsUnsure) {
  const Conclusion none = conclude(report({}), versions({"old", "new"}));
  EXPECT_TRUE(none.findings.unsure);
  EXPECT_THAT(
      none.sentences(),
      ElementsAre("cannot compare new with old: there are too few trials; use a longer --budget"));
  for (const auto number : {&stats::Effect::low, &stats::Effect::high, &stats::Effect::ratio}) {
    stats::Effect empty = effect("new", Verdict::unsure, 1);
    empty.*number = std::nullopt;
    EXPECT_THAT(of(empty).sentences(), ElementsAre(HasSubstr("there are too few trials")));
  }
}

TEST(Conclusion, TheSizeOfCodeIsSaidWhereAllHaveOne) {
  Compared compared = versions({"old", "new", "newer", "newest"});
  const auto said = [&] {
    return conclude(report({effect("new", Verdict::same, 1)}), compared).code;
  };
  EXPECT_EQ(said(), "");
  compared.trials["old"].code = {20'000};
  compared.trials["new"].code = {25'000};
  compared.trials["newer"].code = {20'000};
  EXPECT_EQ(said(), "");
  compared.trials["newest"].code = {19'500};
  EXPECT_EQ(
      said(),
      "old has 20000 bytes, new 25000 (25 % more), newer as many, newest 19500 (2.5 % less).");
  // Somebody wrote another program meanwhile.
  compared.trials["new"].code.insert(7);
  EXPECT_EQ(said(), "");
}

TEST(Conclusion, AVersionThatFailsAtTimesIsNotCompared) {
  for (const char* failing : {"old", "new"}) {
    Compared compared = versions({"old", "new"});
    compared.trials[failing] = {.ok = 40, .lost = 10, .why = "ended with exit code 1"};
    const Conclusion conclusion = conclude(report({effect("new", Verdict::slower, 1.5)}), compared);
    EXPECT_THAT(conclusion.sentences(),
                ElementsAre("cannot compare new with old: " + std::string(failing) +
                            " failed in 10 of 50 trials (ended with exit code 1)"));
    EXPECT_FALSE(conclusion.findings.regressed);
    EXPECT_TRUE(conclusion.findings.unsure);
    EXPECT_THAT(as_markdown(report({effect("new", Verdict::slower, 1.5)}), conclusion),
                HasSubstr("| `new` | 2 ms |  | none |"));
  }
}

TEST(Conclusion, TheControlIsNoVersionAndSaysWhatThisMachineCanTell) {
  const auto with = [](Verdict verdict) {
    stats::Effect control = effect("old-again", verdict, 1.1);
    control.reach = {.share = 0.11};
    return conclude(report({effect("new", Verdict::faster, 0.8), control}),
                    versions({"old", "new"}, "old-again"));
  };
  for (const Verdict verdict : {Verdict::same, Verdict::unsure}) {
    EXPECT_EQ(with(verdict).sentences().back(),
              "the control measured old twice: +10.0 % (95 % interval +9.0 % to +11.0 %): this "
              "run can detect changes beyond -9.9 % or +11.0 %");
    EXPECT_NEAR(with(verdict).control->can_tell.value(), 0.11, 1e-12);
    EXPECT_FALSE(with(verdict).findings.unsure);
  }
  for (const Verdict verdict : {Verdict::slower, Verdict::faster}) {
    const Conclusion different = with(verdict);
    EXPECT_THAT(different.lines, SizeIs(1));
    EXPECT_FALSE(different.findings.regressed) << "the control is no version";
    EXPECT_FALSE(different.findings.unsure) << "the change is larger than the control's";
    EXPECT_THAT(different.sentences().back(),
                AllOf(HasSubstr("old differs from itself"), HasSubstr("+10.0 %"),
                      HasSubstr("only changes beyond -9.9 % or +11.0 % get a verdict")));
    EXPECT_FALSE(different.control->can_tell);
    EXPECT_NEAR(different.control->reach.value(), 0.11, 1e-12);
  }
}

TEST(Conclusion, WhatTheControlHoldsBackIsNoVerdictAndSaysWhy) {
  stats::Effect control = effect("old-again", Verdict::unsure, 1.05);
  control.reach = {.share = 0.11};
  const auto said = [&](Verdict verdict, double ratio) {
    return conclude(report({held_back(effect("new", verdict, ratio), verdict), control}),
                    versions({"old", "new"}, "old-again"));
  };
  const Conclusion change = said(Verdict::slower, 1.06);
  EXPECT_EQ(change.lines[0].verdict, "unsure");
  EXPECT_TRUE(change.findings.unsure);
  EXPECT_FALSE(change.findings.regressed);
  EXPECT_THAT(
      change.sentences().front(),
      AllOf(HasSubstr("cannot tell whether new is faster or slower than old: +6.0 %"),
            HasSubstr(", but two measurements of old may differ by -9.9 % or +11.0 %; about ")));
  EXPECT_THAT(said(Verdict::same, 1.0).sentences().front(),
              AllOf(HasSubstr("cannot tell whether new is as fast as old, within 1 %"),
                    HasSubstr(", but two measurements of old may differ by -9.9 % or +11.0 %")));
}

TEST(Conclusion, AHeldBackVerdictNamesWhatWasCompared) {
  report::Document document =
      report({held_back(effect("new", Verdict::slower, 1.05), Verdict::slower)});
  document.analysis.spec.response = "max_rss";
  document.analysis.spec.unit = stats::Unit::number;
  EXPECT_THAT(conclude(document, versions({"old", "new"})).lines[0].sentence,
              HasSubstr("cannot tell whether new has more or less peak memory than old: +5.0 %"));
  document.analysis.effects[0].held_back = Verdict::same;
  EXPECT_THAT(conclude(document, versions({"old", "new"})).lines[0].sentence,
              HasSubstr("cannot tell whether new has as much peak memory as old, within 1 %"));
}

stats::Effect fact(const std::string& level, Verdict verdict, double ratio) {
  stats::Effect one = effect(level, verdict, ratio);
  one.low.reset();
  one.high.reset();
  one.exact = true;
  return one;
}

TEST(Conclusion, AFactNeedsNoInterval) {
  report::Document document =
      report({fact("new", Verdict::slower, 1.25), fact("old again", Verdict::same, 1)});
  document.analysis.spec.response = "code-size";
  document.analysis.spec.unit = stats::Unit::number;
  const Conclusion one = conclude(document, versions({"old", "new"}, "old again"));
  EXPECT_EQ(one.lines[0].sentence, "new has more code-size than old: +25 %");
  EXPECT_TRUE(one.findings.regressed);
  ASSERT_TRUE(one.control);
  EXPECT_EQ(one.control->can_tell, 0.0);
  EXPECT_THAT(one.control->line.sentence,
              HasSubstr("the control measured old twice: no difference"));
}

TEST(Conclusion, AReasonStandsInPlaceOfAMissingInterval) {
  stats::Effect one = effect("new", Verdict::unsure, 1.25);
  one.low.reset();
  one.high.reset();
  one.reason = "each level was built once";
  EXPECT_EQ(of(one).lines[0].sentence, "cannot compare new with old: each level was built once");
  one.reason.clear();
  EXPECT_THAT(of(one).lines[0].sentence, HasSubstr("there are too few trials"));
}

TEST(Conclusion, BesideAControlThatFailedThereIsNoVerdict) {
  Compared failed = versions({"old", "new"}, "old-again");
  failed.trials["old-again"] = {.ok = 0, .lost = 50, .why = "it was killed"};
  const Conclusion none = conclude(report({effect("new", Verdict::slower, 1.9)}), failed);
  EXPECT_EQ(none.lines[0].verdict, "unsure");
  EXPECT_TRUE(none.findings.unsure);
  EXPECT_FALSE(none.findings.regressed);
  EXPECT_THAT(none.sentences().front(), HasSubstr("no verdict without a control"));
  EXPECT_THAT(none.sentences().back(), HasSubstr("old-again failed in 50 of 50 trials"));
}

TEST(Conclusion, WhatIsNotRandomIsNamed) {
  const report::Document found = report({effect("new", Verdict::same, 1)});
  Compared compared = versions({"old", "new"});
  EXPECT_EQ(conclude(found, compared).randomized,
            "The size of the environment is random in each block. Random in each trial: the "
            "addresses of stack, heap and libraries, the positions of functions, the positions of "
            "heap blocks. Not random: the sizes of stack frames.");
  compared.heap_cost = "costs +1 % of CPU time";
  EXPECT_THAT(conclude(found, compared).randomized,
              HasSubstr("heap blocks (by a layer above the program's own allocator, which costs +1 "
                        "% of CPU time). Not random"));
  EXPECT_THAT(conclude(found, compared).random, HasSubstr("heap blocks (costs +1 % of CPU time);"));
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
                    HasSubstr("come from the layouts alone;")));
}

TEST(Conclusion, OutputIsTheSameOnlyIfAllOfItIsKnownToBe) {
  const report::Document found = report({effect("new", Verdict::same, 1)});
  Compared compared = versions({"old", "new"});
  EXPECT_EQ(conclude(found, compared).same_output, true);
  compared.trials["new"].printed = {"y"};
  EXPECT_EQ(conclude(found, compared).same_output, false);
  compared.trials["new"].printed = {"x", "y"};
  EXPECT_EQ(conclude(found, compared).same_output, std::nullopt);
  compared.trials["new"].printed.clear();
  EXPECT_EQ(conclude(found, compared).same_output, std::nullopt);
}

TEST(Conclusion, AsMarkdownTheControlHasTheNameThatReportsGiveIt) {
  const report::Document found =
      report({effect("new", Verdict::slower, 1.05), effect("old-again", Verdict::unsure, 1)});
  EXPECT_THAT(as_markdown(found, conclude(found, versions({"old", "new"}, "old-again"))),
              HasSubstr("| slower |\n| `old-again` | 2 ms |  | (control) |\n"));
}

TEST(Conclusion, AsMarkdownEachVersionIsARow) {
  const report::Document found = report({effect("new", Verdict::slower, 1.05)});
  EXPECT_THAT(as_markdown(found, conclude(found, versions({"old", "new"}))),
              HasSubstr("|---|---|---|---|\n| `old` | 2 ms |  |  |\n"
                        "| `new` | 2 ms | +5.0 % (95 % interval +4.0 % to +6.0 %) | slower |\n\n"
                        "- new is slower than old: +5.0 %"));
}

// Twelve rounds of `stabctl demo`. The slow order takes longer by this share, and by `noise` more
// in one half of the rounds and less in the other.
struct DemoCase {
  double change = 0;
  double noise = 0.001;
};

DemoRuns demo_runs(const DemoCase& fixed, const DemoCase& random) {
  DemoRuns runs{.fast = 1, .slow = 4};
  for (const auto& [kind, each] : {std::pair(0U, fixed), std::pair(1U, random)})
    for (int round = 0; round < 12; ++round) {
      runs.fast_runs[kind].push_back(20);
      runs.slow_runs[kind].push_back(20 + std::log(1 + each.change) +
                                     (round % 2 == 0 ? each.noise : -each.noise));
    }
  return runs;
}

TEST(Demo, SaysWhichLinkOrderIsFasterOverManyLayouts) {
  const DemoCase slower{.change = 0.2};
  const DemoCase faster{.change = -0.2};
  const DemoCase same{};
  const DemoCase unsure{.change = 0, .noise = 0.3};
  for (const DemoCase& each : {slower, faster})
    EXPECT_THAT(demo_text(demo_runs(each, each)),
                HasSubstr("\nOver many layouts, one link order is still faster than the other.\n"));
  for (const auto& [fixed, random] : {std::pair(slower, faster), std::pair(faster, slower)})
    EXPECT_THAT(demo_text(demo_runs(fixed, random)),
                AllOf(HasSubstr("Over many\nlayouts, the other link order is the faster one.\n"),
                      Not(HasSubstr("still"))));
  EXPECT_THAT(demo_text(demo_runs(slower, same)), HasSubstr("the difference disappears"));
  EXPECT_THAT(demo_text(demo_runs(slower, unsure)), HasSubstr("too few runs to tell what happens"));
  EXPECT_THAT(demo_text(demo_runs(same, slower)), HasSubstr("changes little"));
  EXPECT_THAT(demo_text(demo_runs(unsure, slower)), HasSubstr("too few runs to tell whether"));
}

TEST(Demo, SaysTheLevelOfItsIntervalsAndWhereThereIsNone) {
  const DemoRuns runs = demo_runs({.change = 0.2}, {.change = 0, .noise = 0});
  EXPECT_THAT(
      demo_text(runs),
      AllOf(HasSubstr("  layouts  order 5 against order 2, 12 runs of each, 95 % intervals\n"),
            HasSubstr(" +20.0 % [+"), HasSubstr("]  slower\n"),
            HasSubstr(" +0.0 % (no interval)  cannot tell\n"), Not(HasSubstr("inf"))));
  const auto json = nlohmann::json::parse(demo_json(runs, 7));
  EXPECT_EQ(json["seed"], 7);
  EXPECT_GT(json["fixed"]["low"], 0.1);
  EXPECT_EQ(json["random"]["change"], 0.0);
  EXPECT_TRUE(json["random"]["low"].is_null() && json["random"]["high"].is_null());
}

}  // namespace
}  // namespace stab::client::ab
