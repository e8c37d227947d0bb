// SPDX-License-Identifier: MIT
// Experiments that end before their last block, with the real stabd. What is compared are numbers
// that the programs print, tenfold and with a small spread, the same ones in each run of a test: no
// decision depends on the machine or on chance.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "base/fd.h"
#include "base/random.h"
#include "tests/system/lab.h"

namespace stab::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::StartsWith;

std::string plan_with(const std::string& stop) {
  return "[experiment]\nname = \"early\"\n[defaults]\nwarmup = 1\n[[benchmark]]\nname = \"b\"\n"
         "run = [\"/bin/sh\", \"-c\", \"sleep 0.02; echo >>ran; "
         "echo took $((${TIME} + $(wc -l <ran) * 5 % 8)) ns\"]\n"
         "[factor.t]\nlevels = { long = { TIME = \"1000\" }, short = { TIME = \"100\" } }\n"
         "[[measure.output]]\nname = \"took\"\nunit = \"ns\"\nregex = 'took (\\d+)'\n"
         "[analysis]\nresponse = \"took\"\n[design]\nstop = " +
         stop + "\n";
}

class Stopping : public ::testing::Test {
 protected:
  json row(int id) const {
    for (const json& each : json::parse(lab_.ctl({"list", "--json"}).out))
      if (each["id"] == id) return each;
    return {};
  }
  int run(const std::string& stop) {
    lab_.write("plan.toml", plan_with(stop));
    EXPECT_TRUE(lab_.start_daemon());
    const int id = lab_.submit("plan.toml");
    EXPECT_TRUE(lab_.wait_until_final(id));
    return id;
  }
  // Submits a plan whose first `dying` readers kill themselves.
  int run_without_readers(int dying) {
    lab_.write("plan.toml",
               plan_with("{ rule = \"precision\", half_width = \"50%\", min = 15, max = 30 }"));
    lab_.copy_stabd();
    EXPECT_TRUE(lab_.start_daemon({"--log", "debug"}));
    EXPECT_TRUE(wait_for_text(lab_.path("stabd.log"), "verified",
                              std::chrono::minutes(5)));  // by a reader, too
    EXPECT_EQ(lab_.ctl({"pause", "--queue"}).code, 0);
    const int id = lab_.submit("plan.toml");
    lab_.write("dies", std::string(static_cast<std::size_t>(dying), '.'));
    lab_.write("new",
               fmt::format("#!/bin/sh\ncd {}\n"
                           "if [ \"$1\" = --reader ] && [ -s dies ]; then\n"
                           "  truncate -s -1 dies; echo >> dead; kill -KILL $$\nfi\n"
                           "exec {} \"$@\"\n",
                           lab_.folder(), STAB_BIN_DIR "/stabd"),
               true);
    fs::rename(lab_.path("new"), lab_.path("stabd"));
    EXPECT_EQ(lab_.ctl({"resume", "--queue"}).code, 0);
    return id;
  }
  std::size_t dead_readers() const {
    return read_file(lab_.path("dead"), 65536).value_or("").size();
  }
  std::size_t measured(int id) const {
    std::size_t count = 0;
    for (const json& each : lab_.trials(id)) count += each["warmup"].get<bool>() ? 0 : 1;
    return count;
  }

  Lab lab_;
};

TEST_F(Stopping, ASequentialExperimentEndsWhenItIsDecided) {
  const int id = run("{ rule = \"sequential\", min = 10, max = 20, looks = 3 }");
  EXPECT_EQ(row(id)["state"], "done");
  EXPECT_EQ(row(id)["reason"], "stopped after 10 of 20 blocks: the comparison is decided");
  EXPECT_EQ(row(id)["stopped_by"], "rule");
  EXPECT_THAT(row(id)["trial_cpus"].get<std::string>(), MatchesRegex("[0-9][-0-9,]*"));
  EXPECT_EQ(measured(id), 20U);
  EXPECT_THAT(lab_.ctl({"list"}).out, HasSubstr("(stopped after 10 of 20 blocks"));
  EXPECT_THAT(lab_.ctl({"status", "1"}).out, HasSubstr("done: stopped after 10 of 20 blocks"));
  EXPECT_THAT(lab_.ctl({"watch", "1"}).out, HasSubstr("done: stopped after 10 of 20 blocks"));

  const json report = json::parse(lab_.ctl({"report", "1", "--json"}).out);
  EXPECT_EQ(report["stopping"]["rule"], "sequential");
  EXPECT_EQ(report["stopping"]["blocks"], 10);
  EXPECT_EQ(report["verdict"], "faster");
  const std::string text = lab_.ctl({"report", "1", "--full"}).out;
  EXPECT_THAT(text, HasSubstr("Reason    stopped after 10 of 20 blocks"));
  EXPECT_THAT(text, HasSubstr("of at most 40 planned"));
  EXPECT_THAT(joined(text), HasSubstr("looks at its data up to 3 times"));
}

TEST_F(Stopping, APreciseExperimentEndsAfterItsFewestBlocksAndItsIntervalsAreWider) {
  const int id = run("{ rule = \"precision\", half_width = \"50%\", min = 15, max = 30 }");
  EXPECT_THAT(row(id)["reason"].get<std::string>(),
              StartsWith("stopped after 15 of 30 blocks: the widest interval is +-"));
  EXPECT_EQ(measured(id), 30U);
  const json report = json::parse(lab_.ctl({"report", "1", "--json"}).out);
  EXPECT_DOUBLE_EQ(report["analysis"]["alpha"].get<double>(), 0.0375);
  EXPECT_EQ(report["stopping"]["alpha"], 0.05);
  const std::string text = lab_.ctl({"report", "1", "--full"}).out;
  EXPECT_THAT(joined(text), HasSubstr("96.25 % interval"));
  EXPECT_THAT(joined(text),
              HasSubstr("ends when every interval extends at most 50 % to either side"));
}

TEST_F(Stopping, ARuleThatIsNotMetEndsWithTheLastBlock) {
  const int id = run("{ rule = \"precision\", half_width = \"0.0001%\", min = 15, max = 16 }");
  EXPECT_EQ(row(id)["state"], "done");
  EXPECT_EQ(row(id)["reason"], "");
  EXPECT_EQ(measured(id), 32U);
  const json report = json::parse(lab_.ctl({"report", "1", "--json"}).out);
  EXPECT_THAT(report["stopping"]["words"].get<std::string>(),
              HasSubstr("; after 16 the widest interval is +-"));
}

// A reader that dies decides nothing: the rule is asked again, and the same is decided.
TEST_F(Stopping, KilledReadersDecideNothing) {
  const int id = run_without_readers(2);
  ASSERT_TRUE(lab_.wait_until_final(id));
  EXPECT_EQ(dead_readers(), 2U);
  EXPECT_EQ(row(id)["state"], "done");
  EXPECT_THAT(row(id)["reason"].get<std::string>(), StartsWith("stopped after 15 of 30 blocks"));
  EXPECT_EQ(measured(id), 30U);
}

// A rule that never answers keeps nobody waiting for ever, and nothing is decided without it.
TEST_F(Stopping, WithoutAnAnswerTheExperimentGivesItsTurnAwayAndARetryGoesOn) {
  const int id = run_without_readers(1000);
  ASSERT_TRUE(lab_.wait_until_final(id));
  EXPECT_EQ(row(id)["state"], "failed");
  EXPECT_THAT(row(id)["reason"].get<std::string>(),
              HasSubstr("the stopping rule cannot be evaluated"));
  const std::size_t dead = dead_readers();
  EXPECT_GT(dead, 2U);
  lab_.write("dies", "");
  EXPECT_EQ(measured(id), 30U);
  EXPECT_EQ(lab_.ctl({"retry", std::to_string(id)}).code, 0);
  ASSERT_TRUE(lab_.wait_for(id, "done"));
  EXPECT_EQ(dead_readers(), dead);
  EXPECT_THAT(row(id)["reason"].get<std::string>(), StartsWith("stopped after 15 of 30 blocks"));
}

// Wherever the daemon dies, also between the last trial and the decision, the same trials are run
// and the same is decided.
TEST_F(Stopping, AKilledDaemonDecidesAgain) {
  lab_.write("plan.toml",
             plan_with("{ rule = \"precision\", half_width = \"50%\", min = 15, max = 30 }"));
  ASSERT_TRUE(lab_.start_daemon());
  const int id = lab_.submit("plan.toml");
  Random random(11);
  std::map<int, std::int64_t> seen;
  for (int kills = 0; kills < 12; ++kills) {
    usleep(static_cast<useconds_t>(100'000 + random.below(200'000)));
    lab_.end_daemon(SIGKILL);
    ASSERT_TRUE(lab_.start_daemon());
    std::map<int, std::int64_t> now;
    for (const json& each : lab_.trials(id))
      now[each["position"].get<int>()] = each["started_ns"].get<std::int64_t>();
    for (const auto& [position, started] : seen) EXPECT_EQ(now[position], started);
    seen = std::move(now);
  }
  ASSERT_TRUE(lab_.wait_until_final(id));
  EXPECT_EQ(row(id)["state"], "done");
  EXPECT_THAT(row(id)["reason"].get<std::string>(), StartsWith("stopped after 15 of 30 blocks"));
  EXPECT_EQ(measured(id), 30U);
}

}  // namespace
}  // namespace stab::test
