// SPDX-License-Identifier: MIT
#include "stabd/archive.h"

#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>

#include "stabd/upkeep.h"
#include "store/connection.h"
#include "store/rows/row.h"
#include "store/schema.h"
#include "store/test_support.h"

namespace stab::archive {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using testing::UnorderedElementsAre;

constexpr std::uint32_t trials = 250;

class IntakeTest : public store::WithStore {
 protected:
  void SetUp() override {
    WithStore::SetUp();
    store::Experiment row = store_->experiment(experiment_).value().value();
    row.plan =
        "[experiment]\nname = \"sort\"\n[[benchmark]]\nname = \"sort\"\nrun = [\"true\"]\n"
        "repetitions = 1\n";
    row.uid = geteuid();  // so that its calibration counts for everybody
    row.state = "done";
    row.stopped_by = store::StopCause::time;
    row.trial_cpus = "2-3";
    row.quietness = store::Quietness::fair;
    row.trials = trials;
    row.machine = store_->add_machine({.key = "k", .host = "lab", .facts = "{}"}).value();
    ASSERT_TRUE(store_->update_experiment(row));
    ASSERT_TRUE(store_->add_calibrations({store::example_calibration(row.machine, experiment_)}));
    for (std::uint32_t position = 0; position < trials; ++position)
      add(store::example_trial(experiment_, position));
    for (int i = 0; i < 9; ++i)
      ASSERT_TRUE(store_->add_event(
          {.experiment = experiment_, .at_ns = i, .kind = "e", .text = std::to_string(i)}));
    const auto made = Spool::make(fs::path(path_).parent_path());
    ASSERT_TRUE(made);
    spool_ = *made;
    ASSERT_TRUE(write(path_, experiment_, spool_->file()));
  }
  void TearDown() override {
    intake_.reset();
    spool_.reset();
    Spool::remove_left(fs::path(path_).parent_path());
    WithStore::TearDown();
  }
  Intake take_apart_as(const Receiver& receiver) {
    EXPECT_TRUE(take_apart(spool_->file(), receiver, spool_->parts()));
    return std::move(*Intake::open(spool_->parts(), receiver));
  }
  // Why forged parts are not taken; "" if they are.
  template <class Forge>
  std::string refusal(const Forge& forge) {
    intake_.reset();
    for (const char* suffix : {"", "-wal", "-shm", ".lock"}) fs::remove(spool_->parts() + suffix);
    EXPECT_TRUE(take_apart(spool_->file(), receiver_, spool_->parts()));
    {
      const auto parts = store::Store::open(spool_->parts());
      EXPECT_TRUE(parts);
      store::Experiment row = (*parts)->experiment(whole).value().value();
      forge(**parts, row);
      EXPECT_TRUE((*parts)->update_experiment(row));
    }
    const std::string why = refusal_of_parts();
    EXPECT_THAT(why, Not(HasSubstr(spool_->parts())));
    return why;
  }
  std::string refusal_of_parts() {
    auto opened = Intake::open(spool_->parts(), receiver_);
    if (!opened) return opened.error().message;
    intake_ = std::move(*opened);
    for (;;) {
      const auto more = intake_->step(*store_);
      if (!more) return more.error().message;
      if (!*more) return "";
    }
  }
  std::vector<store::Id> seen() {
    std::vector<store::Id> ids;
    for (const store::Experiment& each : store_->experiments()->intact) ids.push_back(each.id);
    return ids;
  }

  std::shared_ptr<Spool> spool_;
  const Receiver receiver_{.uid = 7, .gid = 8};
  std::optional<Intake> intake_;
};

TEST_F(IntakeTest, NobodySeesAnExperimentBeforeAllOfItIsThere) {
  Intake intake = take_apart_as({.uid = 7, .gid = 8, .believed = true, .name = "kept.stab"});
  int steps = 1;
  for (; intake.step(*store_).value(); ++steps) EXPECT_THAT(seen(), ElementsAre(experiment_));
  // The row, thrice trials, others and an end.
  EXPECT_EQ(steps, 1 + 3 * 3);
  EXPECT_THAT(seen(), ElementsAre(experiment_, intake.id()));
  const store::Experiment row = store_->experiment(intake.id()).value().value();
  EXPECT_EQ(row.uid, 7U);
  EXPECT_EQ(row.gid, 8U);
  EXPECT_EQ(row.state, "done");
  EXPECT_EQ(row.stopped_by, store::StopCause::time);
  EXPECT_EQ(row.trial_cpus, "2-3");
  EXPECT_EQ(row.quietness, store::Quietness::fair);
  EXPECT_EQ(row.machine, store_->experiment(experiment_).value()->machine);
  auto own = trials_of(*store_, intake.id());
  for (store::Trial& each : own) each.experiment = experiment_;
  EXPECT_EQ(own, trials_of(*store_, experiment_));
  std::string texts;
  for (const store::Event& each : store_->events(intake.id()).value()) texts += each.text + ";";
  EXPECT_THAT(texts, AllOf(HasSubstr("0;1;2;3;4;5;6;7;8;experiment "),
                           HasSubstr(" was written to this archive;")));
  EXPECT_THAT(texts, HasSubstr("imported from kept.stab by user 7"));
}

TEST_F(IntakeTest, AStepAddsFewBytesHoweverLargeTheRowsAre) {
  constexpr std::uint32_t rows = 40;
  constexpr std::size_t of_row = 60'000;
  store::Experiment row = store_->experiment(experiment_).value().value();
  row.trials = rows;
  const store::Id large = store_->add_experiment(row).value();
  for (std::uint32_t position = 0; position < rows; ++position) {
    store::Trial trial = store::example_trial(large, position);
    trial.stderr_tail = std::string(of_row, 'x');
    add(trial);
    ASSERT_TRUE(store_->add_event({.experiment = large, .text = std::string(of_row, 'y')}));
  }
  fs::remove(spool_->file());
  ASSERT_TRUE(write(path_, large, spool_->file()));
  Intake intake = take_apart_as({.uid = 7});
  std::uint64_t before = 0;
  std::uint64_t most = 0;
  while (intake.step(*store_).value()) {
    const auto content = store_->content(intake.id()).value();
    most = std::max(most, content.trials + content.events - before);
    before = content.trials + content.events;
  }
  EXPECT_EQ(before, 2 * rows + 2);
  // And the two events that say where it is from.
  EXPECT_LE(most, (std::uint64_t{256} << 10) / of_row + 2);
  EXPECT_EQ(trials_of(*store_, intake.id()).size(), rows);
}

TEST_F(IntakeTest, WhereTheDiskIsFullItGoesOnLater) {
  // The machine gets another id here than it has among the parts.
  Intake intake = take_apart_as({.uid = 7});
  struct rlimit old{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &old), 0);
  auto* const handler = signal(SIGXFSZ, SIG_IGN);
  rlimit low = old;
  low.rlim_cur = 0;
  int refused = 0;
  for (bool more = true; more;) {
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &low), 0);
    const auto step = intake.step(*store_);
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &old), 0);
    if (step) {
      more = *step;
      continue;
    }
    ASSERT_TRUE(step.error().temporary) << step.error().message;
    ++refused;
    low.rlim_cur += 4096;
  }
  static_cast<void>(signal(SIGXFSZ, handler));
  EXPECT_GT(refused, 2);
  const store::Experiment row = store_->experiment(intake.id()).value().value();
  EXPECT_EQ(store_->machine(row.machine).value()->key, "k-imported-by-7");
  EXPECT_EQ(trials_of(*store_, intake.id()).size(), trials);
}

TEST_F(IntakeTest, WhatAKilledOneLeftIsRemovedByTheNext) {
  {
    Intake intake = take_apart_as({.uid = 7, .believed = true});
    for (int i = 0; i < 5; ++i) ASSERT_TRUE(intake.step(*store_).value());
  }
  reopen();
  EXPECT_THAT(seen(), ElementsAre(experiment_));
  ASSERT_THAT(store_->removals().value(), SizeIs(1));
  EXPECT_EQ(store_->content(experiment_ + 1)->trials, 200U);
  upkeep::Upkeep upkeep(*store_);
  ASSERT_TRUE(upkeep.load());
  while (upkeep.has_work()) ASSERT_TRUE(upkeep.step());
  EXPECT_EQ(store_->content(experiment_ + 1)->trials, 0U);
  EXPECT_THAT(store_->removals().value(), IsEmpty());
}

TEST_F(IntakeTest, NobodyIsBelievedWhatTheySayOfThisMachine) {
  Intake intake = take_apart_as({.uid = 7});
  while (intake.step(*store_).value()) {
  }
  const store::Id machine = store_->experiment(intake.id()).value()->machine;
  EXPECT_EQ(store_->machine(machine).value()->key, "k-imported-by-7");
  EXPECT_EQ(store_->machine(machine).value()->host, "lab");
  EXPECT_THAT(store_->calibrations(machine).value(), IsEmpty());
  EXPECT_THAT(store_->calibrations(store_->experiment(experiment_).value()->machine).value(),
              SizeIs(1));
}

// In an archive nobody can tell any more whose a calibration was, and root's import would make it
// count for everybody.
TEST_F(IntakeTest, AnArchiveHasNoCalibrationsOfOtherUsers) {
  store::Experiment row = store_->experiment(experiment_).value().value();
  const auto calibrate = [&](std::uint32_t uid, const std::string& name) {
    row.uid = uid;
    store::Calibration calibration =
        store::example_calibration(row.machine, store_->add_experiment(row).value());
    calibration.name = name;
    return store_->add_calibrations({calibration}).has_value();
  };
  ASSERT_TRUE(calibrate(0, "of root"));
  ASSERT_TRUE(calibrate(geteuid(), "of the owner"));
  ASSERT_TRUE(calibrate(geteuid() + 1, "of another user"));
  store::Calibration imported = store::example_calibration(row.machine, 0);
  imported.name = "imported";
  ASSERT_TRUE(store_->add_calibrations({imported}));
  fs::remove(spool_->file());
  ASSERT_TRUE(write(path_, experiment_, spool_->file()));
  const auto archive = store::Reader::open(spool_->file()).value();
  std::vector<std::string> names;
  const store::Id machine = archive->experiment(whole).value()->machine;
  for (const store::Calibration& each : archive->calibrations(machine).value())
    names.push_back(each.name);
  EXPECT_THAT(names, UnorderedElementsAre("calibration", "of root", "of the owner", "imported"));
}

TEST_F(IntakeTest, AnArchiveOfAnOlderVersionIsTaken) {
  const std::string old = spool_->file() + ".old";
  store::Experiment experiment = store_->experiment(experiment_).value().value();
  experiment.state = "done";
  experiment.reason = "the time of 1 min 0 s was over after 10 of 15 blocks";
  experiment.machine = 0;
  {
    store::Connection connection(old);
    store::migrate(connection, store::schema_steps().first(5));
    const store::Id id = connection.insert("experiment", store::as_of(5, to_row(experiment)));
    for (const auto& [kind, text] :
         {std::pair("machine", "trials run on CPU 4"), {"doctor", "poor for measurements: x (1)"}})
      connection.insert("event",
                        to_row(store::Event{.experiment = id, .kind = kind, .text = text}));
    store::Trial trial = store::example_trial(id, 0);
    trial.readings.clear();
    connection.insert("trial", store::as_of(5, to_row(trial)));
  }
  const auto taken = take_apart(old, {.uid = 7, .name = "old"}, spool_->parts());
  ASSERT_TRUE(taken) << taken.error().message;
  auto intake = Intake::open(spool_->parts(), {.uid = 7});
  ASSERT_TRUE(intake);
  while (intake->step(*store_).value()) {
  }
  const store::Experiment row = store_->experiment(intake->id()).value().value();
  EXPECT_EQ(row.name, experiment.name);
  EXPECT_EQ(row.stopped_by, store::StopCause::time);
  EXPECT_EQ(row.trial_cpus, "4");
  EXPECT_EQ(row.quietness, store::Quietness::poor);
  EXPECT_EQ(trials_of(*store_, intake->id()).at(0).layout.random_code, true);
  // And the file is as it was: nobody else reads it.
  const auto read = store::Reader::open(old);
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().message, HasSubstr("the database's schema has version 5, not"));
  EXPECT_THAT(read.error().message,
              HasSubstr("start 'stabd --state FOLDER' once with the database's folder"));
}

// The test forges parts as an archive could that has taken over the process that makes them.
TEST_F(IntakeTest, ForgedPartsGiveNobodyRights) {
  const auto change = [&](const auto& forger) {
    return refusal([&](store::Store&, store::Experiment& row) { forger(row); });
  };
  EXPECT_EQ(change([](store::Experiment& row) {
              row.uid = 0;
              row.gid = 0;
              row.priority = 100;
              row.held_by = 0;
            }),
            "");
  const store::Experiment row = store_->experiment(intake_->id()).value().value();
  EXPECT_EQ(row.uid, 7U);
  EXPECT_EQ(row.gid, 8U);
  EXPECT_EQ(row.priority, 0);
  EXPECT_FALSE(row.held_by);
  EXPECT_EQ(store_->machine(row.machine).value()->key, "k-imported-by-7");
  EXPECT_THAT(store_->calibrations(row.machine).value(), IsEmpty());

  EXPECT_THAT(change([](store::Experiment& each) { each.state = "queued"; }),
              HasSubstr("has not ended; its state is queued"));
  EXPECT_THAT(change([](store::Experiment& each) { each.name = "\x1b[2J"; }),
              HasSubstr("the experiment's name is not a single line"));
  EXPECT_THAT(change([](store::Experiment& each) { each.directory.assign(5000, 'x'); }),
              HasSubstr("the column directory of table experiment holds 5000 bytes"));
  EXPECT_THAT(change([](store::Experiment& each) { each.trials = 2; }),
              HasSubstr("there is a trial beyond the experiment's last one"));
  const auto with_trial = [&](const std::string& benchmark) {
    return refusal([&](store::Store& parts, store::Experiment&) {
      store::Trial trial = store::example_trial(whole, 0, 1);
      trial.benchmark = benchmark;
      EXPECT_TRUE(parts.add_trial(trial));
    });
  };
  EXPECT_THAT(with_trial("../x"), HasSubstr("../x is not the name of a benchmark"));
  EXPECT_THAT(with_trial("sort"), HasSubstr("a part of the archive is too large"));
  EXPECT_THAT(refusal([](store::Store& parts, store::Experiment&) {
                EXPECT_TRUE(parts.add_event(
                    {.experiment = whole, .at_ns = std::numeric_limits<std::int64_t>::max()}));
              }),
              HasSubstr("has an event with a date in the future"));
  store::cheat(spool_->parts(), "CREATE VIEW v AS SELECT 1");
  const auto strange = Intake::open(spool_->parts(), receiver_);
  ASSERT_FALSE(strange);
  EXPECT_THAT(strange.error().message, HasSubstr("differs from stabd's schema at the view v"));
}

TEST_F(IntakeTest, ForgedPartsHaveBounds) {
  const auto added = [&](const auto& add) {
    return refusal([&](store::Store& parts, store::Experiment&) { EXPECT_TRUE(add(parts)); });
  };
  const std::string long_text(66'000, 'x');
  EXPECT_THAT(added([&](store::Store& parts) {
                store::Trial trial = store::example_trial(whole, 0, 1);
                trial.stderr_tail = long_text;
                return parts.add_trial(trial);
              }),
              HasSubstr("the column stderr_tail of table trial"));
  EXPECT_THAT(
      added([&](store::Store& parts) {
        return parts.add_build({.experiment = whole, .benchmark = "sort", .output = long_text});
      }),
      HasSubstr("the column output of table build"));
  EXPECT_THAT(added([&](store::Store& parts) {
                return parts.add_event({.experiment = whole, .text = std::string(263'000, 'x')});
              }),
              HasSubstr("the column text of table event"));
  EXPECT_THAT(added([&](store::Store& parts) {
                return parts.add_event(
                    {.experiment = whole, .text = std::string(std::size_t{8} << 20, 'x')});
              }),
              HasSubstr("too big"));
  EXPECT_THAT(refusal([&](store::Store& parts, store::Experiment& row) {
                row.machine =
                    parts.add_machine({.key = "x", .host = long_text, .facts = "{}"}).value();
              }),
              HasSubstr("the column host of table machine"));
  // The store would look at all earlier attempts.
  EXPECT_THAT(added([](store::Store& parts) {
                return parts.add_trial(store::example_trial(whole + 1, 99, 1));
              }),
              HasSubstr("two attempts at trial 99 have the mark 'last'"));

  constexpr const char* too_large = "a part of the archive is too large";
  const auto with_builds = [&](int count, const std::string& output) {
    std::vector<store::Build> builds;
    for (int i = 0; i < count; ++i)
      builds.push_back(
          {.experiment = whole, .key = std::to_string(i), .benchmark = "sort", .output = output});
    return added([&](store::Store& parts) { return parts.add_builds_and_events(builds, {}); });
  };
  EXPECT_EQ(with_builds(100, ""), "");
  EXPECT_THAT(with_builds(101, ""), HasSubstr(too_large));
  EXPECT_THAT(with_builds(10, std::string(60'000, 'x')), HasSubstr(too_large));
  const auto with_events = [&](std::size_t count, const std::string& text) {
    const std::vector<store::Event> events(count, {.experiment = whole, .text = text});
    return added([&](store::Store& parts) { return parts.add_builds_and_events({}, events); });
  };
  EXPECT_EQ(with_events(80, ""), "");
  EXPECT_THAT(with_events(101, ""), HasSubstr(too_large));
  EXPECT_THAT(with_events(10, std::string(60'000, 'x')), HasSubstr(too_large));
}

TEST_F(IntakeTest, AllForgedPartsTogetherHaveABound) {
  constexpr std::size_t of_text = std::size_t{256} << 10;
  constexpr std::size_t most = std::size_t{32} << 20;  // of all events
  EXPECT_THAT(refusal([](store::Store& parts, const store::Experiment& row) {
                std::vector<store::Event> events;
                for (std::size_t i = 0; i <= most / of_text; ++i)
                  events.push_back({.experiment = parts.add_experiment(row).value(),
                                    .text = std::string(of_text, 'x')});
                EXPECT_TRUE(parts.add_builds_and_events({}, events));
              }),
              HasSubstr("the table event of the archive is too large"));
}

TEST_F(IntakeTest, ATrialThatContradictsItsReadingsIsNotTaken) {
  store::Experiment row = store_->experiment(experiment_).value().value();
  row.plan += "[[exclude]]\nwhen = 'interrupts_per_s > 50'\n";
  row.trials = 1;
  const auto verdict_of = [&](store::TrialStatus status, std::int64_t interrupts) {
    const store::Id id = store_->add_experiment(row).value();
    store::Trial trial = store::example_trial(id, 0);
    trial.status = status;
    trial.warmup = false;
    trial.wall_ns = 1'000'000'000;
    trial.readings = {counters::counted("interrupts", "", interrupts)};
    if (status == store::TrialStatus::disturbed)
      trial.readings.push_back(counters::counted("exclude-rule", "", std::int64_t{1}));
    add(trial);
    fs::remove(spool_->file());
    fs::remove(spool_->parts());
    EXPECT_TRUE(write(path_, id, spool_->file()));
    const auto taken = take_apart(spool_->file(), {.uid = 7, .name = "f"}, spool_->parts());
    return taken ? "" : taken.error().message;
  };
  EXPECT_EQ(verdict_of(store::TrialStatus::disturbed, 51), "");
  EXPECT_EQ(verdict_of(store::TrialStatus::ok, 50), "");
  EXPECT_THAT(verdict_of(store::TrialStatus::disturbed, 50),
              HasSubstr("attempt 0 at trial 0 is marked disturbed, but the plan's 'exclude' "
                        "rules"));
  EXPECT_THAT(verdict_of(store::TrialStatus::ok, 51),
              HasSubstr("attempt 0 at trial 0 is marked ok, but the plan's 'exclude' rules"));
}

TEST_F(IntakeTest, ASpoolIsGoneWithItsLastUser) {
  const std::string folder = fs::path(spool_->file()).parent_path();
  EXPECT_TRUE(fs::exists(folder));
  EXPECT_EQ(fs::status(folder).permissions() & fs::perms(077), fs::perms::none);
  spool_.reset();
  EXPECT_FALSE(fs::exists(folder));
}

TEST_F(IntakeTest, OfASpoolTheLargeFilesAreFreedInPieces) {
  std::vector<Fd> left;
  const std::string state = fs::path(path_).parent_path();
  const auto leave = [&left](Fd file) { left.push_back(std::move(file)); };
  auto spool = Spool::make(state, leave).value();
  const std::string folder = fs::path(spool->file()).parent_path();
  ASSERT_TRUE(spool->add("some"));
  fs::create_directory(spool->parts());
  const std::string large = spool->parts() + "/large";
  std::ofstream(large) << "x";
  fs::resize_file(large, 5 * piece_of_file / 2);
  spool.reset();
  EXPECT_FALSE(fs::exists(folder));
  ASSERT_EQ(left.size(), 1U);
  const auto bytes = [&left] {
    struct stat status{};
    return fstat(left.front().get(), &status) == 0 ? status.st_size : -1;
  };
  EXPECT_TRUE(Spool::shrink(left.front()));
  EXPECT_EQ(bytes(), 3 * piece_of_file / 2);
  EXPECT_TRUE(Spool::shrink(left.front()));
  EXPECT_FALSE(Spool::shrink(left.front()));
  // And so with what a killed process left.
  left.clear();
  fs::create_directories(state + "/spool/abc");
  std::ofstream(state + "/spool/abc/large") << "x";
  fs::resize_file(state + "/spool/abc/large", 2 * piece_of_file);
  Spool::remove_left(state, leave);
  EXPECT_FALSE(fs::exists(state + "/spool"));
  EXPECT_EQ(left.size(), 1U);
}

}  // namespace
}  // namespace stab::archive
