// SPDX-License-Identifier: MIT
// What becomes of a run, a watch and a cancel when somebody interrupts them, and of times when the
// clock jumps.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "base/fd.h"
#include "tests/system/lab.h"

namespace stab::test {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* long_plan =
    "[experiment]\nname = \"long\"\n[[benchmark]]\nname = \"b\"\nrun = [\"sleep\", "
    "\"0.05\"]\nrepetitions = 5000\n";
// Its first trials run at once.
const std::string short_plan = waiting_plan("short", 40, 10);

class Interrupted : public ::testing::Test {
 protected:
  void SetUp() override {
    lab_.write("long.toml", long_plan);
    lab_.write("short.toml", short_plan);
  }

  std::vector<std::string> run_of(const std::string& plan, const std::string& state) const {
    return {std::string(STAB_BIN_DIR) + "/stabctl",
            "run",
            "--fail-on",
            "trials",
            "--state",
            state,
            lab_.path(plan)};
  }

  pid_t start_run(const std::string& plan) const {
    return start_program(run_of(plan, lab_.path("run")), lab_.folder(), out());
  }

  pid_t start_ctl(const std::vector<std::string>& arguments) const {
    std::vector<std::string> argv{std::string(STAB_BIN_DIR) + "/stabctl", "--socket",
                                  lab_.path("s.sock")};
    argv.insert(argv.end(), arguments.begin(), arguments.end());
    return start_program(argv, lab_.folder(), out());
  }

  // The trials of short.toml.
  void let_run() const { lab_.write("go", ""); }
  void let_wait() const {
    for (const char* file : {"go", "began"}) unlink(lab_.path(file).c_str());
  }

  std::string out() const { return lab_.path("out.txt"); }
  std::string said() const { return read_file(out(), 1 << 20).value_or(""); }

  std::string trials_of_run() const {
    return run_program({"/usr/bin/sqlite3", lab_.path("run/stabd.db"),
                        "select count(*), count(distinct position), "
                        "(select count(*) from experiment) from trial"},
                       lab_.folder())
        .out;
  }

  Lab lab_;
};

TEST_F(Interrupted, ASignalPausesARunAndTheSameCommandGoesOn) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    let_wait();
    const pid_t run = start_run("short.toml");
    ASSERT_TRUE(wait_for_text(out(), " of 40 trials"));
    kill(run, signal);
    EXPECT_EQ(end_of(run), 128 + signal);
    EXPECT_THAT(said(), HasSubstr("paused; to continue: stabctl run --folder "));
    EXPECT_THAT(said(), Not(HasSubstr("cancel")));
  }
  let_run();
  const Output rest = run_program(run_of("short.toml", lab_.path("run")), lab_.folder());
  EXPECT_EQ(rest.code, 0) << rest.err;
  EXPECT_THAT(rest.err, HasSubstr("experiment 1 continues where it was interrupted"));
  EXPECT_EQ(trials_of_run(), "40|40|1\n");
}

TEST_F(Interrupted, ARunWithoutAFolderGoesOnInTheOneThatItBeganWith) {
  if (!own_state_folder(lab_.path("xdg"))) GTEST_SKIP() << "mounts of our own are not allowed here";
  const std::vector<std::string> argv{std::string(STAB_BIN_DIR) + "/stabctl", "run", "--fail-on",
                                      "trials", lab_.path("short.toml")};
  // Two at the same time have a folder each.
  const pid_t first = start_program(argv, lab_.folder(), out());
  ASSERT_TRUE(wait_for_text(out(), " of 40 trials"));
  const pid_t second = start_program(argv, lab_.folder(), lab_.path("second.txt"));
  ASSERT_TRUE(wait_for_text(lab_.path("second.txt"), " of 40 trials"));
  for (const pid_t run : {first, second}) kill(run, SIGINT);
  for (const pid_t run : {first, second}) EXPECT_EQ(end_of(run), 128 + SIGINT);
  EXPECT_THAT(read_file(lab_.path("second.txt"), 1 << 20).value_or(""),
              Not(HasSubstr("continues where")));
  let_run();
  lab_.write("other.toml", short_plan + "output_limit = 1000\n");
  auto other = argv;
  other.back() = lab_.path("other.toml");
  EXPECT_THAT(run_program(other, lab_.folder()).err, Not(HasSubstr("continues where")));
  for (int i = 0; i < 2; ++i) {
    const Output rest = run_program(argv, lab_.folder());
    EXPECT_EQ(rest.code, 0) << rest.err;
    EXPECT_THAT(rest.err, HasSubstr("experiment 1 continues where it was interrupted"));
  }
  // They have ended: the next call measures.
  let_wait();
  const pid_t next = start_program(argv, lab_.folder(), out());
  ASSERT_TRUE(wait_for_text(out(), " of 40 trials"));
  kill(next, SIGINT);
  EXPECT_EQ(end_of(next), 128 + SIGINT);
  EXPECT_THAT(said(), Not(HasSubstr("continues where")));
  EXPECT_THAT(said(), Not(HasSubstr("has ended")));
  drop_state_folder();
}

TEST_F(Interrupted, ARunThatContinuesInANamedFolderIsNotContinuedBesideThat) {
  if (!own_state_folder(lab_.path("xdg"))) GTEST_SKIP() << "mounts of our own are not allowed here";
  const std::string stabctl = std::string(STAB_BIN_DIR) + "/stabctl";
  const std::vector<std::string> argv{stabctl, "run", "--fail-on", "trials",
                                      lab_.path("short.toml")};
  const auto interrupted = [&](const std::vector<std::string>& words, const std::string& file) {
    const pid_t run = start_program(words, lab_.folder(), file);
    EXPECT_TRUE(wait_for_text(file, " of 40 trials"));
    return run;
  };
  const pid_t first = interrupted(argv, out());
  kill(first, SIGINT);
  EXPECT_EQ(end_of(first), 128 + SIGINT);
  const json runs = json::parse(run_program({stabctl, "runs", "--json"}, lab_.folder()).out);
  ASSERT_EQ(runs.size(), 1U) << runs;
  auto named = argv;
  named.insert(named.end(), {"--folder", runs[0].at("folder").get<std::string>()});
  const pid_t there = interrupted(named, lab_.path("named.txt"));
  EXPECT_THAT(read_file(lab_.path("named.txt"), 1 << 20).value_or(""),
              HasSubstr("continues where"));
  const pid_t beside = interrupted(argv, lab_.path("beside.txt"));
  EXPECT_THAT(read_file(lab_.path("beside.txt"), 1 << 20).value_or(""),
              Not(HasSubstr("continues where")));
  for (const pid_t run : {there, beside}) kill(run, SIGINT);
  for (const pid_t run : {there, beside}) EXPECT_EQ(end_of(run), 128 + SIGINT);
  drop_state_folder();
}

TEST_F(Interrupted, AFinishedRunShowsItsReportUntilItIsToMeasureAgain) {
  let_run();
  const auto argv = run_of("short.toml", lab_.path("run"));
  const Output first = run_program(argv, lab_.folder());
  ASSERT_EQ(first.code, 0) << first.err;
  const Output second = run_program(argv, lab_.folder());
  EXPECT_EQ(second.code, 0);
  EXPECT_EQ(second.out, first.out);
  EXPECT_THAT(second.err, HasSubstr("use --again to measure again"));
  EXPECT_EQ(trials_of_run(), "40|40|1\n");
  auto again = argv;
  again.emplace_back("--again");
  EXPECT_EQ(run_program(again, lab_.folder()).code, 0);
  EXPECT_EQ(trials_of_run(), "80|40|2\n");
}

TEST_F(Interrupted, AgainBeginsAnewBesideAnInterruptedRun) {
  const pid_t run = start_run("short.toml");
  ASSERT_TRUE(wait_for_text(out(), " of 40 trials"));
  kill(run, SIGINT);
  ASSERT_EQ(end_of(run), 128 + SIGINT);
  auto argv = run_of("short.toml", lab_.path("run"));
  argv.emplace_back("--again");
  const pid_t again = start_program(argv, lab_.folder(), out());
  ASSERT_TRUE(wait_for_text(out(), " of 40 trials"));
  kill(again, SIGINT);
  EXPECT_EQ(end_of(again), 128 + SIGINT);
  EXPECT_THAT(said(), Not(HasSubstr("continues where")));
  const std::string states = run_program({"/usr/bin/sqlite3", lab_.path("run/stabd.db"),
                                          "select group_concat(state) from experiment"},
                                         lab_.folder())
                                 .out;
  EXPECT_THAT(states, HasSubstr("cancelled,"));
}

TEST_F(Interrupted, AKilledRunLeavesNothingOutsideItsFolderAndGoesOn) {
  const pid_t run = start_run("short.toml");
  ASSERT_TRUE(wait_for_text(out(), " of 40 trials"));
  // All that the run made is in its own folder.
  EXPECT_TRUE(fs::is_socket(lab_.path("run/run.sock")));
  kill(run, SIGKILL);
  EXPECT_EQ(end_of(run), -SIGKILL);
  let_run();
  // The daemon of the killed run ends by itself; until then the database is its own.
  Output rest;
  for (int i = 0; i < 300 && rest.code != 0; ++i) {
    rest = run_program(run_of("short.toml", lab_.path("run")), lab_.folder());
    if (rest.code != 0) std::this_thread::sleep_for(200ms);
  }
  EXPECT_EQ(rest.code, 0) << rest.err;
  EXPECT_EQ(trials_of_run(), "40|40|1\n");
}

TEST_F(Interrupted, CtrlCEndsARunThatWaitsForAFullDisk) {
  if (geteuid() != 0 || unshare(CLONE_NEWNS) != 0 ||
      mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
    GTEST_SKIP() << "mounts of our own are not allowed here";
  fs::create_directory(lab_.path("run"));
  ASSERT_EQ(mount("tmpfs", lab_.path("run").c_str(), "tmpfs", 0, "size=1m"), 0);
  const pid_t run = start_run("long.toml");
  ASSERT_TRUE(wait_for_text(out(), " of 5000 trials"));
  const Fd filler(open(lab_.path("run/filler").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  const std::string bytes(4096, 'x');
  while (write_all(filler.get(), bytes)) {
  }
  ASSERT_TRUE(wait_for_text(out(), "paused: "));
  kill(run, SIGINT);
  EXPECT_EQ(end_of(run), 128 + SIGINT);
  umount2(lab_.path("run").c_str(), MNT_DETACH);
}

TEST_F(Interrupted, WatchingAndWaitingEndWithTheSignalAndTheExperimentGoesOn) {
  ASSERT_TRUE(lab_.start_daemon());
  const pid_t wait = start_ctl({"submit", "--wait", lab_.path("long.toml")});
  ASSERT_TRUE(wait_for_text(out(), " of 5000 trials"));
  kill(wait, SIGTERM);
  EXPECT_EQ(end_of(wait), 128 + SIGTERM);
  const pid_t watch = start_ctl({"watch", "1"});
  ASSERT_TRUE(wait_for_text(out(), " of 5000 trials"));
  kill(watch, SIGINT);
  EXPECT_EQ(end_of(watch), 128 + SIGINT);
  EXPECT_THAT(said(), HasSubstr("experiment 1 continues"));
  EXPECT_EQ(lab_.state(1), "running");
}

TEST_F(Interrupted, CancelledIsSaidWhenNothingIsAliveAnyMore) {
  ASSERT_TRUE(lab_.start_daemon());
  const int id = lab_.submit("long.toml");
  ASSERT_TRUE(lab_.wait_for(id, "running"));
  // A worker that cannot hear is ended by force, after a grace.
  const pid_t worker = lab_.worker();
  ASSERT_GT(worker, 0);
  kill(worker, SIGSTOP);
  const pid_t cancel = start_ctl({"cancel", std::to_string(id)});
  std::this_thread::sleep_for(1s);
  EXPECT_EQ(kill(worker, 0), 0);
  EXPECT_EQ(lab_.state(id), "running");
  EXPECT_THAT(said(), Not(HasSubstr("is cancelled")));
  EXPECT_EQ(end_of(cancel), 0);
  EXPECT_EQ(kill(worker, 0), -1);
  EXPECT_THAT(said(), HasSubstr("is cancelled; its trials so far are kept"));
  EXPECT_EQ(lab_.state(id), "cancelled");
}

TEST_F(Interrupted, AClientOfAStoppedDaemonSaysSoAndWaits) {
  ASSERT_TRUE(lab_.start_daemon());
  kill(lab_.daemon(), SIGSTOP);
  const pid_t list = start_ctl({"list"});
  EXPECT_TRUE(wait_for_text(out(), "stabd is stopped and does not answer"));
  EXPECT_THAT(said(), HasSubstr("kill -CONT " + std::to_string(lab_.daemon())));
  kill(lab_.daemon(), SIGCONT);
  EXPECT_EQ(end_of(list), 0);
  EXPECT_THAT(said(), HasSubstr("there are no experiments"));
}

TEST_F(Interrupted, AJumpOfTheWallClockDoesNotMakeADurationNegative) {
  if (!make_clock(lab_)) GTEST_SKIP() << "the clock of a program cannot be set here";
  setenv("LD_PRELOAD", lab_.path("clock.so").c_str(), 1);
  const bool started = lab_.start_daemon();
  unsetenv("LD_PRELOAD");
  ASSERT_TRUE(started);
  const int id = lab_.submit("short.toml");
  ASSERT_TRUE(lab_.wait_for(id, "running"));
  const auto begin = std::chrono::steady_clock::now();
  lab_.write("clock", std::to_string(-5 * 3600));
  std::this_thread::sleep_for(1s);
  const std::chrono::nanoseconds waited = std::chrono::steady_clock::now() - begin;
  let_run();
  ASSERT_TRUE(lab_.wait_until_final(id));
  const json row = json::parse(lab_.ctl({"list", "--json"}).out)[0];
  EXPECT_LT(row["ended_ns"].get<std::int64_t>(), row["started_ns"].get<std::int64_t>());
  EXPECT_GT(row["duration_ns"].get<std::int64_t>(), waited.count());
  const std::string check = lab_.ctl({"check", lab_.path("short.toml")}).out;
  EXPECT_THAT(check, HasSubstr("about "));
  EXPECT_THAT(check, Not(HasSubstr("about -")));
  EXPECT_GT(json::parse(lab_.ctl({"check", "--json", lab_.path("short.toml")}).out).dump().size(),
            0U);
}

}  // namespace
}  // namespace stab::test
