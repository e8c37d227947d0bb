// SPDX-License-Identifier: MIT
// A session whose worker is on a node of a cluster, and loses it.
#include <gmock/gmock.h>

#include <cstdlib>
#include <set>

#include "base/time.h"
#include "stabd/daemon/session/testing.h"

namespace stab::daemon {
namespace {

using protocol::Loss;
using protocol::LostReply;
using protocol::NodeReply;
using ::testing::HasSubstr;
using ::testing::StartsWith;

const std::string on_node = std::string(two_levels) + "[machines]\nengine = \"slurm\"\n";

class NodeTest : public ::testing::Test {
 protected:
  // Answers the first request from a node, and goes on to the first trial.
  void come_up(const std::string& node) {
    ASSERT_EQ(around_.asked_, Kind::setup);
    around_.say(NodeReply{.version = STAB_VERSION, .node = node, .job = "7", .cache = "/c"});
    around_.answer_until(Kind::run);
  }
  void lose(Loss loss) {
    around_.say(LostReply{.loss = std::string(to_string(loss)), .reason = "so it is"});
    around_.end_worker();
    while (around_.again_) around_.run_again();
  }
  [[nodiscard]] std::vector<store::Trial> trials() {
    return store::trials_of(*around_.store_, around_.id_);
  }
  [[nodiscard]] bool has_event(const std::string& kind, const std::string& text) {
    for (const store::Event& event : around_.store_->events(around_.id_).value())
      if (event.kind == kind && event.text.starts_with(text)) return true;
    return false;
  }

  Around around_{on_node};
};

TEST_F(NodeTest, EachTrialHasItsNode) {
  around_.session_->start();
  come_up("n1");
  around_.settle();
  EXPECT_EQ(around_.row().state, "done");
  for (const store::Trial& trial : trials()) EXPECT_EQ(trial.node, "n1");
  EXPECT_EQ(trials().size(), 12U);
}

TEST_F(NodeTest, ALostNodeLosesItsBlockAndNoTrialFails) {
  around_.session_->start();
  come_up("n1");
  EXPECT_EQ(around_.node_, "");
  for (int i = 0; i < 6; ++i) around_.answer();  // the warm-up block, and half of the first block
  lose(Loss::node_lost);
  EXPECT_EQ(around_.session_->state(), State::building);
  EXPECT_TRUE(has_event("lost", "node-lost: so it is"));
  come_up("n2");
  around_.settle();
  EXPECT_EQ(around_.row().state, "done");
  std::map<std::pair<bool, std::uint32_t>, std::set<std::string>> nodes;
  std::size_t counted = 0;
  for (const store::Trial& trial : trials()) {
    EXPECT_EQ(trial.status, TrialStatus::ok);
    if (!trial.last) continue;
    ++counted;
    nodes[{trial.warmup, trial.block}].insert(trial.node);
  }
  EXPECT_EQ(counted, 12U);
  EXPECT_EQ(trials().size(), 14U);
  EXPECT_EQ(nodes.at({true, 0}), std::set<std::string>{"n1"});
  EXPECT_EQ(nodes.at({false, 0}), std::set<std::string>{"n2"});
  EXPECT_EQ(nodes.at({false, 1}), std::set<std::string>{"n2"});
}

TEST_F(NodeTest, LaterWorkersAreOnTheNodeOfTheFirstTrial) {
  around_.session_->start();
  come_up("h");  // the name of the machine in testing.h
  lose(Loss::node_lost);
  EXPECT_EQ(around_.node_, "") << "no trial is stored yet";
  come_up("h");
  around_.answer();
  lose(Loss::node_lost);
  EXPECT_EQ(around_.node_, "h");
  come_up("h");
  around_.settle();
  EXPECT_EQ(around_.row().state, "done");
}

TEST_F(NodeTest, OnlyTheCpusOfAWorkerWithATrialAreTakenAgain) {
  around_.session_->start();
  ASSERT_EQ(around_.asked_, Kind::setup);
  around_.say(NodeReply{.version = STAB_VERSION, .node = "n1", .job = "7", .cache = "/c"});
  around_.asked_.reset();
  around_.say(SetupReply{.trial_cpus = "3", .machine_facts = R"({"host":"n1"})"});
  around_.answer_until(Kind::run);
  lose(Loss::node_lost);
  EXPECT_EQ(around_.earlier_cpus_, machine::CpuSet{});
  come_up("n2");
  EXPECT_EQ(around_.row().trial_cpus, "1");
  around_.answer();
  lose(Loss::node_lost);
  EXPECT_EQ(around_.earlier_cpus_, machine::CpuSet{1});
  come_up("n2");
  around_.settle();
  EXPECT_EQ(around_.row().state, "done");
}

// A node's facts are the user's word, so they count for the row with their own digest only.
TEST_F(NodeTest, FalseFactsAreNeverThoseOfAnotherMachine) {
  const std::string real = R"({"cpu_model":"real","host":"n1"})";
  const std::string false_ones = R"({"cpu_model":"false","host":"n1"})";
  const auto machine_after = [](const std::string& facts) {
    Around around(on_node);
    around.session_->start();
    around.say(NodeReply{.version = STAB_VERSION, .node = "n1", .job = "7", .cache = "/c"});
    around.asked_.reset();
    around.say(SetupReply{.trial_cpus = "1", .machine_facts = facts});
    return around.row().machine == 0 ? std::nullopt
                                     : around.store_->machine(around.row().machine).value();
  };
  EXPECT_EQ(machine_after(real)->key, machine::facts_in(real)->key);
  EXPECT_EQ(machine_after(real)->host, "n1");
  EXPECT_NE(machine_after(false_ones)->key, machine_after(real)->key);
  for (const std::string& facts : {std::string(), std::string("{\"host\":\"\\u001b[2J\"}"),
                                   std::string(R"({"host":"n1","cpu_model":"real"})"),
                                   std::string(R"({"cpu_model":"real","host":"head"})"),
                                   std::string(R"({"cpu_model":"real"})")})
    EXPECT_EQ(machine_after(facts), std::nullopt) << facts;
}

// The second trial of the last block has failed.
TEST_F(NodeTest, ARetryOfATrialInTheLastBlockMeasuresNoOtherTrialAgain) {
  around_.session_->start();
  come_up("n1");
  for (int i = 0; i < 9; ++i) around_.answer();
  for (int i = 0; i < 2; ++i) around_.answer(TrialStatus::wrong_exit);
  around_.settle();
  ASSERT_EQ(around_.row().state, "done");
  ASSERT_EQ(trials().size(), 13U);
  store::Experiment row = around_.row();
  row.state = "queued";
  ASSERT_TRUE(around_.store_->begin_retry(row, "done"));
  ASSERT_TRUE(around_.store_->go_on_with_retry(around_.id_, {}));
  ASSERT_TRUE(around_.store_->update_experiment(row));
  around_.begin();
  around_.session_->start();
  come_up("n1");
  around_.settle();
  EXPECT_EQ(around_.row().state, "done");
  EXPECT_EQ(trials().size(), 14U);
}

TEST_F(NodeTest, ABlockThatLosesManyNodesEndsTheExperiment) {
  around_.session_->start();
  for (int i = 0; i < 5; ++i) {
    ASSERT_EQ(around_.session_->state(), State::building) << i;
    come_up("n1");
    lose(Loss::preempted);
  }
  EXPECT_EQ(around_.row().state, "failed");
  EXPECT_THAT(around_.row().reason, StartsWith("preempted: so it is; 5 steps were lost"));
  EXPECT_TRUE(trials().empty());
}

TEST_F(NodeTest, AStepThatCannotStartFailsTheExperiment) {
  around_.session_->start();
  lose(Loss::cannot_start);
  EXPECT_EQ(around_.row().state, "failed");
  EXPECT_EQ(around_.row().reason, "cannot-start: so it is");
}

TEST_F(NodeTest, AControllerThatIsAwayIsAskedAgain) {
  around_.session_->start();
  lose(Loss::controller_away);
  EXPECT_EQ(around_.row().state, "paused");
  EXPECT_THAT(around_.row().reason, HasSubstr("stabd tries again"));
  around_.run_retry();
  come_up("n1");
  around_.settle();
  EXPECT_EQ(around_.row().state, "done");
}

TEST_F(NodeTest, AnEarlierStepThatEndsInTimeEndsNothingElse) {
  around_.session_->start();
  lose(Loss::old_step);
  EXPECT_EQ(around_.row().state, "paused");
  EXPECT_EQ(around_.row().reason, "old-step: so it is; stabd tries again");
  EXPECT_TRUE(has_event("lost", "old-step: so it is"));
  around_.run_retry();
  come_up("n1");
  around_.settle();
  EXPECT_EQ(around_.row().state, "done");
}

// The nodes of testing.h have no patience.
TEST_F(NodeTest, AnEarlierStepThatDoesNotEndInTimeEndsTheExperiment) {
  around_.session_->start();
  lose(Loss::old_step);
  around_.run_retry();
  lose(Loss::old_step);
  EXPECT_EQ(around_.row().state, "failed");
  EXPECT_EQ(around_.row().reason, "old-step: so it is. 'stabctl retry' continues from here");
}

TEST_F(NodeTest, ALaterTrialOfABlockThatEndsItsWorkerFails) {
  around_.session_->start();
  for (int i = 0; i < 3; ++i) {
    come_up("n1");
    around_.answer();
    around_.say(LostReply{.loss = "worker", .reason = "was killed"});
    around_.end_worker();
    while (around_.again_) around_.run_again();
  }
  EXPECT_EQ(trials().back().reason,
            "the trial's worker was killed; this happened 3 times in a row");
  // No worker can run the whole block, so its trials keep their rows and the next trial follows.
  EXPECT_GT(std::ranges::count_if(trials(), &store::Trial::last), 0);
  come_up("n1");
  around_.settle();
  EXPECT_EQ(around_.row().state, "done");
}

TEST_F(NodeTest, AWorkerSaysOnceWhereItIs) {
  around_.session_->start();
  come_up("n1");
  around_.say(NodeReply{.version = STAB_VERSION, .node = "n2", .job = "7", .cache = "/c"});
  EXPECT_TRUE(around_.stopping_);
  EXPECT_FALSE(has_event("machine", "trials run on node n2"));
}

TEST_F(NodeTest, AControllerThatStaysAwayIsNotedOnce) {
  around_.session_->start();
  lose(Loss::controller_away);
  for (int i = 0; i < 5; ++i) {
    around_.run_retry();
    lose(Loss::controller_away);
  }
  std::size_t lost = 0;
  for (const store::Event& event : around_.store_->events(around_.id_).value())
    if (event.kind == "lost") ++lost;
  EXPECT_EQ(lost, 1U);
}

TEST_F(NodeTest, AWorkerThatEndsByItselfMayBeEndedByItsTrial) {
  around_.session_->start();
  come_up("n1");
  for (int i = 0; i < 3; ++i) {
    around_.say(LostReply{.loss = "worker", .reason = "was killed"});
    around_.end_worker();
    while (around_.again_) around_.run_again();
    if (i < 2) come_up("n1");
  }
  ASSERT_EQ(trials().size(), 1U);
  EXPECT_EQ(trials()[0].status, TrialStatus::not_started);
  EXPECT_EQ(trials()[0].reason, "the trial's worker was killed; this happened 3 times in a row");
}

TEST_F(NodeTest, ASilentWorkerLosesItsNodeOnly) {
  around_.session_->start();
  come_up("n1");
  around_.session_->worker_silent("did not answer within 1 s");
  around_.end_worker();
  while (around_.again_) around_.run_again();
  EXPECT_EQ(around_.session_->state(), State::building);
  EXPECT_TRUE(has_event("lost", "silent: "));
}

TEST_F(NodeTest, AnotherVersionOfStabdOnTheNodeIsRefused) {
  around_.session_->start();
  around_.say(NodeReply{.version = "0.0.1", .node = "n1", .job = "7", .cache = "/c"});
  EXPECT_EQ(around_.session_->state(), State::failed);
  around_.end_worker();
  EXPECT_THAT(around_.row().reason, HasSubstr("install the same version on both"));
}

TEST_F(NodeTest, ANodeThatReturnsWrongBytesIsNamed) {
  around_.session_->start();
  come_up("n1");
  around_.answer();
  around_.session_->worker_said(R"({"kind":"run","status":"ok","rea)");
  EXPECT_TRUE(around_.stopping_);
  around_.end_worker();
  while (around_.again_) around_.run_again();
  EXPECT_TRUE(has_event("lost", "step-lost: node n1 returned wrong bytes, so"));
  come_up("n1");
  around_.settle();
  EXPECT_EQ(around_.row().state, "done");
  for (const store::Trial& trial : trials()) EXPECT_EQ(trial.status, TrialStatus::ok);
}

// E11: an answer that comes twice, one of an earlier attempt, and one that nobody has asked for.
TEST_F(NodeTest, ALateAnswerIsRefusedAndCounted) {
  around_.session_->start();
  come_up("n1");
  around_.answer_until(Kind::run);
  const auto late = [this](std::int64_t token) {
    RunReply reply;
    reply.token = token;
    reply.status = TrialStatus::ok;
    reply.wall_ns = 1;
    around_.say(reply);
    EXPECT_TRUE(around_.stopping_);
    around_.end_worker();
    while (around_.again_) around_.run_again();
    come_up("n1");
  };
  const std::int64_t first = around_.token_;
  around_.answer();
  late(first);      // instead of the second trial's
  late(first - 1);  // a daemon before this one may have sent such a token
  lose(Loss::node_lost);
  EXPECT_EQ(around_.asked_, Kind::setup);
  late(around_.token_);
  around_.settle();
  EXPECT_EQ(around_.row().state, "done");
  for (const store::Trial& trial : trials()) EXPECT_EQ(trial.wall_ns, 1000) << "a late answer";
  EXPECT_TRUE(has_event("late", "node n1 answered another request"));
  std::size_t refused = 0;
  for (const store::Event& event : around_.store_->events(around_.id_).value())
    refused += event.kind == late_event ? 1 : 0;
  EXPECT_EQ(refused, 3U);
}

// Otherwise the head would be ended before it can say why the node is lost.
TEST_F(NodeTest, ATrialHasTheTimeThatALossTakesToBeKnown) {
  around_.session_->start();
  come_up("n1");
  EXPECT_GT(around_.within_, around_.loss_patience());
  Around here(two_levels);
  here.session_->start();
  here.answer_until(Kind::run);
  EXPECT_LT(here.within_, here.loss_patience());
}

TEST_F(NodeTest, TrialsOfANodeWithAWrongClockHaveTheTimesOfOurs) {
  constexpr std::int64_t second = 1'000'000'000;
  const std::int64_t now = wall_clock_ns() + second;
  for (const std::int64_t ahead : {180 * second, -180 * second, 4 * second}) {
    const bool is_wrong = std::abs(ahead) > 5 * second;
    Around around(on_node);
    around.session_->start();
    around.say(NodeReply{.version = STAB_VERSION,
                         .node = "n1",
                         .job = "7",
                         .cache = "/c",
                         .sent_ns = now + ahead,
                         .heard_ns = now});
    around.answer_until(Kind::run);
    around.asked_.reset();
    ++around.ran_;
    RunReply reply;
    reply.token = around.token_;
    reply.status = TrialStatus::ok;
    reply.started_ns = now + ahead + second;
    reply.wall_ns = 1000;
    around.say(reply);
    EXPECT_EQ(store::trials_of(*around.store_, around.id_).at(0).started_ns,
              now + second + (is_wrong ? 0 : ahead));
    std::string noted;
    for (const store::Event& event : around.store_->events(around.id_).value())
      if (event.text.starts_with("the clock of ")) noted = event.text;
    EXPECT_EQ(noted.substr(0, noted.find(':')),
              !is_wrong ? ""
              : ahead > 0
                  ? "the clock of node n1 is 3 min 0 s ahead of the clock of stabd's machine"
                  : "the clock of node n1 is 3 min 0 s behind the clock of stabd's machine");
  }
}

// A node's first line that arrives late makes a right clock look as if it were behind.
TEST_F(NodeTest, ANodeWhoseFirstLineWasDelayedHasARightClock) {
  constexpr std::int64_t second = 1'000'000'000;
  const std::int64_t now = wall_clock_ns();
  around_.session_->start();
  around_.say(NodeReply{.version = STAB_VERSION,
                        .node = "n1",
                        .job = "7",
                        .cache = "/c",
                        .sent_ns = now - 20 * second,
                        .heard_ns = now});
  around_.answer_until(Kind::run);
  around_.asked_.reset();
  ++around_.ran_;
  RunReply reply;
  reply.token = around_.token_;
  reply.status = TrialStatus::ok;
  reply.started_ns = now + second;
  reply.wall_ns = 1000;
  around_.say(reply);
  EXPECT_EQ(trials().at(0).started_ns, now + second);
  EXPECT_FALSE(has_event("machine", "the clock of "));
}

TEST_F(NodeTest, AFullDiskNamesItsNode) {
  around_.session_->start();
  around_.say(NodeReply{.version = STAB_VERSION, .node = "n1", .job = "7", .cache = "/c"});
  around_.answer_until(Kind::build);
  around_.asked_.reset();
  around_.say(BuildReply{.status = store::BuildStatus::failed,
                         .key = "k",
                         .output = "No space left on device",
                         .no_room = true});
  EXPECT_EQ(around_.session_->state(), State::failed);
  EXPECT_THAT(around_.row().reason, StartsWith("node n1 has no room for builds in /c, even after"));
  EXPECT_THAT(around_.row().reason, HasSubstr("the build of 'built' failed on node n1:"));
}

TEST_F(NodeTest, AWorkerThatCannotStartNamesItsNode) {
  around_.session_->start();
  around_.say(NodeReply{.version = STAB_VERSION, .node = "n1", .job = "7", .cache = "/c"});
  around_.asked_.reset();
  around_.say(SetupReply{.error = "it has no room"});
  EXPECT_EQ(around_.row().reason, "node n1: it has no room");
}

TEST_F(NodeTest, ANodeWithAnOddNameIsRefused) {
  around_.session_->start();
  around_.say(NodeReply{.version = STAB_VERSION, .node = "a b", .job = "7", .cache = "/c"});
  EXPECT_TRUE(around_.stopping_);
}

TEST(Session, AWorkerOnOurMachineIsOnNoNode) {
  for (const bool lost : {false, true}) {
    Around around(two_levels);
    around.session_->start();
    if (lost)
      around.say(LostReply{.loss = "node-lost", .reason = "x"});
    else
      around.say(NodeReply{.version = STAB_VERSION, .node = "n1", .job = "7", .cache = "/c"});
    EXPECT_TRUE(around.stopping_);
  }
}

}  // namespace
}  // namespace stab::daemon
