// SPDX-License-Identifier: MIT
// When readers run beside trials, and behind whom.
#include <sched.h>

#include <algorithm>
#include <iterator>

#include "tests/system/readers_testing.h"

namespace stab::test {
namespace {

using std::string_literals::operator""s;

// Everything that this process starts runs on one CPU from here on.
class OneCpu {
 public:
  OneCpu() {
    sched_getaffinity(0, sizeof before_, &before_);
    cpu_set_t one;
    CPU_ZERO(&one);
    int cpu = 0;
    while (!CPU_ISSET(cpu, &before_)) ++cpu;
    CPU_SET(cpu, &one);
    sched_setaffinity(0, sizeof one, &one);
  }
  OneCpu(const OneCpu&) = delete;
  OneCpu& operator=(const OneCpu&) = delete;
  ~OneCpu() { sched_setaffinity(0, sizeof before_, &before_); }

 private:
  cpu_set_t before_{};
};

TEST_F(Readers, WithOneCpuAReportWaitsForTheNextBlockAndTheBlockForTheReport) {
  const OneCpu one;
  lab_.write("plan.toml",
             "[experiment]\nname = \"slow\"\n[defaults]\nrepetitions = 60\n[[benchmark]]\n"
             "name = \"b\"\nrun = [\"sleep\", \"1\"]\n");
  ASSERT_TRUE(start());
  const int id = lab_.submit("plan.toml");
  ASSERT_TRUE(lab_.wait_for(id, "running"));
  Talk talk(lab_);
  talk.say(report_of(1));
  EXPECT_TRUE(is_report(talk.answer()));
  EXPECT_EQ(lab_.state(id), "running");
  EXPECT_GE(lab_.trials(id).size(), 1U);  // it came after the trial that ran
  EXPECT_EQ(lab_.ctl({"cancel", std::to_string(id)}).code, 0);
}

TEST_F(Readers, BesideAPlanThatWantsAQuietMachineAReportIsReadBetweenBlocks) {
  if (sysconf(_SC_NPROCESSORS_ONLN) < 2) GTEST_SKIP() << "with one CPU all plans are like that";
  lab_.write("stabd.toml", "[machine]\nquiesce_for = \"nobody\"\n");
  ASSERT_TRUE(start());
  const auto begun = [&] { return std::ranges::count(content_of(lab_.path("begun")), '\n'); };
  for (const std::string& how : {"quiesce = \"off\""s, "quiesce = \"best-effort\""s,
                                 "wait_for_quiet = \"1ms\"\nquiet_load = \"100%\""s}) {
    for (const char* file : {"begun", "go"}) unlink(lab_.path(file).c_str());
    lab_.write(
        "plan.toml",
        "[experiment]\nname = \"waits\"\n[machine]\n" + how +
            "\n[[benchmark]]\nname = \"b\"\nrun = [\"sh\", \"-c\", \"echo >>begun; until test "
            "-e go; do sleep 0.01; done\"]\nrepetitions = 2\n[factor.env_bytes]\nlevels = "
            "[0, 64]\n");
    const int id = lab_.submit("plan.toml");
    ASSERT_TRUE(eventually([&] { return begun() == 1; })) << how;
    Talk talk(lab_);
    talk.say(report_of(1));
    Talk other(lab_);
    expect_version(other);  // so the report has been asked for
    const bool waits = !how.ends_with("\"off\"");
    if (waits) {
      EXPECT_TRUE(readers_of(lab_.daemon()).empty()) << how;
      lab_.write("go", "");
    }
    EXPECT_TRUE(is_report(talk.answer())) << how;
    if (waits)
      EXPECT_GE(begun(), 2) << how;
    else
      EXPECT_EQ(begun(), 1) << how;
    lab_.write("go", "");
    EXPECT_TRUE(lab_.wait_for(id, "done")) << how;
  }
}

// Whoever asks waits for no trial of somebody else, however long it takes; its row says what ran beside it.
TEST_F(Readers, NobodyWaitsForTheEndOfALongTrial) {
  ASSERT_TRUE(start());
  lab_.write("fails.toml",
             "[experiment]\nname = \"fails\"\n[[benchmark]]\nname = \"b\"\nrepetitions = 1\n"
             "run = [\"false\"]\n");
  const int fails = lab_.submit("fails.toml");
  ASSERT_NE(fails, 0);
  for (const std::string& how :
       {"quiesce = \"best-effort\""s, "wait_for_quiet = \"1ms\"\nquiet_load = \"100%\""s}) {
    ASSERT_TRUE(lab_.wait_until_final(fails)) << how;
    lab_.write("plan.toml",
               "[experiment]\nname = \"long\"\n[machine]\n" + how + "\n" +
                   "[[benchmark]]\nname = \"b\"\nrepetitions = 1\ntimeout = \"1h\"\nrun = [\"sh\", "
                   "\"-c\", \"echo >began; until test -e go; do sleep 0.01; done\"]\n");
    for (const char* file : {"began", "go"}) unlink(lab_.path(file).c_str());
    const int id = lab_.submit("plan.toml");
    ASSERT_TRUE(wait_for_text(lab_.path("began"), "\n")) << how;
    Talk talk(lab_);
    talk.say(report_of(1));
    EXPECT_TRUE(is_report(talk.answer())) << how;
    EXPECT_EQ(lab_.ctl({"logs", "1"}).code, 0) << how;
    EXPECT_EQ(lab_.ctl({"export", "1", "--archive", lab_.path("one.stab")}).code, 0) << how;
    const Output imported = lab_.ctl({"import", lab_.path("one.stab")});
    EXPECT_EQ(imported.code, 0) << how << imported.err;
    std::filesystem::remove(lab_.path("one.stab"));
    const Output retried = lab_.ctl({"retry", std::to_string(fails)});
    EXPECT_EQ(retried.code, 0) << how << retried.err;
    EXPECT_EQ(lab_.state(fails), "queued") << how;
    EXPECT_EQ(lab_.state(id), "running") << how;
    lab_.write("go", "");
    ASSERT_TRUE(lab_.wait_for(id, "done")) << how;
    const nlohmann::json trial = lab_.trials(id).front();
    ASSERT_TRUE(trial.contains("reports-beside-ns")) << how << trial;
    EXPECT_GT(trial["reports-beside-ns"].get<double>(), 0) << how;
  }
}

// A reader that is not done ten seconds after the end of a block stands still during the next one.
TEST_F(Readers, OneThatTakesLongerThanTheTimeBetweenTwoBlocksGoesOnBehindTheNext) {
  if (sysconf(_SC_NPROCESSORS_ONLN) < 2) GTEST_SKIP() << "its trials have a CPU of their own";
  ASSERT_TRUE(start());
  lab_.write("plan.toml",
             "[experiment]\nname = \"waits\"\n[machine]\nwait_for_quiet = \"1ms\"\nquiet_load = "
             "\"100%\"\n[[benchmark]]\nname = \"b\"\nrepetitions = 3\ntimeout = \"1h\"\nrun = "
             "[\"sh\", \"-c\", \"echo >>begun; until [ -e go$(wc -l <begun) ]; do sleep 0.01; "
             "done\"]\n");
  const auto begun = [&] { return std::ranges::count(content_of(lab_.path("begun")), '\n'); };
  const int id = lab_.submit("plan.toml");
  ASSERT_TRUE(eventually([&] { return begun() == 1; }));
  // The plan has been read; reports wait.
  lab_.write("stabd",
             "#!/bin/sh\nuntil [ \"$1\" != --reader ] || [ -e " + lab_.path("read") +
                 " ]; do sleep 0.05; done\nexec " + lab_.path("copy-of-stabd") + " \"$@\"\n",
             true);
  Talk talk(lab_);
  talk.say(report_of(1));
  lab_.write("go1", "");
  ASSERT_TRUE(eventually([&] { return begun() == 2; }));
  const auto readers = readers_of(lab_.daemon());
  ASSERT_EQ(readers.size(), 1U);
  EXPECT_TRUE(is_stopped(readers[0]));
  lab_.write("read", "");
  Talk other(lab_);
  expect_version(other);
  EXPECT_FALSE(talk.has_answer());
  EXPECT_TRUE(is_stopped(readers[0]));
  // The third block ends by itself: a reader that is slow stands still during it, too.
  lab_.write("go3", "");
  lab_.write("go2", "");
  EXPECT_TRUE(is_report(talk.answer()));
  EXPECT_TRUE(eventually([&] { return begun() == 3; }));
  EXPECT_TRUE(lab_.wait_for(id, "done"));
}

TEST_F(Readers, AReaderGivesWayToEverythingElse) {
  ASSERT_TRUE(start());
  Talk talk(lab_);
  const pid_t reader = ask_and_stop(talk);
  // The daemon sees to it when the process is there.
  EXPECT_TRUE(eventually([reader] {
    const std::string stat = content_of("/proc/" + std::to_string(reader) + "/stat");
    std::istringstream fields(stat.substr(std::min(stat.rfind(')'), stat.size())));
    const std::vector<std::string> words{std::istream_iterator<std::string>(fields), {}};
    return words.size() > 39 && words[17] == "19" && words[39] == std::to_string(SCHED_IDLE);
  })) << "nice and policy";
  // Where the kernel groups processes by session, the policy holds against the daemon in its session only. No signal of
  // its terminal may end a reader.
  EXPECT_EQ(getsid(reader), getsid(lab_.daemon()));
  EXPECT_EQ(getpgid(reader), reader);
  kill(reader, SIGCONT);
  EXPECT_TRUE(is_report(talk.answer()));
}

}  // namespace
}  // namespace stab::test
