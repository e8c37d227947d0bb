// SPDX-License-Identifier: MIT
#include "results/calibrations.h"

#include <gmock/gmock.h>

#include <functional>

#include "base/random.h"
#include "design/trial_list.h"
#include "plan/reading/testing.h"
#include "report/sections/sections.h"
#include "report/text.h"
#include "report/words/answer.h"
#include "results/document.h"
#include "store/test_support.h"

namespace stab::results {
namespace {

using store::CalibrationScope;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

const std::string head = "[experiment]\nname = 'quiet'\n[defaults]\nrepetitions = 3\n";
const std::string benchmarks =
    "[[benchmark]]\nname = 'a'\nrun = ['/bin/true', '${MODE}']\n"
    "[[benchmark]]\nname = 'b'\nrun = ['/bin/true', '${MODE}']\n[variables]\nMODE = ''\n";
const std::string calibration =
    head + benchmarks + "[design]\nkind = 'calibration'\ncomparisons = 10\n";
const std::string comparison =
    head + benchmarks + "[factor.mode]\nlevels = { one = { MODE = '1' }, two = { MODE = '2' } }\n";

class CalibrationsTest : public ::testing::Test {
 protected:
  CalibrationsTest() : store_(store::open_or_fail(directory_ / "stab.db")) {
    machine_ = store_->add_machine(store::example_machine()).value();
  }

  // An experiment on the machine, with all of its trials; `wall` says how long each takes. A trial
  // that takes less than 0 timed out after so long.
  store::Experiment experiment(const std::string& text, store::Id machine,
                               const std::function<std::int64_t(const store::Trial&)>& wall,
                               std::uint32_t user = 0) {
    const plan::Plan plan = plan::good_plan(text);
    store::Experiment added{.name = "quiet",
                            .plan = text,
                            .uid = user,
                            .state = "done",
                            .started_ns = 1'700'000'000'000'000'000,
                            .trials = plan::count_trials(plan),
                            .machine = machine};
    added.id = store_->add_experiment(added).value();
    for (const plan::Trial& trial : plan::expand(plan).trials) {
      store::Trial row{.experiment = added.id,
                       .position = trial.position,
                       .block = trial.block,
                       .benchmark = plan.benchmarks[trial.benchmark].name,
                       .status = store::TrialStatus::ok};
      for (std::size_t i = 0; i < plan.factors.size(); ++i)
        row.levels[plan.factors[i].name] = trial.levels[i].name;
      row.wall_ns = wall(row);
      if (*row.wall_ns < 0) {
        row.status = store::TrialStatus::timeout;
        row.wall_ns = -*row.wall_ns;
      }
      row.readings = {counters::counted("share", "", *row.wall_ns)};
      EXPECT_TRUE(store_->add_trial(row));
    }
    return added;
  }
  // A millisecond, and up to one percent more.
  std::int64_t noisy() { return static_cast<std::int64_t>(1'000'000 + random_.below(10'000)); }

  store::Experiment calibrate(store::Id machine, const std::string& plan = calibration,
                              std::uint32_t user = 0) {
    store::Experiment done = experiment(plan, machine, [&](const auto&) { return noisy(); }, user);
    const auto rows = calibration_of(*store_, done);
    EXPECT_TRUE(rows) << rows.error().message;
    const auto kept = store_->add_calibrations(*rows);
    EXPECT_TRUE(kept) << (kept ? "" : kept.error().message);
    return done;
  }

  store::TemporaryDirectory directory_;
  std::unique_ptr<store::Store> store_;
  store::Id machine_ = 0;
  Random random_{7};
};

TEST_F(CalibrationsTest, AreKeptWithTheirMachine) {
  const store::Experiment done = calibrate(machine_);
  const auto rows = store_->calibrations(machine_).value();
  ASSERT_EQ(rows.size(), 4U);
  EXPECT_EQ(rows[0].scope, CalibrationScope::benchmark);
  EXPECT_EQ(rows[0].benchmark, "a");
  EXPECT_EQ(rows[1].benchmark, "b");
  const store::Calibration& any = rows[2];
  EXPECT_EQ(any.scope, CalibrationScope::any);
  EXPECT_EQ(any.experiment, done.id);
  EXPECT_EQ(any.at_ns, done.started_ns);
  EXPECT_EQ(any.response, "wall");
  EXPECT_EQ(any.blocks, 3);
  EXPECT_EQ(any.benchmarks, 2);
  EXPECT_EQ(any.comparisons, 20);
  ASSERT_TRUE(any.margin);
  EXPECT_GT(*any.margin, 0.001);
  EXPECT_LT(*any.margin, 0.01);
  EXPECT_EQ(rows[3].scope, CalibrationScope::suite);
}

TEST_F(CalibrationsTest, AreWhatTheReportSays) {
  const store::Experiment done = calibrate(machine_);
  const auto document = make_document(*store_, done, "");
  ASSERT_TRUE(document);
  const auto rows = store_->calibrations(machine_).value();
  EXPECT_EQ(document->analysis.calibration->any.margin, rows[2].margin);
  EXPECT_FALSE(document->noise);
  const std::string text = report::text(*document);
  EXPECT_THAT(text, HasSubstr("this machine cannot resolve changes below " +
                              report::margin_words(*rows[2].margin)));
  EXPECT_THAT(text, HasSubstr("any one of them"));
}

TEST_F(CalibrationsTest, AreQuotedByLaterReportsOnThatMachineOnly) {
  calibrate(machine_);
  store::Machine changed = store::example_machine();
  changed.key = "another";
  const store::Id other = store_->add_machine(changed).value();
  const auto wall = [&](const auto&) { return noisy(); };
  const auto here = make_document(*store_, experiment(comparison, machine_, wall), "");
  const auto there = make_document(*store_, experiment(comparison, other, wall), "");
  ASSERT_TRUE(here && there);
  ASSERT_TRUE(here->noise);
  EXPECT_EQ(here->noise->margin, store_->calibrations(machine_).value()[2].margin);
  EXPECT_THAT(report::text(*here, {.full = true}),
              HasSubstr("  Noise     this machine's noise floor: " +
                        report::margin_words(here->noise->margin) + " in comparisons of 3 blocks"));
  EXPECT_THAT(report::noise_text(*here->noise, false),
              HasSubstr(": equal programs differed by less in 95 % of the comparisons; this run "
                        "has no control, so repeat it"));
  EXPECT_FALSE(there->noise);
  EXPECT_THAT(report::text(*there, {.full = true}), Not(HasSubstr("  Noise ")));
}

TEST_F(CalibrationsTest, OfAMeasureBelongToItsDefinition) {
  const auto about = [](const std::string& formula) {
    return "[measure.derived]\nshare = '" + formula + "'\n[analysis]\nresponse = 'share'\n";
  };
  calibrate(machine_, calibration + about("wall / 2"));
  const auto wall = [&](const auto&) { return noisy(); };
  const auto noise = [&](const std::string& more) {
    return make_document(*store_, experiment(comparison + more, machine_, wall), "")->noise;
  };
  EXPECT_TRUE(noise(about("wall / 2")));
  EXPECT_FALSE(noise(about("wall / 3")));
  EXPECT_FALSE(noise(""));
  EXPECT_EQ(store_->calibrations(machine_).value()[0].response.substr(0, 7), "share (");
}

// The slowest trials time out, so the floor of the others would be too low for any report to quote.
TEST_F(CalibrationsTest, MissingTrialsLeaveNoFloorUnlessThePlanSaysTheyAreMissingAtRandom) {
  const auto with_timeout = [&](const std::string& plan) {
    const auto done = experiment(plan, machine_, [&](const store::Trial& trial) {
      return trial.position == 4 ? -2'000'000 : noisy();
    });
    const auto rows = calibration_of(*store_, done);
    EXPECT_TRUE(rows);
    EXPECT_TRUE(store_->add_calibrations(*rows));
    return make_document(*store_, done, "").value();
  };
  const auto noise = [&] {
    return make_document(*store_,
                         experiment(comparison, machine_, [&](const auto&) { return noisy(); }), "")
        ->noise;
  };
  const report::Document lost = with_timeout(calibration);
  EXPECT_THAT(report::text(lost),
              HasSubstr("cannot tell which changes this machine can resolve: trials are missing"));
  EXPECT_THAT(lost.analysis.notes,
              Contains(HasSubstr("Trials are missing in 1 of 20 comparisons")));
  EXPECT_FALSE(noise());
  const std::string longer =
      std::string(calibration)
          .replace(calibration.find("comparisons = 10"), 16, "comparisons = 30");
  const report::Document enough = with_timeout(longer);
  ASSERT_TRUE(enough.analysis.calibration->any.margin);
  ASSERT_TRUE(noise());
  EXPECT_EQ(noise()->margin, enough.analysis.calibration->any.loss_high);
  const report::Document random = with_timeout(longer + "[analysis]\nlosses = 'random'\n");
  EXPECT_LT(*random.analysis.calibration->any.margin, *random.analysis.calibration->any.loss_high);
  EXPECT_EQ(noise()->margin, random.analysis.calibration->any.margin);
}

TEST_F(CalibrationsTest, TheLatestOneCounts) {
  calibrate(machine_);
  const store::Calibration newer{.machine = machine_,
                                 .name = "newer",
                                 .at_ns = 1'800'000'000'000'000'000,
                                 .scope = CalibrationScope::any,
                                 .response = "wall",
                                 .margin = 0.5};
  store::Calibration user = newer;
  user.name = "of CPU time";
  user.response = "user";
  store::Calibration failed = newer;
  failed.name = "too short";
  failed.margin.reset();
  ASSERT_TRUE(store_->add_calibrations({newer, user, failed}));
  EXPECT_EQ(noise_floor_of(*store_, machine_, "wall", 1000)->value().calibration, "newer");
  EXPECT_EQ(noise_floor_of(*store_, machine_, "user", 1000)->value().calibration, "of CPU time");
  EXPECT_FALSE(noise_floor_of(*store_, machine_, "max_rss", 1000).value());
}

// Anybody can calibrate with a program that is slow at random.
TEST_F(CalibrationsTest, OfOneUserIsNoneOfAnothers) {
  const auto calibrated_by = [&](std::uint32_t uid, const std::string& name, std::int64_t at_ns) {
    const auto id = store_->add_experiment(
        {.name = name, .plan = "x", .directory = "/", .uid = uid, .state = "done"});
    ASSERT_TRUE(store_->add_calibrations({{.machine = machine_,
                                           .experiment = *id,
                                           .name = name,
                                           .at_ns = at_ns,
                                           .scope = CalibrationScope::any,
                                           .response = "wall",
                                           .margin = 0.5}}));
  };
  const auto floor_of = [&](std::uint32_t user) {
    return noise_floor_of(*store_, machine_, "wall", user).value();
  };
  calibrated_by(60001, "of ada", 10);
  EXPECT_FALSE(floor_of(60002));
  ASSERT_TRUE(floor_of(60001));
  EXPECT_TRUE(floor_of(60001)->by_same_user);
  calibrated_by(0, "of root", 5);
  EXPECT_EQ(floor_of(60002)->calibration, "of root");
  EXPECT_EQ(floor_of(60002)->by_user, 0U);
  EXPECT_FALSE(floor_of(60002)->by_same_user);
  EXPECT_EQ(floor_of(60001)->calibration, "of ada") << "the latest of those that count";
}

TEST_F(CalibrationsTest, OfOneUserAreNotQuotedInReportsOfAnother) {
  calibrate(machine_, calibration, 60001);
  const auto report_for = [&](std::uint32_t user) {
    return make_document(
        *store_, experiment(comparison, machine_, [&](const auto&) { return noisy(); }, user), "");
  };
  const auto own = report_for(60001);
  const auto of_another = report_for(60002);
  ASSERT_TRUE(own && of_another);
  ASSERT_TRUE(own->noise);
  EXPECT_EQ(own->noise->by_user, 60001U);
  EXPECT_FALSE(of_another->noise);
}

TEST_F(CalibrationsTest, AVerdictOnLessThanTheNoiseFloorHasANote) {
  calibrate(machine_);
  const auto shifted = [&](double share) {
    return [&, share](const store::Trial& trial) {
      const double size = trial.levels.at("mode") == "two" ? 1e6 * (1 + share) : 1e6;
      return static_cast<std::int64_t>(size) + trial.block % 2;
    };
  };
  const auto little = make_document(*store_, experiment(comparison, machine_, shifted(5e-4)), "");
  EXPECT_EQ(little->analysis.effects.at(0).verdict, stats::Verdict::slower);
  EXPECT_THAT(little->analysis.notes, Contains(HasSubstr("below this machine's noise floor of ")));
  EXPECT_THAT(little->analysis.notes, Contains(HasSubstr(": a mode two (+0.05")));
  EXPECT_THAT(little->analysis.notes, Contains(HasSubstr("This run has no control")));
  const auto much = make_document(*store_, experiment(comparison, machine_, shifted(0.1)), "");
  EXPECT_EQ(much->analysis.effects.at(0).verdict, stats::Verdict::slower);
  EXPECT_THAT(much->analysis.notes, Not(Contains(HasSubstr("noise floor"))));
}

// No sentence beside a verdict contradicts it.
TEST_F(CalibrationsTest, TheRunsOwnControlDecidesBelowTheNoiseFloor) {
  calibrate(machine_);
  const std::string plan = head + benchmarks +
                           "[factor.mode]\nlevels = { one = { MODE = '1' }, two = { MODE = '2' }, "
                           "again = { MODE = '3' } "
                           "}\n[design]\nkind = 'one-way'\n[analysis]\ncontrol = 'again'\n";
  const auto document =
      make_document(*store_,
                    experiment(plan, machine_,
                               [](const store::Trial& trial) {
                                 const std::string& mode = trial.levels.at("mode");
                                 return std::int64_t{1'000'000} + trial.block % 2 +
                                        (mode == "two"                         ? 500
                                         : mode == "again" && trial.block == 1 ? 2
                                                                               : 0);
                               }),
                    "");
  ASSERT_TRUE(document && document->noise);
  ASSERT_TRUE(document->noise->holds_here);
  ASSERT_EQ(document->analysis.effects.at(0).level, "two");
  ASSERT_EQ(document->analysis.effects.at(0).verdict, stats::Verdict::slower);
  EXPECT_THAT(document->analysis.notes,
              Contains(AllOf(HasSubstr("below this machine's noise floor of "),
                             HasSubstr("In this run, the control decides, and these changes are "
                                       "larger than every change in the control's interval."))));
  EXPECT_THAT(report::noise_text(*document->noise, true),
              EndsWith("; here, this run's own control decides"));
  const std::string text = report::text(*document, {.full = true, .width = 10'000});
  EXPECT_THAT(text, HasSubstr("; here, this run's own control decides\n"));
  EXPECT_THAT(text, Not(HasSubstr("has no control")));
}

TEST_F(CalibrationsTest, SayNothingOfComparisonsOfOtherNumbersOfBlocks) {
  calibrate(machine_);
  const std::string longer = std::string(comparison)
                                 .replace(comparison.find("repetitions = 3"),
                                          std::string("repetitions = 3").size(), "repetitions = 9");
  const auto shifted = [](const store::Trial& trial) {
    return std::int64_t{1'000'000} + (trial.levels.at("mode") == "two" ? 500 : 0) + trial.block % 2;
  };
  const auto document = make_document(*store_, experiment(longer, machine_, shifted), "");
  ASSERT_TRUE(document && document->noise);
  EXPECT_EQ(document->analysis.effects.at(0).verdict, stats::Verdict::slower);
  EXPECT_FALSE(document->noise->holds_here);
  EXPECT_THAT(document->analysis.notes, Not(Contains(HasSubstr("noise floor"))));
  const std::string text = report::text(*document, {.full = true});
  EXPECT_THAT(text, HasSubstr(", calibrated for 3 blocks 2023-11-14"));
  EXPECT_THAT(text, Not(HasSubstr("equal programs")));
}

TEST_F(CalibrationsTest, ADamagedOneIsNotQuotedAndSaysSo) {
  calibrate(machine_);
  const auto done = experiment(comparison, machine_, [&](const auto&) { return noisy(); });
  store::cheat(directory_ / "stab.db", "UPDATE calibration SET margin = 0.000001");
  const auto document = make_document(*store_, done, "");
  ASSERT_TRUE(document);
  EXPECT_FALSE(document->noise);
  EXPECT_THAT(document->analysis.notes,
              Contains(HasSubstr("The calibration of the machine cannot be read")));
}

TEST_F(CalibrationsTest, OtherExperimentsLeaveNone) {
  const auto done = experiment(comparison, machine_, [&](const auto&) { return noisy(); });
  EXPECT_TRUE(calibration_of(*store_, done).value().empty());
  EXPECT_TRUE(store_->calibrations(machine_)->empty());
}

}  // namespace
}  // namespace stab::results
