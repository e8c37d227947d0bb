// SPDX-License-Identifier: MIT
// A stored trial is run again and does what it did: the same layout, the same output.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "base/hash.h"
#include "tests/system/lab.h"

namespace stab::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;

// Prints where its code, stack and heap are, and what it was given.
constexpr const char* program = R"(
#include <stdio.h>
#include <stdlib.h>
__attribute__((noinline)) static void *here(void) { return __builtin_return_address(0); }
__attribute__((noinline)) static void show(void) {
  int local;
  void *blocks[3] = {malloc(24), malloc(200), malloc(24)};
  printf("%p %p %p %p %p\n", here(), (void *)&local, blocks[0], blocks[1], blocks[2]);
}
int main(void) {
  char line[100] = "";
  show();
  printf("%s %s\n", getenv("FLAVOUR"), fgets(line, sizeof line, stdin) ? line : "nothing");
  return 3;
}
)";

constexpr const char* plan = R"(
[experiment]
name = "again"
seed = 5
[variables]
CC = "szc"
[defaults]
repetitions = 3
[[benchmark]]
name = "b"
build = "${CC} -O1 ${LDFLAGS} -o ${OUT} b.c"
sources = ["b.c"]
run = ["${OUT}", "a word"]
stdin = "input"
prepare = "echo given > input"
cleanup = "rm input"
env = { FLAVOUR = "it's \"sweet\"" }
[benchmark.check]
exit = 3
[factor.heap]
levels = [false, true]
[randomize]
code = true
stack = true
rerandomize = "once"
)";

class Replay : public ::testing::Test {
 protected:
  void SetUp() override {
    lab_.write("b.c", program);
    lab_.write("plan.toml", plan);
    ASSERT_TRUE(lab_.start_daemon());
    ASSERT_EQ(lab_.submit("plan.toml"), 1);
    ASSERT_TRUE(lab_.wait_until_final(1));
    ASSERT_EQ(lab_.state(1), "done");
  }
  Output replay(std::vector<std::string> more) const {
    more.insert(more.begin(), {"replay", "1"});
    return lab_.ctl(more);
  }
  json trial(const std::string& position) const {
    return json::parse(replay({position, "--json"}).out);
  }

  Lab lab_;
};

TEST_F(Replay, ATrialDoesWhatItDid) {
  const json rows = lab_.trials(1);
  ASSERT_THAT(rows, SizeIs(6));
  std::set<std::string> outputs;
  for (const json& row : rows) {
    ASSERT_EQ(row["status"], "ok") << row;
    const std::string position = row["position"].dump();
    const Output again = replay({position});
    EXPECT_EQ(again.code, 3) << again.err;
    EXPECT_THAT(again.out, HasSubstr("it's \"sweet\" given\n"));
    EXPECT_EQ(json(sha256_hex(again.out)), row["stdout_sha256"]) << again.out;
    outputs.insert(again.out);
    // Behind other words, and by a shell.
    EXPECT_EQ(replay({position, "--", "nice", "-n", "1"}).out, again.out);
    // What the trial prepared is prepared again.
    fs::remove(lab_.path("input"));
    const Output printed = replay({position, "--print"});
    EXPECT_EQ(printed.code, 0);
    const Output shell = run_program({"/bin/sh", "-c", printed.out}, "/");
    EXPECT_EQ(shell.out, again.out) << printed.out;
    EXPECT_EQ(shell.code, 3);
  }
  EXPECT_THAT(outputs, SizeIs(6));  // each has its own seed
}

TEST_F(Replay, JsonSaysWhatWasRun) {
  const json said = trial("2");
  const json row = lab_.trials(1)[2];
  for (const char* field : {"position", "attempt", "block", "benchmark", "status", "stdout_sha256"})
    EXPECT_EQ(said[field], row[field]) << field;
  EXPECT_EQ(said["id"], 1);
  EXPECT_EQ(said["uid"], geteuid());
  EXPECT_EQ(said["levels"]["heap"], row["heap"]);
  EXPECT_EQ(said["seed"], row["seed"]);
  EXPECT_EQ(said["run"]["options"]["seed"], said["seed"]);
  EXPECT_EQ(said["run"]["argv"], (json{said["out"], "a word"}));
  EXPECT_EQ(said["run"]["env"]["FLAVOUR"], "it's \"sweet\"");
  EXPECT_EQ(said["run"]["stdin"], lab_.path("input"));
}

TEST_F(Replay, OfWhatIsNotThereAnErrorSaysWhy) {
  const Output none = replay({"6"});
  EXPECT_EQ(none.code, 1);
  EXPECT_THAT(none.err, HasSubstr("trial 6 of experiment 1 has not been run"));
  EXPECT_THAT(replay({"2", "--attempt", "7"}).err, HasSubstr("there is no attempt 7 at trial 2"));
  EXPECT_THAT(lab_.ctl({"replay", "7", "0"}).err, HasSubstr("there is no experiment 7"));

  // The program that was measured, and no other.
  const std::string out = trial("2")["out"];
  fs::rename(out, out + ".kept");
  EXPECT_THAT(replay({"2"}).err, HasSubstr("is no longer in the build cache"));
  fs::copy_file("/bin/true", out);
  const Output other = replay({"2"});
  EXPECT_EQ(other.code, 1);
  EXPECT_THAT(other.err, HasSubstr("is not the program that was measured"));
}

// Also root's has no rights that the trial did not have.
TEST_F(Replay, RightsAndStdinAreThoseOfTheTrial) {
  lab_.write("show.sh",
             "#!/bin/sh\ngrep -E '^(CapEff|CapBnd|NoNewPrivs)' /proc/self/status; wc -c\n", true);
  lab_.write("rights.toml",
             "[experiment]\nname = \"rights\"\n[[benchmark]]\nname = \"b\"\nrun = "
             "[\"./show.sh\"]\nrepetitions = 1\n");
  ASSERT_EQ(lab_.submit("rights.toml"), 2);
  ASSERT_TRUE(lab_.wait_until_final(2));
  const json wanted = lab_.trials(2)[0]["stdout_sha256"];
  const std::string stabctl =
      std::string(STAB_BIN_DIR) + "/stabctl --socket " + lab_.path("s.sock") + " replay 2 0";
  const auto shell = [&](const std::string& command) {
    return run_program({"/bin/sh", "-c", command}, lab_.folder()).out;
  };
  const std::string again = shell("echo 12345 | " + stabctl);
  EXPECT_THAT(again, AllOf(HasSubstr("CapEff:\t0000000000000000"), HasSubstr("\n0\n")));
  if (geteuid() == 0) EXPECT_EQ(json(sha256_hex(again)), wanted) << again;
  EXPECT_EQ(shell("echo 12345 | eval \"$(" + stabctl + " --print)\""), again);
  // Behind other words it is the caller's; they are found where the caller finds them.
  lab_.write("own/before", "#!/bin/sh\necho before; exec \"$@\"\n", true);
  const std::string before = shell("echo 12345 | PATH=$PWD/own:$PATH " + stabctl + " -- before");
  EXPECT_THAT(before, AllOf(StartsWith("before\n"), HasSubstr("\n6\n")));
}

// Without namespaces, trials have one more environment variable, which moves the stack by 8 bytes.
// The kernel aligns the stack to 16 bytes, so with some numbers of arguments nothing moves.
TEST(ReplayWithoutNamespaces, HasTheLayoutOfTheTrial) {
  Lab lab;
  lab.write("b.c", program);
  ASSERT_TRUE(lab.start_daemon({"--no-namespaces"}));
  int id = 0;
  for (const std::string more : {"", ", \"another\""}) {
    std::string text = plan;
    const std::string words = "\"a word\"";
    text.insert(text.find(words) + words.size(), more);
    lab.write("plan.toml", text);
    ASSERT_EQ(lab.submit("plan.toml"), ++id);
    ASSERT_TRUE(lab.wait_until_final(id));
    for (const json& row : lab.trials(id)) {
      ASSERT_EQ(row["status"], "ok") << row;
      const Output again = lab.ctl({"replay", std::to_string(id), row["position"].dump()});
      EXPECT_EQ(json(sha256_hex(again.out)), row["stdout_sha256"]) << again.out << again.err;
    }
  }
}

TEST(ReplayOfARun, NeedsNoDaemon) {
  const Lab lab;
  lab.write("b.c", program);
  lab.write("input", "given\n");
  lab.write("plan.toml", plan);
  const std::string stabctl = std::string(STAB_BIN_DIR) + "/stabctl";
  setenv("XDG_CACHE_HOME", lab.path("xdg").c_str(), 1);
  const Output run = run_program(
      {stabctl, "run", "--state", lab.path("left"), "--fail-on", "none", lab.path("plan.toml")},
      "/");
  ASSERT_EQ(run.code, 0) << run.err;
  const json rows = json::parse(
      run_program({stabctl, "export", "--state", lab.path("left"), "--format", "json"}, "/").out);
  const Output again = run_program({stabctl, "replay", "--state", lab.path("left"), "1", "4"}, "/");
  EXPECT_EQ(again.code, 3) << again.err;
  EXPECT_EQ(json(sha256_hex(again.out)), rows[4]["stdout_sha256"]);

  // Who wrote the file says what is run.
  if (geteuid() != 0) return;
  ASSERT_EQ(chown(lab.path("left/stabd.db").c_str(), 61234, 61234), 0);
  const Output refused =
      run_program({stabctl, "replay", "--state", lab.path("left"), "1", "4"}, "/");
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.err, HasSubstr("belongs to user 61234"));
}

}  // namespace
}  // namespace stab::test
