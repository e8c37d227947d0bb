// SPDX-License-Identifier: MIT
// What `stabctl logs` shows, of what is over and while it happens.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "base/fd.h"
#include "tests/system/lab.h"

namespace stab::test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

class Logs : public ::testing::Test {
 protected:
  // Trials wait for the file "go"; each says so before, with an escape sequence.
  void SetUp() override {
    lab_.write("b.c", "int main(void) { int unused; return 0; }\n");
    lab_.write("trial.sh",
               "#!/bin/sh\nuntil [ -e " + lab_.path("go") +
                   " ]; do sleep 0.02; done\nprintf 'a\\033[31mred line\\nand another\\n' >&2\n",
               true);
    lab_.write("plan.toml",
               "[experiment]\nname = \"says\"\n[[benchmark]]\nname = \"b\"\nrepetitions = 3\n"
               "build = \"cc -Wall -o ${OUT} b.c\"\nsources = [\"b.c\"]\nrun = [\"" +
                   lab_.path("trial.sh") + "\", \"${OUT}\"]\n");
    ASSERT_TRUE(lab_.start_daemon());
  }
  // Where trials have the only CPU, readers wait for the end of a block.
  bool is_read_beside_trials(int id) const {
    return !lab_.ctl({"status", std::to_string(id)}).out.contains("there are no others");
  }
  std::vector<std::string> follow(int id) const {
    return {std::string(STAB_BIN_DIR) + "/stabctl",
            "--socket",
            lab_.path("s.sock"),
            "logs",
            "-f",
            "--fail-on",
            "trials",
            std::to_string(id)};
  }
  static std::size_t count(const std::string& text, const std::string& part) {
    std::size_t found = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
      ++found;
    return found;
  }

  Lab lab_;
};

TEST_F(Logs, ShowWhatBuildsAndTrialsPrintedAndWhatHappenedByTime) {
  lab_.write("go", "");
  const int id = lab_.submit("plan.toml");
  ASSERT_GT(id, 0);
  ASSERT_TRUE(lab_.wait_until_final(id));
  const Output shown = lab_.ctl({"logs", std::to_string(id)});
  ASSERT_EQ(shown.code, 0) << shown.err;
  EXPECT_THAT(shown.out, HasSubstr("build of b\n    b.c:"));
  EXPECT_THAT(shown.out, HasSubstr("unused"));
  EXPECT_EQ(count(shown.out, "\n    a [31mred line\n    and another\n"), 3U) << shown.out;
  EXPECT_THAT(shown.out, Not(HasSubstr("\033")));

  const Output lines = lab_.ctl({"logs", "--json", std::to_string(id)});
  std::istringstream text(lines.out);
  std::vector<json> entries;
  for (std::string line; std::getline(text, line);) entries.push_back(json::parse(line));
  std::int64_t before = 0;
  int trials = 0;
  for (const json& entry : entries) {
    EXPECT_GE(entry["at_ns"], before);
    before = entry["at_ns"];
    if (entry["kind"] != "trial") continue;
    EXPECT_EQ(entry["text"], "a\033[31mred line\nand another\n");
    EXPECT_EQ(entry["position"], trials++);
  }
  EXPECT_EQ(trials, 3);
  // What is over is also there without a daemon.
  lab_.end_daemon(SIGTERM);
  EXPECT_EQ(lab_.ctl({"logs", "--state", lab_.path("state")}).out, shown.out);
  EXPECT_THAT(lab_.ctl({"logs", "-f", "--state", lab_.path("state")}).err,
              HasSubstr("leave out either --folder or -f"));
}

TEST_F(Logs, AreFollowedToTheEndWithoutRepeatingAnything) {
  const int id = lab_.submit("plan.toml");
  ASSERT_GT(id, 0);
  ASSERT_TRUE(lab_.wait_for(id, "running"));
  if (!is_read_beside_trials(id)) GTEST_SKIP() << "there is one CPU";
  const pid_t following = start_program(follow(id), lab_.folder(), lab_.path("followed"));
  ASSERT_TRUE(wait_for_text(lab_.path("followed"), "build of b"));
  lab_.write("go", "");
  EXPECT_EQ(end_of(following), 0);
  const std::string followed = read_file(lab_.path("followed"), 1 << 20).value();
  EXPECT_EQ(followed, lab_.ctl({"logs", std::to_string(id)}).out);
}

TEST_F(Logs, ASignalEndsFollowingAndNotTheExperiment) {
  const int id = lab_.submit("plan.toml");
  ASSERT_GT(id, 0);
  ASSERT_TRUE(lab_.wait_for(id, "running"));
  if (!is_read_beside_trials(id)) GTEST_SKIP() << "there is one CPU";
  const pid_t following = start_program(follow(id), lab_.folder(), lab_.path("followed"));
  ASSERT_TRUE(wait_for_text(lab_.path("followed"), "build of b"));
  ASSERT_EQ(kill(following, SIGINT), 0);
  EXPECT_EQ(end_of(following), 128 + SIGINT);
  lab_.write("go", "");
  ASSERT_TRUE(lab_.wait_until_final(id));
  EXPECT_EQ(lab_.state(id), "done");
}

TEST_F(Logs, OfTrialsThatFailAreInTheExitCode) {
  lab_.write("fails.toml",
             "[experiment]\nname = \"fails\"\n[[benchmark]]\nname = \"b\"\nrun = [\"sh\", \"-c\", "
             "\"echo why >&2; exit 3\"]\nrepetitions = 2\n");
  const int id = lab_.submit("fails.toml");
  const pid_t following = start_program(follow(id), lab_.folder(), lab_.path("followed"));
  EXPECT_EQ(end_of(following), 5);
  EXPECT_TRUE(wait_for_text(lab_.path("followed"), "why"));
}

}  // namespace
}  // namespace stab::test
