// SPDX-License-Identifier: MIT
// For tests: a session with a real store, in which the test plays the worker, the readers, the
// users and the disk.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "plan/reading/read_plan.h"
#include "stabd/daemon/session/session.h"
#include "store/test_support.h"
#include "toml/value.h"

namespace stab::daemon {

using protocol::BuildReply;
using protocol::FindingsReply;
using protocol::LookReply;
using protocol::Reading;
using protocol::RunReply;
using protocol::SetupReply;
using store::TrialStatus;

inline constexpr const char* two_levels = R"(
[experiment]
name = "two"
[defaults]
repetitions = 2
warmup = 1
retries = 1
[[benchmark]]
name = "built"
build = "cc ${FLAGS} -o ${OUT} b.c"
run = ["${OUT}"]
[[benchmark]]
name = "plain"
run = ["true", "${FLAGS}"]
[factor.flags]
levels = { a = { FLAGS = "-O1" }, b = { FLAGS = "-O2" } }
)";
inline constexpr const char* with_rule = R"(
[experiment]
name = "rule"
[[benchmark]]
name = "plain"
run = ["true", "${X}"]
[factor.x]
levels = { a = { X = "1" }, b = { X = "2" } }
[design]
stop = { rule = "sequential", min = 5, max = 7, looks = 2 }
)";
inline constexpr const char* with_time = R"(
[experiment]
name = "time"
[defaults]
repetitions = 9
warmup = 1
[[benchmark]]
name = "plain"
run = ["true", "${X}"]
[factor.x]
levels = { a = { X = "1" }, b = { X = "2" } }
[design]
time = "10min"
)";
// A trial takes 1000 ns here, so a single switch is too many.
inline constexpr const char* with_exclusion = R"(
[experiment]
name = "excludes"
[defaults]
warmup = 1
retries = 1
exclude_repeats = 2
[[benchmark]]
name = "plain"
run = ["true", "${X}"]
[factor.x]
levels = { a = { X = "1" }, b = { X = "2" } }
[design]
stop = { rule = "sequential", min = 5, max = 7, looks = 2 }
[[exclude]]
when = "involuntary_switches_per_s > 50"
)";

// Two pairs of test runs, of two versions each.
inline constexpr const char* with_layer = R"(
[experiment]
name = "layer"
[defaults]
repetitions = 20
[[benchmark]]
name = "built"
build = "szc ${FLAGS} -o ${OUT} b.c"
run = ["${OUT}"]
[factor.flags]
levels = { a = { FLAGS = "-O1" }, b = { FLAGS = "-O2" } }
[by_default]
heap = "layer"
)";

enum class Kind { setup, build, run, fetch, keep };

// Everything around a session. A request of the session waits here until the test answers it.
class Around : public Surroundings {
 public:
  explicit Around(const std::string& plan) {
    {
      const store::Remembering opened;
      store_ = store::open_or_fail(directory_ / "stab.db");
    }
    sql("PRAGMA synchronous = OFF");  // tests don't lose power
    auto read = plan::read_plan(plan);
    EXPECT_TRUE(read) << (read ? "" : toml::describe(read.error(), "plan"));
    plan_ = *read;
    store::Experiment row{.name = "e", .plan = plan, .directory = "/", .state = "queued"};
    row.trials = plan::count_trials(plan_);
    id_ = store_->add_experiment(row).value();
    begin();
  }
  Around(const Around&) = delete;
  Around& operator=(const Around&) = delete;
  ~Around() override = default;

  // Does what a daemon does when it starts, or when it takes an experiment from its queue.
  void begin() {
    worker_ = stopping_ = again_ = retry_ = false;
    quiet_ = false;  // a new daemon first puts back the settings that a killed one left changed
    asked_.reset();
    done_ = nullptr;
    go_on_ = nullptr;
    looking_ = nullptr;
    store::Experiment row = store_->experiment(id_).value().value();
    if (row.held_by) {  // somebody has resumed it
      row.held_by.reset();
      row.state = "queued";
    }
    abandoned_ = session_ ? session_->abandoned_block() : std::nullopt;
    ran_ = rows() - not_run();  // trials that a killed daemon could not store are lost
    session_ = std::make_unique<Session>(*store_, row, plan_, *this);
  }

  Result<void> start_worker(std::size_t, const WantedNode& node) override {
    node_ = node.name;
    EXPECT_FALSE(worker_);
    if (!workers_start_) return fail("no process can be made");
    worker_ = true;
    stopping_ = false;
    return {};
  }
  void send(std::size_t, const std::string& line, std::chrono::nanoseconds within) override {
    within_ = within;
    sent(line);
  }
  void bound(const protocol::RunRequest&) override {}
  std::string passed() override { return passed_; }
  void stop_worker(std::size_t) override {
    EXPECT_TRUE(worker_);
    stopping_ = true;
  }
  std::chrono::nanoseconds node_patience() override { return {}; }
  std::chrono::nanoseconds loss_patience() override { return std::chrono::hours(100); }

  Result<machine::Facts> facts() override { return machine::facts_in(R"({"host":"h"})"); }
  Result<machine::CpuChoice> cpus_beside(const machine::CpuSet& trial) override {
    const machine::CpuSet all{0, 1, 2, 3};
    if (!machine::difference(trial, all).empty()) return fail("there are only four CPUs");
    return machine::CpuChoice{.trial = trial, .others = machine::difference(all, trial)};
  }
  void stay_off_trials(const std::vector<unsigned>& cpus, bool) override { stays_on_ = cpus; }
  Outcomes quiesce(std::span<const machine::Knob* const> knobs,
                   const machine::CpuChoice& cpus) override {
    EXPECT_FALSE(quiet_);
    EXPECT_EQ(session_->state(), State::quiescing);
    EXPECT_EQ(cpus.trial, machine::CpuSet{1});
    if (!may_quiesce_) return fail("the machine is somebody else's");
    quiet_ = true;
    std::vector<machine::Outcome> outcomes;
    for (const machine::Knob* knob : knobs)
      outcomes.push_back({.knob = std::string(knob->name),
                          .file = "/proc/knob",
                          .what = machine::Outcome::What::changed,
                          .found = {},
                          .value = {},
                          .reason = {}});
    if (knobs_refuse_) {
      outcomes.back().what = machine::Outcome::What::refused;
      outcomes.back().reason = "it does not take 0";
    }
    return outcomes;
  }
  std::vector<machine::Outcome> disturbed() override {
    return std::exchange(changed_meanwhile_, {});
  }
  Result<std::vector<machine::Finding>> examine() override {
    const auto finding = [](const char* name, machine::Grade grade, const char* found) {
      return machine::Finding{
          .name = name, .grade = grade, .found = found, .meaning = "", .mend = ""};
    };
    return std::vector{finding("frequency", machine::Grade::good, "fixed"),
                       finding("smt", machine::Grade::fair, "on"),
                       finding("host", machine::Grade::poor, "shared")};
  }
  Outcomes restore() override {
    quiet_ = false;
    return {};
  }
  void look(const machine::CpuSet& trial, const machine::CalmBounds& bounds, OnLook done) override {
    EXPECT_EQ(trial, machine::CpuSet{1});
    EXPECT_EQ(bounds.load, plan_.wait_for_quiet->load);
    EXPECT_FALSE(asked_ || done_ || go_on_) << "the machine cannot be quiet";
    EXPECT_FALSE(looking_) << "one at a time";
    looking_ = std::move(done);
  }
  void stop_looking() override { looking_ = nullptr; }

  void read(protocol::ReadRequest request, OnAnswer done) override {
    EXPECT_FALSE(done_) << "one at a time";
    EXPECT_FALSE(asked_) << "a reader works beside a trial";
    reading_ = request.reading;
    done_ = std::move(done);
  }
  void stop_reading() override { done_ = nullptr, go_on_ = nullptr; }
  bool let_readers_run(std::function<void()> go_on, bool within_block) override {
    EXPECT_TRUE(!within_block || readers_are_due_);
    EXPECT_FALSE(asked_) << "readers run beside a trial";
    if (!readers_wait_) return false;
    go_on_ = std::move(go_on);
    return true;
  }
  bool readers_are_due() override { return readers_are_due_; }

  bool turn_is_over() override { return turn_is_over_; }
  std::optional<BlockId> abandoned_block(store::Id) override { return abandoned_; }
  void call_again() override { again_ = true; }
  void retry_later() override { retry_ = true; }

  Result<void> may_store() override {
    if (stores_too_much_) return fail("too much is stored");
    return {};
  }
  std::string cache(const store::Experiment&) override { return "/cache"; }
  std::uint64_t cache_limit() override { return 0; }
  void tell(std::string_view, const std::string&) override {}
  void drain(const std::string&, const std::string&) override {}

  void sent(const std::string& line) {
    EXPECT_TRUE(worker_) << line;
    EXPECT_FALSE(stopping_) << line;
    EXPECT_FALSE(asked_) << "it has not answered yet: " << line;
    EXPECT_FALSE(done_ || go_on_ || looking_) << "a trial begins beside a reader or a look";
    EXPECT_LT(line.size(), protocol::max_work_line);
    const auto request = protocol::decode_work(line);
    ASSERT_TRUE(request) << line;
    asked_ = Kind(request->index());
    if (const auto* setup = std::get_if<protocol::SetupRequest>(&*request))
      earlier_cpus_ = setup->earlier_cpus;
    if (const auto* build = std::get_if<protocol::BuildRequest>(&*request))
      command_ = build->command;
    if (const auto* run = std::get_if<protocol::RunRequest>(&*request)) {
      EXPECT_GT(run->token, token_) << "E11";
      token_ = run->token;
      run_ = *run;
    }
    is_test_run_ = asked_ == Kind::run && session_->state() == State::building;
    if (asked_ != Kind::run || is_test_run_) return;
    if (plan_.quiesce == plan::Quiesce::strict && !plan_.machines) EXPECT_TRUE(quiet_);
    // E1: all earlier trials are stored.
    EXPECT_EQ(rows(), ran_ + not_run());
  }

  // Answers for the worker. A trial ends with `status`; `builds` says whether a build succeeds.
  void answer(TrialStatus status = TrialStatus::ok, bool builds = true) {
    const auto asked = std::exchange(asked_, std::nullopt);
    ASSERT_TRUE(asked);
    if (*asked == Kind::setup)
      return say(SetupReply{.trial_cpus = "1",
                            .machine_facts = fmt::format(R"({{"host":"{}"}})", named_)});
    if (*asked == Kind::build) {
      const bool first = built_.insert(command_).second;
      const auto good = first ? store::BuildStatus::built : store::BuildStatus::cached;
      return say(BuildReply{.status = builds ? good : store::BuildStatus::failed,
                            .key = command_,
                            .binary_sha256 = command_,
                            .duration_ns = 7'000'000});
    }
    RunReply reply;
    reply.token = token_;
    reply.status = status;
    if (is_test_run_) {
      reply.user_ns = reply.system_ns = 1'000'000;
      reply.reason = status == TrialStatus::ok ? "" : "it is broken";
      reply.layout.random_heap = run_.options.contains("heap") && heap_can_be_random_;
      return say(reply);
    }
    ++ran_;
    if (status != TrialStatus::not_started) {
      reply.wall_ns = 1000;
      reply.readings = {counters::counted("context-switches-involuntary", "", switches_)};
    }
    say(reply);
  }
  void answer_until(Kind wanted) {
    while (asked_ && *asked_ != wanted) answer();
    ASSERT_TRUE(asked_);
  }
  void answer_until_read() {
    while (asked_) answer();
    ASSERT_TRUE(done_);
  }
  template <class Reply>
  void say(const Reply& reply) {
    if constexpr (std::is_same_v<Reply, protocol::NodeReply>) named_ = reply.node;
    session_->worker_said(protocol::encode(reply));
  }
  void end_worker() {
    if (asked_ == Kind::run) lost_ = true;
    asked_.reset();
    worker_ = stopping_ = false;
    session_->worker_ended("was killed by signal 9");
  }
  template <class Reply>
  void answer_reading(const Reply& reply) {
    std::exchange(done_, nullptr)(protocol::encode(reply));
  }
  // Answers for a reader that finds nothing wrong with the trials.
  void answer_reading() {
    if (reading_ == Reading::look)
      answer_reading(LookReply{.stop = false, .words = "not yet"});
    else
      answer_reading(FindingsReply{});
  }
  void answer_look(const std::string& loud = "", const std::vector<std::string>& missing = {}) {
    ASSERT_TRUE(looking_);
    std::exchange(looking_, nullptr)(loud, missing);
  }
  void let_go_on() { std::exchange(go_on_, nullptr)(); }
  void run_again() {
    again_ = false;
    session_->continue_work();
  }
  void run_retry() {
    retry_ = false;
    session_->retry_storage();
  }

  void refuse_writing(bool refused) {
    refused_ = refused;
    sql(refused ? "PRAGMA query_only = ON" : "PRAGMA query_only = OFF");
  }

  // Lets everything succeed until there is nothing left to do.
  void settle() {
    for (int i = 0; i < 2000 && step_well(); ++i) {
    }
  }
  bool step_well() {
    if (asked_ && !stopping_)
      answer();
    else if (worker_ && stopping_)
      end_worker();
    else if (done_)
      answer_reading();
    else if (looking_)
      answer_look();
    else if (go_on_)
      let_go_on();
    else if (again_)
      run_again();
    else if (retry_)
      run_retry();
    else
      return false;
    return true;
  }

  std::size_t rows() {
    std::size_t count = 0;
    EXPECT_TRUE(store_->for_each_trial(id_, [&](const store::Trial&) { return ++count > 0; }));
    return count;
  }
  std::size_t not_run() {
    std::size_t count = 0;
    EXPECT_TRUE(store_->for_each_trial(id_, [&](const store::Trial& trial) {
      count += trial.status == TrialStatus::skipped || trial.status == TrialStatus::build_failed ||
                       (trial.status == TrialStatus::not_started && !trial.reason.empty())
                   ? 1
                   : 0;
      return true;
    }));
    return count;
  }
  store::Experiment row() { return store_->experiment(id_).value().value(); }
  static void sql(const char* text) { store::Remembering::inside(text); }

  store::TemporaryDirectory directory_;
  std::unique_ptr<store::Store> store_;
  plan::Plan plan_;
  store::Id id_ = 0;
  std::unique_ptr<Session> session_;

  bool worker_ = false;
  bool stopping_ = false;
  std::optional<Kind> asked_;
  std::chrono::nanoseconds within_{};  // the time for the answer
  Reading reading_ = Reading::finish;
  std::function<void(Result<std::string>)> done_;
  std::function<void()> go_on_;
  OnLook looking_;
  bool again_ = false;
  bool retry_ = false;

  bool quiet_ = false;  // settings of the machine are changed
  bool may_quiesce_ = true;
  std::vector<machine::Outcome> changed_meanwhile_;  // changes by somebody else
  bool knobs_refuse_ = false;
  bool workers_start_ = true;
  std::string node_;         // where the last worker had to be
  std::string named_ = "h";  // the last node that said its name
  bool stores_too_much_ = false;
  std::string passed_;  // the kernel's limit that the trial has reached
  bool readers_are_due_ = false;
  bool turn_is_over_ = false;
  std::optional<BlockId> abandoned_;  // by the previous session
  bool readers_wait_ = false;
  bool refused_ = false;
  bool lost_ = false;
  std::int64_t switches_ = 0;  // reported for each trial
  std::size_t ran_ = 0;        // trials whose end was reported to the session
  std::int64_t token_ = 0;     // of the last request for a trial
  std::set<std::string> built_;
  machine::CpuSet earlier_cpus_;  // that the last setup named
  machine::CpuSet stays_on_;      // the CPUs to which the session has moved the daemon
  std::string command_;           // the command of the last requested build
  protocol::RunRequest run_;      // the last requested run
  bool is_test_run_ = false;      // and whether it is no trial (E13)
  bool heap_can_be_random_ = true;
};

}  // namespace stab::daemon
