// SPDX-License-Identifier: MIT
// stabd as a service: its file of settings, its manager, which here is the test, and its end.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "base/fd.h"
#include "tests/system/lab.h"

namespace stab::test {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

sockaddr_un address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  return address;
}

Fd bound_socket(int type, const std::string& path) {
  Fd made(socket(AF_UNIX, type | SOCK_CLOEXEC, 0));
  const sockaddr_un address = address_of(path);
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size());
  EXPECT_EQ(bind(made.get(), reinterpret_cast<const sockaddr*>(&address), size), 0) << path;
  return made;
}

class Service : public ::testing::Test {
 protected:
  std::string stabd() const { return std::string(STAB_BIN_DIR) + "/stabd"; }
  Output check(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> argv{stabd(), "--config", lab_.path("stabd.toml"), "--check"};
    argv.insert(argv.end(), more.begin(), more.end());
    return run_program(argv, lab_.folder());
  }
  // Each trial leaves a line when it begins and one when it ends, and ends when the file "go" is
  // there.
  void write_waiting_plan(const std::string& more = "") const {
    lab_.write("trial.sh",
               "#!/bin/sh\nenv >" + lab_.path("environment") + "\necho begun >>" +
                   lab_.path("begun") + "\nuntil [ -e " + lab_.path("go") +
                   " ]; do sleep 0.02; done\necho ended >>" + lab_.path("ended") + "\n",
               true);
    lab_.write("plan.toml", "[experiment]\nname = \"waits\"\n" + more + "[[benchmark]]\n" +
                                "name = \"b\"\nrun = [\"" + lab_.path("trial.sh") +
                                "\"]\nrepetitions = 3\n");
  }
  int run_until_a_trial_waits() {
    const int id = lab_.submit("plan.toml");
    EXPECT_TRUE(wait_for_text(lab_.path("begun"), "begun"));
    return id;
  }
  std::string text(const std::string& name) const {
    return read_file(lab_.path(name), 1 << 20).value_or("");
  }
  std::size_t stored(int id) const { return lab_.trials(id).size(); }

  void TearDown() override {
    if (daemon_ != 0) kill(daemon_, SIGKILL);
  }

  Lab lab_;
  pid_t daemon_ = 0;  // that was started as a service, until it has ended
};

TEST_F(Service, TheCommandLineWinsOverTheFileAndBothAreShown) {
  lab_.write("stabd.toml",
             "[daemon]\nstate = \"/of/file\"\nread_limit = \"7min\"\nidle_limit = \"never\"\n");
  const Output shown = check({"--read-limit", "90", "--socket-mode", "0666"});
  EXPECT_EQ(shown.code, 0) << shown.err;
  EXPECT_THAT(shown.out, HasSubstr("# from " + lab_.path("stabd.toml")));
  EXPECT_THAT(shown.out, HasSubstr("state = \"/of/file\"\n"));
  EXPECT_THAT(shown.out, HasSubstr("read_limit = \"90s\"\n"));
  EXPECT_THAT(shown.out, HasSubstr("idle_limit = \"never\"\n"));
  EXPECT_THAT(shown.out, HasSubstr("socket_mode = \"0666\"\n"));
  EXPECT_THAT(shown.out, HasSubstr("# cache_of_user: none\n"));
  // What it shows is a file of settings that says the same.
  lab_.write("stabd.toml", shown.out);
  const Output again = check();
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_EQ(again.out, shown.out);
}

TEST_F(Service, AWrongFileIsRefusedWithEveryMistake) {
  lab_.write("stabd.toml", "[daemon]\nstop = \"finsh\"\n[limits]\nwaitin = 3\n");
  for (const bool only_check : {true, false}) {
    std::vector<std::string> argv{stabd(), "--config", lab_.path("stabd.toml"), "--state",
                                  lab_.path("state")};
    if (only_check) argv.emplace_back("--check");
    const Output refused = run_program(argv, lab_.folder());
    EXPECT_EQ(refused.code, 1);
    EXPECT_THAT(refused.err, HasSubstr("stabd.toml:2:1: 'daemon.stop' must be"));
    EXPECT_THAT(refused.err, HasSubstr("did you mean 'finish'?"));
    EXPECT_THAT(refused.err, HasSubstr("stabd.toml:4:1: unknown key 'limits.waitin'"));
  }
  EXPECT_FALSE(fs::exists(lab_.path("state")));
}

TEST_F(Service, AFileThatIsMissingOrThatOthersMayWriteIsRefused) {
  ASSERT_EQ(chmod(lab_.path("stabd.toml").c_str(), 0666), 0);
  EXPECT_EQ(check().code, 1);
  EXPECT_THAT(check().err, HasSubstr("other users may write to " + lab_.path("stabd.toml")));
  ASSERT_EQ(unlink(lab_.path("stabd.toml").c_str()), 0);
  // A pipe says what its writer wants.
  ASSERT_EQ(mkfifo(lab_.path("stabd.toml").c_str(), 0644), 0);
  if (geteuid() == 0) {
    ASSERT_EQ(chown(lab_.path("stabd.toml").c_str(), 61234, 61234), 0);
    EXPECT_EQ(check().code, 1);
    EXPECT_THAT(check().err, HasSubstr("belongs to user 61234"));
  }
  ASSERT_EQ(unlink(lab_.path("stabd.toml").c_str()), 0);
  EXPECT_EQ(check().code, 1);
  EXPECT_THAT(check().err, HasSubstr("there is no settings file"));
}

TEST_F(Service, SettingsAreReadAgainOnASignal) {
  lab_.write("stabd.toml", "[daemon]\nread_limit = \"7min\"\n");
  ASSERT_TRUE(lab_.start_daemon({"--log", "info"}));
  write_waiting_plan();
  const int id = run_until_a_trial_waits();
  lab_.write("stabd.toml",
             "[daemon]\nstate = \"/elsewhere\"\nnamespaces = false\nlog = \"error\"\n"
             "[notify]\ncommand = [\"/bin/sh\", \"-c\", \"cat >" +
                 lab_.path("told") + "\"]\n");
  ASSERT_EQ(kill(lab_.daemon(), SIGHUP), 0);
  ASSERT_TRUE(wait_for_text(lab_.path("stabd.log"), "the settings were read again"));
  const std::string log = text("stabd.log");
  EXPECT_THAT(log, HasSubstr("'daemon.namespaces' keeps its old value until stabd is restarted"));
  EXPECT_THAT(log, HasSubstr("'daemon.read_limit' has changed"));
  EXPECT_THAT(log, HasSubstr("'notify.command' has changed"));
  // What the command line says wins, as it did at the start.
  EXPECT_THAT(log, Not(HasSubstr("daemon.state")));
  EXPECT_THAT(log, Not(HasSubstr("daemon.log")));
  // Nothing happened to what runs, and its end is told as the file says now.
  lab_.write("go", "");
  ASSERT_TRUE(lab_.wait_for(id, "done"));
  EXPECT_EQ(stored(id), 3U);
  EXPECT_TRUE(wait_for_text(lab_.path("told"), "\"event\":\"done\""));
}

TEST_F(Service, AWrongFileChangesNothingThatIsInForce) {
  lab_.write("stabd.toml",
             "[notify]\ncommand = [\"/bin/sh\", \"-c\", \"cat >" + lab_.path("told") + "\"]\n");
  ASSERT_TRUE(lab_.start_daemon());
  lab_.write("stabd.toml", "[limits]\nwaitin = 3\n");
  ASSERT_EQ(kill(lab_.daemon(), SIGHUP), 0);
  ASSERT_TRUE(wait_for_text(lab_.path("stabd.log"), "the settings stay as they are"));
  EXPECT_THAT(text("stabd.log"), HasSubstr("stabd.toml:2:1: unknown key 'limits.waitin'"));
  lab_.write("go", "");
  write_waiting_plan();
  ASSERT_TRUE(lab_.wait_for(lab_.submit("plan.toml"), "done"));
  EXPECT_TRUE(wait_for_text(lab_.path("told"), "\"event\":\"done\""));
}

TEST_F(Service, TheUsualFileIsReadIfItIsThere) {
  lab_.write("config/stabd/stabd.toml", "[limits]\nwaiting = 7\n");
  std::vector<std::string> argv{"/usr/bin/env", "XDG_CONFIG_HOME=" + lab_.path("config")};
  if (geteuid() == 0) {
    // Root's is that of this machine.
    ASSERT_EQ(chmod(lab_.folder().c_str(), 0755), 0);
    argv.insert(argv.end(),
                {"/usr/bin/setpriv", "--clear-groups", "--reuid", "61234", "--regid", "61234"});
  }
  argv.insert(argv.end(), {stabd(), "--check"});
  if (run_program(argv, lab_.folder()).code < 0 || run_program(argv, lab_.folder()).code > 1)
    GTEST_SKIP() << "users cannot reach " << stabd();
  EXPECT_THAT(run_program(argv, lab_.folder()).out, HasSubstr("waiting = 7\n"));
  fs::remove(lab_.path("config/stabd/stabd.toml"));
  EXPECT_THAT(run_program(argv, lab_.folder()).out, HasSubstr("does not exist"));
}

// What the daemon tells its manager.
class Manager {
 public:
  explicit Manager(const std::string& path) : socket_(bound_socket(SOCK_DGRAM, path)) {}
  // Whether a datagram with this line comes.
  bool hears(const std::string& line) {
    while (!all_.contains("\n" + line + "\n")) {
      pollfd ready{socket_.get(), POLLIN, 0};
      if (poll(&ready, 1, 60'000) != 1) return false;
      std::array<char, 4096> buffer;
      const ssize_t n = recv(socket_.get(), buffer.data(), buffer.size(), 0);
      if (n > 0) all_ += std::string(buffer.data(), static_cast<std::size_t>(n)) + "\n";
    }
    return true;
  }
  [[nodiscard]] const std::string& all() const { return all_; }
  void forget() { all_ = "\n"; }

 private:
  Fd socket_;
  std::string all_ = "\n";
};

// As systemd does: the socket is descriptor 3, and the variables name the process.
pid_t start_as_service(const std::vector<std::string>& argv, const std::string& notify, int passed,
                       const std::string& watchdog, const std::string& log) {
  const pid_t child = fork();
  if (child != 0) return child;
  setenv("NOTIFY_SOCKET", notify.c_str(), 1);
  if (!watchdog.empty()) setenv("WATCHDOG_USEC", watchdog.c_str(), 1);
  if (!watchdog.empty()) setenv("WATCHDOG_PID", std::to_string(getpid()).c_str(), 1);
  if (passed >= 0) {
    setenv("LISTEN_FDS", "1", 1);
    setenv("LISTEN_PID", std::to_string(getpid()).c_str(), 1);
    dup2(passed, 3);
    fcntl(3, F_SETFD, 0);  // it may have been 3 already
  }
  if (freopen(log.c_str(), "w", stderr) == nullptr) _exit(126);
  std::vector<char*> words;
  for (const std::string& word : argv) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  execv(words[0], words.data());
  _exit(127);
}

TEST_F(Service, UnderAManagerItServesTheSocketThatItIsGivenAndSaysHowItIs) {
  const Fd served = bound_socket(SOCK_STREAM, lab_.path("s.sock"));
  ASSERT_EQ(listen(served.get(), 16), 0);
  struct stat before{};
  ASSERT_EQ(stat(lab_.path("s.sock").c_str(), &before), 0);
  Manager manager(lab_.path("notify"));
  daemon_ = start_as_service({stabd(), "--config", "/dev/null", "--state", lab_.path("state"),
                              "--cache", lab_.path("cache"), "--socket", lab_.path("other.sock")},
                             lab_.path("notify"), served.get(), "4000000", lab_.path("log"));
  ASSERT_TRUE(manager.hears("READY=1")) << text("log");
  ASSERT_TRUE(manager.hears("WATCHDOG=1"));
  ASSERT_TRUE(manager.hears("STATUS=no experiment is running"));
  write_waiting_plan();
  const int id = run_until_a_trial_waits();
  EXPECT_EQ(id, 1);
  ASSERT_TRUE(manager.hears("STATUS=experiment 1 (waits) is running"));
  EXPECT_FALSE(fs::exists(lab_.path("other.sock")));
  // What we are told is not passed on to trials.
  for (const char* variable : {"NOTIFY_SOCKET", "WATCHDOG_USEC", "LISTEN_FDS"})
    EXPECT_THAT(text("environment"), Not(HasSubstr(variable)));
  EXPECT_THAT(text("environment"), HasSubstr("PATH="));
  manager.forget();
  lab_.write("go", "");
  ASSERT_TRUE(manager.hears("STATUS=experiment 1 (waits) is done"));
  ASSERT_TRUE(manager.hears("STATUS=no experiment is running"));
  kill(daemon_, SIGTERM);
  ASSERT_TRUE(manager.hears("STOPPING=1"));
  EXPECT_EQ(end_of(std::exchange(daemon_, 0)), 0) << text("log");
  struct stat after{};
  ASSERT_EQ(stat(lab_.path("s.sock").c_str(), &after), 0);
  EXPECT_EQ(after.st_ino, before.st_ino);
}

TEST_F(Service, AnAbstractSocketIsToldAndWithoutAWatchdogItIsNotFed) {
  const std::string name = "stabd-test-" + std::to_string(getpid());
  Manager manager(std::string(1, '\0') + name);
  daemon_ = start_as_service({stabd(), "--config", "/dev/null", "--state", lab_.path("state"),
                              "--socket", lab_.path("s.sock")},
                             "@" + name, -1, "", lab_.path("log"));
  ASSERT_TRUE(manager.hears("READY=1")) << text("log");
  EXPECT_EQ(lab_.ctl({"list"}).code, 0);
  kill(daemon_, SIGTERM);
  ASSERT_TRUE(manager.hears("STOPPING=1"));
  EXPECT_EQ(end_of(std::exchange(daemon_, 0)), 0);
  EXPECT_THAT(manager.all(), Not(HasSubstr("WATCHDOG")));
}

TEST_F(Service, WhatIsPassedMustBeASocketThatListens) {
  const Fd deaf = bound_socket(SOCK_DGRAM, lab_.path("deaf"));
  daemon_ = start_as_service({stabd(), "--config", "/dev/null", "--state", lab_.path("state")}, "",
                             deaf.get(), "", lab_.path("log"));
  EXPECT_EQ(end_of(std::exchange(daemon_, 0)), 1);
  EXPECT_THAT(text("log"),
              HasSubstr("the descriptor passed to stabd is not a listening unix socket"));
}

TEST_F(Service, ByDefaultAStopAbandonsTheTrialUnderWay) {
  write_waiting_plan();
  ASSERT_TRUE(lab_.start_daemon());
  const int id = run_until_a_trial_waits();
  lab_.end_daemon(SIGTERM);
  EXPECT_EQ(text("ended"), "");
  lab_.write("go", "");
  ASSERT_TRUE(lab_.start_daemon());
  ASSERT_TRUE(lab_.wait_until_final(id));
  EXPECT_EQ(stored(id), 3U);
  EXPECT_EQ(text("begun"), "begun\nbegun\nbegun\nbegun\n");  // one of them twice
}

TEST_F(Service, AStopFinishesTheTrialUnderWayIfTheSettingsSaySo) {
  write_waiting_plan();
  lab_.write("stabd.toml", "[daemon]\nstop = \"finish\"\nstop_limit = \"24h\"\n");
  ASSERT_TRUE(lab_.start_daemon());
  const int id = run_until_a_trial_waits();
  kill(lab_.daemon(), SIGTERM);
  ASSERT_TRUE(wait_for_text(lab_.path("stabd.log"), "stabd finishes the running trial"));
  // It still answers, and begins nothing.
  EXPECT_EQ(lab_.state(id), "running");
  lab_.write("go", "");
  EXPECT_EQ(lab_.wait_for_daemon(), 0);
  EXPECT_EQ(text("begun"), "begun\n");
  EXPECT_EQ(text("ended"), "ended\n");
  ASSERT_TRUE(lab_.start_daemon());
  ASSERT_TRUE(lab_.wait_until_final(id));
  EXPECT_EQ(stored(id), 3U);
  EXPECT_EQ(text("begun"), "begun\nbegun\nbegun\n");
}

TEST_F(Service, AManagerIsAskedForTheTimeThatTheTrialMayTake) {
  write_waiting_plan();
  lab_.write("stabd.toml", "[daemon]\nstop = \"finish\"\nstop_limit = \"10min\"\n");
  Manager manager(lab_.path("notify"));
  daemon_ =
      start_as_service({stabd(), "--config", lab_.path("stabd.toml"), "--state", lab_.path("state"),
                        "--socket", lab_.path("s.sock"), "--cache", lab_.path("cache")},
                       lab_.path("notify"), -1, "", lab_.path("log"));
  ASSERT_TRUE(manager.hears("READY=1")) << text("log");
  run_until_a_trial_waits();
  kill(daemon_, SIGTERM);
  ASSERT_TRUE(manager.hears("STOPPING=1"));
  ASSERT_TRUE(manager.hears("EXTEND_TIMEOUT_USEC=660000000"));
  lab_.write("go", "");
  EXPECT_EQ(end_of(std::exchange(daemon_, 0)), 0);
  EXPECT_EQ(text("ended"), "ended\n");
}

TEST_F(Service, ASecondSignalAbandonsTheTrialAfterAll) {
  write_waiting_plan();
  lab_.write("stabd.toml", "[daemon]\nstop = \"finish\"\nstop_limit = \"24h\"\n");
  ASSERT_TRUE(lab_.start_daemon());
  run_until_a_trial_waits();
  kill(lab_.daemon(), SIGTERM);
  ASSERT_TRUE(wait_for_text(lab_.path("stabd.log"), "stabd finishes the running trial"));
  kill(lab_.daemon(), SIGTERM);
  EXPECT_EQ(lab_.wait_for_daemon(), 0);
  EXPECT_EQ(text("ended"), "");
}

TEST_F(Service, ATrialThatIsNotFinishedInTimeIsAbandoned) {
  write_waiting_plan();
  lab_.write("stabd.toml", "[daemon]\nstop = \"finish\"\nstop_limit = \"300ms\"\n");
  ASSERT_TRUE(lab_.start_daemon());
  run_until_a_trial_waits();
  kill(lab_.daemon(), SIGTERM);
  EXPECT_EQ(lab_.wait_for_daemon(), 0);
  EXPECT_EQ(text("ended"), "");
}

TEST_F(Service, TheCacheIsCutToItsLimitAndTheExperimentSaysSo) {
  lab_.write("stabd.toml", "[limits]\ncache_of_user = \"1MiB\"\n");
  const auto plan = [&](const std::string& name) {
    lab_.write(name + ".toml", "[experiment]\nname = \"" + name +
                                   "\"\n[[benchmark]]\nname = \"b\"\nbuild = \"cp /bin/true "
                                   "${OUT}; head -c 800000 /dev/zero >>${OUT}; echo " +
                                   name +
                                   " >>${OUT}\"\nsources = [\"stabd.toml\"]\nrun = [\"${OUT}\"]\n"
                                   "repetitions = 1\n");
    return lab_.path(name + ".toml");
  };
  const auto builds = [&] {
    std::size_t count = 0;
    for (const auto& each : fs::directory_iterator(lab_.path("cache/" + std::to_string(geteuid()))))
      if (fs::exists(each.path() / "out")) ++count;
    return count;
  };
  ASSERT_TRUE(lab_.start_daemon());
  ASSERT_EQ(lab_.ctl({"submit", "--wait", "--fail-on", "trials", plan("one")}).code, 0);
  EXPECT_EQ(builds(), 1U);
  EXPECT_THAT(lab_.ctl({"status", "1"}).out, Not(HasSubstr("removed from the cache")));
  ASSERT_EQ(lab_.ctl({"submit", "--wait", "--fail-on", "trials", plan("two")}).code, 0);
  EXPECT_EQ(builds(), 1U);
  EXPECT_THAT(lab_.ctl({"status", "2"}).out, HasSubstr("removed from the cache"));
}

}  // namespace
}  // namespace stab::test
