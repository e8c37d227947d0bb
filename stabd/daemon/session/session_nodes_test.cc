// SPDX-License-Identifier: MIT
// A session with several places, each with a worker on a node of its own.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "base/base64.h"
#include "stabd/daemon/session/testing.h"

namespace stab::daemon {
namespace {

using protocol::Loss;
using protocol::LostReply;
using protocol::NodeReply;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

constexpr std::size_t places = 3;
const std::string program = "the bytes of a program";  // three pieces
const std::string three_nodes = "[machines]\nengine = \"slurm\"\nnodes = 3\n";
const std::string on_three = two_levels + three_nodes;

// Plays the cluster: each place gets the node that it asks for, or the first free one.
class Cluster : public Around {
 public:
  explicit Cluster(const std::string& plan = on_three) : Around(plan) {}

  Result<void> start_worker(std::size_t place, const WantedNode& wanted) override {
    EXPECT_FALSE(seats_[place].works);
    wanted_[place] = wanted;
    std::string node = wanted.name;
    for (const char* free : {"n1", "n2", "n3", "n4"}) {
      const bool taken = std::ranges::any_of(
          seats_, [&](const Seat& seat) { return seat.works && seat.node == free; });
      const bool excluded = std::ranges::find(wanted.others, free) != wanted.others.end();
      if (node.empty() && !taken && !excluded) node = free;
    }
    seats_[place] = {.works = true, .node = node};
    return {};
  }
  void send(std::size_t place, const std::string& line, std::chrono::nanoseconds) override {
    EXPECT_TRUE(seats_[place].works) << line;
    EXPECT_FALSE(seats_[place].stops) << line;
    EXPECT_FALSE(seats_[place].asked) << line;
    const auto request = protocol::decode_work(line);
    ASSERT_TRUE(request) << line;
    seats_[place].asked = Kind(request->index());
    if (const auto* setup = std::get_if<protocol::SetupRequest>(&*request)) {
      EXPECT_TRUE(setup->examine);
      seats_[place].checks = setup->check_knobs;
      seats_[place].earlier_cpus = setup->earlier_cpus;
    }
    if (const auto* build = std::get_if<protocol::BuildRequest>(&*request)) {
      seats_[place].command = build->command;
      seats_[place].known_key = build->known_key;
    }
    if (const auto* fetch = std::get_if<protocol::FetchRequest>(&*request)) {
      EXPECT_EQ(session_->state(), State::building) << "E12";
      seats_[place].offset = fetch->offset;
    }
    if (const auto* keep = std::get_if<protocol::KeepRequest>(&*request))
      seats_[place].keep = *keep;
    if (const auto* run = std::get_if<protocol::RunRequest>(&*request)) {
      EXPECT_TRUE(tokens_.insert(run->token).second) << "E11";
      seats_[place].token = run->token;
    }
    // E10
    if (seats_[place].asked == Kind::run && measured_ == 0)
      for (const Seat& seat : seats_) EXPECT_TRUE(seat.asked != Kind::setup && seat.works);
  }
  std::chrono::nanoseconds node_patience() override { return patience_; }
  void stop_worker(std::size_t place) override { seats_[place].stops = true; }
  void tell(std::string_view trouble, const std::string&) override { told_.emplace_back(trouble); }
  void drain(const std::string& node, const std::string& reason) override {
    told_.push_back(node + " is drained: " + reason);
  }

  void answer_at(std::size_t place) {
    Seat& seat = seats_[place];
    const auto asked = std::exchange(seat.asked, std::nullopt);
    ASSERT_TRUE(asked);
    if (*asked == Kind::setup) {
      say(place, NodeReply{.version = STAB_VERSION, .node = seat.node, .job = "7", .cache = "/c"});
      if (seat.stops) return;
      return say(place,
                 SetupReply{.trial_cpus = seat.node == "n2" ? "2" : "1",
                            .machine_facts = facts_of(seat.node),
                            .grade = seat.node == "n2" ? "poor" : "good",
                            .examined = "as " + seat.node,
                            .loud = seat.checks && seat.node == loud_node_ ? "ksm: it is 1" : ""});
    }
    if (*asked == Kind::build && cached_[seat.node].contains(seat.known_key))
      return say(place, BuildReply{.status = store::BuildStatus::cached,
                                   .key = seat.known_key,
                                   .binary_sha256 = cached_[seat.node][seat.known_key]});
    if (*asked == Kind::build) {
      ++builds_[seat.node];
      const std::string key = seat.command + seat.compiler;
      const std::string time = builds_write_the_time_ ? fmt::format(" {}", ++time_) : "";
      cached_[seat.node][key] = seat.command + seat.bytes + time;
      return say(place, BuildReply{.status = store::BuildStatus::built,
                                   .key = key,
                                   .binary_sha256 = cached_[seat.node][key]});
    }
    if (*asked == Kind::fetch)
      return say(place, protocol::FetchReply{.error = fetch_error_,
                                             .size = program.size(),
                                             .mode = 0755,
                                             .bytes = to_base64(program.substr(seat.offset, 8))});
    if (*asked == Kind::keep) return say(place, keep(place));
    ++measured_;
    say(place, ran(place));
    if (again_) run_again();  // the next turn of the loop
  }
  [[nodiscard]] RunReply ran(std::size_t place) const {
    RunReply reply;
    reply.token = seats_[place].token;
    reply.status = TrialStatus::ok;
    reply.wall_ns = wall_ns_;
    return reply;
  }
  // A node keeps a piece of a program.
  protocol::KeepReply keep(std::size_t place) {
    Seat& seat = seats_[place];
    if (seat.keep.bytes.empty()) {
      seat.got.clear();
      const auto& its = cached_[seat.node];
      const auto there = its.find(seat.keep.key);
      return {.is_there = there != its.end() && there->second == seat.keep.binary_sha256};
    }
    EXPECT_EQ(seat.keep.offset, seat.got.size());
    if (loses_pieces_) return {.arrived = seat.got.size()};
    seat.got += from_base64(seat.keep.bytes).value();
    if (seat.got.size() < seat.keep.size) return {.arrived = seat.got.size()};
    EXPECT_EQ(seat.got, program);
    cached_[seat.node][seat.keep.key] = seat.keep.binary_sha256;
    return {.is_there = true};
  }
  [[nodiscard]] std::string facts_of(const std::string& node) const {
    const auto cpu = cpus_.find(node);
    return cpu == cpus_.end()
               ? fmt::format(R"({{"host":"{}"}})", node)
               : fmt::format(R"({{"cpu_model":"{}","distribution":"Debian 12","host":"{}",)"
                             R"("topology":{{"cores":2,"cpus":2,"packages":1}}}})",
                             cpu->second, node);
  }
  [[nodiscard]] std::vector<std::string> noted(const std::string& words) {
    std::vector<std::string> texts;
    for (const store::Event& event : store_->events(id_).value())
      if (event.kind == "machine" && event.text.contains(words)) texts.push_back(event.text);
    return texts;
  }
  // Trials end at these places within one turn of the loop.
  void end_trials_at(const std::vector<std::size_t>& which) {
    for (const std::size_t place : which) {
      ASSERT_EQ(std::exchange(seats_[place].asked, std::nullopt), Kind::run);
      ++measured_;
      say(place, ran(place));
    }
  }
  void lose(std::size_t place, Loss loss = Loss::node_lost) {
    say(place, LostReply{.loss = std::string(to_string(loss)), .reason = "so it is"});
    end_at(place);
  }
  void end_at(std::size_t place) {
    seats_[place] = {.node = seats_[place].node,
                     .compiler = seats_[place].compiler,
                     .bytes = seats_[place].bytes};
    session_->worker_ended("was killed by signal 9", place);
  }
  template <class Reply>
  void say(std::size_t place, const Reply& reply) {
    session_->worker_said(protocol::encode(reply), place);
  }
  // One event, at a place that `may` names; returns false if there is nothing to do.
  bool step(const std::vector<std::size_t>& may = {0, 1, 2}) {
    if (again_) return run_again(), true;
    for (std::size_t i = 0; i < may.size(); ++i) {
      const std::size_t place = may[(i + turn_++) % may.size()];
      if (seats_[place].works && seats_[place].stops) return end_at(place), true;
      if (seats_[place].asked) return answer_at(place), true;
    }
    if (done_) return answer_reading(), true;
    return false;
  }
  void run(const std::vector<std::size_t>& may = {0, 1, 2}) {
    for (int i = 0; i < 2000 && step(may); ++i) {
    }
  }
  void reach_trials() {
    session_->start();
    for (int i = 0; i < 2000 && session_->state() != State::running; ++i) step();
  }

  struct Seat {
    bool works = false;
    bool stops = false;
    bool checks = false;  // is to say which knobs are loud
    machine::CpuSet earlier_cpus{};
    std::optional<Kind> asked{};
    std::string node{};
    std::string command{};
    std::string known_key{};
    std::uint64_t offset = 0;  // of the piece that is fetched
    protocol::KeepRequest keep{};
    std::string got{};  // of the program that arrives
    std::int64_t token = 0;
    std::string compiler{};
    std::string bytes{};  // of the programs that it builds
  };
  std::array<Seat, places> seats_;
  std::array<WantedNode, places> wanted_;
  std::chrono::nanoseconds patience_ = std::chrono::hours(1);
  std::size_t measured_ = 0;
  std::int64_t wall_ns_ = 1000;  // reported for each trial
  std::size_t turn_ = 0;
  std::vector<std::string> told_;
  std::map<std::string, std::string> cpus_;  // of nodes whose hardware is known
  std::map<std::string, int> builds_;        // that a node has made
  // The builds in each node's cache: node, key, digest.
  std::map<std::string, std::map<std::string, std::string>> cached_;
  bool builds_write_the_time_ = false;  // into the program, so each one has another digest
  int time_ = 0;
  std::string fetch_error_;
  bool loses_pieces_ = false;
  std::set<std::int64_t> tokens_;  // of all requests for trials
  std::string loud_node_;          // the worker there finds a knob that is not quiet
};

class NodesTest : public ::testing::Test {
 protected:
  [[nodiscard]] std::vector<store::Trial> trials() {
    return store::trials_of(*cluster_.store_, cluster_.id_);
  }
  // Each trial counts once, each block is on one node, and the nodes have as many blocks.
  void expect_whole() {
    EXPECT_EQ(cluster_.row().state, "done") << cluster_.row().reason;
    std::map<std::pair<bool, std::uint32_t>, std::set<std::string>> nodes;
    std::set<std::uint32_t> positions;
    std::size_t counted = 0;
    for (const store::Trial& trial : trials()) {
      EXPECT_EQ(trial.status, TrialStatus::ok);
      if (!trial.last) continue;
      ++counted;
      positions.insert(trial.position);
      nodes[{trial.warmup, trial.block}].insert(trial.node);
    }
    EXPECT_EQ(counted, 36U);
    EXPECT_EQ(positions.size(), 36U);
    std::map<std::pair<std::string, bool>, std::size_t> blocks;
    for (const auto& [block, its] : nodes) {
      EXPECT_EQ(its.size(), 1U);
      ++blocks[{*its.begin(), block.first}];
    }
    EXPECT_EQ(blocks.size(), 6U) << "three nodes";
    for (const auto& [node, count] : blocks) EXPECT_EQ(count, node.second ? 1U : 2U) << node.first;
  }

  Cluster cluster_;
};

std::vector<std::string> quiet_nodes(Around& around) {
  std::vector<std::string> texts;
  for (const store::Event& event : around.store_->events(around.id_).value())
    if (event.kind == "doctor" || event.kind == "loud")
      texts.push_back(event.kind + ": " + event.text);
  return texts;
}

constexpr const char* examined = "doctor: node n1 is as n1; node n2 is as n2; node n3 is as n3";

TEST(NodesQuiet, EachNodeSaysHowQuietItIs) {
  Cluster cluster;
  cluster.loud_node_ = "n3";  // without machine.quiesce nobody asks
  cluster.reach_trials();
  EXPECT_THAT(quiet_nodes(cluster), ElementsAre(examined));
  EXPECT_EQ(cluster.row().quietness, store::Quietness::poor);
  EXPECT_FALSE(cluster.quiet_) << "our own machine has no part in it";
}

TEST(NodesQuiet, StrictRunsNothingIfAKnobOfANodeIsLoud) {
  const std::string strict = on_three + "[machine]\nquiesce = 'strict'\n";
  Cluster quiet(strict);
  quiet.reach_trials();
  EXPECT_EQ(quiet.session_->state(), State::running);
  EXPECT_FALSE(quiet.quiet_);

  Cluster loud(strict);
  loud.loud_node_ = "n3";
  loud.session_->start();
  loud.run();
  EXPECT_EQ(loud.session_->state(), State::failed);
  EXPECT_EQ(loud.measured_, 0U);
  EXPECT_THAT(loud.row().reason, HasSubstr("not quiet: node n3: ksm: it is 1. Let Slurm run"));
}

TEST(NodesQuiet, ANodeThatComesBackLoudEndsAStrictExperiment) {
  Cluster cluster(on_three + "[machine]\nquiesce = 'strict'\n");
  cluster.reach_trials();
  cluster.loud_node_ = cluster.seats_[1].node;
  cluster.lose(1);
  cluster.run();
  EXPECT_EQ(cluster.session_->state(), State::failed);
  EXPECT_THAT(cluster.row().reason, HasSubstr("ksm: it is 1"));
}

TEST(NodesQuiet, BestEffortNamesTheKnobsThatAreLoud) {
  Cluster cluster(on_three + "[machine]\nquiesce = 'best-effort'\n");
  cluster.loud_node_ = "n2";
  cluster.reach_trials();
  EXPECT_THAT(quiet_nodes(cluster), ElementsAre(examined, "loud: node n2: ksm: it is 1"));
  EXPECT_EQ(cluster.session_->state(), State::running);
}

TEST_F(NodesTest, EachNodeRunsAsManyWholeBlocks) {
  cluster_.reach_trials();
  for (const auto& seat : cluster_.seats_) EXPECT_EQ(seat.asked, Kind::run);
  EXPECT_THAT(cluster_.session_->progress().activity, HasSubstr("; n2: "));
  cluster_.run();
  expect_whole();
  EXPECT_EQ(trials().size(), 36U);
  EXPECT_EQ(cluster_.session_->counts().total, 36U);
  EXPECT_TRUE(cluster_.session_->finished());
}

TEST_F(NodesTest, ANodeThatIsOutOfOrderIsNoted) {
  cluster_.reach_trials();
  for (int i = 0; i < 2000 && !cluster_.done_; ++i) cluster_.step();
  cluster_.answer_reading(
      FindingsReply{.slow_nodes = {{.name = "n2", .times = 2.04}}, .has_judged = true});
  cluster_.run();
  expect_whole();
  std::string noted;
  for (const store::Event& event : cluster_.store_->events(cluster_.id_).value())
    if (event.kind == "machine") noted += event.text + "\n";
  EXPECT_EQ(cluster_.row().nodes.size(), 3U);
  for (const store::Node& node : cluster_.row().nodes)
    EXPECT_EQ(node.times, node.name == "n2" ? 2.04 : 1) << node.name;
  EXPECT_THAT(noted, HasSubstr("node n2 is out of order: everything takes 2 times as long"));
  EXPECT_THAT(cluster_.told_, ::testing::ElementsAre("slow-node"));
}

TEST_F(NodesTest, WithoutAJudgementNoNodeIsSlow) {
  cluster_.reach_trials();
  cluster_.run();
  expect_whole();
  EXPECT_EQ(cluster_.row().nodes.size(), 3U);
  for (const store::Node& node : cluster_.row().nodes) EXPECT_FALSE(node.times) << node.name;
}

TEST(NodesThatMayBeDrained, ANodeThatIsOutOfOrderIs) {
  Cluster cluster(on_three + "drain = true\n");
  cluster.reach_trials();
  for (int i = 0; i < 2000 && !cluster.done_; ++i) cluster.step();
  cluster.answer_reading(
      FindingsReply{.slow_nodes = {{.name = "n2", .times = 2.04}, {.name = "-x", .times = 3}}});
  cluster.run();
  EXPECT_THAT(
      cluster.told_,
      ::testing::ElementsAre("slow-node", "n2 is drained: stabd: 2 times as slow", "slow-node"));
}

// E1 and E10
TEST_F(NodesTest, RowsOfSeveralNodesAreStoredTogetherBeforeAnyOfTheseNodesGoesOn) {
  cluster_.reach_trials();
  std::set<std::int64_t> commits;
  for (const std::size_t stored : {3U, 6U}) {
    cluster_.end_trials_at({0, 1, 2});
    EXPECT_EQ(trials().size(), stored - 3) << "the turn of the loop has not ended";
    for (const auto& seat : cluster_.seats_) EXPECT_FALSE(seat.asked);
    ASSERT_TRUE(cluster_.again_);
    cluster_.run_again();
    EXPECT_EQ(trials().size(), stored);
    for (const auto& seat : cluster_.seats_) EXPECT_EQ(seat.asked, Kind::run);
  }
  for (const store::Trial& trial : trials())
    for (const counters::Reading& reading : trial.readings)
      if (reading.name == "commit-before-ns") commits.insert(std::get<std::int64_t>(reading.value));
  EXPECT_EQ(commits.size(), 1U) << "one commit for all three";
  cluster_.run();
  expect_whole();
  EXPECT_EQ(trials().size(), 36U);
}

TEST_F(NodesTest, ANodeThatIsLostBeforeItsLastRowIsStoredLosesNoTrial) {
  cluster_.reach_trials();
  cluster_.end_trials_at({0, 1});
  cluster_.lose(1);
  EXPECT_EQ(trials().size(), 2U);
  cluster_.run();
  expect_whole();
  EXPECT_EQ(trials().size(), 37U) << "the block of the lost node begins again";
}

TEST_F(NodesTest, RowsWaitTogetherForRoom) {
  cluster_.reach_trials();
  cluster_.refuse_writing(true);
  cluster_.end_trials_at({0, 1});
  cluster_.run_again();
  EXPECT_EQ(cluster_.session_->state(), State::paused);
  for (std::size_t place = 0; place < places; ++place) cluster_.end_at(place);
  ASSERT_TRUE(cluster_.retry_);
  cluster_.run_retry();
  EXPECT_EQ(trials().size(), 0U);
  cluster_.refuse_writing(false);
  ASSERT_TRUE(cluster_.retry_);
  cluster_.run_retry();
  EXPECT_EQ(trials().size(), 2U);
  cluster_.run();
  expect_whole();
  EXPECT_EQ(trials().size(), 38U) << "two blocks begin again";
}

TEST_F(NodesTest, AnEndInTheSameTurnOfTheLoopKeepsTheRows) {
  for (const bool cancels : {true, false}) {
    Cluster cluster;
    cluster.reach_trials();
    cluster.end_trials_at({0, 1, 2});
    if (cancels)
      cluster.session_->cancel();
    else
      cluster.session_->rest();
    if (cancels) EXPECT_FALSE(cluster.session_->finished());
    for (std::size_t place = 0; cancels && place < places; ++place) cluster.end_at(place);
    EXPECT_EQ(store::trials_of(*cluster.store_, cluster.id_).size(), 3U);
    EXPECT_EQ(cluster.session_->finished(), cancels);
  }
}

TEST_F(NodesTest, AFastNodeTakesNoMoreBlocks) {
  cluster_.reach_trials();
  cluster_.run({1});
  EXPECT_EQ(trials().size(), 12U);
  for (const store::Trial& trial : trials()) EXPECT_EQ(trial.node, "n2");
  EXPECT_EQ(cluster_.session_->state(), State::running);
  cluster_.run();
  expect_whole();
}

TEST_F(NodesTest, ALostNodeRepeatsItsBlockWhileOthersGoOn) {
  cluster_.reach_trials();
  for (int i = 0; i < 6; ++i) cluster_.answer_at(1);
  cluster_.lose(1);
  EXPECT_EQ(cluster_.session_->state(), State::running);
  EXPECT_EQ(cluster_.wanted_[1].name, "n2");
  EXPECT_EQ(cluster_.seats_[0].asked, Kind::run);
  cluster_.run({0, 2});
  EXPECT_EQ(cluster_.session_->state(), State::running);
  cluster_.run();
  expect_whole();
  EXPECT_EQ(trials().size(), 38U);
}

TEST_F(NodesTest, ANodeThatIsLostBeforeItsFirstTrialIsReplacedByAnyOther) {
  cluster_.session_->start();
  cluster_.lose(2);
  EXPECT_EQ(cluster_.wanted_[2].name, "");
  cluster_.run();
  expect_whole();
}

TEST_F(NodesTest, ALostNodeIsAskedForUntilItIsBack) {
  cluster_.reach_trials();
  cluster_.answer_at(0);
  cluster_.lose(0);
  for (int i = 0; i < 3; ++i) {
    cluster_.lose(0, i == 1 ? Loss::controller_away : Loss::cannot_start);
    EXPECT_EQ(cluster_.session_->state(), State::running);
    EXPECT_FALSE(cluster_.seats_[0].works);
    ASSERT_TRUE(cluster_.retry_);
    cluster_.run_retry();
  }
  cluster_.run();
  expect_whole();
}

TEST_F(NodesTest, WhileTheControllerIsAwayTheTimeOfALostNodeDoesNotPass) {
  cluster_.patience_ = std::chrono::milliseconds(20);
  const std::chrono::milliseconds longer(30);
  cluster_.reach_trials();
  cluster_.answer_at(0);
  cluster_.lose(0);
  cluster_.lose(0, Loss::controller_away);
  std::this_thread::sleep_for(longer);
  cluster_.run_retry();
  cluster_.lose(0, Loss::cannot_start);
  EXPECT_EQ(cluster_.session_->state(), State::running) << cluster_.row().reason;
  std::this_thread::sleep_for(longer);
  cluster_.run_retry();
  cluster_.lose(0, Loss::cannot_start);
  EXPECT_EQ(cluster_.session_->state(), State::failed);
}

// Unlike a controller that is away, an earlier step that does not end uses up the node's time.
TEST_F(NodesTest, AnEarlierStepThatDoesNotEndEndsTheExperimentInTheEnd) {
  cluster_.patience_ = std::chrono::milliseconds(20);
  cluster_.reach_trials();
  cluster_.answer_at(0);
  cluster_.lose(0);
  cluster_.lose(0, Loss::old_step);
  EXPECT_EQ(cluster_.session_->state(), State::running) << cluster_.row().reason;
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  cluster_.run_retry();
  cluster_.lose(0, Loss::old_step);
  EXPECT_EQ(cluster_.session_->state(), State::failed);
}

TEST_F(NodesTest, EachNodeKeepsToTheCpusOfItsFirstTrials) {
  cluster_.reach_trials();
  for (const auto& seat : cluster_.seats_) EXPECT_EQ(seat.earlier_cpus, machine::CpuSet{});
  cluster_.lose(1);
  EXPECT_EQ(cluster_.seats_[1].earlier_cpus, machine::CpuSet{}) << "no trial is stored yet";
  for (int i = 0; i < 100 && trials().empty(); ++i) cluster_.step({1});
  cluster_.answer_at(0);
  for (const std::size_t place : {0, 1}) cluster_.lose(place);
  EXPECT_EQ(cluster_.seats_[0].earlier_cpus, machine::CpuSet{1});
  EXPECT_EQ(cluster_.seats_[1].earlier_cpus, machine::CpuSet{2});
  EXPECT_THAT(cluster_.row().nodes,
              UnorderedElementsAre(store::Node{.name = "n1", .trial_cpus = "1"},
                                   store::Node{.name = "n2", .trial_cpus = "2"},
                                   store::Node{.name = "n3", .trial_cpus = "1"}));
  cluster_.run();
  expect_whole();
}

TEST_F(NodesTest, ANewDaemonGoesOnOnTheCpusOfEachNode) {
  cluster_.reach_trials();
  for (int i = 0; i < 3; ++i) cluster_.answer_at(1);
  cluster_.seats_ = {};
  cluster_.begin();
  cluster_.session_->start();
  while (cluster_.again_) cluster_.run_again();
  EXPECT_EQ(cluster_.wanted_[1].name, "n2");
  EXPECT_EQ(cluster_.seats_[1].earlier_cpus, machine::CpuSet{2});
  EXPECT_EQ(cluster_.seats_[0].earlier_cpus, machine::CpuSet{}) << "it has no trials yet";
  cluster_.run();
  expect_whole();
}

TEST_F(NodesTest, ALateStepOnAnotherNodeIsRefused) {
  cluster_.reach_trials();
  cluster_.answer_at(0);
  cluster_.lose(0);
  cluster_.seats_[0].node = "n4";
  cluster_.answer_at(0);
  EXPECT_TRUE(cluster_.seats_[0].stops);
  cluster_.run();
  expect_whole();
}

TEST_F(NodesTest, ANewDaemonGoesOnWithTheSameNodes) {
  cluster_.reach_trials();
  for (int i = 0; i < 20; ++i) cluster_.step();
  cluster_.seats_ = {};
  cluster_.begin();
  cluster_.session_->start();
  while (cluster_.again_) cluster_.run_again();
  std::set<std::string> asked;
  for (const WantedNode& wanted : cluster_.wanted_) asked.insert(wanted.name);
  EXPECT_THAT(asked, UnorderedElementsAre("n1", "n2", "n3"));
  cluster_.run();
  expect_whole();
}

// E12. The plan has two builds.
class BuildsTest : public NodesTest {
 protected:
  BuildsTest() { cluster_.cpus_ = {{"n1", "a CPU"}, {"n2", "a CPU"}, {"n3", "a CPU"}}; }
  [[nodiscard]] int all_builds() const {
    int all = 0;
    for (const auto& [node, count] : cluster_.builds_) all += count;
    return all;
  }
};

TEST_F(BuildsTest, OneNodeOfAKindBuildsAndTheOthersGetItsPrograms) {
  cluster_.reach_trials();
  EXPECT_EQ(all_builds(), 2);
  EXPECT_EQ(cluster_.builds_.size(), 1U);
  EXPECT_EQ(cluster_.noted("got the program of 'built' from node n").size(), 4U);
  const auto rows = cluster_.store_->builds(cluster_.id_).value();
  EXPECT_EQ(rows.size(), 2U);
  for (const store::Build& row : rows) EXPECT_EQ(row.status, store::BuildStatus::built);
  // A node that is lost later finds its programs.
  for (const std::size_t place : {0, 1, 2})
    if (!cluster_.builds_.contains(cluster_.seats_[place].node)) cluster_.lose(place);
  cluster_.run();
  expect_whole();
  EXPECT_EQ(all_builds(), 2);
  EXPECT_EQ(cluster_.noted("got the program of").size(), 4U);
}

TEST_F(BuildsTest, NodesOfAnotherKindBuildForThemselves) {
  cluster_.cpus_["n3"] = "another CPU";
  cluster_.reach_trials();
  EXPECT_EQ(cluster_.builds_["n3"], 2);
  EXPECT_EQ(all_builds(), 4);
  cluster_.run();
  expect_whole();
}

TEST_F(BuildsTest, NodesOfUnknownHardwareBuildForThemselves) {
  cluster_.cpus_.clear();
  cluster_.reach_trials();
  EXPECT_EQ(all_builds(), 6);
}

TEST_F(BuildsTest, AProgramThatCannotTravelIsBuiltOnEachNode) {
  cluster_.fetch_error_ = "the build has made out.data beside ${OUT}";
  cluster_.reach_trials();
  EXPECT_EQ(all_builds(), 6);
  EXPECT_EQ(cluster_.noted("itself, because the program can't come from node n").size(), 4U);
  EXPECT_EQ(cluster_.noted(": the build has made out.data").size(), 4U);
  cluster_.run();
  expect_whole();
}

TEST_F(BuildsTest, AProgramWhosePiecesDoNotArriveIsBuiltOnEachNode) {
  cluster_.loses_pieces_ = true;
  cluster_.reach_trials();
  EXPECT_EQ(all_builds(), 6);
  EXPECT_EQ(cluster_.noted(": a piece of it has not arrived").size(), 4U);
}

// The builds of a plan whose trials use the copy of the sources stay where they are.
TEST(Builds, ThatKeepTheirSourcesAreMadeOnEachNode) {
  std::string plan = on_three;
  plan.replace(plan.find("run = [\"${OUT}\"]"), 16, "run = [\"${OUT}\", \"${DIR}/in\"]");
  Cluster cluster(plan);
  cluster.cpus_ = {{"n1", "a CPU"}, {"n2", "a CPU"}, {"n3", "a CPU"}};
  cluster.reach_trials();
  for (const char* node : {"n1", "n2", "n3"}) EXPECT_EQ(cluster.builds_[node], 2) << node;
}

// A program that other nodes got from a lost node stays the program of all nodes.
TEST_F(BuildsTest, TheNodeThatHasMostOfThemBuildsForALostOne) {
  cluster_.builds_write_the_time_ = true;
  cluster_.session_->start();
  // All nodes come up, and the first one makes both builds.
  for (const std::size_t place : {0, 1, 2, 0, 0}) cluster_.answer_at(place);
  ASSERT_EQ(cluster_.seats_[2].asked, Kind::keep);
  for (int i = 0; i < 50 && cluster_.seats_[2].asked != Kind::build; ++i)
    cluster_.answer_at(cluster_.seats_[0].asked ? 0 : 2);
  ASSERT_EQ(cluster_.seats_[2].asked, Kind::build) << "the first program has arrived";
  cluster_.lose(0);
  cluster_.run();
  expect_whole();
  EXPECT_EQ(cluster_.builds_[cluster_.seats_[2].node], 1);
  EXPECT_EQ(all_builds(), 3);
}

// Whichever node is lost, and whenever.
TEST(Builds, ArriveWhateverNodeIsLostMeanwhile) {
  for (unsigned seed = 1; seed <= 120; ++seed) {
    std::mt19937 random(seed);
    Cluster cluster;
    cluster.builds_write_the_time_ = seed % 2 == 0;
    cluster.cpus_ = {{"n1", "a CPU"}, {"n2", "a CPU"}, {"n3", "a CPU"}, {"n4", "a CPU"}};
    cluster.session_->start();
    int losses = 0;
    for (int i = 0; i < 3000 && cluster.session_->state() != State::running; ++i) {
      const std::size_t place = random() % places;
      const bool loses = losses < 4 && random() % 12 == 0;
      if (loses && cluster.seats_[place].works && !cluster.seats_[place].stops) {
        ++losses;
        cluster.lose(place);
      } else {
        cluster.step({place, (place + 1) % places, (place + 2) % places});
      }
    }
    ASSERT_EQ(cluster.session_->state(), State::running) << seed << ": " << cluster.row().reason;
    cluster.run();
    EXPECT_EQ(cluster.row().state, "done") << seed << ": " << cluster.row().reason;
    EXPECT_EQ(cluster.session_->counts().ok, 36U) << seed;
  }
}

TEST_F(NodesTest, NodesWithOtherCompilersAreRefused) {
  cluster_.session_->start();
  cluster_.seats_[1].compiler = "another";
  cluster_.run();
  EXPECT_EQ(cluster_.row().state, "failed");
  EXPECT_THAT(cluster_.row().reason, HasSubstr("need the same sources"));
}

TEST_F(NodesTest, NodesThatBuildDifferentProgramsFromTheSameSourcesAreRefused) {
  cluster_.session_->start();
  cluster_.seats_[1].bytes = "of another C library";
  cluster_.run();
  EXPECT_EQ(cluster_.row().state, "failed");
  EXPECT_THAT(cluster_.row().reason,
              HasSubstr("the same build of 'built' makes different programs on the nodes n"));
  EXPECT_THAT(cluster_.row().reason, AllOf(HasSubstr("n2"), HasSubstr("-march=native")));
  EXPECT_THAT(cluster_.row().reason, HasSubstr("then remove the build cache /c on both nodes"));
  EXPECT_EQ(cluster_.measured_, 0U);
}

TEST_F(NodesTest, CancelEndsTheWorkersOfAllPlaces) {
  cluster_.reach_trials();
  cluster_.session_->cancel();
  for (std::size_t place = 0; place < places; ++place) {
    EXPECT_FALSE(cluster_.session_->finished());
    EXPECT_TRUE(cluster_.seats_[place].stops);
    cluster_.end_at(place);
  }
  EXPECT_TRUE(cluster_.session_->finished());
}

// E10. The rule looks after 5 blocks on each node, which have two trials each.
TEST(NodesWithARule, TheRuleIsAskedWhenAllNodesHaveRunAsManyBlocks) {
  Cluster cluster(with_rule + three_nodes);
  cluster.reach_trials();
  for (const std::size_t place : {1, 0}) {
    cluster.run({place});
    EXPECT_FALSE(cluster.seats_[place].asked);
    EXPECT_FALSE(cluster.done_);
  }
  EXPECT_EQ(cluster.session_->counts().ok, 20U);
  for (int i = 0; i < 10; ++i) cluster.answer_at(2);
  ASSERT_TRUE(cluster.done_);
  EXPECT_EQ(cluster.reading_, Reading::look);
  for (const auto& seat : cluster.seats_) EXPECT_FALSE(seat.asked);
  cluster.answer_reading(LookReply{.stop = true, .words = "all is decided"});
  cluster.run();
  EXPECT_EQ(cluster.row().state, "done");
  EXPECT_EQ(cluster.row().reason, "stopped after 15 of 21 blocks: all is decided");
  EXPECT_EQ(cluster.row().stopped_by, store::StopCause::rule);
  EXPECT_EQ(cluster.session_->counts().ok, 30U);
}

TEST(NodesWithARule, AllNodesGoOnAfterItsAnswer) {
  Cluster cluster(with_rule + three_nodes);
  cluster.reach_trials();
  for (int i = 0; i < 2000 && !cluster.done_; ++i) cluster.step();
  cluster.answer_reading(LookReply{.stop = false, .words = "not yet"});
  for (const auto& seat : cluster.seats_) EXPECT_EQ(seat.asked, Kind::run);
  cluster.run({0});
  EXPECT_EQ(cluster.session_->counts().ok, 30U + 4);
  cluster.run();
  EXPECT_EQ(cluster.row().state, "done");
  EXPECT_EQ(cluster.session_->counts().ok, 42U);
}

// All nodes and the controller are lost while the rule is asked.
TEST(NodesWithARule, ItEndsAnExperimentThatHasNoNodeLeft) {
  Cluster cluster(with_rule + three_nodes);
  cluster.reach_trials();
  for (int i = 0; i < 2000 && !cluster.done_; ++i) cluster.step();
  for (std::size_t place = 0; place < places; ++place) {
    cluster.lose(place);
    cluster.lose(place, Loss::controller_away);
    EXPECT_FALSE(cluster.seats_[place].works);
  }
  cluster.answer_reading(LookReply{.stop = true, .words = "all is decided"});
  EXPECT_EQ(cluster.session_->state(), State::analysing);
  cluster.run();
  cluster.run_retry();
  EXPECT_EQ(cluster.row().state, "done");
  EXPECT_TRUE(cluster.session_->finished());
}

TEST(NodesWithARule, ANodeThatIsLostWhileItWaitsHoldsNobodyUp) {
  Cluster cluster(with_rule + three_nodes);
  cluster.reach_trials();
  cluster.run({1});
  cluster.lose(1);
  cluster.run({0, 2});
  EXPECT_EQ(cluster.session_->counts().ok, 42U - 4) << "the rule was asked without its worker";
  cluster.run();
  EXPECT_EQ(cluster.row().state, "done");
  EXPECT_EQ(cluster.session_->counts().ok, 42U);
}

// Whatever the order of events and losses, and wherever a daemon is replaced.
TEST(NodesWithARule, EveryLookIsAtAsManyBlocksOfEachNode) {
  for (unsigned seed = 1; seed <= 30; ++seed) {
    std::mt19937 random(seed);
    Cluster cluster(with_rule + three_nodes);
    cluster.reach_trials();
    std::size_t looks = 0;
    const bool stops = seed % 2 == 0;
    for (int i = 0; i < 5000 && !cluster.session_->finished(); ++i) {
      if (cluster.done_ && cluster.reading_ == Reading::look) {
        ++looks;
        std::map<std::string, std::set<std::uint32_t>> blocks;
        for (const store::Trial& trial : store::trials_of(*cluster.store_, cluster.id_))
          if (trial.last && !trial.warmup) blocks[trial.node].insert(trial.block);
        EXPECT_EQ(blocks.size(), 3U) << seed;
        for (const auto& [node, its] : blocks) EXPECT_EQ(its.size(), 5U) << node << ' ' << seed;
        cluster.answer_reading(LookReply{.stop = stops, .words = "said"});
      } else if (random() % 60 == 0 && cluster.session_->state() == State::running) {
        cluster.seats_ = {};
        cluster.begin();
        cluster.session_->start();
      } else if (const std::size_t place = random() % 3; random() % 40 == 0) {
        if (cluster.seats_[place].works && !cluster.seats_[place].stops) cluster.lose(place);
      } else {
        cluster.step({place, (place + 1) % 3, (place + 2) % 3});
      }
    }
    EXPECT_EQ(cluster.row().state, "done") << seed << ": " << cluster.row().reason;
    EXPECT_EQ(cluster.session_->counts().ok, stops ? 30U : 42U) << seed;
    EXPECT_GE(looks, 1U) << seed;
  }
}

TEST(NodesWithATime, ItEndsTheExperimentAfterAsManyBlocksOnEachNode) {
  Cluster cluster(with_time + three_nodes);
  store::Experiment row = cluster.row();
  row.duration_ns = std::chrono::nanoseconds(std::chrono::minutes(11)).count();
  ASSERT_TRUE(cluster.store_->update_experiment(row));
  cluster.begin();
  cluster.reach_trials();
  cluster.run({2});
  EXPECT_EQ(cluster.session_->state(), State::running);
  cluster.run();
  EXPECT_EQ(cluster.row().state, "done");
  EXPECT_EQ(cluster.row().reason,
            "the experiment's time limit of 10 min 0 s allowed only 15 of 27 blocks");
  EXPECT_EQ(cluster.session_->counts().ok, 3U * 2 * (1 + 5)) << "warm-ups and the fewest blocks";
}

TEST(NodesWithATime, WithinItAllBlocksRun) {
  Cluster cluster(with_time + three_nodes);
  cluster.reach_trials();
  cluster.run();
  EXPECT_EQ(cluster.row().state, "done");
  EXPECT_EQ(cluster.row().reason, "");
  EXPECT_EQ(cluster.session_->counts().ok, 3U * 2 * (1 + 9));
}

// Each of three nodes has run four trials of a minute, at the same time as the others.
TEST(NodesWithATime, AfterARestartTheTimeIsThatOfOneNodesTrials) {
  constexpr std::int64_t minute = std::chrono::nanoseconds(std::chrono::minutes(1)).count();
  Cluster cluster(with_time + three_nodes);
  cluster.wall_ns_ = minute;
  cluster.reach_trials();
  for (int i = 0; i < 2000 && cluster.session_->counts().ok < 12U; ++i) cluster.step();
  ASSERT_EQ(cluster.session_->counts().ok, 12U);
  cluster.seats_ = {};
  cluster.begin();
  cluster.session_->start();
  cluster.run();
  EXPECT_EQ(cluster.row().state, "done");
  EXPECT_EQ(cluster.row().reason, "");
  EXPECT_EQ(cluster.session_->counts().ok, 3U * 2 * (1 + 9));
  EXPECT_GE(cluster.row().duration_ns.value_or(0), 4 * minute);
}

TEST_F(NodesTest, ABlockThatLosesItsNodeOftenEndsTheExperiment) {
  cluster_.reach_trials();
  for (int i = 0; i < 5; ++i) {
    ASSERT_EQ(cluster_.session_->state(), State::running) << i;
    for (int k = 0; k < 50 && cluster_.seats_[1].asked != Kind::run; ++k) cluster_.step({1});
    cluster_.lose(1);
  }
  cluster_.run();
  EXPECT_EQ(cluster_.row().state, "failed");
  EXPECT_TRUE(cluster_.session_->finished());
}

}  // namespace
}  // namespace stab::daemon
