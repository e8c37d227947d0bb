// SPDX-License-Identifier: MIT
// `stabctl retry` of an experiment with very many trials that failed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/fd.h"
#include "stabd/protocol/lines.h"
#include "stabd/protocol/messages.h"
#include "store/store.h"
#include "tests/system/lab.h"

namespace stab::test {
namespace {

using nlohmann::json;

// So many that all of it takes some seconds.
#if __has_feature(address_sanitizer)
constexpr int count = 10'000;
#else
constexpr int count = 50'000;
#endif

class Retry : public ::testing::Test {
 protected:
  // One that is done, and all of it failed. The queue is paused.
  void SetUp() override {
    lab_.write("plan.toml",
               "[experiment]\nname = \"fails\"\n[[benchmark]]\nname = \"b\"\nrun = [\"false\"]\n"
               "repetitions = " +
                   std::to_string(count) + "\n");
    ASSERT_TRUE(lab_.start_daemon());
    ASSERT_EQ(lab_.ctl({"pause", "--queue"}).code, 0);
    ASSERT_EQ(lab_.submit("plan.toml"), 1);
    ASSERT_EQ(lab_.ctl({"cancel", "1"}).code, 0);
    lab_.end_daemon(SIGTERM);
    const auto store = store::Store::open(lab_.path("state/stabd.db"));
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
    const auto reader = store::Reader::open(lab_.path("state/stabd.db"));
    return reader ? (*reader)->experiment(1).value().value().state : reader.error().message;
  }
  std::size_t standing() const {
    const auto reader = store::Reader::open(lab_.path("state/stabd.db"));
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
    return start_program({std::string(STAB_BIN_DIR) + "/stabctl", "--socket", lab_.path("s.sock"),
                          "retry", "--json", "1"},
                         lab_.folder(), lab_.path("retry.txt"));
  }

  Lab lab_;
};

TEST_F(Retry, OfManyTrialsLetsOthersBeAnsweredMeanwhile) {
  ASSERT_TRUE(lab_.start_daemon());
  const Fd other = lab_.connect();
  const pid_t retry = start_retry();
  ASSERT_TRUE(comes_to_be("retrying"));
  protocol::Channel channel(other.get(), 1 << 20);
  ASSERT_TRUE(channel.send(
      protocol::encode(protocol::HelloRequest{.protocol = protocol::version, .version = "x"})));
  const auto answer = channel.receive();
  ASSERT_TRUE(answer && *answer);
  EXPECT_EQ(stored_state(), "retrying") << "the answer came after it";
  // To others it waits already, and to all it is not to be had otherwise.
  EXPECT_EQ(lab_.state(1), "queued");
  EXPECT_EQ(lab_.ctl({"rm", "1"}).code, 1);
  EXPECT_EQ(lab_.ctl({"retry", "1"}).code, 1);
  EXPECT_EQ(end_of(retry), 0);
  // On a slow machine the client says before that it waits.
  const std::string said = read_file(lab_.path("retry.txt"), 1 << 20).value();
  EXPECT_EQ(json::parse(said.substr(std::min(said.find('{'), said.size())))["trials"], count);
  EXPECT_EQ(standing(), 0U);
  EXPECT_EQ(stored_state(), "queued");
}

TEST_F(Retry, ThatAKilledDaemonHadBegunIsEndedByTheNext) {
  ASSERT_TRUE(lab_.start_daemon());
  const pid_t retry = start_retry();
  ASSERT_TRUE(comes_to_be("retrying"));
  lab_.end_daemon(SIGKILL);
  EXPECT_NE(end_of(retry), 0);
  ASSERT_EQ(stored_state(), "retrying");
  ASSERT_NE(standing(), 0U) << "it was cut short";
  ASSERT_TRUE(lab_.start_daemon());
  EXPECT_EQ(lab_.state(1), "queued");
  EXPECT_TRUE(comes_to_be("queued"));
  EXPECT_EQ(standing(), 0U);
  // And it is one that waits.
  EXPECT_EQ(lab_.ctl({"cancel", "1"}).code, 0);
  EXPECT_EQ(lab_.state(1), "cancelled");
}

}  // namespace
}  // namespace stab::test
