// SPDX-License-Identifier: MIT
// SIGKILL at random instants: of the daemon, of the worker, of both. A new daemon must go on where
// the store ends, and no process of what was interrupted may be alive when it begins.
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "base/random.h"
#include "tests/system/lab.h"

namespace stab::test {
namespace {

using nlohmann::json;

constexpr std::uint64_t seed = 20261;

// A trial and the build of each level hold a lock, leave children behind that hold it too, and fail
// if it is taken: then an earlier process is still alive.
constexpr const char* hold_lock = R"(exec 9>"$1"
flock -n 9 || { echo "an earlier process is alive" >&2; exit 42; }
setsid sleep 1000 </dev/null >/dev/null 2>&1 &
(setsid sleep 1000 </dev/null >/dev/null 2>&1 &)
)";

class Recovery : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    lab_.write("program.sh",
               std::string("#!/bin/sh\n") + hold_lock + "sleep 0.01\necho done >> log.txt\n", true);
    lab_.write("build.sh",
               std::string("#!/bin/sh\n") + hold_lock + "sleep 0.02\necho \"$2\" > \"$3\"\n", true);
    lab_.write("plan.toml",
               "[experiment]\nname = \"killed\"\nseed = 3\n[defaults]\nrepetitions = " +
                   std::to_string(blocks_) +
                   "\ngive_up_after = 0\n"
                   "[[benchmark]]\nname = \"leaves-children\"\n"
                   "build = \"./build.sh " +
                   lab_.path("build.lock") +
                   ".${LEVEL} ${LEVEL} ${OUT}\"\n"
                   "run = [\"./program.sh\", \"" +
                   lab_.path("trial.lock") +
                   "\", \"${OUT}\"]\n"
                   "[factor.level]\nlevels = { a = { LEVEL = \"1\" }, b = { LEVEL = \"2\" }, c = { "
                   "LEVEL = \"3\" }, d = { LEVEL = \"4\" } }\n");
    if (!GetParam()) arguments_ = {"--no-namespaces"};
    ASSERT_TRUE(lab_.start_daemon(arguments_));
  }

  void kill_something(Random& random) {
    usleep(static_cast<useconds_t>(random.below(150'000)));
    const pid_t worker = lab_.worker();
    std::uint64_t what = random.below(3);
    // A daemon gives an experiment up whose workers die again and again without a result; a new
    // daemon does not.
    if (what == 1 && seen_.size() == seen_at_worker_kill_) what = 2;
    if (what == 1) seen_at_worker_kill_ = seen_.size();
    if (what != 0 && worker != 0) kill(worker, SIGKILL);
    if (what == 1) return;  // the daemon goes on with another worker
    lab_.end_daemon(SIGKILL);
    ASSERT_TRUE(lab_.start_daemon(arguments_));
  }

  // What the store holds can only grow.
  void expect_kept(const json& rows) {
    std::map<std::uint64_t, std::int64_t> now;
    for (const json& row : rows)
      now[row["position"].get<std::uint64_t>()] = row["started_ns"].get<std::int64_t>();
    for (const auto& [position, started] : seen_)
      EXPECT_EQ(now[position], started) << "a stored trial was lost or run again";
    seen_ = std::move(now);
  }

  Lab lab_;
  const int kills_ = times(20, 200);
  const int blocks_ = times(40, 500);
  std::vector<std::string> arguments_;
  std::map<std::uint64_t, std::int64_t> seen_;  // when each stored trial started
  std::size_t seen_at_worker_kill_ = 0;
};

INSTANTIATE_TEST_SUITE_P(Namespaces, Recovery, ::testing::Bool());

TEST_P(Recovery, NoTrialIsLostOrRepeatedAndNothingIsAliveAfterAKill) {
  const int id = lab_.submit("plan.toml");
  ASSERT_NE(id, 0);
  Random random(seed);
  for (int i = 0; i < kills_; ++i) {
    kill_something(random);
    expect_kept(lab_.trials(id));
  }
  ASSERT_TRUE(lab_.wait_until_final(id, std::chrono::minutes(10)))
      << lab_.ctl({"status", std::to_string(id)}).out;
  EXPECT_EQ(lab_.state(id), "done") << lab_.ctl({"status", std::to_string(id)}).out;

  const json rows = lab_.trials(id);
  expect_kept(rows);
  std::set<std::uint64_t> positions;
  for (const json& row : rows) {
    EXPECT_EQ(row["status"], "ok") << row;
    EXPECT_EQ(row["attempt"], 0);
    EXPECT_TRUE(positions.insert(row["position"].get<std::uint64_t>()).second);
  }
  EXPECT_EQ(positions.size(), 4 * static_cast<std::size_t>(blocks_));
}

}  // namespace
}  // namespace stab::test
