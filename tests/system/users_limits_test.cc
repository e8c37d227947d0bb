// SPDX-License-Identifier: MIT
// Users of root's daemon share it: turns, bounds, and nobody who keeps the others waiting.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "base/fd.h"
#include "base/time.h"
#include "protocol/messages.h"
#include "tests/system/users.h"

namespace stab::test {
namespace {

using nlohmann::json;
using std::string_literals::operator""s;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

TEST_F(Users, DoNotPushForwardNorResumeWhatRootPaused) {
  const Output pushed = as(ada, {"submit", "--priority", "1", plan_of(ada)});
  EXPECT_EQ(pushed.code, 1);
  EXPECT_THAT(pushed.err, HasSubstr("only root and stabd's own user"));
  EXPECT_EQ(as(ada, {"pause", "--queue"}).code, 1);
  ASSERT_EQ(as(0, {"pause", "--queue"}).code, 0);
  ASSERT_EQ(as(ada, {"submit", "--priority", "-1", plan_of(ada)}).code, 0);
  ASSERT_EQ(as(ada, {"pause", "1"}).code, 0);
  ASSERT_EQ(as(ada, {"resume", "1"}).code, 0);
  ASSERT_EQ(as(0, {"pause", "1"}).code, 0);
  ASSERT_EQ(as(ada, {"pause", "1"}).code, 0);  // it stays root's
  const Output refused = as(ada, {"resume", "1"});
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.err, HasSubstr("was paused by user 0"));
  ASSERT_EQ(as(0, {"resume", "1"}).code, 0);
  ASSERT_EQ(as(0, {"resume", "--queue"}).code, 0);
  EXPECT_EQ(as(ada, {"watch", "--fail-on", "trials", "1"}).code, 0);
}

TEST_F(Users, DoNotGetRidOfRootsPauseByEndingTheirExperiment) {
  ASSERT_EQ(as(0, {"pause", "--queue"}).code, 0);
  ASSERT_EQ(as(ada, {"submit", plan_of(ada)}).code, 0);
  ASSERT_EQ(as(0, {"pause", "1"}).code, 0);
  ASSERT_EQ(as(ada, {"cancel", "1"}).code, 0);
  const Output refused = as(ada, {"retry", "1"});
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.err, HasSubstr("was cancelled or failed after user 0 had paused it"));
  EXPECT_EQ(as(0, {"retry", "1"}).code, 0);
}

TEST_F(Users, TakeTurnsAlsoWithWhatTheyRetry) {
  lab_.write("61234/fails.toml",
             "[experiment]\nname = \"fails\"\n[[benchmark]]\nname = \"b\"\n"
             "run = [\"false\"]\nrepetitions = 1\n");
  ASSERT_EQ(as(ada, {"submit", "--wait", lab_.path("61234/fails.toml")}).code, 5);
  ASSERT_EQ(as(0, {"pause", "--queue"}).code, 0);
  ASSERT_EQ(as(bob, {"submit", plan_of(bob)}).code, 0);
  ASSERT_EQ(as(ada, {"retry", "1"}).code, 0);
  const json listed = json::parse(as(0, {"list", "--json"}).out);
  EXPECT_EQ(listed[0]["place"], 2);
  EXPECT_EQ(listed[1]["place"], 1);
}

TEST_F(Users, HaveOnlySoManyWaitingAndOthersGetIn) {
  ASSERT_EQ(as(0, {"pause", "--queue"}).code, 0);
  for (int i = 0; i < 100; ++i) ASSERT_EQ(as(ada, {"submit", plan_of(ada)}).code, 0);
  const Output more = as(ada, {"submit", plan_of(ada)});
  EXPECT_EQ(more.code, 1);
  EXPECT_THAT(more.err, HasSubstr("you already have 100 experiments in the queue"));
  EXPECT_EQ(as(bob, {"submit", plan_of(bob)}).code, 0);
  EXPECT_EQ(as(0, {"submit", plan_of(bob)}).code, 0);
}

TEST_F(Users, HaveTheLimitsOfTheSettings) {
  restart("[limits]\nconnections_of_user = 3\nwaiting_of_user = 2\n");
  ASSERT_EQ(as(0, {"pause", "--queue"}).code, 0);
  for (int i = 0; i < 2; ++i) ASSERT_EQ(as(ada, {"submit", plan_of(ada)}).code, 0);
  EXPECT_THAT(as(ada, {"submit", plan_of(ada)}).err,
              HasSubstr("you already have 2 experiments in the queue"));
  EXPECT_EQ(as(bob, {"submit", plan_of(bob)}).code, 0);
  const Idle idle(ada, 3);
  EXPECT_THAT(as(ada, {"list"}).err, HasSubstr("you already have 3 connections to stabd"));
  EXPECT_EQ(as(bob, {"list"}).code, 0);
}

// To submit a plan that takes long to read, and is refused.
std::string long_submission() {
  std::string plan = "[experiment]\\nname = \\\"x\\\"\\n";
  for (int i = 0; i < 70'000; ++i) plan += "k" + std::to_string(i) + " = 1\\n";
  return protocol::encode(protocol::HelloRequest{.protocol = protocol::version, .version = "x"}) +
         R"(
{"verb":"submit","directory":"/tmp","plan":")" +
         plan + "\"}\n";
}

// Its own CPU time is measured, which a machine that is busy does not make longer.
TEST_F(Users, WhosePlansAreRefusedKeepNobodyElseWaiting) {
  const Idle of_ada(ada, 12, long_submission());
  EXPECT_EQ(as(bob, {"submit", "--wait", "--fail-on", "trials", plan_of(bob)}).code, 0);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(as(bob, {"list"}).code, 0);
  const Output said = as(bob, {"status", "--daemon", "--json"});
  ASSERT_EQ(said.code, 0) << said.err;
  const json daemon = json::parse(said.out);
  EXPECT_GT(daemon["loop_turns"], 100);
  EXPECT_LT(daemon["loop_computes_longest_ns"], 50'000'000) << "a plan takes many times that";
  EXPECT_LE(daemon["loop_computes_ns"], daemon["loop_computes_longest_ns"]);
  EXPECT_THAT(as(bob, {"status", "--daemon"}).out, HasSubstr("99.9 % of its rounds took at most"));
}

// Between the end of a trial and the beginning of the next one.
std::vector<std::int64_t> gaps_between(const json& trials, std::int64_t from, std::int64_t to) {
  std::vector<std::int64_t> gaps;
  for (std::size_t i = 1; i < trials.size(); ++i) {
    const std::int64_t begin = trials[i]["started_ns"];
    const std::int64_t end_of_last = trials[i - 1]["started_ns"].get<std::int64_t>() +
                                     trials[i - 1]["wall_ns"].get<std::int64_t>();
    if (begin >= from && begin <= to) gaps.push_back(begin - end_of_last);
  }
  std::ranges::sort(gaps);
  return gaps;
}

// If the daemon itself read these plans, seconds would pass between two trials.
TEST_F(Users, WhosePlansAreRefusedDoNotHoldUpTheTrialsOfOthers) {
  const std::string paced = std::to_string(bob) + "/paced.toml";
  lab_.write(paced,
             "[experiment]\nname = \"paced\"\n[[benchmark]]\nname = \"b\"\n"
             "run = [\"true\"]\nrepetitions = 100000\n");
  ASSERT_EQ(as(bob, {"submit", lab_.path(paced)}).code, 0);
  const auto done = [&] {
    const json status = json::parse(as(bob, {"status", "--json", "1"}).out, nullptr, false);
    return status.is_object() ? status.value("progress", json::object()).value("done", 0) : 0;
  };
  const auto wait_for_trials = [&](int count) {
    for (int i = 0; i < 6000 && done() < count; ++i) usleep(20'000);
    return done() >= count;
  };
  ASSERT_TRUE(wait_for_trials(20));
  const std::int64_t begin = wall_clock_ns();
  for (int i = 0; i < times(3, 20); ++i) {
    const Idle of_ada(ada, 12, long_submission());
    ASSERT_TRUE(wait_for_trials(done() + 10));
  }
  const std::int64_t end = wall_clock_ns();
  ASSERT_EQ(as(bob, {"cancel", "1"}).code, 0);
  const json rows = json::parse(as(bob, {"export", "--format", "json", "1"}).out);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i]["position"], i);
    EXPECT_EQ(rows[i]["status"], "ok");
  }
  const auto usual = gaps_between(rows, 0, begin);
  const auto beside = gaps_between(rows, begin, end);
  ASSERT_FALSE(usual.empty());
  ASSERT_FALSE(beside.empty());
  RecordProperty("median_gap_us", usual[usual.size() / 2] / 1000);
  RecordProperty("median_gap_beside_us", beside[beside.size() / 2] / 1000);
  // The readers take time of the same CPUs, and the machine may be busy.
  EXPECT_LT(beside[beside.size() / 2], 20 * usual[usual.size() / 2] + 1'000'000'000);
}

// A client that has gone does not count, though the daemon has not heard of it yet.
TEST_F(Users, WhoHaveHungUpMayConnectAgainAtOnce) {
  restart("[limits]\nconnections_of_user = 3\n");
  for (int i = 0; i < 3; ++i) {
    {
      const Idle idle(ada, 3);
      EXPECT_THAT(as(ada, {"list"}).err, HasSubstr("you already have 3 connections to stabd"));
      ASSERT_EQ(kill(daemon_, SIGSTOP), 0);
    }
    const std::string said = lab_.path("said" + std::to_string(i));
    const pid_t next = start_program(command(ada, {"list"}), lab_.folder(), said);
    usleep(300'000);  // so it has probably connected
    ASSERT_EQ(kill(daemon_, SIGCONT), 0);
    EXPECT_EQ(end_of(next), 0) << read_file(said, 1 << 20).value_or("");
  }
}

// The daemon reads little behind a request that it has not answered, so it does not hear of a hang-up. Until the answer,
// such a client counts: otherwise, a user could have any number of them.
TEST_F(Users, WhoHangUpBeforeTheirAnswerStillCount) {
  restart("[limits]\nconnections_of_user = 3\n");
  bool refused = false;
  for (int i = 0; i < 20 && !refused; ++i) {
    {
      const Idle gone(ada, 3, long_submission() + std::string(150'000, ' '));
    }
    refused = as(ada, {"list"}).err.contains("you already have 3 connections to stabd");
  }
  EXPECT_TRUE(refused);
}

// As fast as the kernel lets them: whoever accepts until nobody waits to be accepted has no end.
TEST_F(Users, WhoConnectAgainAndAgainKeepNobodyElseWaiting) {
  std::vector<pid_t> connecting;
  for (int i = 0; i < 6; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      if (setgroups(0, nullptr) != 0 || setresgid(ada, ada, ada) != 0 ||
          setresuid(ada, ada, ada) != 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
        _exit(1);
      sockaddr_un address{};
      address.sun_family = AF_UNIX;
      std::string(socket_path).copy(address.sun_path, sizeof address.sun_path - 1);
      for (;;) {
        const Fd fd(socket(AF_UNIX, SOCK_STREAM, 0));
        static_cast<void>(
            connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address));
      }
    }
    connecting.push_back(child);
  }
  usleep(500'000);
  for (int i = 0; i < 5; ++i) {
    const pid_t list =
        start_program(command(bob, {"list"}), lab_.folder(), lab_.path("list" + std::to_string(i)));
    EXPECT_EQ(end_of(list), 0) << i;
  }
  for (const pid_t each : connecting) {
    kill(each, SIGKILL);
    waitpid(each, nullptr, 0);
  }
}

// Three users ask for long exports of which each takes a second or more; a fourth wants little.
TEST_F(Users, LongExportsOfSomeKeepNobodyElsesLogsWaiting) {
  kill(daemon_, SIGTERM);
  ASSERT_EQ(end_of(daemon_), 0);
  constexpr uid_t first = 61240;
  constexpr int exporters = 3;
#ifdef STAB_SANITIZED
  const std::string trials = "10000";  // take as long there
#else
  const std::string trials = "100000";
#endif
  for (int i = 0; i < exporters; ++i) {
    const Output made =
        run_program({std::string(STAB_BIN_DIR) + "/../bench/make_trials", "/var/lib/stabd", trials,
                     "done", "5", "0", std::to_string(first + static_cast<uid_t>(i))},
                    "/");
    ASSERT_EQ(made.out, std::to_string(i + 1) + "\n") << made.err;
  }
  start_daemon({"--log", "debug"});
  ASSERT_TRUE(wait_for_text(log(), "verified", std::chrono::minutes(5)));
  ASSERT_EQ(as(bob, {"submit", "--wait", "--fail-on", "trials", plan_of(bob)}).code, 0);
  const std::string hello =
      protocol::encode(protocol::HelloRequest{.protocol = protocol::version, .version = "x"}) +
      "\n";
  std::vector<std::unique_ptr<Idle>> asking;
  for (int i = 0; i < exporters; ++i)
    asking.push_back(std::make_unique<Idle>(
        first + static_cast<uid_t>(i), 16,
        hello + protocol::encode(protocol::ExportRequest{.id = i + 1, .format = "json"}) + "\n"));
  const auto readers = [&] {
    int count = 0;
    std::istringstream children(read_file("/proc/" + std::to_string(daemon_) + "/task/" +
                                              std::to_string(daemon_) + "/children",
                                          1 << 16)
                                    .value_or(""));
    for (pid_t child = 0; children >> child;)
      if (read_file("/proc/" + std::to_string(child) + "/cmdline", 4096)
              .value_or("")
              .contains("--reader"))
        ++count;
    return count;
  };
  while (readers() < 2) usleep(1'000);
  const std::int64_t asked = wall_clock_ns();
  const Output logs = as(bob, {"logs", "4"});
  const std::int64_t took = wall_clock_ns() - asked;
  int still = readers();
  // The third one may have begun without having reached its exec.
  for (int i = 0; still < exporters && i < 1000; ++i, still = readers()) usleep(10'000);
  EXPECT_EQ(logs.code, 0) << logs.err;
  EXPECT_EQ(still, exporters) << "the first export of each goes on, and bob has not waited for it";
  RecordProperty("logs_beside_exports_ms", took / 1'000'000);
}

// Whoever has a range of subordinate ids is as many users as it has numbers, and has no more than one of them.
TEST_F(Users, WithSubordinateIdsHaveNoMoreThanOthers) {
  constexpr uid_t first = 700'000;
  lab_.write("subuid", std::to_string(ada) + ":" + std::to_string(first) + ":1000\n");
  if (mount(lab_.path("subuid").c_str(), "/etc/subuid", nullptr, MS_BIND, nullptr) != 0)
    GTEST_SKIP() << "there is no /etc/subuid here";
  restart("[limits]\nconnections_of_user = 3\nwaiting_of_user = 2\nconnections = 6\n");
  ASSERT_EQ(as(0, {"pause", "--queue"}).code, 0);
  EXPECT_EQ(as(first, {"submit", plan_of(ada)}).code, 0);
  EXPECT_EQ(as(first + 1, {"submit", plan_of(ada)}).code, 0);
  for (const uid_t user : {ada, first, first + 2})
    EXPECT_THAT(as(user, {"submit", plan_of(ada)}).err,
                HasSubstr("you already have 2 experiments in the queue"));
  EXPECT_EQ(as(bob, {"submit", plan_of(bob)}).code, 0);
  EXPECT_EQ(as(first + 1000, {"submit", plan_of(ada)}).code, 0) << "it is behind the range";
  EXPECT_THAT(json::parse(as(first, {"list", "--json"}).out).size(), 1U) << "they see their own";
  const Idle one(first + 3, 2);
  const Idle other(first + 4, 1);
  EXPECT_THAT(as(first + 5, {"list"}).err, HasSubstr("you already have 3 connections to stabd"));
  EXPECT_THAT(as(ada, {"list"}).err, HasSubstr("you already have 3 connections to stabd"));
  EXPECT_EQ(as(bob, {"list"}).code, 0);
  umount2("/etc/subuid", MNT_DETACH);
}

// In /tmp, where a user without a home has nothing better, anybody can put a socket first.
TEST_F(Users, SayNothingToADaemonOfAnotherUserThatTheyDidNotName) {
  const std::string runtime = lab_.path("run");
  std::filesystem::create_directories(runtime + "/stabd");
  for (const std::string& folder : {runtime, runtime + "/stabd"})
    ASSERT_EQ(chown(folder.c_str(), bob, bob), 0);
  lab_.write("61235/state/x", "");
  ASSERT_EQ(chown(lab_.path("61235/state").c_str(), bob, bob), 0);
  const auto as_user = [](uid_t user) {
    return std::vector<std::string>{"/usr/bin/setpriv",   "--clear-groups", "--reuid",
                                    std::to_string(user), "--regid",        std::to_string(user)};
  };
  auto stabd = as_user(bob);
  const std::string socket = runtime + "/stabd/stabd.sock";
  for (const std::string& word :
       {std::string(STAB_BIN_DIR) + "/stabd", std::string("--socket"), socket,
        std::string("--socket-mode"), std::string("0666"), std::string("--state"),
        lab_.path("61235/state"), std::string("--ready-fd"), std::string("1")})
    stabd.push_back(word);
  const std::string log = lab_.path("bobs.log");
  const pid_t daemon = start_program(stabd, lab_.folder(), log);
  ASSERT_TRUE(wait_for_text(log, "ready"));
  ASSERT_EQ(chmod(runtime.c_str(), 0755), 0);
  ASSERT_EQ(chmod((runtime + "/stabd").c_str(), 0755), 0);
  const auto list = [&](uid_t user, const std::vector<std::string>& more) {
    std::vector<std::string> argv{"/usr/bin/env", "XDG_RUNTIME_DIR=" + runtime};
    const auto who = as_user(user);
    argv.insert(argv.end(), who.begin(), who.end());
    argv.push_back(std::string(STAB_BIN_DIR) + "/stabctl");
    argv.insert(argv.end(), more.begin(), more.end());
    argv.push_back("list");
    return run_program(argv, lab_.folder());
  };
  EXPECT_EQ(list(bob, {}).code, 0);
  const Output refused = list(ada, {});
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.err, HasSubstr("runs as user 61235, not as you or root"));
  EXPECT_EQ(list(ada, {"--socket", socket}).code, 0);
  kill(daemon, SIGTERM);
  EXPECT_EQ(end_of(daemon), 0);
}

// A /tmp of our own until the end of the test, for us and for what we start.
class OwnTmp {
 public:
  OwnTmp() : mounted_(mount("tmpfs", "/tmp", "tmpfs", 0, "mode=1777") == 0) {}
  OwnTmp(const OwnTmp&) = delete;
  OwnTmp& operator=(const OwnTmp&) = delete;
  ~OwnTmp() {
    if (mounted_) umount2("/tmp", MNT_DETACH);
  }
  [[nodiscard]] bool is_mounted() const { return mounted_; }

 private:
  bool mounted_;
};

// Listens as this user where stabctl looks first without HOME and the XDG variables.
[[noreturn]] void listen_in_tmp_as(uid_t user, const Fd& socket) {
  const std::string folder = "/tmp/.local/state/stabd";
  if (setgroups(0, nullptr) != 0 || setresgid(user, user, user) != 0 ||
      setresuid(user, user, user) != 0)
    _exit(1);
  umask(0);  // everybody may connect
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  (folder + "/stabd.sock").copy(address.sun_path, sizeof address.sun_path - 1);
  const bool listens =
      bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
      listen(socket.get(), 8) == 0;
  _exit(listens ? 0 : 2);
}

// The kernel tells clients that the socket belongs to bob, because bob's process called listen(). This test accepts the
// connection itself.
TEST_F(Users, SayNothingToASocketThatAnotherUserPutIntoTmp) {
  const OwnTmp tmp;
  ASSERT_TRUE(tmp.is_mounted());
  const std::string stabctl = std::string(STAB_BIN_DIR) + "/stabctl";
  if (access(stabctl.c_str(), X_OK) != 0) GTEST_SKIP() << "stabctl itself is in /tmp";
  const Fd listening(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const pid_t listener = fork();
  if (listener == 0) listen_in_tmp_as(bob, listening);
  ASSERT_EQ(end_of(listener), 0);
  const std::string number = std::to_string(ada);
  const pid_t list = start_program({"/usr/bin/env", "-i", "/usr/bin/setpriv", "--clear-groups",
                                    "--reuid", number, "--regid", number, stabctl, "list"},
                                   "/", "/run/list.txt");
  EXPECT_EQ(end_of(list), 1);
  EXPECT_THAT(read_file("/run/list.txt", 1 << 16).value_or(""),
              HasSubstr("the daemon at /tmp/.local/state/stabd/stabd.sock runs as user 61235, not "
                        "as you or root"));
  const Fd client(accept4(listening.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  ASSERT_TRUE(client) << "ada did not look there";
  std::array<char, 256> record{};
  EXPECT_EQ(read(client.get(), record.data(), record.size() - 1), 0)
      << "bob heard: " << record.data();
}

TEST_F(Users, DoNotSubmitTrialsThatAreLongerThanATurn) {
  const auto plan = [&](const std::string& benchmark, const std::string& program = "true") {
    lab_.write(
        "61234/long.toml",
        "[experiment]\nname = \"long\"\n[[benchmark]]\nname = \"b\"\nrepetitions = 1\nrun = [\"" +
            program + "\"]\n" + benchmark + "\n");
    return lab_.path("61234/long.toml");
  };
  EXPECT_THAT(
      as(ada, {"submit", plan("timeout = \"24h\"")}).err,
      HasSubstr("a trial of 'b' may take 24h (its timeout), but limits.turn is 1h: set the "
                "benchmark's timeout to at most 1h. Alternatively, root can submit the plan "
                "as it is or raise limits.turn"));
  EXPECT_THAT(as(ada, {"submit", plan("timeout = \"1h\"\nprepare = \"true\"")}).err,
              HasSubstr("may take 2h (2 commands with a timeout of 1h each), but limits.turn is "
                        "1h: set the benchmark's timeout to at most 30min"));
  EXPECT_THAT(
      as(ada, {"submit", plan("build = \"cp /bin/true ${OUT}\"\nbuild_timeout = \"2h\"", "${OUT}")})
          .err,
      HasSubstr("a build of 'b' may take 2h, but limits.turn is 1h"));
  EXPECT_THAT(as(ada, {"submit", plan("[machine]\nwait_for_quiet = \"2h\"")}).err,
              HasSubstr("a block may wait 2h for a quiet machine"));
  EXPECT_EQ(as(ada, {"submit", plan("timeout = \"1h\"")}).code, 0);
  EXPECT_EQ(as(0, {"submit", "--wait", plan("timeout = \"24h\"")}).code, 0);
  restart("[limits]\nturn = \"never\"\n");
  EXPECT_EQ(as(ada, {"submit", "--wait", plan("timeout = \"24h\"")}).code, 0);
}

// Ada's would take hours; bob's has its turn at the end of a block, or in the middle of one that is long.
TEST_F(Users, GiveTheMachineAwayWhenTheirTurnIsOver) {
  // Long enough for the first trial on a machine that is busy: before it there is nothing to split.
  restart("[limits]\nturn = \"4s\"\n");
  const auto plan = [&](uid_t user, const std::string& design, const std::string& command) {
    const std::string folder = std::to_string(user) + "/";
    lab_.write(folder + "turns.toml",
               "[experiment]\nname = \"turns\"\n[[benchmark]]\nname = \"b\"\nrun = [" + command +
                   "]\ntimeout = \"1s\"\n" + design);
    return lab_.path(folder + "turns.toml");
  };
  constexpr const char* short_blocks =
      "repetitions = 100000\n[factor.env_bytes]\nlevels = [0, 64]\n";
  std::string long_blocks = "repetitions = 100\n[factor.env_bytes]\nlevels = [";
  for (int level = 0; level < 500; ++level) long_blocks += std::to_string(level * 16) + ", ";
  long_blocks += "8000]\n";
  int id = 0;
  for (const std::string& design : {std::string(short_blocks), long_blocks}) {
    const std::string of_ada = std::to_string(++id);
    ASSERT_EQ(as(ada, {"submit", plan(ada, design, "\"sleep\", \"0.05\"")}).code, 0);
    const Output bobs = as(bob, {"submit", "--wait", "--fail-on", "trials",
                                 plan(bob, "repetitions = 3\n", "\"true\"")});
    EXPECT_EQ(bobs.code, 0) << bobs.err;
    ++id;
    const std::string said = as(ada, {"logs", of_ada}).out;
    EXPECT_THAT(said, HasSubstr("it is another user's turn"));
    if (design == long_blocks)
      EXPECT_THAT(said, HasSubstr("Then block 1 starts again from its first trial"));
    const json row = json::parse(as(ada, {"list", "--json"}).out).back();
    EXPECT_THAT(row["state"].get<std::string>(), ::testing::AnyOf("queued", "building", "running"));
    ASSERT_EQ(as(ada, {"cancel", of_ada}).code, 0);
    for (const json& trial : json::parse(as(ada, {"export", "--format", "json", of_ada}).out))
      EXPECT_EQ(trial["status"], "ok") << trial;
  }
}

// Each trial keeps the end of its stderr.
TEST_F(Users, StoreOnlySoMuchAndOthersGoOn) {
  restart("[limits]\nstored_bytes_of_user = \"60KiB\"\n");
  lab_.write("61234/loud.toml",
             "[experiment]\nname = \"loud\"\n[[benchmark]]\nname = \"b\"\n"
             "run = [\"sh\", \"-c\", \"yes 2>/dev/null | head -c 3000 >&2\"]\nrepetitions = 200\n");
  ASSERT_EQ(as(ada, {"submit", "--wait", lab_.path("61234/loud.toml")}).code, 5);
  const json listed = json::parse(as(ada, {"list", "--json"}).out);
  EXPECT_EQ(listed[0]["state"], "failed");
  EXPECT_THAT(listed[0]["reason"].get<std::string>(),
              AllOf(HasSubstr("limits.stored_bytes_of_user allows 60 KiB"),
                    HasSubstr("'stabctl rm'"), HasSubstr("'stabctl retry'")));
  const auto bytes = listed[0]["bytes"].get<std::uint64_t>();
  EXPECT_GT(bytes, 60U << 10);
  EXPECT_LT(bytes, 80U << 10) << "it ends before its next trial";
  EXPECT_THAT(as(ada, {"list"}).out, ContainsRegex("trials +6[0-9]\\.[0-9] KiB "));
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"submit", plan_of(ada)}, {"retry", "1"}})
    EXPECT_THAT(as(ada, words).err, HasSubstr("the experiments of user 61234 take 6"));
  for (const uid_t user : {bob, uid_t{0}})
    EXPECT_EQ(as(user, {"submit", "--wait", "--fail-on", "trials", plan_of(bob)}).code, 0);
  // It counts what was stored by an earlier daemon, and what is removed no longer counts.
  restart("[limits]\nstored_bytes_of_user = \"60KiB\"\n");
  EXPECT_EQ(as(ada, {"submit", plan_of(ada)}).code, 1);
  ASSERT_EQ(as(ada, {"rm", "1"}).code, 0);
  // Its rows go in pieces.
  int tries = 0;
  while (as(ada, {"submit", plan_of(ada)}).code != 0 && ++tries < 100) usleep(100'000);
  EXPECT_LT(tries, 100);
}

TEST_F(Users, NoticesThatHangKeepNobodyElsesWaiting) {
  lab_.write("root.sh", "#!/bin/sh\ncat >>" + lab_.path("root") + "\n", true);
  restart("[notify]\ncommand = [\"" + lab_.path("root.sh") + "\"]\ntime_limit = \"24h\"\n");
  const auto submit = [&](uid_t user, const std::string& command) {
    const std::string folder = std::to_string(user) + "/";
    EXPECT_EQ(chown(lab_.path(folder).c_str(), user, user), 0);
    lab_.write(folder + "told.toml", "[experiment]\nname = \"told\"\nnotify = [" + command +
                                         "]\n[[benchmark]]\nname = \"b\"\nrun = [\"true\"]\n"
                                         "repetitions = 1\n");
    EXPECT_EQ(
        as(user, {"submit", "--wait", "--fail-on", "trials", lab_.path(folder + "told.toml")}).code,
        0);
  };
  submit(ada, R"("sleep", "987653")");
  submit(bob, R"("touch", "told")");
  EXPECT_TRUE(wait_for_text(lab_.path("root"), "\"user\":61235"));
  while (access(lab_.path("61235/told").c_str(), F_OK) != 0) usleep(20'000);
}

TEST_F(Users, IdleConnectionsOfOneKeepNobodyElseOut) {
  const Idle idle(ada, 80);
  EXPECT_EQ(as(bob, {"list"}).code, 0);
  EXPECT_EQ(as(0, {"list"}).code, 0);
  const Output more = as(ada, {"list"});
  EXPECT_EQ(more.code, 1);
  EXPECT_THAT(more.err, HasSubstr("you already have 16 connections to stabd"));
}

// What all of them together may have is used up by several, none of whom has too many.
TEST_F(Users, TogetherHaveOnlySoManyConnectionsAndRootGetsIn) {
  restart("[limits]\nconnections = 6\n");
  const Idle of_ada(ada, 3);
  const Idle of_bob(bob, 3);
  constexpr uid_t eve = 61236;
  for (const uid_t user : {ada, bob, eve}) {
    const Output more = as(user, {"list"});
    EXPECT_EQ(more.code, 1);
    EXPECT_THAT(more.err, HasSubstr("stabd has too many clients"));
  }
  EXPECT_EQ(as(0, {"list"}).code, 0);
  EXPECT_EQ(as(0, {"submit", "--wait", "--fail-on", "trials", plan_of(ada)}).code, 0);
}

TEST_F(Users, AtOnceGetTheirAnswersBesideAnExperimentThatKeepsItsPaceAndLosesNothing) {
  // So many that it goes on until it is cancelled.
  lab_.write("paced.toml",
             "[experiment]\nname = \"paced\"\n[[benchmark]]\nname = \"b\"\n"
             "run = [\"true\"]\nrepetitions = 100000\n");
  const auto state_of = [&](std::size_t row) -> std::string {
    return json::parse(as(0, {"list", "--json"}).out).at(row)["state"];
  };
  const auto comes_to_run = [&](std::size_t row) {
    std::string state = state_of(row);
    for (; state == "queued" || state == "building"; state = state_of(row)) usleep(20'000);
    return state == "running";
  };
  ASSERT_EQ(as(0, {"submit", lab_.path("paced.toml")}).code, 0);
  ASSERT_TRUE(comes_to_run(0));
  ASSERT_EQ(as(ada, {"submit", plan_of(ada)}).code, 0);
  ASSERT_EQ(as(bob, {"submit", plan_of(bob)}).code, 0);
  struct Client {
    uid_t user;
    pid_t process;
    std::string said;
  };
  const auto start_clients = [&](const std::string& socket) {
    std::vector<Client> started;
    for (int i = 0; i < times(45, 501); ++i) {
      const uid_t user = i % 3 == 0 ? 0 : i % 3 == 1 ? ada : bob;
      std::string said = lab_.path("client" + std::to_string(i));
      const std::string own = std::to_string(i % 3 + 1);
      const auto verb = i % 2 == 0 ? std::vector<std::string>{"list"} : std::vector{"status"s, own};
      const pid_t process = start_program(command(user, verb, socket), lab_.folder(), said);
      started.push_back({.user = user, .process = process, .said = std::move(said)});
    }
    return started;
  };
  const std::int64_t begin = wall_clock_ns();
  const std::vector<Client> clients = start_clients(socket_path);
  std::map<uid_t, int> answered;
  for (const Client& client : clients) {
    const int code = end_of(client.process, std::chrono::minutes(5));
    const std::string said = read_file(client.said, 1 << 20).value_or("");
    answered[client.user] += code == 0 ? 1 : 0;
    if (code != 0) EXPECT_THAT(said, HasSubstr("you already have 16 connections to stabd"));
    if (client.user == 0) EXPECT_EQ(code, 0) << said;
  }
  EXPECT_GE(answered[ada], 1);
  EXPECT_GE(answered[bob], 1);
  const std::int64_t all_ended = wall_clock_ns();
  ASSERT_EQ(as(0, {"cancel", "1"}).code, 0);
  for (const char* id : {"2", "3"}) {
    const Output end = as(0, {"watch", "--fail-on", "trials", id});
    EXPECT_EQ(end.code, 0) << end.err;
  }
  const json rows = json::parse(as(0, {"export", "--format", "json", "1"}).out);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i]["position"], i);
    EXPECT_EQ(rows[i]["status"], "ok");
  }
  // The clients take time of the CPUs as well, as those of another daemon do. What they may not do is
  // make this daemon's answers stand between two trials.
  Lab other;
  ASSERT_TRUE(other.start_daemon({"--socket-mode", "0666"}));
  chmod(other.folder().c_str(), 0755);
  ASSERT_EQ(as(0, {"submit", lab_.path("paced.toml")}).code, 0);
  ASSERT_TRUE(comes_to_run(3));
  const std::int64_t others_begin = wall_clock_ns();
  const std::vector<Client> of_other = start_clients(other.path("s.sock"));
  for (const Client& client : of_other) end_of(client.process, std::chrono::minutes(5));
  const std::int64_t others_ended = wall_clock_ns();
  ASSERT_EQ(as(0, {"cancel", "4"}).code, 0);
  const json others_rows = json::parse(as(0, {"export", "--format", "json", "4"}).out);
  const auto usual = gaps_between(others_rows, others_begin, others_ended);
  const auto beside = gaps_between(rows, begin, all_ended);
  ASSERT_FALSE(usual.empty());
  ASSERT_FALSE(beside.empty());
  RecordProperty("median_gap_beside_others_clients_us", usual[usual.size() / 2] / 1000);
  RecordProperty("median_gap_beside_us", beside[beside.size() / 2] / 1000);
  EXPECT_LT(beside[beside.size() / 2], 10 * usual[usual.size() / 2] + 100'000'000);
}

TEST_F(Users, AreLetGoWhenTheySayNothingAndDoNotWatch) {
  kill(daemon_, SIGTERM);
  ASSERT_EQ(end_of(daemon_), 0);
  start_daemon({"--idle-limit", "5"});
  ASSERT_EQ(as(0, {"pause", "--queue"}).code, 0);
  ASSERT_EQ(as(ada, {"submit", plan_of(ada)}).code, 0);
  // Who watches may say nothing for as long as they like.
  const pid_t watch = start_program(command(ada, {"watch", "--fail-on", "trials", "1"}),
                                    lab_.folder(), lab_.path("watch.txt"));
  ASSERT_TRUE(wait_for_text(lab_.path("watch.txt"), "queued"));
  const Idle idle(ada, 15);
  // There is no room for one more until those have been let go.
  while (as(ada, {"list"}).code != 0) usleep(100'000);
  ASSERT_EQ(as(0, {"resume", "--queue"}).code, 0);
  EXPECT_EQ(end_of(watch), 0);
}

// A program that hinders its parent in every way that a process of the same user has. The file
// "told" says how many ways worked. The signals come last.
constexpr const char* hinder_parent = R"c(
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>
int main(void) {
  const pid_t parent = getppid();
  const struct rlimit nothing = {0, 0};
  const struct sched_param none = {0};
  FILE* const told = fopen("told", "w");
  cpu_set_t ours;
  CPU_ZERO(&ours);
  CPU_SET(sched_getcpu(), &ours);
  int worked = sched_setaffinity(parent, sizeof ours, &ours) == 0;
  worked += setpriority(PRIO_PROCESS, parent, 19) == 0;
  worked += sched_setscheduler(parent, SCHED_IDLE, &none) == 0;
  for (int resource = 0; resource < RLIM_NLIMITS; ++resource)
    worked += prlimit(parent, resource, &nothing, NULL) == 0;
  if (told == NULL || fprintf(told, "%d\n", worked) < 0 || fclose(told) != 0) return 1;
  for (int signal = 1; signal < 65; ++signal) kill(parent, signal);
  return 0;
}
)c";

TEST_F(Users, WhoseTrialHindersItsWorkerHinderNobodyElse) {
  const std::string own = lab_.path("61234/");
  ASSERT_EQ(chown(own.c_str(), ada, ada), 0);
  lab_.write("61234/hinder.c", hinder_parent);
  lab_.write("61234/hinder.toml",
             "[experiment]\nname = \"hinder\"\n[[benchmark]]\nname = \"b\"\ntimeout = \"5s\"\n"
             "build = \"cc -o ${OUT} hinder.c\"\nsources = [\"hinder.c\"]\nrun = [\"${OUT}\"]\n"
             "repetitions = 2\n");
  for (const bool isolated : {true, false}) {
    SCOPED_TRACE(isolated);
    if (!isolated) {
      kill(daemon_, SIGTERM);
      ASSERT_EQ(end_of(daemon_), 0);
      start_daemon({"--no-namespaces"});
    }
    as(ada, {"submit", "--wait", lab_.path("61234/hinder.toml")});
    const Output next = as(bob, {"submit", "--wait", "--fail-on", "trials", plan_of(bob)});
    EXPECT_EQ(next.code, 0) << next.err;
    const std::string state =
        json::parse(as(ada, {"list", "--json"}).out).back()["state"].get<std::string>();
    EXPECT_TRUE(state == "done" || state == "failed") << state;
    EXPECT_GT(std::atoi(read_file(own + "told", 100).value_or("").c_str()), 0) << "nothing worked";
    std::filesystem::remove(own + "told");
  }
}

// The processes of this user that are named like this.
int processes_of(uid_t user, const std::string& name) {
  const std::string user_line = "\nUid:\t" + std::to_string(user) + "\t";
  int count = 0;
  for (const std::filesystem::directory_entry& each :
       std::filesystem::directory_iterator("/proc")) {
    const std::string text = read_file(each.path() / "status", 1 << 16).value_or("");
    if (text.starts_with("Name:\t" + name + "\n") && text.contains(user_line)) ++count;
  }
  return count;
}

// All of its processes fork without end, in sessions of their own.
TEST_F(Users, WhoseTrialIsAForkBombKeepNobodyElseFromWorking) {
  lab_.write("61234/bomb.c", R"c(
#include <sys/resource.h>
#include <unistd.h>
int main(void) {
  // The kernel's limit spares the machine that runs this test if the plan's limit does not hold.
  const struct rlimit few = {200, 200};
  if (setrlimit(RLIMIT_NPROC, &few) != 0) return 3;
  for (;;)
    if (fork() == 0) setsid();
}
)c");
  ASSERT_EQ(
      run_program(
          {"/usr/bin/cc", "-o", lab_.path("61234/stab-test-bomb"), lab_.path("61234/bomb.c")}, "/")
          .code,
      0);
  lab_.write("61234/bomb.toml",
             "[experiment]\nname = \"bomb\"\n[[benchmark]]\nname = \"b\"\n"
             "run = [\"./stab-test-bomb\"]\nprocess_limit = 20\ntimeout = \"10min\"\n"
             "repetitions = 2\n");
  ASSERT_EQ(as(ada, {"submit", lab_.path("61234/bomb.toml")}).code, 0);
  EXPECT_EQ(as(bob, {"list"}).code, 0);
  const Output next = as(bob, {"submit", "--wait", "--fail-on", "trials", plan_of(bob)});
  EXPECT_EQ(next.code, 0) << next.err;
  const json trials = json::parse(as(ada, {"export", "--format", "json", "1"}).out);
  EXPECT_FALSE(trials.empty());
  for (const json& trial : trials) {
    EXPECT_EQ(trial["status"], "over_limit") << trial;
    EXPECT_THAT(trial["reason"].get<std::string>(),
                HasSubstr("had more processes than its limit of 20"));
  }
  EXPECT_EQ(processes_of(ada, "stab-test-bomb"), 0);
}

// Sends the requests from a process of this user, each after the answer to the one before it.
// Returns the answers.
std::vector<std::string> answers_to(uid_t user, const std::vector<std::string>& requests) {
  std::array<int, 2> ends{};
  EXPECT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
  const Fd told(ends[0]);
  Fd tells(ends[1]);
  const pid_t child = fork();
  if (child == 0) {
    if (setgroups(0, nullptr) != 0 || setresgid(user, user, user) != 0 ||
        setresuid(user, user, user) != 0)
      _exit(1);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::string(socket_path).copy(address.sun_path, sizeof address.sun_path - 1);
    const Fd stabd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (connect(stabd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
      _exit(2);
    for (const std::string& request : requests) {
      if (!write_all(stabd.get(), request + "\n")) _exit(3);
      char each = 0;
      while (each != '\n' && read(stabd.get(), &each, 1) == 1)
        if (!write_all(tells.get(), {&each, 1})) _exit(4);
    }
    _exit(0);
  }
  tells.reset();
  std::vector<std::string> answers(1);
  for (char each = 0; read(told.get(), &each, 1) == 1;)
    if (each == '\n')
      answers.emplace_back();
    else
      answers.back() += each;
  answers.pop_back();
  EXPECT_EQ(end_of(child), 0);
  return answers;
}

// A request of each kind that names experiments, for this experiment.
template <class... Each>
std::vector<std::string> requests_about(std::int64_t id,
                                        std::type_identity<std::variant<Each...>>) {
  std::vector<std::string> lines;
  const auto add = [&](auto request) {
    if constexpr (requires { request.id = id; })
      request.id = id;
    else if constexpr (requires { request.ids = {id}; })
      request.ids = {id};
    else
      return;
    lines.push_back(protocol::encode(request));
  };
  (add(Each{}), ...);
  return lines;
}

TEST_F(Users, GetTheSameAnswersAboutExperimentsOfOthersAsAboutNone) {
  ASSERT_EQ(as(ada, {"submit", "--wait", "--fail-on", "trials", plan_of(ada)}).code, 0);
  const std::string hello =
      protocol::encode(protocol::HelloRequest{.protocol = protocol::version, .version = "x"});
  const auto answers_about = [&](std::int64_t id) {
    auto requests = requests_about(id, std::type_identity<protocol::Request>());
    requests.insert(requests.begin(), hello);
    const auto answers = answers_to(bob, requests);
    EXPECT_EQ(answers.size(), requests.size());
    EXPECT_GE(answers.size(), 15U) << "each verb of 'stabctl' about an experiment asks";
    const std::string number = std::to_string(id);
    std::vector<std::string> errors;
    for (std::size_t i = 1; i < answers.size(); ++i) {
      const auto refusal = protocol::refusal_in(answers[i]);
      EXPECT_TRUE(refusal) << requests[i] << " " << answers[i];
      errors.push_back(refusal ? refusal->error : answers[i]);
      if (const auto at = errors.back().find(number); at != std::string::npos)
        errors.back().replace(at, number.size(), "N");
    }
    return errors;
  };
  EXPECT_EQ(answers_about(1), answers_about(2));
  const json listed = json::parse(as(ada, {"list", "--json"}).out);
  ASSERT_EQ(listed.size(), 1U);
  EXPECT_EQ(listed[0]["state"], "done");
  const auto taught = answers_to(bob, {hello, protocol::encode(protocol::LearnRequest{})});
  ASSERT_EQ(taught.size(), 2U);
  EXPECT_THAT(taught[1], HasSubstr("only root and stabd's own user may add calibrations"));
}

}  // namespace
}  // namespace stab::test
