// SPDX-License-Identifier: MIT
#include "stabd/daemon/maintenance.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <vector>

#include "protocol/messages.h"
#include "stabd/archive.h"
#include "stabd/daemon/asker_testing.h"
#include "stabd/daemon/clock_testing.h"
#include "store/test_support.h"

namespace stab::daemon {
namespace {

using namespace std::chrono_literals;
using archive::piece_of_file;

class LeavingsTest : public testing::Test {
 protected:
  // A spool's file of this size leaves its folder. The result still sees its size.
  Fd leave(std::int64_t bytes) {
    const auto spool = archive::Spool::make(directory_ / "", leavings_.take()).value();
    EXPECT_TRUE(spool->add("begin"));
    EXPECT_EQ(truncate(spool->file().c_str(), bytes), 0);
    return Fd(open(spool->file().c_str(), O_RDONLY | O_CLOEXEC));
  }
  static std::int64_t size(const Fd& file) {
    struct stat status{};
    EXPECT_EQ(fstat(file.get(), &status), 0);
    return status.st_size;
  }

  store::TemporaryDirectory directory_;
  ClockOfTest clock_;
  Leavings leavings_{clock_};
};

TEST_F(LeavingsTest, OnePieceIsFreedAtATime) {
  const Fd one = leave(3 * piece_of_file);
  const Fd other = leave(2 * piece_of_file);
  EXPECT_EQ(size(one), 3 * piece_of_file);
  clock_.pass(1ms);
  EXPECT_EQ(size(one), 2 * piece_of_file);
  clock_.pass(1ms);
  EXPECT_EQ(size(one), piece_of_file);
  EXPECT_EQ(size(other), 2 * piece_of_file);
  // The rest of one file goes with its descriptor, before the next file begins.
  clock_.pass(1ms);
  EXPECT_EQ(size(other), 2 * piece_of_file);
  clock_.pass(1ms);
  EXPECT_EQ(size(other), piece_of_file);
  EXPECT_EQ(clock_.running(), 1U);
  clock_.pass(1ms);
  EXPECT_EQ(clock_.running(), 0U);
}

TEST_F(LeavingsTest, SmallFilesAreFreedAtOnce) {
  leave(piece_of_file);
  EXPECT_EQ(clock_.running(), 0U);
}

TEST_F(LeavingsTest, ANewFileIsFreedAfterAllOthersHaveGone) {
  leave(2 * piece_of_file);
  clock_.pass(1s);
  const Fd file = leave(2 * piece_of_file);
  clock_.pass(1s);
  EXPECT_EQ(size(file), piece_of_file);
  EXPECT_EQ(clock_.running(), 0U);
}

using testing::IsEmpty;

class MaintenanceTest : public testing::Test {
 protected:
  static Result<void> anything(std::uint64_t /*bytes*/) { return {}; }
  static constexpr std::uint32_t ada = 1000;
  static constexpr std::uint32_t bob = 1001;
  static constexpr std::uint32_t first_of_ada = 100'000;  // her subordinate ids

  MaintenanceTest() {
    const store::Remembering opened;
    store_ = store::open_or_fail(path_);
    row_ = {.name = "sort",
            .plan =
                "[experiment]\nname = \"sort\"\n[[benchmark]]\nname = \"sort\"\n"
                "run = [\"true\"]\nrepetitions = 1\n",
            .directory = "/",
            .uid = ada,
            .state = "done",
            .submitted_ns = 1,
            .started_ns = 2,
            .ended_ns = 3,
            .trials = 300};
    row_.machine = store_->add_machine({.key = "k", .host = "lab", .facts = "{}"}).value();
    row_.id = store_->add_experiment(row_).value();
    std::vector<store::Trial> trials;
    for (std::uint32_t position = 0; position < 300; ++position)
      trials.push_back(store::example_trial(row_.id, position));
    EXPECT_TRUE(store_->add_trials(trials));
    maintenance_.emplace(clock_, *store_, accounts_, settings::Retention(), [this] { ++changes_; });
  }
  // A client has sent the experiment's archive, and a reader has taken it apart.
  void send(std::shared_ptr<archive::Spool>& spool) {
    spool = archive::Spool::make(directory_ / "").value();
    ASSERT_TRUE(archive::write(path_, row_.id, spool->file()));
    ASSERT_TRUE(archive::take_apart(spool->file(), {.uid = ada, .name = "sent"}, spool->parts()));
  }
  void import() {
    send(spool_);
    ASSERT_TRUE(maintenance_->import(client_, {.uid = ada}, spool_, anything));
  }
  struct Sender {
    std::shared_ptr<archive::Spool> spool{};
    AskerOfTest client{};
  };
  void remove() { ASSERT_TRUE(maintenance_->remove(row_, "by a test")); }
  std::uint64_t trials_left() { return store_->content(row_.id).value().trials; }
  static void refuse_writing(bool refused) {
    store::Remembering::inside(refused ? "PRAGMA query_only = ON" : "PRAGMA query_only = OFF");
  }

  store::TemporaryDirectory directory_;
  const std::string path_ = directory_ / "stab.db";
  std::unique_ptr<store::Store> store_;
  store::Experiment row_;
  ClockOfTest clock_;
  const Accounts accounts_{"1000:100000:100", 0, [](const std::string&) { return std::nullopt; }};
  int changes_ = 0;
  std::shared_ptr<archive::Spool> spool_;
  AskerOfTest client_;
  std::optional<Maintenance> maintenance_;
};

TEST_F(MaintenanceTest, RowsAreRemovedInPiecesWhileNoTrialRuns) {
  maintenance_->trials_run(true);
  remove();
  EXPECT_EQ(store_->experiment(row_.id).value(), std::nullopt) << "nobody sees it any more";
  clock_.pass(1h);
  EXPECT_EQ(trials_left(), 300U);
  maintenance_->trials_run(false);
  clock_.pass(2ms);
  EXPECT_LT(trials_left(), 300U);
  EXPECT_GT(trials_left(), 0U);
  clock_.pass(1s);
  EXPECT_EQ(trials_left(), 0U);
  clock_.pass(1min);
  EXPECT_EQ(clock_.running(), 0U) << "the log is empty, too";
}

TEST_F(MaintenanceTest, APieceIsDoneBetweenTwoTrials) {
  maintenance_->trials_run(true);
  remove();
  maintenance_->keep_up();
  maintenance_->keep_up();
  EXPECT_LT(trials_left(), 300U);
  EXPECT_GT(trials_left(), 0U);
}

TEST_F(MaintenanceTest, TheNextDaemonContinuesARemoval) {
  remove();
  clock_.pass(2ms);
  maintenance_->stop();
  clock_.pass(1h);
  EXPECT_GT(trials_left(), 0U);
  maintenance_.emplace(clock_, *store_, accounts_, settings::Retention(), [] {});
  maintenance_->start();
  clock_.pass(1s);
  EXPECT_EQ(trials_left(), 0U);
}

TEST_F(MaintenanceTest, AfterTroubleWithTheDiskItWaitsForTwoSeconds) {
  remove();
  refuse_writing(true);
  clock_.pass(1ms);
  refuse_writing(false);
  maintenance_->keep_up();
  clock_.pass(1999ms);
  EXPECT_EQ(trials_left(), 300U);
  clock_.pass(1s);
  EXPECT_EQ(trials_left(), 0U);
}

TEST_F(MaintenanceTest, AnImportAnswersItsClientAndReleasesTheSpool) {
  import();
  EXPECT_TRUE(client_.awaits);
  clock_.pass(1s);
  const auto reply = protocol::decode_reply<protocol::ImportReply>(client_.got);
  ASSERT_TRUE(reply) << client_.got;
  EXPECT_EQ(store_->content(reply->id).value().trials, 300U);
  EXPECT_EQ(spool_, nullptr);
}

TEST_F(MaintenanceTest, AnImportWaitsForTrialsButNotForLong) {
  maintenance_->trials_run(true);
  import();
  clock_.pass(3999ms);
  EXPECT_FALSE(maintenance_->import_runs_beside());
  EXPECT_TRUE(client_.awaits);
  changes_ = 0;
  clock_.pass(1ms);
  EXPECT_TRUE(maintenance_->import_runs_beside());
  EXPECT_GT(changes_, 0);
  clock_.pass(1s);
  EXPECT_FALSE(client_.awaits);
  EXPECT_FALSE(maintenance_->import_runs_beside());
}

TEST_F(MaintenanceTest, RemovalsAloneNeverRunBesideTrials) {
  maintenance_->trials_run(true);
  remove();
  clock_.pass(1h);
  EXPECT_FALSE(maintenance_->import_runs_beside());
}

TEST_F(MaintenanceTest, IfTheClientHangsUpTheRowsOfItsImportAreRemoved) {
  import();
  clock_.pass(2ms);
  client_.go();
  clock_.pass(1s);
  EXPECT_EQ(client_.got, "");
  EXPECT_THAT(store_->removals().value(), IsEmpty());
  EXPECT_EQ(store_->experiments()->intact.size(), 1U);
}

// An archive may grow while it is imported, and its user's other imports grow beside it.
TEST_F(MaintenanceTest, AnImportEndsBeforeItsUserStoresTooMuch) {
  const auto stored = [this] { return store_->bytes_of_account(ada).all; };
  const std::uint64_t before = stored();
  const std::uint64_t most = before + before / 2;
  std::uint64_t largest = before;
  const auto may_store = [&](std::uint64_t more) -> Result<void> {
    largest = std::max(largest, stored());
    return stored() + more <= most ? Result<void>() : fail("that is too much");
  };
  std::shared_ptr<archive::Spool> second;
  AskerOfTest other;
  send(spool_);
  send(second);
  ASSERT_TRUE(maintenance_->import(client_, {.uid = ada}, spool_, may_store));
  ASSERT_TRUE(maintenance_->import(other, {.uid = ada}, second, may_store));
  clock_.pass(1min);
  for (const AskerOfTest* each : {&client_, &other}) {
    EXPECT_FALSE(each->awaits);
    const auto reply = protocol::decode_reply<protocol::ImportReply>(each->got);
    ASSERT_FALSE(reply);
    EXPECT_EQ(reply.error().message, "that is too much");
  }
  EXPECT_GT(largest, before + before / 4) << "a piece is a third of an experiment";
  EXPECT_LE(largest, most);
  EXPECT_EQ(stored(), before) << "what was imported is removed";
  EXPECT_THAT(store_->removals().value(), IsEmpty());
  EXPECT_EQ(store_->experiments()->intact.size(), 1U);
}

TEST_F(MaintenanceTest, AnImportThatIsGivenUpLeavesNeitherItsMachineNorItsCalibrations) {
  ASSERT_TRUE(store_->add_calibrations({store::example_calibration(row_.machine, 0)}));
  send(spool_);
  // The archive comes back to a store that has none of it.
  store::Remembering::inside("DELETE FROM calibration");
  remove();
  clock_.pass(1min);
  ASSERT_FALSE(store_->machine(row_.machine).value());
  ASSERT_TRUE(maintenance_->import(client_, {.uid = ada, .believed = true}, spool_, anything));
  clock_.pass(2ms);
  EXPECT_TRUE(store_->machine(row_.machine).value()) << "its id is free again";
  client_.go();
  clock_.pass(1s);
  EXPECT_THAT(store_->calibrations(row_.machine).value(), IsEmpty());
  EXPECT_FALSE(store_->machine(row_.machine).value());
}

TEST_F(MaintenanceTest, ABelievedImportAddsItsCalibrations) {
  ASSERT_TRUE(store_->add_calibrations({store::example_calibration(row_.machine, 0)}));
  send(spool_);
  store::Remembering::inside("DELETE FROM calibration");
  ASSERT_TRUE(maintenance_->import(client_, {.uid = ada, .believed = true}, spool_, anything));
  clock_.pass(1s);
  EXPECT_FALSE(client_.awaits);
  EXPECT_EQ(store_->calibrations(row_.machine)->size(), 1U);
}

TEST_F(MaintenanceTest, ImportsAndRemovalsTakeTurns) {
  send(spool_);
  std::shared_ptr<archive::Spool> second;
  send(second);
  remove();
  ASSERT_TRUE(maintenance_->import(client_, {.uid = ada}, spool_, anything));
  AskerOfTest other;
  ASSERT_TRUE(maintenance_->import(other, {.uid = ada}, second, anything));
  clock_.pass(4ms);
  EXPECT_TRUE(client_.awaits && other.awaits);
  EXPECT_LT(trials_left(), 300U);
  clock_.pass(1s);
  EXPECT_FALSE(client_.awaits || other.awaits);
  EXPECT_EQ(trials_left(), 0U);
}

// Bob's only import is done while each of Ada's still has half of its pieces before it.
TEST_F(MaintenanceTest, ImportsOfSubordinateIdsTakeTheTurnsOfTheirOwner) {
  std::vector<Sender> of_ada(8);
  Sender of_bob;
  std::uint32_t uid = first_of_ada;
  for (Sender& each : of_ada) {
    send(each.spool);
    ASSERT_TRUE(maintenance_->import(each.client, {.uid = uid++}, each.spool, anything));
  }
  send(of_bob.spool);
  ASSERT_TRUE(maintenance_->import(of_bob.client, {.uid = bob}, of_bob.spool, anything));
  for (int i = 0; i < 10'000 && of_bob.client.awaits; ++i) clock_.pass(1ms);
  EXPECT_FALSE(of_bob.client.awaits);
  EXPECT_GE(std::ranges::count_if(of_ada, [](const Sender& each) { return each.client.awaits; }),
            std::ssize(of_ada) - 1);
  clock_.pass(1min);
  for (const Sender& each : of_ada) EXPECT_FALSE(each.client.awaits);
}

TEST_F(MaintenanceTest, OldExperimentsAreRemovedOnTheirDay) {
  maintenance_->use_retention({.experiments_days = 2});
  clock_.pass(47h);
  EXPECT_EQ(trials_left(), 300U);
  clock_.pass(3h);
  EXPECT_EQ(trials_left(), 0U);
}

TEST_F(MaintenanceTest, WithoutALimitNobodyLooksForOldData) {
  maintenance_->start();
  EXPECT_EQ(clock_.running(), 0U);
  maintenance_->use_retention({.output_days = 1});
  EXPECT_EQ(clock_.running(), 1U);
  maintenance_->use_retention({});
  EXPECT_EQ(clock_.running(), 0U);
}

TEST_F(MaintenanceTest, WithoutALimitAnyMoreTheRestOfTheOldDataStays) {
  const store::Id second = store_->add_experiment(row_).value();
  maintenance_->trials_run(true);
  maintenance_->use_retention({.experiments_days = 2});
  clock_.pass(50h);
  maintenance_->keep_up();
  EXPECT_EQ(store_->experiment(row_.id).value(), std::nullopt) << "both were planned";
  EXPECT_TRUE(store_->experiment(second).value());
  maintenance_->use_retention({});
  maintenance_->trials_run(false);
  clock_.pass(1h);
  EXPECT_TRUE(store_->experiment(second).value());
  EXPECT_EQ(trials_left(), 0U) << "a removal that has begun is completed";
}

}  // namespace
}  // namespace stab::daemon
