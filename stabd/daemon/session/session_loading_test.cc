// SPDX-License-Identifier: MIT
// How a session begins that has trials already.
#include <gmock/gmock.h>

#include <vector>

#include "stabd/daemon/session/testing.h"

namespace stab::daemon {
namespace {

// All but the last of 5,000 trials are stored.
class ResumedSession : public ::testing::Test {
 protected:
  ResumedSession()
      : around_(
            "[experiment]\nname = \"many\"\n[[benchmark]]\nname = \"b\"\nrun = [\"true\"]\n"
            "repetitions = 5000\n") {
    std::vector<store::Trial> rows;
    for (const plan::Trial& trial : plan::expand(around_.plan_).trials)
      rows.push_back({.experiment = around_.id_,
                      .position = trial.position,
                      .last = true,
                      .benchmark = "b",
                      .seed = trial.seed,
                      .status = TrialStatus::ok,
                      .wall_ns = 1000});
    rows.pop_back();
    EXPECT_TRUE(around_.store_->add_trials(rows));
    around_.begin();
  }

  Around around_;
};

TEST_F(ResumedSession, ReadsItsTrialsInPiecesAndGoesOnBehindThem) {
  Session& session = *around_.session_;
  session.start();
  EXPECT_TRUE(around_.again_);
  EXPECT_FALSE(around_.worker_);
  EXPECT_LT(session.counts().ok, 4999U);
  int pieces = 1;
  for (; !around_.worker_ && around_.again_; ++pieces) around_.run_again();
  EXPECT_GT(pieces, 2);
  EXPECT_EQ(session.counts().ok, 4999U);
  EXPECT_GE(session.experiment().duration_ns, 4'999'000);
  around_.answer_until(Kind::run);
  around_.answer();
  EXPECT_EQ(session.state(), State::analysing);
}

TEST_F(ResumedSession, IsCancelledWhileItReadsThem) {
  around_.session_->start();
  around_.session_->cancel();
  EXPECT_EQ(around_.session_->state(), State::cancelled);
  EXPECT_TRUE(around_.session_->finished());
  around_.run_again();
  EXPECT_EQ(around_.session_->state(), State::cancelled);
  EXPECT_FALSE(around_.worker_);
}

TEST_F(ResumedSession, BeginsToReadThemAnewWhenItIsPausedMeanwhile) {
  around_.session_->start();
  EXPECT_TRUE(around_.session_->hold(1000));
  EXPECT_TRUE(around_.session_->finished());
  around_.run_again();
  EXPECT_FALSE(around_.worker_);
  around_.begin();
  around_.session_->start();
  around_.settle();
  EXPECT_EQ(around_.row().state, "done");
  EXPECT_EQ(around_.rows(), 5000U);
}

}  // namespace
}  // namespace stab::daemon
