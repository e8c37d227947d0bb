// SPDX-License-Identifier: MIT
// Whose turn it is: priorities, pausing, trying again; all through stabctl.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <nlohmann/json.hpp>
#include <string>

#include "protocol/lines.h"
#include "protocol/messages.h"
#include "tests/system/lab.h"

namespace stab::test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

class Queue : public ::testing::Test {
 protected:
  void SetUp() override {
    lab_.write("long.toml", plan("long", 500, "sleep 0.02"));
    lab_.write("short.toml", plan("short", 2, "true"));
    ASSERT_TRUE(lab_.start_daemon());
  }

  static std::string plan(const std::string& name, int repetitions, const std::string& command) {
    return "[experiment]\nname = \"" + name + "\"\n[[benchmark]]\nname = \"b\"\nrun = [\"sh\", " +
           "\"-c\", \"" + command +
           "\"]\ntimeout = \"1h\"\nrepetitions = " + std::to_string(repetitions) + "\n";
  }

  json listed(int id) const {
    for (const json& row : json::parse(lab_.ctl({"list", "--json"}).out))
      if (row["id"] == id) return row;
    return {};
  }

  // One that runs until it is cancelled, so that others wait.
  int occupy() {
    const int id = lab_.submit("long.toml");
    EXPECT_TRUE(lab_.wait_for(id, "running"));
    return id;
  }

  void end(int id) {
    EXPECT_EQ(lab_.ctl({"cancel", std::to_string(id)}).code, 0);
    EXPECT_TRUE(lab_.wait_until_final(id));
  }

  Lab lab_;
};

TEST_F(Queue, AHigherPriorityGoesFirst) {
  const int running = occupy();
  const int first = lab_.submit("short.toml");
  const Output urgent = lab_.ctl({"submit", "--priority", "5", "--json", lab_.path("short.toml")});
  ASSERT_EQ(urgent.code, 0) << urgent.err;
  const int second = json::parse(urgent.out)["id"];
  EXPECT_EQ(listed(second)["place"], 1);
  EXPECT_EQ(listed(second)["priority"], 5);
  EXPECT_EQ(listed(first)["place"], 2);
  EXPECT_TRUE(listed(running)["place"].is_null());
  EXPECT_THAT(lab_.ctl({"list"}).out, HasSubstr("next, priority 5"));
  end(running);
  ASSERT_TRUE(lab_.wait_until_final(first));
  EXPECT_LT(listed(second)["started_ns"], listed(first)["started_ns"]);
}

TEST_F(Queue, APausedExperimentLetsOthersPassAndGoesOnWhereItWas) {
  lab_.write("long.toml", plan("long", 60, until_go(10)));
  const int id = occupy();
  ASSERT_TRUE(lab_.wait_for_trials(id, 10));
  const int next = lab_.submit("short.toml");
  const Output paused = lab_.ctl({"pause", std::to_string(id)});
  EXPECT_EQ(paused.code, 0) << paused.err;
  ASSERT_TRUE(lab_.wait_until_final(next));
  EXPECT_EQ(lab_.state(next), "done");
  EXPECT_EQ(lab_.state(id), "paused");
  EXPECT_EQ(listed(id)["held_by"], geteuid());
  EXPECT_TRUE(listed(id)["place"].is_null());
  const std::size_t before = lab_.trials(id).size();
  EXPECT_EQ(before, 10U);

  // A new daemon keeps it so.
  lab_.end_daemon(SIGKILL);
  ASSERT_TRUE(lab_.start_daemon());
  ASSERT_TRUE(lab_.wait_until_final(lab_.submit("short.toml")));
  EXPECT_EQ(lab_.state(id), "paused");
  EXPECT_EQ(lab_.trials(id).size(), before);

  lab_.write("go", "");
  EXPECT_EQ(lab_.ctl({"resume", std::to_string(id)}).code, 0);
  ASSERT_TRUE(lab_.wait_until_final(id));
  EXPECT_EQ(lab_.state(id), "done");
  EXPECT_EQ(lab_.trials(id).size(), 60U);
  const Output again = lab_.ctl({"resume", std::to_string(id)});
  EXPECT_EQ(again.code, 1);
  EXPECT_THAT(again.err, HasSubstr("is not paused"));
}

TEST_F(Queue, AWaitingExperimentCanBePausedAndCancelled) {
  const int running = occupy();
  const int waiting = lab_.submit("short.toml");
  EXPECT_EQ(lab_.ctl({"pause", std::to_string(waiting)}).code, 0);
  EXPECT_EQ(lab_.state(waiting), "paused");
  end(running);
  EXPECT_EQ(lab_.state(waiting), "paused");
  EXPECT_EQ(lab_.ctl({"cancel", std::to_string(waiting)}).code, 0);
  EXPECT_EQ(lab_.state(waiting), "cancelled");
}

TEST_F(Queue, APausedQueueBeginsNothingAlsoAfterAKill) {
  EXPECT_EQ(lab_.ctl({"pause", "--queue"}).code, 0);
  const int id = lab_.submit("short.toml");
  EXPECT_EQ(lab_.state(id), "queued");
  lab_.end_daemon(SIGKILL);
  ASSERT_TRUE(lab_.start_daemon());
  EXPECT_EQ(lab_.state(id), "queued");
  EXPECT_THAT(lab_.ctl({"list"}).out, HasSubstr("the queue is paused"));
  EXPECT_EQ(lab_.ctl({"resume", "--queue"}).code, 0);
  ASSERT_TRUE(lab_.wait_until_final(id));
  EXPECT_EQ(lab_.state(id), "done");
}

TEST_F(Queue, PauseWantsExperimentsOrTheQueue) {
  for (const std::vector<std::string>& wrong :
       {std::vector<std::string>{"pause"}, {"pause", "--queue", "1"}, {"resume"}}) {
    const Output refused = lab_.ctl(wrong);
    EXPECT_EQ(refused.code, 1);
    EXPECT_THAT(refused.err,
                HasSubstr("name one or more experiments, or use --queue for the whole queue"));
  }
}

TEST_F(Queue, ARetryGoesOnWithWhatWasCancelled) {
  lab_.write("long.toml", plan("long", 60, until_go(10)));
  const int id = occupy();
  ASSERT_TRUE(lab_.wait_for_trials(id, 10));
  const Output early = lab_.ctl({"retry", std::to_string(id)});
  EXPECT_EQ(early.code, 1);
  EXPECT_THAT(early.err, HasSubstr("has not ended yet"));
  end(id);
  const json before = lab_.trials(id);
  ASSERT_EQ(before.size(), 10U);
  lab_.write("go", "");
  const Output retried = lab_.ctl({"retry", std::to_string(id)});
  EXPECT_EQ(retried.code, 0) << retried.err;
  ASSERT_TRUE(lab_.wait_for(id, "done"));
  const json after = lab_.trials(id);
  ASSERT_EQ(after.size(), 60U);
  for (std::size_t i = 0; i < before.size(); ++i) EXPECT_EQ(after[i], before[i]);
}

TEST_F(Queue, ARetryMeasuresOnceMoreWhatFailed) {
  // Fails until the file is there.
  lab_.write("fails.toml", plan("fails", 6, "test -e " + lab_.path("mended")));
  const int id = lab_.submit("fails.toml");
  ASSERT_TRUE(lab_.wait_until_final(id));
  EXPECT_EQ(lab_.ctl({"compare", "--fail-on", "trials", std::to_string(id)}).code, 5);
  lab_.write("mended", "");
  const Output retried = lab_.ctl({"retry", "--json", std::to_string(id)});
  ASSERT_EQ(retried.code, 0) << retried.err;
  EXPECT_EQ(json::parse(retried.out)["trials"], 6);
  ASSERT_TRUE(lab_.wait_for(id, "done"));
  int standing = 0;
  for (const json& trial : lab_.trials(id)) {
    if (!trial["last"].get<bool>()) continue;
    ++standing;
    EXPECT_EQ(trial["status"], "ok");
    EXPECT_EQ(trial["attempt"], 1);
  }
  EXPECT_EQ(standing, 6);
  const Output once_more = lab_.ctl({"retry", std::to_string(id)});
  EXPECT_EQ(once_more.code, 1);
  EXPECT_THAT(once_more.err, HasSubstr("succeeded: submit its plan to measure them again"));
}

TEST_F(Queue, ARetryBuildsWhatHasBeenMendedSince) {
  lab_.write("b.c", "this is no C");
  lab_.write("builds.toml",
             "[experiment]\nname = \"builds\"\n[[benchmark]]\nname = \"b\"\nrepetitions = 2\n"
             "build = \"${CC} -o ${OUT} b.c\"\nsources = [\"b.c\"]\nrun = [\"${OUT}\"]\n");
  const int id = lab_.submit("builds.toml");
  ASSERT_TRUE(lab_.wait_until_final(id));
  lab_.write("b.c", "int main(void) { return 0; }\n");
  EXPECT_EQ(lab_.ctl({"retry", std::to_string(id)}).code, 0);
  ASSERT_TRUE(lab_.wait_until_final(id));
  const Output ended = lab_.ctl({"watch", "--fail-on", "trials", std::to_string(id)});
  EXPECT_EQ(ended.code, 0) << ended.out;
}

TEST_F(Queue, AClientThatSendsMuchBeforeItReadsIsAnsweredInTurn) {
  // Requests of one connection are answered in turn, however many it sends before it reads.
  const Fd client = lab_.connect();
  std::string text =
      "{\"verb\":\"hello\",\"protocol\":" + std::to_string(protocol::version) + "}\n";
  for (int i = 0; i < 2000; ++i) text += "{\"verb\":\"version\"}\n";
  ASSERT_TRUE(write_all(client.get(), text));
  protocol::LineBuffer lines(1 << 20);
  int answers = 0;
  while (answers < 2001) {
    std::array<char, 65536> piece{};
    const ssize_t got = read(client.get(), piece.data(), piece.size());
    ASSERT_GT(got, 0);
    ASSERT_TRUE(lines.add(std::string_view(piece.data(), static_cast<std::size_t>(got))));
    while (const auto line = lines.next()) {
      EXPECT_THAT(*line, HasSubstr("\"ok\":true"));
      ++answers;
    }
  }
}

}  // namespace
}  // namespace stab::test
