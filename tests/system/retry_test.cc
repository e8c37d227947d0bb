// SPDX-License-Identifier: MIT
// `stabctl retry` of an experiment with very many trials that failed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/fd.h"
#include "protocol/lines.h"
#include "protocol/messages.h"
#include "store/store.h"
#include "tests/system/lab.h"

namespace stab::test {
namespace {

using nlohmann::json;

// So many that all of it takes some seconds. Who is stopped for longer sees nothing of it, and
// tries again.
constexpr int most_tries = 10;
#ifdef STAB_SANITIZED
constexpr int count = 10'000;
#else
constexpr int count = 50'000;
#endif

class Retry : public ::testing::Test {
 protected:
  // A laboratory with one that is done, and all of it failed. The queue is paused.
  void make_failed() {
    lab_ = std::make_unique<Lab>();
    lab_->write("plan.toml",
                "[experiment]\nname = \"fails\"\n[[benchmark]]\nname = \"b\"\nrun = [\"false\"]\n"
                "repetitions = " +
                    std::to_string(count) + "\n");
    ASSERT_TRUE(lab_->start_daemon());
    ASSERT_EQ(lab_->ctl({"pause", "--queue"}).code, 0);
    ASSERT_EQ(lab_->submit("plan.toml"), 1);
    ASSERT_EQ(lab_->ctl({"cancel", "1"}).code, 0);
    lab_->end_daemon(SIGTERM);
    const auto store = store::Store::open(lab_->path("state/stabd.db"));
    ASSERT_TRUE(store) << store.error().message;
    std::vector<store::Trial> trials;
    for (std::uint32_t position = 0; position < count; ++position)
      trials.push_back({.experiment = 1,
                        .position = position,
                        .last = true,
                        .benchmark = "b",
                        .status = store::TrialStatus::wrong_exit,
                        .reason = "it exited with 1"});
    ASSERT_TRUE((*store)->add_trials(trials));
    auto row = (*store)->experiment(1).value().value();
    row.state = "done";
    ASSERT_TRUE((*store)->update_experiment(row));
  }
  // What the database says, whatever the daemon does.
  std::string stored_state() const {
    const auto reader = store::Reader::open(lab_->path("state/stabd.db"));
    return reader ? (*reader)->experiment(1).value().value().state : reader.error().message;
  }
  std::size_t standing() const {
    const auto reader = store::Reader::open(lab_->path("state/stabd.db"));
    std::size_t number = 0;
    for (const store::Reader::Progress& each : (*reader)->progress(1).value())
      number += each.done ? 1 : 0;
    return number;
  }
  bool comes_to_be(const std::string& state) const {
    for (int i = 0; i < 12'000; ++i, usleep(5000))
      if (stored_state() == state) return true;
    return false;
  }
  pid_t start_retry() const {
    return start_program({std::string(STAB_BIN_DIR) + "/stabctl", "--socket", lab_->path("s.sock"),
                          "retry", "--json", "1"},
                         lab_->folder(), lab_->path("retry.txt"));
  }
  // Waits until a retry that was asked for is under way. False if it has been.
  bool is_seen() const {
    for (int i = 0; i < 12'000; ++i, usleep(5000)) {
      const std::string state = stored_state();
      if (state == "retrying" || state == "queued") return state == "retrying";
    }
    return false;
  }
  // The client of a retry during which another client was answered; 0 if that came too late.
  pid_t retry_beside_an_answer() const {
    const Fd other = lab_->connect();
    const pid_t retry = start_retry();
    const bool seen = is_seen();
    protocol::Channel channel(other.get(), 1 << 20);
    EXPECT_TRUE(channel.send(
        protocol::encode(protocol::HelloRequest{.protocol = protocol::version, .version = "x"})));
    const auto answer = channel.receive();
    EXPECT_TRUE(answer && *answer);
    if (seen && stored_state() == "retrying") return retry;
    EXPECT_EQ(end_of(retry), 0);
    return 0;
  }
  // Whether a retry is under way when the daemon is killed.
  bool is_cut_short() {
    const pid_t retry = start_retry();
    const bool seen = is_seen();
    lab_->end_daemon(SIGKILL);
    const int code = end_of(retry);
    if (!seen || stored_state() != "retrying" || standing() == 0) return false;
    EXPECT_NE(code, 0);
    return true;
  }

  std::unique_ptr<Lab> lab_;
};

TEST_F(Retry, OfManyTrialsLetsOthersBeAnsweredMeanwhile) {
  pid_t retry = 0;
  for (int tries = 0; retry == 0; ++tries) {
    ASSERT_LT(tries, most_tries) << "all answers came after it";
    ASSERT_NO_FATAL_FAILURE(make_failed());
    ASSERT_TRUE(lab_->start_daemon());
    retry = retry_beside_an_answer();
  }
  // To others it waits already, and to all it is not to be had otherwise.
  EXPECT_EQ(lab_->state(1), "queued");
  EXPECT_EQ(lab_->ctl({"rm", "1"}).code, 1);
  EXPECT_EQ(lab_->ctl({"retry", "1"}).code, 1);
  EXPECT_EQ(end_of(retry), 0);
  // On a slow machine the client says before that it waits.
  const std::string said = read_file(lab_->path("retry.txt"), 1 << 20).value();
  EXPECT_EQ(json::parse(said.substr(std::min(said.find('{'), said.size())))["trials"], count);
  EXPECT_EQ(standing(), 0U);
  EXPECT_EQ(stored_state(), "queued");
}

TEST_F(Retry, ThatAKilledDaemonHadBegunIsEndedByTheNext) {
  bool cut_short = false;
  for (int tries = 0; !cut_short; ++tries) {
    ASSERT_LT(tries, most_tries);
    ASSERT_NO_FATAL_FAILURE(make_failed());
    ASSERT_TRUE(lab_->start_daemon());
    cut_short = is_cut_short();
  }
  ASSERT_TRUE(lab_->start_daemon());
  EXPECT_EQ(lab_->state(1), "queued");
  EXPECT_TRUE(comes_to_be("queued"));
  EXPECT_EQ(standing(), 0U);
  // And it is one that waits.
  EXPECT_EQ(lab_->ctl({"cancel", "1"}).code, 0);
  EXPECT_EQ(lab_->state(1), "cancelled");
}

}  // namespace
}  // namespace stab::test
