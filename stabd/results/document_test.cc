// SPDX-License-Identifier: MIT
#include "stabd/results/document.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "base/fd.h"
#include "design/expand.h"
#include "plan/reading/testing.h"
#include "report/json.h"
#include "report/sections/sections.h"
#include "report/text.h"
#include "report/words/answer.h"
#include "stabd/exclusion/judge.h"
#include "store/test_support.h"

namespace stab::results {
namespace {

using store::Trial;
using store::TrialStatus;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::string tables = R"([experiment]
name = "sorting"
question = "Is it faster?"
seed = 11
[defaults]
repetitions = 4
warmup = 1
[[benchmark]]
name = "bubble"
run = ["/bin/bubble", "${MODE}"]
[[benchmark]]
name = "quick"
run = ["/bin/quick", "${MODE}"]
[factor.mode]
levels = { slow = { MODE = "s" }, fast = { MODE = "f" } }
[factor.env_bytes]
random = { per = "block", min = 0, max = 4096 }
)";

// What a test does with a trial before it is stored.
using Change = std::function<void(Trial&)>;

class DocumentTest : public ::testing::Test {
 protected:
  DocumentTest() : store_(store::open_or_fail(directory_ / "stab.db")) {}

  void begin(const std::string& plan) {
    plan_ = plan::good_plan(plan);
    expansion_ = plan::expand(plan_);
    experiment_ = {.name = "sorting", .plan = plan, .state = "done", .reason = "by itself"};
    experiment_.id = store_->add_experiment(experiment_).value();
  }
  // A success of 1 ms, or 2 ms at the level "slow".
  [[nodiscard]] Trial trial(const plan::Trial& planned) const {
    Trial trial{.experiment = experiment_.id,
                .position = planned.position,
                .block = planned.block,
                .warmup = planned.warmup,
                .benchmark = plan_.benchmarks[planned.benchmark].name,
                .seed = planned.seed,
                .status = TrialStatus::ok,
                .exit_code = 0,
                .started_ns = 1000 + std::int64_t{planned.position},
                .user_ns = 300,
                .system_ns = 70,
                .max_rss_bytes = 4096};
    for (std::size_t i = 0; i < plan_.factors.size(); ++i)
      trial.levels[plan_.factors[i].name] = planned.levels[i].name;
    trial.wall_ns = trial.levels["mode"] == "slow" ? 2'000'000 : 1'000'000;
    return trial;
  }
  void store(const Trial& trial) {
    const auto added = store_->add_trial(trial);
    ASSERT_TRUE(added) << added.error().message;
  }
  // Stores all trials of the plan.
  void run(const Change& change = [](Trial&) {}) {
    for (const plan::Trial& planned : expansion_.trials) {
      Trial done = trial(planned);
      change(done);
      store(done);
    }
  }
  report::Document document(const std::string& database = "") {
    auto made = make_document(*store_, experiment_, database);
    if (!made) ADD_FAILURE() << made.error().message;
    return made.value_or(report::Document());
  }

  store::TemporaryDirectory directory_;
  std::unique_ptr<store::Store> store_;
  plan::Plan plan_;
  plan::Expansion expansion_;
  store::Experiment experiment_;
};

const stats::CellMean* mean_of(const report::Document& document, const std::string& benchmark,
                               const std::string& level) {
  for (const stats::CellMean& mean : document.analysis.means)
    if (mean.subject == benchmark && mean.levels == std::vector{level}) return &mean;
  ADD_FAILURE() << "no mean of " << benchmark << " at " << level;
  return nullptr;
}

TEST_F(DocumentTest, ACompleteExperimentHasItsCountsAndItsMeans) {
  begin(tables);
  run();
  const auto all = document("/tmp/x.db");
  EXPECT_EQ(all.experiment, "sorting");
  EXPECT_EQ(all.id, experiment_.id);
  EXPECT_EQ(all.question, "Is it faster?");
  EXPECT_EQ(all.state, "done");
  EXPECT_EQ(all.reason, "by itself");
  EXPECT_EQ(all.seed, 11U);
  EXPECT_EQ(all.database, "/tmp/x.db");
  EXPECT_EQ(all.trials.planned, 16U);
  EXPECT_EQ(all.trials.ok, 16U);
  EXPECT_EQ(all.trials.failed, 0U);
  EXPECT_EQ(all.trials.skipped, 0U);
  EXPECT_THAT(all.failures, IsEmpty());
  for (const char* benchmark : {"bubble", "quick"}) {
    EXPECT_EQ(mean_of(all, benchmark, "slow")->n, 4U);
    EXPECT_NEAR(mean_of(all, benchmark, "slow")->mean, 2e6, 1);
    EXPECT_NEAR(mean_of(all, benchmark, "fast")->mean, 1e6, 1);
  }
}

TEST_F(DocumentTest, AnExperimentWithoutTrialsHasADocumentToo) {
  begin(tables);
  const auto none = document();
  EXPECT_EQ(none.trials.planned, 16U);
  EXPECT_EQ(none.trials.ok, 0U);
  EXPECT_EQ(none.duration.count(), 0);
  EXPECT_NE(report::answer(none.analysis), "");
}

TEST_F(DocumentTest, WarmUpTrialsAreNeitherCountedNorAnalysed) {
  begin(tables);
  run([](Trial& trial) {
    if (trial.warmup) trial.wall_ns = 1'000'000'000'000;
    if (trial.warmup && trial.benchmark == "quick") trial.status = TrialStatus::timeout;
  });
  const auto all = document();
  EXPECT_EQ(all.trials.ok, 16U);
  EXPECT_EQ(all.trials.failed, 0U);
  EXPECT_THAT(all.failures, IsEmpty());
  EXPECT_EQ(mean_of(all, "bubble", "slow")->n, 4U);
  EXPECT_NEAR(mean_of(all, "bubble", "slow")->mean, 2e6, 1);
}

TEST_F(DocumentTest, OnlyTheAttemptThatStandsIsAnalysed) {
  begin(tables);
  for (const plan::Trial& planned : expansion_.trials) {
    Trial first = trial(planned);
    first.last = false;
    first.wall_ns = 1'000'000'000'000;
    first.status = planned.benchmark == 0 ? TrialStatus::wrong_exit : TrialStatus::ok;
    first.reason = "the first attempt";
    store(first);
    Trial second = trial(planned);
    second.attempt = 1;
    store(second);
  }
  const auto all = document();
  EXPECT_EQ(all.trials.ok, 16U);
  EXPECT_EQ(all.trials.failed, 0U);
  EXPECT_THAT(all.failures, IsEmpty());
  EXPECT_EQ(mean_of(all, "quick", "fast")->n, 4U);
  EXPECT_NEAR(mean_of(all, "quick", "fast")->mean, 1e6, 1);
}

TEST_F(DocumentTest, AFailedTrialsTimeIsNotAnalysed) {
  begin(tables);
  run([](Trial& trial) {
    if (trial.benchmark != "quick" || trial.block != 2) return;
    trial.status = TrialStatus::check_failed;
    trial.wall_ns = 1'000'000'000'000;
  });
  const auto all = document();
  EXPECT_EQ(all.trials.ok, 14U);
  EXPECT_EQ(all.trials.failed, 2U);
  EXPECT_EQ(mean_of(all, "quick", "slow")->n, 3U);
  EXPECT_NEAR(mean_of(all, "quick", "slow")->mean, 2e6, 1);
  EXPECT_EQ(mean_of(all, "bubble", "slow")->n, 4U);
}

TEST_F(DocumentTest, EqualFailuresAreOneLineWithTheirNumber) {
  begin(tables);
  run([](Trial& trial) {
    if (trial.benchmark != "quick") return;
    trial.status = TrialStatus::wrong_exit;
    trial.reason = trial.levels["mode"] == "fast" && trial.block == 0 ? "ended with exit code 9"
                                                                      : "ended with exit code 3";
  });
  const auto all = document();
  EXPECT_EQ(all.trials.failed, 8U);
  EXPECT_THAT(all.failures, ElementsAre("quick mode=fast: ended with exit code 3 (3 trials)",
                                        "quick mode=fast: ended with exit code 9",
                                        "quick mode=slow: ended with exit code 3 (4 trials)"));
}

TEST_F(DocumentTest, EveryKindOfFailureIsCountedAsWhatItIs) {
  for (int i = 1; i <= static_cast<int>(TrialStatus::not_measured); ++i) {
    const auto status = static_cast<TrialStatus>(i);
    begin(tables);
    run([&](Trial& trial) {
      if (trial.position % 3 == 0) trial.status = status;
    });
    std::uint64_t expected = 0;
    for (const plan::Trial& planned : expansion_.trials)
      expected += !planned.warmup && planned.position % 3 == 0 ? 1 : 0;
    const auto counts = document().trials;
    const bool skipped = status == TrialStatus::skipped || status == TrialStatus::build_failed;
    EXPECT_EQ(skipped ? counts.skipped : counts.failed, expected) << store::to_string(status);
    EXPECT_EQ(skipped ? counts.failed : counts.skipped, 0U) << store::to_string(status);
    EXPECT_EQ(counts.ok + expected, counts.planned);
  }
}

TEST_F(DocumentTest, TheResponseIsTheOneThatThePlanNames) {
  const std::vector<std::pair<std::string, double>> responses{
      {"wall", 1e6}, {"user", 300}, {"system", 70}, {"cpu", 370}, {"max_rss", 4096}};
  for (const auto& [name, value] : responses) {
    begin(fmt::format("{}[analysis]\nresponse = '{}'\n", tables, name));
    run();
    const auto all = document();
    EXPECT_EQ(all.analysis.spec.response, name);
    EXPECT_EQ(all.analysis.spec.unit == stats::Unit::bytes, name == "max_rss");
    EXPECT_NEAR(mean_of(all, "quick", "fast")->mean, value, 0.001) << name;
  }
}

TEST_F(DocumentTest, AResponseThatIsNoIntegerIsComparedAsItIs) {
  begin(tables + "[measure]\ncounters = ['cycles']\n[analysis]\nresponse = 'cycles'\n");
  run([](Trial& trial) {
    trial.readings.push_back(
        counters::counted("cycles", "", trial.levels["mode"] == "slow" ? 0.75 : 0.25));
  });
  const auto all = document();
  EXPECT_NEAR(mean_of(all, "quick", "fast")->mean, 0.25, 1e-12);
  for (const stats::Effect& effect : all.analysis.effects)
    EXPECT_NEAR(effect.ratio.value_or(0), 1.0 / 3, 1e-9);
}

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
        Contains(HasSubstr("1 of 8 trials of quick have no instructions above 0. Which ones "
                           "lack it may depend on what is compared")));
  }
}

TEST_F(DocumentTest, SaysWhereATimeAndACountDisagree) {
  begin(three_responses);
  run(with_instructions(true));
  const auto all = document();
  const auto sentences = report::disagreements(all);
  ASSERT_EQ(sentences.size(), all.analysis.effects.size());
  EXPECT_THAT(sentences[0],
              AllOf(HasSubstr("mode: slow -> fast changes wall by -50"),
                    HasSubstr(", and instructions by +"),
                    HasSubstr("the time and the count disagree about which is better")));
  EXPECT_THAT(report::text(all, {}),
              AllOf(HasSubstr("Changes of instructions\n"), HasSubstr("Changes of cycles\n"),
                    HasSubstr("Each response has a family of its own"),
                    HasSubstr("Times and counts disagree\n"),
                    HasSubstr("doc/statistics.md says when to trust which")));
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

TEST_F(DocumentTest, TheRuntimesTimesAreResponsesAndItsLayoutsAreSummedUp) {
  for (const std::string response : {"region", "main_to_exit"}) {
    begin(tables + "[analysis]\nresponse = \"" + response + "\"\n");
    run([](Trial& trial) {
      trial.layout = {.randomized = trial.levels["mode"] == "fast",
                      .kind = trial.levels["mode"] == "fast" ? "code once" : "",
                      .main_to_exit_ns = 5000,
                      .region_ns = 3000};
    });
    const auto all = document();
    const double expected = response == "region" ? 3000 : 5000;
    EXPECT_NEAR(mean_of(all, "quick", "fast")->mean, expected, 1e-6) << response;
    EXPECT_EQ(all.layouts.randomized, 8U);
    EXPECT_EQ(all.layouts.unrandomized, 8U);
    EXPECT_EQ(all.layouts.kinds, "code once");
  }
}

TEST_F(DocumentTest, ATrialWithoutItsResponseIsLeftOutAndIsNotAZero) {
  begin(tables);
  run([](Trial& trial) {
    if (trial.benchmark == "quick" && trial.block == 1) trial.wall_ns.reset();
  });
  const auto all = document();
  EXPECT_EQ(mean_of(all, "quick", "fast")->n, 3U);
  EXPECT_NEAR(mean_of(all, "quick", "fast")->mean, 1e6, 1);
}

TEST_F(DocumentTest, TheFirstLevelOfThePlanIsTheBaselineWhateverRanFirst) {
  begin(tables);
  run();
  const auto all = document();
  ASSERT_FALSE(all.analysis.effects.empty());
  for (const stats::Effect& effect : all.analysis.effects) {
    EXPECT_EQ(effect.baseline, "slow");
    EXPECT_EQ(effect.level, "fast");
    EXPECT_NEAR(effect.ratio.value_or(0), 0.5, 1e-9);
  }
}

TEST_F(DocumentTest, TheDesignAndTheLimitsAreThePlans) {
  begin(tables +
        "[design]\nkind = 'within-subjects'\n"
        "[analysis]\nalpha = 0.01\nequivalence = '2%'\n");
  run();
  const auto spec = document().analysis.spec;
  EXPECT_EQ(spec.design, stats::Design::within_subjects);
  EXPECT_EQ(spec.subject, "benchmark");
  EXPECT_THAT(spec.treatments, ElementsAre("mode"));
  EXPECT_EQ(spec.alpha, 0.01);
  EXPECT_EQ(spec.equivalence, 0.02);
}

TEST_F(DocumentTest, ANestedDesignNamesItsRandomFactor) {
  begin(R"([experiment]
name = "nested"
[[benchmark]]
name = "b"
build = "cc ${MODE} -o ${OUT} b.c ${LDFLAGS}"
run = ["${OUT}"]
[design]
kind = "nested"
[factor.mode]
levels = { slow = { MODE = "-O0" }, fast = { MODE = "-O2" } }
[factor.link_order]
random = { seeds = 5, runs = 4 }
)");
  run([](Trial& trial) {
    trial.wall_ns = *trial.wall_ns + std::stoll(trial.levels["link_order"]) % 1000 + trial.block;
  });
  const auto all = document();
  EXPECT_EQ(all.trials.planned, 40U);
  EXPECT_EQ(all.analysis.spec.design, stats::Design::nested);
  EXPECT_EQ(all.analysis.spec.seed, "link_order");
  ASSERT_FALSE(all.analysis.components.empty());
  EXPECT_EQ(all.analysis.components[0].seed, "link_order");
}

TEST_F(DocumentTest, TheTimeIsFromTheFirstTrialToTheEndOfTheLast) {
  begin(tables);
  store(trial(expansion_.trials[0]));
  Trial second = trial(expansion_.trials[1]);
  second.started_ns = 5'000'000'000;
  second.wall_ns = 7;
  store(second);
  EXPECT_EQ(document().duration.count(), 5'000'000'000 + 7 - 1000);
}

TEST_F(DocumentTest, TheMachineIsItsSummaryOrItsName) {
  begin(tables);
  EXPECT_EQ(document().machine, "");
  experiment_.machine =
      store_->add_machine({.key = "1", .host = "lab", .facts = R"({"summary":"2 CPUs"})"}).value();
  EXPECT_EQ(document().machine, "2 CPUs");
  for (const char* facts : {"{}", "[]", "", R"({"summary":7})"}) {
    experiment_.machine =
        store_->add_machine({.key = facts, .host = "lab", .facts = facts}).value();
    EXPECT_EQ(document().machine, "lab") << facts;
  }
}

TEST_F(DocumentTest, HowQuietTheMachineWasIsThatOfTheLatestStart) {
  begin(tables);
  EXPECT_EQ(document().quietness.asked, "off");
  EXPECT_EQ(document().quietness.found, "");
  const auto add = [&](std::string_view kind, const std::string& text) {
    ASSERT_TRUE(store_->add_event(
        {.experiment = experiment_.id, .at_ns = 1, .kind = std::string(kind), .text = text}));
  };
  add(doctor_event, "poor for measurements: governor (powersave)");
  add(quieted_event, "swappiness");
  add(loud_event, "governor: it does not take performance");
  EXPECT_EQ(document().quietness.found, "poor for measurements: governor (powersave)");
  EXPECT_EQ(document().quietness.changed, "swappiness");
  EXPECT_EQ(document().quietness.loud, "governor: it does not take performance");
  add(loud_event, "swappiness: somebody else has set it; seen before block 3");
  EXPECT_EQ(document().quietness.loud,
            "governor: it does not take performance; "
            "swappiness: somebody else has set it; seen before block 3");
  add(doctor_event, "good for measurements");
  add(quieted_event, "governor");
  EXPECT_EQ(document().quietness.found, "good for measurements");
  EXPECT_EQ(document().quietness.changed, "governor");
  EXPECT_EQ(document().quietness.loud, "");
}

TEST_F(DocumentTest, ALookBeforeTheEndOfAFixedNumberOfBlocksSaysSo) {
  for (const std::string state : {"running", "cancelled", "done"}) {
    begin(tables);
    experiment_.state = state;
    for (const plan::Trial& planned : expansion_.trials)
      if (planned.warmup || planned.block < 2 || state == "done") store(trial(planned));
    const auto seen = document();
    EXPECT_EQ(seen.looked_early, state != "done") << state;
    EXPECT_EQ(std::ranges::count_if(
                  seen.analysis.notes,
                  [](const std::string& note) { return note.contains("at 8 of 16 trials"); }),
              state == "done" ? 0 : 1);
  }
}

TEST_F(DocumentTest, LooksThatARuleAllowsForAreNotEarlyNorIsNoDataAtAll) {
  begin(tables);
  experiment_.state = "running";
  EXPECT_FALSE(document().looked_early);
  std::string stops = tables;
  stops.replace(stops.find("repetitions = 4\n"), std::string("repetitions = 4\n").size(), "");
  begin(stops + "[design]\nstop = { rule = 'sequential', min = 5, max = 30, looks = 3 }\n");
  experiment_.state = "running";
  for (const plan::Trial& planned : expansion_.trials)
    if (planned.warmup || planned.block < 3) store(trial(planned));
  EXPECT_FALSE(document().looked_early);
}

TEST_F(DocumentTest, WhatStopsAnExperimentIsWhatTheReportSays) {
  for (const std::string rule :
       {"rule = 'precision', half_width = '1%', min = 15", "rule = 'sequential', min = 15"}) {
    std::string stops = tables;
    stops.replace(stops.find("repetitions = 4\n"), std::string("repetitions = 4\n").size(), "");
    begin(stops + "[design]\nstop = { " + rule + ", max = 20 }\n");
    run([](Trial& trial) { *trial.wall_ns += trial.seed % 40'000; });
    const auto seen = look_at_trials(*store_, experiment_, plan_, 20);
    ASSERT_TRUE(seen);
    const auto all = document();
    ASSERT_TRUE(all.stopping);
    EXPECT_THAT(all.stopping->words, HasSubstr("after 20 " + seen->words));
    EXPECT_EQ(all.stopping->blocks, 20U);
    EXPECT_TRUE(seen->stop) << seen->words;
    const auto earlier = look_at_trials(*store_, experiment_, plan_, 15);
    EXPECT_EQ(earlier->words == seen->words, rule.contains("sequential"));
  }
}

TEST_F(DocumentTest, APlanThatIsNoLongerValidIsAnErrorThatSaysSo) {
  begin(tables);
  experiment_.plan = "[experiment]\nname = 7\n";
  const auto refused = make_document(*store_, experiment_, "");
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("refuses the experiment's plan"));
  EXPECT_THAT(refused.error().message, HasSubstr("plan:2:1"));
}

TEST_F(DocumentTest, ATrialThatLacksALevelOfThePlanIsAnError) {
  begin(tables);
  Trial strange = trial(expansion_.trials[expansion_.trials.size() - 1]);
  strange.levels.erase("mode");
  store(strange);
  EXPECT_FALSE(make_document(*store_, experiment_, ""));
}

TEST_F(DocumentTest, ADamagedRowIsAnErrorAndNotASmallerSample) {
  begin(tables);
  run();
  store::cheat(directory_ / "stab.db", "UPDATE trial SET wall_ns = 1 WHERE position = 9");
  EXPECT_FALSE(make_document(*store_, experiment_, ""));
}

// As a session stores them: the trial at these positions is disturbed so many times.
class ExclusionTest : public DocumentTest {
 protected:
  void run_disturbed(const std::map<std::uint32_t, int>& times, bool stands,
                     const std::string& text = tables) {
    begin(text + "[[exclude]]\nwhen = 'interrupts_per_s > 50'\n");
    for (const plan::Trial& planned : expansion_.trials) {
      const auto found = times.find(planned.position);
      const int count = found == times.end() ? 0 : found->second;
      const int attempts = stands ? std::max(count, 1) : count + 1;
      for (int attempt = 0; attempt < attempts; ++attempt) {
        Trial done = trial(planned);
        done.attempt = static_cast<std::uint32_t>(attempt);
        done.last = attempt + 1 == attempts;
        *done.wall_ns += done.seed % 20;
        if (attempt < count) done.wall_ns = 50'000'000;
        // A disturbed one of 50 ms has 200 a second.
        done.readings = {counters::counted("interrupts", "", attempt < count ? 10 : 0)};
        exclusion::mark(plan_.exclude, done);
        store(done);
      }
    }
  }
  // Of a measured trial of bubble at slow.
  [[nodiscard]] std::uint32_t some_position() const {
    for (const plan::Trial& planned : expansion_.trials)
      if (!planned.warmup && planned.benchmark == 0 && planned.levels[0].name == "slow")
        return planned.position;
    return 0;
  }
};

TEST_F(ExclusionTest, ARepeatTakesThePlaceOfADisturbedTrial) {
  begin(tables);
  run_disturbed({{some_position(), 1}}, false);
  const auto all = document();
  EXPECT_EQ(all.trials.ok, 16U);
  EXPECT_EQ(all.trials.disturbed, 0U);
  EXPECT_EQ(mean_of(all, "bubble", "slow")->n, 4U);
  EXPECT_NEAR(mean_of(all, "bubble", "slow")->mean, 2e6, 20);
  ASSERT_TRUE(all.exclusions);
  EXPECT_EQ(all.exclusions->disturbed, 1U);
  EXPECT_EQ(all.exclusions->lost, 0U);
}

TEST_F(ExclusionTest, ABlockThatStaysDisturbedIsInNoComparisonThatNeedsIt) {
  begin(tables);
  run_disturbed({{some_position(), 2}}, true);
  const auto all = document();
  EXPECT_EQ(all.trials.ok, 15U);
  EXPECT_EQ(all.trials.disturbed, 1U);
  EXPECT_EQ(all.trials.failed, 0U);
  EXPECT_THAT(all.failures, IsEmpty());
  EXPECT_FALSE(all.looked_early);
  ASSERT_EQ(all.analysis.effects.size(), 2U);
  EXPECT_EQ(all.analysis.effects[0].subject, "bubble");
  EXPECT_EQ(all.analysis.effects[0].units, 3U);
  EXPECT_EQ(all.analysis.effects[1].units, 4U);
  EXPECT_EQ(all.exclusions->lost, 1U);
}

TEST_F(ExclusionTest, WithoutTheRulesFirstAttemptsWouldStand) {
  begin(tables);
  run_disturbed({{some_position(), 1}}, false);
  const auto all = document();
  ASSERT_EQ(all.exclusions->without.size(), 2U);
  EXPECT_NEAR(*all.analysis.effects[0].ratio, 0.5, 1e-4);
  // One of four slow trials took 50 ms.
  EXPECT_NEAR(*all.exclusions->without[0].ratio, 0.5 / std::pow(25, 0.25), 1e-4);
  EXPECT_EQ(all.exclusions->without[0].units, 4U);
}

TEST_F(ExclusionTest, ALevelThatLostAllItsTrialsLeavesTheExperimentUnsure) {
  std::string three = tables;
  const std::string two = "levels = { slow";
  three.replace(three.find(two), two.size(), "levels = { third = { MODE = \"t\" }, slow");
  three += "[analysis]\nequivalence = '10%'\n";
  begin(three);
  std::map<std::uint32_t, int> times;
  for (const plan::Trial& planned : expansion_.trials)
    if (!planned.warmup && planned.levels[0].name == "slow") times[planned.position] = 1;
  ASSERT_EQ(times.size(), 8U);
  run_disturbed(times, true, three);
  const auto all = document();
  EXPECT_EQ(all.trials.failed, 0U);
  EXPECT_FALSE(stats::findings(all.analysis).unsure);
  ASSERT_EQ(all.exclusions->vanished.size(), 2U);
  EXPECT_EQ(all.exclusions->vanished[0].subject, "bubble");
  EXPECT_TRUE(all.findings().unsure);
}

// Left in, the one trial of 50 ms would make an interval of several percent.
TEST_F(ExclusionTest, AStoppingRuleSeesTheTrialsThatTheRulesLeave) {
  std::string stops = tables;
  stops.replace(stops.find("repetitions = 4\n"), std::string("repetitions = 4\n").size(), "");
  stops += "[design]\nstop = { rule = 'precision', half_width = '1%', min = 15, max = 20 }\n";
  for (const bool stands : {false, true}) {
    begin(stops);
    run_disturbed({{some_position(), 2}}, stands, stops);
    const auto seen = look_at_trials(*store_, experiment_, plan_, 20);
    ASSERT_TRUE(seen);
    EXPECT_TRUE(seen->stop) << seen->words;
    EXPECT_THAT(document().stopping->words, HasSubstr(seen->words));
  }
}

TEST_F(ExclusionTest, APlanWithoutRulesOrWithoutDisturbancesHasNoOtherResult) {
  begin(tables);
  run();
  EXPECT_FALSE(document().exclusions);
  run_disturbed({}, false);
  EXPECT_THAT(document().exclusions->without, IsEmpty());
  EXPECT_FALSE(document().exclusions->p);
}

}  // namespace
}  // namespace stab::results
