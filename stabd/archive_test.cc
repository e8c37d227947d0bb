// SPDX-License-Identifier: MIT
#include "stabd/archive.h"

#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "base/random.h"
#include "plan/texts.h"
#include "protocol/lines.h"
#include "results/heap_layer.h"
#include "stabd/upkeep.h"
#include "store/connection.h"
#include "store/rows/bounds.h"
#include "store/rows/row.h"
#include "store/schema.h"
#include "store/test_support.h"

namespace stab::archive {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::AllOf;
using testing::AnyOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using testing::UnorderedElementsAre;

constexpr std::uint32_t trials = 250;

// The lines of an archive's parts.
using Lines = std::vector<json>;

Lines lines_in(const std::string& text) {
  Lines lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(json::parse(line));
  return lines;
}

std::string text_of(const Lines& lines) {
  std::string text;
  for (const json& line : lines) text += line.dump() + "\n";
  return text;
}

// The line with a row of this table, counted from 0.
Lines::iterator line_of(Lines& lines, const std::string& table, int number = 0) {
  const auto found = std::ranges::find_if(lines, [&](const json& line) {
    return line.contains("row") && line.at("table") == table && number-- == 0;
  });
  EXPECT_TRUE(found != lines.end()) << table;
  return found;
}

json row_line(const std::string& table, json columns) {
  return {{"table", table}, {"row", std::move(columns)}};
}

json text_line(const std::string& table, const std::string& column, const std::string& text) {
  return {{"table", table}, {"column", column}, {"text", text}};
}

// Puts a text in pieces before the next row of this table.
void put_pieces(Lines& lines, const std::string& table, const std::string& column,
                const std::string& text) {
  constexpr std::size_t of_piece = 60'000;
  Lines pieces;
  for (std::size_t done = 0; done < text.size(); done += of_piece)
    pieces.push_back(text_line(table, column, text.substr(done, of_piece)));
  lines.insert(line_of(lines, table), pieces.begin(), pieces.end());
}

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
    row.source_branch = "main";
    row.source_commit = std::string(40, 'a');
    row.nodes = {{.name = "n1", .hardware = "a CPU", .trial_cpus = "2-3"}};
    row.heap_layer = results::heap_column({{.benchmark = "sort", .why_not = "sort crashes"}});
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
  // The archive's parts as take_apart() makes them.
  std::string text_of_parts() {
    fs::remove(spool_->parts());
    EXPECT_TRUE(take_apart(spool_->file(), receiver_, spool_->parts()));
    return read_file(spool_->parts(), std::size_t{1} << 26).value();
  }
  // Why parts that `forge` has changed are not taken; "" if they are.
  template <class Forge>
  std::string refusal(const Forge& forge) {
    Lines lines = lines_in(text_of_parts());
    forge(lines);
    return refusal_of(text_of(lines));
  }
  std::string refusal_of(const std::string& parts) {
    intake_.reset();
    store::write_text(spool_->parts(), parts);
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
  std::uint64_t before = 0;
  while (intake.step(*store_).value()) {
    EXPECT_THAT(seen(), ElementsAre(experiment_));
    const auto content = store_->content(intake.id()).value();
    EXPECT_LE(content.trials + content.events - before, 100U) << "a step stores few rows";
    before = content.trials + content.events;
  }
  EXPECT_GT(before, 0U);
  EXPECT_THAT(seen(), ElementsAre(experiment_, intake.id()));
  const store::Experiment row = store_->experiment(intake.id()).value().value();
  store::Experiment same = store_->experiment(experiment_).value().value();
  same.id = row.id;
  same.uid = 7;
  same.gid = 8;
  same.priority = 0;
  same.held_by.reset();
  EXPECT_EQ(row, same) << "each column comes back";
  EXPECT_EQ(row.state, "done");
  EXPECT_EQ(row.stopped_by, store::StopCause::time);
  EXPECT_EQ(row.trial_cpus, "2-3");
  EXPECT_EQ(row.quietness, store::Quietness::fair);
  EXPECT_EQ(row.source_branch, "main");
  EXPECT_EQ(row.source_commit, std::string(40, 'a'));
  EXPECT_THAT(row.nodes,
              ElementsAre(store::Node{.name = "n1", .hardware = "a CPU", .trial_cpus = "2-3"}));
  EXPECT_EQ(results::heap_layers(row.heap_layer).value().at(0).why_not, "sort crashes");
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
  for (bool more = true; more;) {
    more = intake.step(*store_).value();
    const auto content = store_->content(intake.id()).value();
    most = std::max(most, content.trials + content.events - before);
    before = content.trials + content.events;
  }
  // Two events say where the experiment is from.
  EXPECT_EQ(before, 2 * rows + 2);
  EXPECT_LE(most, (std::uint64_t{256} << 10) / of_row + 2);
  EXPECT_EQ(trials_of(*store_, intake.id()).size(), rows);
}

TEST_F(IntakeTest, WhereTheDiskIsFullItGoesOnLater) {
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
    for (int i = 0; i < 2; ++i) ASSERT_TRUE(intake.step(*store_).value());
  }
  reopen();
  EXPECT_THAT(seen(), ElementsAre(experiment_));
  ASSERT_THAT(store_->removals().value(), SizeIs(1));
  EXPECT_GT(store_->content(experiment_ + 1)->trials, 0U);
  EXPECT_LT(store_->content(experiment_ + 1)->trials, trials);
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
  const store::Id machine = archive->experiment(1).value()->machine;
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
  const std::string failure =
      "the build of 'sort' failed:\nno such header\nthe build command ended "
      "with exit code 1\nthe command was: cc";
  {
    store::Connection connection(old);
    store::migrate(connection, store::schema_steps().first(5));
    const store::Id id = connection.insert("experiment", store::as_of(5, to_row(experiment)));
    for (const auto& [kind, text] : {std::pair("machine", std::string("trials run on CPU 4")),
                                     {"doctor", "poor for measurements: x (1)"},
                                     {"source", "main@" + std::string(40, 'a')},
                                     {"cpus", "n1: 2-3"},
                                     {"build", failure}})
      connection.insert("event",
                        to_row(store::Event{.experiment = id, .kind = kind, .text = text}));
    store::Trial trial = store::example_trial(id, 0);
    trial.readings.clear();
    connection.insert("trial", store::as_of(5, to_row(trial)));
    trial.position = 1;
    trial.status = store::TrialStatus::build_failed;
    trial.reason = failure;
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
  EXPECT_EQ(row.source_branch, "main");
  EXPECT_EQ(row.source_commit, std::string(40, 'a'));
  EXPECT_THAT(row.nodes, ElementsAre(store::Node{.name = "n1", .trial_cpus = "2-3"}));
  EXPECT_EQ(trials_of(*store_, intake->id()).at(1).reason, "the build failed: no such header");
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
  const auto change = [&](const std::string& table, const json& columns) {
    return refusal([&](Lines& lines) { line_of(lines, table)->at("row").update(columns); });
  };
  EXPECT_EQ(change("experiment", {{"uid", 0}, {"gid", 0}, {"priority", 100}, {"held_by", 0}}), "");
  const store::Experiment row = store_->experiment(intake_->id()).value().value();
  EXPECT_EQ(row.uid, 7U);
  EXPECT_EQ(row.gid, 8U);
  EXPECT_EQ(row.priority, 0);
  EXPECT_FALSE(row.held_by);
  EXPECT_EQ(store_->machine(row.machine).value()->key, "k-imported-by-7");
  EXPECT_THAT(store_->calibrations(row.machine).value(), IsEmpty());

  EXPECT_THAT(change("experiment", {{"state", "queued"}}),
              HasSubstr("has not ended; its state is queued"));
  EXPECT_THAT(change("experiment", {{"name", "\x1b[2J"}}),
              HasSubstr("the experiment's name is not a single line"));
  EXPECT_THAT(change("experiment", {{"directory", std::string(5000, 'x')}}),
              HasSubstr("the column directory of table experiment holds 5000 bytes"));
  EXPECT_THAT(change("experiment", {{"trial_cpus", "all"}}),
              HasSubstr("the column 'trial_cpus' of table experiment is not a list of CPUs"));
  EXPECT_THAT(change("experiment", {{"source_commit", "HEAD"}}),
              HasSubstr("are not a branch and a commit of git"));
  EXPECT_THAT(change("experiment", {{"source_branch", "\x1b[2J"}}),
              HasSubstr("are not a branch and a commit of git"));
  EXPECT_THAT(change("experiment", {{"node_list", R"([["n1","\u001b[2J","2"]])"}}),
              HasSubstr("the column 'node_list' of table experiment does not describe nodes"));
  EXPECT_THAT(change("experiment", {{"heap_layer", "[{}]"}}),
              HasSubstr("the column 'heap_layer' of table experiment has no decisions"));
  EXPECT_THAT(change("experiment", {{"trials", 2}}),
              HasSubstr("there is a trial beyond the experiment's last one"));
  EXPECT_THAT(change("trial", {{"benchmark", "../x"}}),
              HasSubstr("../x is not the name of a benchmark"));
  EXPECT_THAT(change("event", {{"at_ns", std::numeric_limits<std::int64_t>::max()}}),
              HasSubstr("has an event with a date in the future"));
  // The daemon opens no database that others made.
  EXPECT_THAT(refusal_of(read_file(spool_->file(), std::size_t{1} << 26).value()),
              AnyOf(HasSubstr("is not JSON"), HasSubstr("is longer than 64 KiB")));
}

TEST_F(IntakeTest, ForgedPartsHaveBounds) {
  const auto longer = [&](const std::string& table, const std::string& column, std::size_t bytes) {
    return refusal([&](Lines& lines) {
      line_of(lines, table)->at("row").erase(column);
      put_pieces(lines, table, column, std::string(bytes, 'x'));
    });
  };
  EXPECT_THAT(longer("trial", "stderr_tail", 66'000),
              HasSubstr("the column stderr_tail of table trial holds 66000 bytes"));
  EXPECT_THAT(longer("event", "text", 263'000),
              HasSubstr("the column text of table event holds 263000 bytes"));
  EXPECT_THAT(longer("event", "text", std::size_t{8} << 20),
              HasSubstr("the column text of table event"));
  EXPECT_THAT(longer("machine", "host", 66'000), HasSubstr("the column host of table machine"));
  EXPECT_EQ(longer("experiment", "reason", 200'000), "");
  EXPECT_EQ(store_->experiment(intake_->id()).value()->reason, std::string(200'000, 'x'));
  const auto with_build = [&](const std::string& output) {
    return refusal([&](Lines& lines) {
      lines.insert(line_of(lines, "trial"), row_line("build", {{"key", "k"},
                                                               {"benchmark", "sort"},
                                                               {"command", ""},
                                                               {"status", "built"},
                                                               {"binary_sha256", ""},
                                                               {"output", ""},
                                                               {"duration_ns", 1}}));
      line_of(lines, "build")->at("row").erase("output");
      put_pieces(lines, "build", "output", output);
    });
  };
  EXPECT_EQ(with_build(std::string(60'000, 'x')), "");
  EXPECT_THAT(store_->builds(intake_->id()).value(), SizeIs(1));
  EXPECT_THAT(with_build(std::string(66'000, 'x')), HasSubstr("the column output of table build"));
  // The store does not look for the mark at earlier attempts.
  EXPECT_THAT(refusal([](Lines& lines) {
                const auto line = line_of(lines, "trial", 99);
                json second = *line;
                second.at("row").update({{"attempt", 1}});
                lines.insert(line + 1, second);
              }),
              HasSubstr("two attempts at trial 99 have the mark 'last'"));
}

TEST_F(IntakeTest, AllForgedPartsTogetherHaveABound) {
  const std::string largest(std::size_t{256} << 10, 'x');
  constexpr std::size_t most = std::size_t{32} << 20;  // of all events
  Lines of_event{row_line("event", {{"at_ns", 1}, {"kind", ""}})};
  put_pieces(of_event, "event", "text", largest);
  const std::string one = text_of(of_event);
  std::string events;
  for (std::size_t i = 0; i <= most / largest.size(); ++i) events += one;
  std::string parts = text_of_parts();
  parts.insert(parts.find(R"({"table":"event")"), events);
  EXPECT_THAT(refusal_of(parts), HasSubstr("the table event of the archive is too large"));
}

// An error in any line ends the import, and everything before it was stored at most.
TEST_F(IntakeTest, EachLineOfThePartsIsCheckedLikeAStrangers) {
  constexpr const char* wrong_place = "in the wrong place";
  constexpr const char* no_end = "the archive's parts end before their last line";
  constexpr const char* too_long = "a line of the archive's parts is longer than 64 KiB";
  const std::string parts = text_of_parts();
  ASSERT_EQ(refusal_of(parts), "");

  // The length of a line, with and without its end.
  const std::string large(protocol::most_decoded, 'x');
  EXPECT_THAT(refusal_of(parts + large), HasSubstr("go on behind their last line"));
  EXPECT_THAT(refusal_of(large + "\n" + parts), HasSubstr("is not JSON"));
  EXPECT_THAT(refusal_of(large + "x\n" + parts), HasSubstr(too_long));
  EXPECT_THAT(refusal_of(large + large), HasSubstr(too_long));

  // The order.
  const auto moved = [&](const std::string& table, int number, const std::string& before) {
    return refusal([&](Lines& lines) {
      const auto line = line_of(lines, table, number);
      const json taken = *line;
      lines.erase(line);
      lines.insert(before == "end" ? lines.end() - 1 : line_of(lines, before), taken);
    });
  };
  EXPECT_THAT(moved("machine", 0, "trial"), HasSubstr(wrong_place));
  EXPECT_THAT(moved("experiment", 0, "event"), HasSubstr(wrong_place));
  EXPECT_THAT(moved("trial", 0, "event"), HasSubstr("attempt 0 at trial 0 in the wrong place"));
  EXPECT_THAT(moved("trial", 0, "end"), HasSubstr(wrong_place));
  EXPECT_THAT(moved("event", 0, "trial"), HasSubstr(wrong_place));
  EXPECT_THAT(moved("calibration", 0, "event"), HasSubstr(wrong_place));
  EXPECT_THAT(moved("experiment", 0, "machine"), HasSubstr(wrong_place));
  EXPECT_EQ(moved("event", 3, "event"), "") << "events have no order but that of their lines";

  // Rows that are there twice, or not at all.
  const auto twice = [&](const std::string& table) {
    return refusal([&](Lines& lines) {
      const auto line = line_of(lines, table);
      lines.insert(line, json(*line));
    });
  };
  EXPECT_THAT(twice("machine"), HasSubstr(wrong_place));
  EXPECT_THAT(twice("experiment"), HasSubstr(wrong_place));
  EXPECT_THAT(twice("trial"), HasSubstr("attempt 0 at trial 0 in the wrong place"));
  const auto without = [&](const std::string& table) {
    return refusal([&](Lines& lines) { lines.erase(line_of(lines, table)); });
  };
  EXPECT_THAT(without("experiment"), HasSubstr(wrong_place));
  EXPECT_THAT(without("machine"), HasSubstr("a calibration without its machine"));

  // The end.
  const std::string end = "{\"end\":true}\n";
  ASSERT_TRUE(parts.ends_with(end));
  EXPECT_THAT(refusal_of(parts.substr(0, parts.size() - end.size())), HasSubstr(no_end));
  EXPECT_THAT(refusal_of(parts.substr(0, parts.size() - 1)), HasSubstr(no_end));
  EXPECT_THAT(refusal_of(parts.substr(0, parts.size() / 2)), HasSubstr(no_end));
  EXPECT_THAT(refusal_of(""), HasSubstr(no_end));
  EXPECT_THAT(refusal_of(end), HasSubstr(no_end));
  EXPECT_THAT(refusal_of(parts + "\n"), HasSubstr("go on behind their last line"));
  EXPECT_THAT(refusal_of(parts + parts), HasSubstr("go on behind their last line"));

  // Lines of other kinds.
  const auto first = [&](const std::string& line) { return refusal_of(line + "\n" + parts); };
  EXPECT_THAT(first(R"({"table":"meta","row":{"key":"a","value":"b"}})"),
              HasSubstr("rows of a table meta, which stabd does not import"));
  for (const char* line :
       {"[]", "1", "null", "{}", R"({"row":{}})", R"({"table":7,"row":{}})", R"({"end":false})",
        R"({"table":"machine"})", R"({"table":"machine","row":[]})",
        R"({"table":"machine","column":"facts","text":1})"})
    EXPECT_THAT(first(line), HasSubstr("does not have stabd's format")) << line;
  EXPECT_THAT(first(R"({"table":"machine","row":{},"more":1})"),
              HasSubstr("does not have stabd's format"));
  EXPECT_THAT(first(""), HasSubstr("is not JSON"));
  EXPECT_THAT(first(R"({"end":)" + std::string(1000, '[')),
              HasSubstr("is nested deeper than 16 levels"));

  // Pieces of texts.
  EXPECT_THAT(first(R"({"table":"machine","column":"key","text":"a","more":1})"),
              HasSubstr("a text of the table machine that stabd does not store"));
  EXPECT_THAT(first(R"({"table":"experiment","column":"uid","text":"1"})"),
              HasSubstr("a text of the table experiment that stabd does not store"));
  EXPECT_THAT(first(R"({"table":"machine","column":"key","text":"a"})"),
              HasSubstr("the table machine the column key"));
  EXPECT_THAT(refusal([](Lines& lines) {
                lines.insert(line_of(lines, "event"), text_line("trial", "reason", "a"));
              }),
              HasSubstr(wrong_place));
  EXPECT_THAT(refusal([](Lines& lines) {
                lines.insert(lines.end() - 1, text_line("calibration", "name", "a"));
              }),
              HasSubstr(no_end));

  // Columns and their values.
  const auto with = [&](const std::string& table, const json& columns) {
    return refusal([&](Lines& lines) { line_of(lines, table)->at("row").update(columns); });
  };
  for (const auto& [table, column] : {std::pair("trial", "experiment"),
                                      {"experiment", "machine"},
                                      {"experiment", "id"},
                                      {"calibration", "machine"},
                                      {"event", "checksum"},
                                      {"trial", "no such column"}})
    EXPECT_THAT(with(table, {{column, 1}}), HasSubstr(std::string("the column ") + column));
  const std::string not_stored = "has a value that stabd does not store";
  for (const std::int64_t number : {std::int64_t{-1}, std::int64_t{1} << 32}) {
    EXPECT_THAT(with("trial", {{"position", number}}),
                HasSubstr("the column position of table trial " + not_stored));
    EXPECT_THAT(with("experiment", {{"uid", number}}),
                HasSubstr("the column uid of table experiment " + not_stored));
  }
  EXPECT_THAT(with("trial", {{"last", 2}}), HasSubstr("the column last of table trial"));
  EXPECT_THAT(with("trial", {{"exit_code", std::int64_t{1} << 40}}),
              HasSubstr("the column exit_code of table trial " + not_stored));
  EXPECT_THAT(with("trial", {{"levels", "{ }"}}), HasSubstr("the column levels of table trial"));
  EXPECT_THAT(with("trial", {{"seed", std::uint64_t{1} << 63}}),
              HasSubstr("a value that no column stores"));
  for (const json& value : {json(true), json::array({1}), json::object(), json()})
    EXPECT_THAT(with("trial", {{"position", value}}), HasSubstr("a value that no column stores"));
  for (const json& value : {json(1.5), json(1e300), json("1")})
    EXPECT_THAT(with("trial", {{"position", value}}),
                HasSubstr("the column position is not an integer"));
  EXPECT_THAT(with("event", {{"text", 1}}), HasSubstr("the column text is not text"));
  EXPECT_THAT(with("trial", {{"status", "fine"}}), HasSubstr("the status fine is unknown"));
  EXPECT_THAT(with("trial", {{"readings", 1}}), Not(IsEmpty()));
  EXPECT_THAT(refusal([](Lines& lines) { line_of(lines, "trial")->at("row").erase("position"); }),
              HasSubstr("the column position is NULL"));

  // Bytes that are not UTF-8.
  std::string bytes = parts;
  bytes.replace(bytes.find("it exited with 3"), 2, "\xc3\x28");
  EXPECT_THAT(refusal_of(bytes), HasSubstr("is not JSON"));
  EXPECT_THAT(store_->verify().value(), IsEmpty());
}

// A text that is longer than a line comes in pieces, none of which ends within a character.
TEST_F(IntakeTest, LongTextsComeAsTheyWere) {
  store::Experiment row = store_->experiment(experiment_).value().value();
  row.trials = 1;
  for (int i = 0; i < 60'000; ++i)
    row.reason += i % 7 == 0 ? "\x01" : i % 3 == 0 ? "\U0001F600" : "a";
  const store::Id id = store_->add_experiment(row).value();
  store::Trial trial = store::example_trial(id, 0);
  trial.reason = std::string(100'000, '\x02');
  trial.causal = "[\"" + std::string(900'000, 'c') + "\"]";
  add(trial);
  store::Build build{.experiment = id,
                     .key = "k",
                     .benchmark = "sort",
                     .command = std::string(300'000, '\n'),
                     .status = store::BuildStatus::cached,
                     .binary_sha256 = "abc",
                     .output = std::string(60'000, '"'),
                     .duration_ns = 5};
  ASSERT_TRUE(store_->add_build(build));
  fs::remove(spool_->file());
  ASSERT_TRUE(write(path_, id, spool_->file()));
  Intake intake = take_apart_as({.uid = 7});
  const std::string parts = read_file(spool_->parts(), std::size_t{1} << 26).value();
  std::istringstream stream(parts);
  for (std::string line; std::getline(stream, line);)
    EXPECT_LE(line.size(), protocol::most_decoded);
  while (intake.step(*store_).value()) {
  }
  EXPECT_EQ(store_->experiment(intake.id()).value()->reason, row.reason);
  trial.experiment = intake.id();
  EXPECT_THAT(trials_of(*store_, intake.id()), ElementsAre(trial));
  build.experiment = intake.id();
  EXPECT_THAT(store_->builds(intake.id()).value(), ElementsAre(build));
}

TEST_F(IntakeTest, NothingButAFileHasParts) {
  const std::string text = text_of_parts();
  const auto refused = [this] {
    const auto opened = Intake::open(spool_->parts(), receiver_);
    return opened ? "" : opened.error().message;
  };
  EXPECT_EQ(refused(), "");
  fs::remove(spool_->parts());
  EXPECT_THAT(refused(), HasSubstr("cannot read the archive's parts"));
  ASSERT_EQ(mkfifo(spool_->parts().c_str(), 0600), 0);
  EXPECT_THAT(refused(), HasSubstr("the archive's parts are not a file"));
  fs::remove(spool_->parts());
  fs::create_directory(spool_->parts());
  EXPECT_THAT(refused(), HasSubstr("the archive's parts are not a file"));
  fs::remove(spool_->parts());
  store::write_text(spool_->parts() + "-elsewhere", text);
  fs::create_symlink(spool_->parts() + "-elsewhere", spool_->parts());
  EXPECT_THAT(refused(), HasSubstr("cannot read the archive's parts"));
}

// The bytes of an SQLite database, whose pages a test forges (sqlite.org/fileformat2.html). Pages
// are numbered from 1.
class ForgedPages {
 public:
  static constexpr std::size_t size = 4096;  // of a page
  using Number = std::uint32_t;              // of a page

  explicit ForgedPages(std::string bytes) : bytes_(std::move(bytes)) {}
  [[nodiscard]] const std::string& bytes() const { return bytes_; }

  // Changes one thing that SQLite follows or counts by, and returns what it was.
  const char* change(Random& random);

  // Appends a page that is a leaf of a table, whose cells are all this one.
  Number add_leaf(const std::string& record, std::size_t cells);
  // Appends an inner page of a table, whose children are all this page.
  Number add_inner(Number child, std::size_t children);
  // The rows of `more` become rows of the schema, after its own ones.
  void add_to_schema(Number more);

  // A record with these texts, a page's number, and NULL.
  static std::string record(const std::vector<std::string>& texts, Number page);
  // How much longer a record must be so that its cell has the fewest bytes in its page.
  static std::size_t missing(const std::string& record) {
    const std::size_t kept = in_page(record.size(), most_in_table);
    return kept > least ? size - 4 - (kept - least) : 0;
  }

 private:
  // A page with cells, which is a part of a table's or an index's tree.
  struct Node {
    std::size_t page = 0;      // the place of its first byte, like those below
    std::size_t head = 0;      // of its header
    std::size_t pointers = 0;  // of the pointers to its cells
    std::size_t cells = 0;
    std::uint8_t type = 0;
    [[nodiscard]] bool is_inner() const { return type == inner_index || type == inner_table; }
  };
  // A cell whose record goes on in pages of its own.
  struct Long {
    std::size_t cell = 0;   // the place where its number of bytes is
    std::size_t chain = 0;  // the place of the number of the first such page
    std::uint64_t bytes = 0;
  };
  static constexpr std::uint8_t inner_index = 2;
  static constexpr std::uint8_t inner_table = 5;
  static constexpr std::uint8_t leaf_of_index = 10;
  static constexpr std::uint8_t leaf_of_table = 13;
  static constexpr std::size_t file_header = 100;
  static constexpr std::size_t most_in_table = size - 35;
  static constexpr std::size_t most_in_index = (size - 12) * 64 / 255 - 23;
  static constexpr std::size_t least = (size - 12) * 32 / 255 - 23;
  // How many bytes of a record are in its cell's page.
  static std::size_t in_page(std::uint64_t bytes, std::size_t most) {
    if (bytes <= most) return bytes;
    const std::size_t kept = least + (bytes - least) % (size - 4);
    return kept <= most ? kept : least;
  }

  static std::string as_varint(std::uint64_t number) {
    std::string text(1, static_cast<char>(number & 0x7f));
    while ((number >>= 7) != 0) text.insert(0, 1, static_cast<char>((number & 0x7f) | 0x80));
    return text;
  }
  static std::string four_bytes(Number page) {
    std::string text;
    for (const unsigned shift : {24U, 16U, 8U, 0U})
      text += static_cast<char>((page >> shift) & 0xffU);
    return text;
  }
  [[nodiscard]] Number count() const { return static_cast<Number>(bytes_.size() / size); }
  [[nodiscard]] static std::size_t place_of(Number page) { return (page - 1) * size; }
  // These read and write a number with so many bytes; there are zeros behind the end.
  [[nodiscard]] std::uint64_t get(std::size_t place, std::size_t width) const {
    std::uint64_t number = 0;
    for (std::size_t i = place; i < place + width; ++i)
      number = (number << 8U) | (i < bytes_.size() ? static_cast<std::uint8_t>(bytes_[i]) : 0U);
    return number;
  }
  void put(std::size_t place, std::uint64_t number, std::size_t width) {
    for (std::size_t i = place + width; i > place; number >>= 8)
      if (--i < bytes_.size()) bytes_[i] = static_cast<char>(number & 0xff);
  }
  void put(std::size_t place, std::string_view text) {
    for (std::size_t i = 0; i < text.size() && place + i < bytes_.size(); ++i)
      bytes_[place + i] = text[i];
  }
  std::uint64_t varint_at(std::size_t& place) const {
    std::uint64_t number = 0;
    for (int i = 0; i < 9; ++i) {
      const std::uint64_t byte = get(place++, 1);
      if (i == 8) return (number << 8U) | byte;
      number = (number << 7U) | (byte & 0x7fU);
      if (byte < 0x80) break;
    }
    return number;
  }

  [[nodiscard]] std::vector<Node> nodes() const;
  [[nodiscard]] std::size_t cell_of(const Node& node, std::size_t cell) const {
    return node.page + get(node.pointers + 2 * cell, 2);
  }
  [[nodiscard]] std::vector<Long> long_cells() const;
  Number add_page();

  std::string bytes_;
};

std::vector<ForgedPages::Node> ForgedPages::nodes() const {
  constexpr std::size_t most_cells = (size - 8) / 6;
  std::vector<Node> found;
  for (Number page = 1; page <= count(); ++page) {
    Node node{.page = place_of(page)};
    node.head = node.page + (page == 1 ? file_header : 0);
    node.type = static_cast<std::uint8_t>(get(node.head, 1));
    node.cells = get(node.head + 3, 2);
    node.pointers = node.head + (node.is_inner() ? 12 : 8);
    const bool leaf = node.type == leaf_of_index || node.type == leaf_of_table;
    if ((leaf || node.is_inner()) && node.cells > 0 && node.cells <= most_cells)
      found.push_back(node);
  }
  return found;
}

std::vector<ForgedPages::Long> ForgedPages::long_cells() const {
  std::vector<Long> found;
  for (const Node& node : nodes()) {
    if (node.type == inner_table) continue;
    for (std::size_t i = 0; i < node.cells; ++i) {
      Long cell{.cell = cell_of(node, i) + (node.is_inner() ? 4U : 0U)};
      std::size_t place = cell.cell;
      cell.bytes = varint_at(place);
      if (node.type == leaf_of_table) varint_at(place);  // the id
      const std::size_t most = node.type == leaf_of_table ? most_in_table : most_in_index;
      cell.chain = place + in_page(cell.bytes, most);
      if (cell.bytes > most) found.push_back(cell);
    }
  }
  return found;
}

const char* ForgedPages::change(Random& random) {
  const auto one_of = [&random](const auto& all) { return all.at(random.below(all.size())); };
  const auto any_page = [&] { return random.below(count() + 3); };  // some are not there
  std::vector<Node> inner = nodes();
  std::erase_if(inner, [](const Node& each) { return !each.is_inner(); });
  if (inner.empty() || long_cells().empty()) return "too little is left to change";
  const Node node = one_of(nodes());
  const std::size_t cell = random.below(node.cells);
  const Long longer = one_of(long_cells());
  switch (random.below(12)) {
    case 0:
      put(node.pointers + 2 * cell, random.below(1U << 16U), 2);
      return "a pointer leads anywhere";
    case 1:
      put(node.pointers + 2 * cell, get(node.pointers + 2 * random.below(node.cells), 2), 2);
      return "two pointers lead to one cell";
    case 2: {
      const Node parent = one_of(inner);
      const std::size_t child = random.below(parent.cells + 1);
      put(child == parent.cells ? parent.head + 8 : cell_of(parent, child),
          one_of(std::array<std::uint64_t, 3>{parent.page / size + 1, 1, any_page()}), 4);
      return "a child is a parent, the schema or any page";
    }
    case 3:
      put(longer.chain, any_page(), 4);
      return "a record goes on anywhere";
    case 4: {
      const std::uint64_t first = get(longer.chain, 4);
      std::uint64_t last = first;
      for (std::uint64_t left = random.below(4); left > 0; --left)
        if (const std::uint64_t next = get(place_of(static_cast<Number>(last)), 4); next != 0)
          last = next;
      put(place_of(static_cast<Number>(last)), one_of(std::array{first, last}), 4);
      return "a record's pages are a circle";
    }
    case 5:
      put(longer.cell,
          as_varint(longer.bytes + 1 + random.below(std::uint64_t{1} << (8 + random.below(54)))));
      return "a record is longer than it says";
    case 6:
      put(node.head,
          one_of(std::array<std::uint64_t, 5>{inner_index, inner_table, leaf_of_index,
                                              leaf_of_table, random.below(256)}),
          1);
      return "a page has another type";
    case 7:
      put(node.head + one_of(std::array{1U, 3U, 5U}), random.below(1U << 16U), 2);
      return "a page's header is wrong";
    case 8:
      put(one_of(std::array{16U, 18U, 20U, 28U, 36U, 44U, 56U, 60U, 92U}) + random.below(4),
          random.below(256), 1);
      return "the file's header is wrong";
    case 9: {
      const std::string page =
          bytes_.substr(place_of(1 + static_cast<Number>(random.below(count()))), size);
      put(place_of(2 + static_cast<Number>(random.below(count() - 1))), page);
      return "a page is there twice";
    }
    case 10:
      bytes_.resize(random.below(bytes_.size()));
      return "the end is missing";
    default:
      for (std::uint64_t left = 1 + random.below(8); left > 0; --left)
        put(random.below(bytes_.size()), random.below(256), 1);
      return "some bytes are others";
  }
}

ForgedPages::Number ForgedPages::add_page() {
  bytes_.append(size, '\0');
  put(28, count(), 4);
  put(92, get(24, 4), 4);  // so that this count counts
  return count();
}

std::string ForgedPages::record(const std::vector<std::string>& texts, Number page) {
  std::string types;
  std::string values;
  for (const std::string& text : texts) {
    types += as_varint(13 + 2 * text.size());
    values += text;
  }
  types += "\4";  // a number of four bytes
  values += four_bytes(page);
  types += '\0';
  std::size_t header = types.size() + 1;
  while (as_varint(header).size() + types.size() != header) ++header;
  return as_varint(header) + types + values;
}

ForgedPages::Number ForgedPages::add_leaf(const std::string& record, std::size_t cells) {
  const std::size_t kept = in_page(record.size(), most_in_table);
  std::string cell = as_varint(record.size()) + as_varint(1U << 20U) + record.substr(0, kept);
  const Number leaf = add_page();
  if (kept < record.size()) {
    cell += four_bytes(leaf + 1);
    for (std::size_t done = kept; done < record.size(); done += size - 4) {
      const Number page = add_page();
      if (done + size - 4 < record.size()) put(place_of(page), page + 1, 4);
      put(place_of(page) + 4, std::string_view(record).substr(done, size - 4));
    }
  }
  const std::size_t place = size - cell.size();
  EXPECT_LE(8 + 2 * cells, place) << "there is no room for so many pointers";
  put(place_of(leaf), leaf_of_table, 1);
  put(place_of(leaf) + 3, cells, 2);
  put(place_of(leaf) + 5, place, 2);
  for (std::size_t i = 0; i < cells; ++i) put(place_of(leaf) + 8 + 2 * i, place, 2);
  put(place_of(leaf) + place, cell);
  return leaf;
}

ForgedPages::Number ForgedPages::add_inner(Number child, std::size_t children) {
  const Number inner = add_page();
  const std::string id = as_varint(1U << 20U);
  const std::size_t place = size - 4 - id.size();
  put(place_of(inner), inner_table, 1);
  put(place_of(inner) + 3, children - 1, 2);
  put(place_of(inner) + 5, place, 2);
  put(place_of(inner) + 8, child, 4);
  for (std::size_t i = 0; i + 1 < children; ++i) put(place_of(inner) + 12 + 2 * i, place, 2);
  put(place_of(inner) + place, child, 4);
  put(place_of(inner) + place + 4, id);
  return inner;
}

// The schema's tree begins at page 1, behind the file's header. Cells are named by their place in
// the page, so they stay where they are when the header moves to the front of another page.
void ForgedPages::add_to_schema(Number more) {
  const Node root = nodes().front();
  const Number moved = add_page();
  put(place_of(moved), bytes_.substr(0, size));
  put(place_of(moved), bytes_.substr(root.head, root.pointers - root.head + 2 * root.cells));
  const Number inner = add_inner(moved, 2);
  put(root.head, bytes_.substr(place_of(inner), 14));
  put(root.head + 8, more, 4);
  const std::size_t cell = get(root.head + 12, 2);
  put(cell, bytes_.substr(place_of(inner) + cell, size - cell));
}

class DamagedTest : public IntakeTest {
  static constexpr std::chrono::seconds longest{3};  // a step is much shorter

  static std::chrono::nanoseconds cpu_time() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
  }
  // A busy machine does not make its own CPU time longer.
  template <class Action>
  static auto timed(const Action& action) {
    const std::chrono::nanoseconds begin = cpu_time();
    auto result = action();
    EXPECT_LT(cpu_time() - begin, longest);
    return result;
  }

 protected:
  static constexpr std::uint32_t positions = 40;
  static constexpr std::size_t others = 10;  // builds, and as many events

  void SetUp() override {
    IntakeTest::SetUp();
    row_ = store_->experiment(experiment_).value().value();
    row_.trials = positions;
    row_.id = store_->add_experiment(row_).value();
    for (std::uint32_t position = 0; position < positions; ++position) {
      store::Trial trial = store::example_trial(row_.id, position);
      if (position % 5 == 0) trial.stderr_tail.assign(20'000, 'x');
      add(trial);
    }
    for (std::size_t i = 0; i < others; ++i) {
      ASSERT_TRUE(store_->add_build({.experiment = row_.id,
                                     .key = std::to_string(i),
                                     .benchmark = "sort",
                                     .output = std::string(6'000, 'b')}));
      ASSERT_TRUE(store_->add_event({.experiment = row_.id, .text = std::string(9'000, 'e')}));
    }
    trials_ = trials_of(*store_, row_.id);
    fs::remove(spool_->file());
    ASSERT_TRUE(write(path_, row_.id, spool_->file()));
    archive_ = read_file(spool_->file(), std::size_t{1} << 26).value();
    ASSERT_EQ(archive_.substr(16, 2), std::string("\x10\0", 2)) << "the size of a page";
    parts_ = text_of_parts();
  }
  // Imports the archive as it is now. Returns why it is refused, or "".
  std::string import_archive() {
    fs::remove(spool_->parts());
    const auto apart = take_apart(spool_->file(), believed_, spool_->parts(), at_rest);
    if (!apart) return apart.error().message;
    const std::string why = import_parts();
    if (why.empty()) expect_rows_of_the_archive(intake_->id());
    return why;
  }
  std::string import_archive(const std::string& bytes) {
    replace_archive(bytes);
    return import_archive();
  }
  void replace_archive(const std::string& bytes) {
    for (const char* suffix : {"-wal", "-shm"}) fs::remove(spool_->file() + suffix);
    store::write_text(spool_->file(), bytes);
  }
  // SQLite opens the archive as it does in a reader.
  static Result<void> at_rest() { return {}; }
  std::string import_parts(const std::string& text) {
    store::write_text(spool_->parts(), text);
    return import_parts();
  }

  store::Experiment row_;
  std::vector<store::Trial> trials_;
  std::string archive_;  // its bytes
  std::string parts_;    // as take_apart() made them

 private:
  std::string import_parts() {
    intake_.reset();
    auto opened = Intake::open(spool_->parts(), believed_);
    if (!opened) return opened.error().message;
    intake_ = std::move(*opened);
    constexpr int most_steps = 100;
    for (int step = 0; step < most_steps; ++step) {
      const auto more = timed([&] { return intake_->step(*store_); });
      if (!more) {
        EXPECT_FALSE(more.error().temporary) << more.error().message;
        return more.error().message;
      }
      if (*more) continue;
      expect_sound(intake_->id());
      return "";
    }
    ADD_FAILURE() << "the import does not end";
    return "it does not end";
  }
  // stabd can export and import again whatever it stores itself.
  void expect_sound(store::Id id) {
    EXPECT_EQ(store_->experiment(id).value()->uid, believed_.uid);
    for (const store::Trial& each : trials_of(*store_, id)) {
      EXPECT_EQ(store::refusal_of(each), "");
      EXPECT_TRUE(plan::is_name(each.benchmark)) << each.benchmark;
      EXPECT_LT(each.position, store_->experiment(id).value()->trials);
    }
    EXPECT_LE(store_->builds(id)->size(), others + 8);
    EXPECT_LE(store_->events(id)->size(), 300U);
  }
  // Each row of an archive has a checksum, so an import has rows of the archive or none. Pages that
  // lead to an event twice are no damage that a row shows.
  void expect_rows_of_the_archive(store::Id id) {
    const store::Experiment imported = store_->experiment(id).value().value();
    EXPECT_EQ(imported.name, row_.name);
    EXPECT_EQ(imported.plan, row_.plan);
    const auto theirs = trials_of(*store_, id);
    EXPECT_LE(theirs.size(), trials_.size());
    for (store::Trial each : theirs) {
      each.experiment = row_.id;
      EXPECT_THAT(trials_, Contains(each));
    }
  }

  const Receiver believed_{.uid = 7, .gid = 8, .believed = true, .name = "damaged"};
};

// Changes the text of the parts, which is often not JSON after that, and says how.
const char* damage(std::string& text, Random& random) {
  const auto any = [&] { return static_cast<std::size_t>(random.below(text.size())); };
  // The lines begin at these places.
  std::vector<std::size_t> begins{0};
  for (std::size_t i = 0; i + 1 < text.size(); ++i)
    if (text[i] == '\n') begins.push_back(i + 1);
  const auto line_at = [&](std::size_t begin) {
    return text.substr(begin, text.find('\n', begin) + 1 - begin);
  };
  const std::size_t begin = begins.at(random.below(begins.size()));
  const std::string line = line_at(begin);
  switch (random.below(8)) {
    case 0:
      text[any()] = static_cast<char>(random.below(256));
      return "a byte is another one";
    case 1:
      text.erase(any(), 1 + random.below(40));
      return "some bytes are missing";
    case 2:
      text.erase(begin, line.size());
      return "a line is missing";
    case 3:
      text.insert(begins.at(random.below(begins.size())), line);
      return "a line is there twice";
    case 4:
      text.resize(any());
      return "the end is missing";
    case 5: {
      const std::size_t digit = text.find_first_of("0123456789", any());
      if (digit != std::string::npos)
        text.insert(digit,
                    std::to_string(random.below(std::uint64_t{1} << (1 + random.below(60)))));
      return "a number is larger";
    }
    case 6: {
      const std::size_t quote = text.find('"', any());
      if (quote != std::string::npos) text.replace(quote, 1, random.below(2) == 0 ? "\\" : "1");
      return "a text is none";
    }
    default:
      text.erase(begin, line.size());
      text.insert(std::min(begins.at(random.below(begins.size())), text.size()), line);
      return "a line is elsewhere";
  }
}

TEST_F(DamagedTest, PartsAreRefusedOrGiveSoundRows) {
  ASSERT_EQ(import_parts(parts_), "");
  constexpr int rounds = 400;
  Random random(20'262);
  int refused = 0;
  for (int round = 0; round < rounds && !HasFailure(); ++round) {
    std::string text = parts_;
    std::string changes;
    for (std::uint64_t left = 1 + random.below(3); left > 0 && text.size() > 100; --left)
      changes += std::string("; ") + damage(text, random);
    SCOPED_TRACE("round " + std::to_string(round) + changes);
    if (!import_parts(text).empty()) ++refused;
  }
  EXPECT_GT(refused, rounds / 3);
  EXPECT_LT(refused, rounds);
  EXPECT_THAT(store_->verify().value(), IsEmpty());
}

TEST_F(DamagedTest, ArchivesAreRefusedOrGiveTheirRows) {
  ASSERT_EQ(import_archive(archive_), "");
  constexpr int rounds = 400;
  Random random(20'261);
  int refused = 0;
  for (int round = 0; round < rounds && !HasFailure(); ++round) {
    ForgedPages pages(archive_);
    std::string changes;
    for (std::uint64_t left = 1 + random.below(3); left > 0; --left)
      changes += std::string("; ") + pages.change(random);
    SCOPED_TRACE("round " + std::to_string(round) + changes);
    if (!import_archive(pages.bytes()).empty()) ++refused;
  }
  EXPECT_GT(refused, rounds / 3);
  EXPECT_THAT(store_->verify().value(), IsEmpty());
}

TEST_F(DamagedTest, ArchivesMayLieAboutThePagesWhereTablesBegin) {
  std::vector<std::pair<std::string, std::int64_t>> begins;
  {
    SQLite::Database archive(spool_->file(), SQLite::OPEN_READWRITE);
    SQLite::Statement all(archive, "SELECT name, rootpage FROM sqlite_schema WHERE rootpage > 0");
    while (all.executeStep())
      begins.emplace_back(all.getColumn(0).getString(), all.getColumn(1).getInt64());
  }
  auto pages = begins;
  pages.emplace_back("the schema", 1);
  pages.emplace_back("nowhere", 0);
  pages.emplace_back("beyond the end", 1'000'000);
  int refused = 0;
  for (const auto& [name, own] : begins)
    for (const auto& [where, page] : pages) {
      if (page == own || HasFailure()) continue;
      SCOPED_TRACE(name + " begins where " + where + " does");
      replace_archive(archive_);
      store::cheat(
          spool_->file(),
          "PRAGMA synchronous = OFF; PRAGMA writable_schema = ON; UPDATE sqlite_schema SET "
          "rootpage = " +
              std::to_string(page) + " WHERE name = '" + name + "'");
      if (!import_archive().empty()) ++refused;
    }
  EXPECT_GT(refused, 0);
  EXPECT_THAT(store_->verify().value(), IsEmpty());
}

// An index without a text of its own may be in the schema as often as it likes, as far as SQLite is
// concerned.
class RepeatedSchemaTest : public DamagedTest {
 protected:
  std::string record_of_index(const std::string& type) {
    SQLite::Database archive(spool_->file(), SQLite::OPEN_READWRITE);
    SQLite::Statement index(
        archive, "SELECT name, tbl_name, rootpage FROM sqlite_schema WHERE sql IS NULL LIMIT 1");
    EXPECT_TRUE(index.executeStep());
    return ForgedPages::record(
        {type, index.getColumn(0).getString(), index.getColumn(1).getString()},
        static_cast<ForgedPages::Number>(index.getColumn(2).getInt64()));
  }
};

// The kernel ends the process that reads it, see keep_within().
TEST_F(RepeatedSchemaTest, EndsWithTheTimeForReading) {
  ForgedPages pages(archive_);
  ForgedPages::Number page = pages.add_leaf(record_of_index("index"), 500);
  for (int level = 0; level < 8; ++level) page = pages.add_inner(page, 300);
  pages.add_to_schema(page);
  replace_archive(pages.bytes());
  fs::remove(spool_->parts());
  const pid_t child = fork();
  if (child == 0) {
    const rlimit second{1, 2};
    setrlimit(RLIMIT_CPU, &second);
    _exit(take_apart(spool_->file(), receiver_, spool_->parts(), at_rest) ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGXCPU);
}

// The largest memory of this process since forget_peak(), in KiB.
std::size_t peak() {
  std::ifstream status("/proc/self/status");
  std::string word;
  std::size_t number = 0;
  while (status >> word)
    if (word == "VmHWM:" && status >> number) return number;
  return 0;
}
void forget_peak() {
  std::ofstream("/proc/self/clear_refs") << "5";
}

TEST_F(RepeatedSchemaTest, IsNotHeldInMemory) {
  ForgedPages pages(archive_);
  std::string type(2'000'000, 't');
  type.append(ForgedPages::missing(record_of_index(type)), 't');
  pages.add_to_schema(pages.add_leaf(record_of_index(type), 500));
  forget_peak();
  const std::size_t before = peak();
  EXPECT_NE(import_archive(pages.bytes()), "");
  ASSERT_GT(before, 0U);
  EXPECT_LT(peak() - before, 400U << 10U) << "in KiB; its entries are a GB";
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
