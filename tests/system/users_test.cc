// SPDX-License-Identifier: MIT
// What users of root's daemon get, and what they do not.
#include "tests/system/users.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/keyctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

namespace stab::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

TEST_F(Users, WithoutAnAccountMeasureWithTheDaemonOfRoot) {
  for (const uid_t user : {ada, bob}) {
    const Output run = as(user, {"submit", "--wait", "--fail-on", "trials", plan_of(user)});
    EXPECT_EQ(run.code, 0) << run.err;
  }
  const Output rows = as(ada, {"export", "--format", "json", "1"});
  ASSERT_EQ(rows.code, 0) << rows.err;
  const json trials = json::parse(rows.out);
  ASSERT_EQ(trials.size(), 3U);
  for (const json& trial : trials) EXPECT_EQ(trial["status"], "ok");
}

TEST_F(Users, HaveNoCountsOfAProgramWhoseFileTheyMayNotRead) {
  const std::string program = lab_.path(std::to_string(ada) + "/secret");
  lab_.write(std::to_string(ada) + "/secret", read_file("/bin/true", 1 << 24).value());
  ASSERT_EQ(chmod(program.c_str(), 0111), 0);
  lab_.write(std::to_string(ada) + "/counts.toml",
             "[experiment]\nname = \"c\"\n[measure]\ncounters = [\"page-faults:u\"]\n"
             "[defaults]\nrepetitions = 2\n[[benchmark]]\nname = \"secret\"\nrun = [\"" +
                 program + "\"]\n[[benchmark]]\nname = \"open\"\nrun = [\"/bin/true\"]\n");
  const Output run = as(ada, {"submit", "--wait", lab_.path(std::to_string(ada) + "/counts.toml")});
  EXPECT_EQ(run.code, 0) << run.err;
  const Output rows = as(ada, {"export", "--format", "json", "1"});
  const std::string here =
      json::parse(as(ada, {"counters", "--json", "page-faults"}).out)["events"].back()["status"];
  for (const json& trial : json::parse(rows.out)) {
    const bool counted = trial["benchmark"] == "open" && here != "absent";
    EXPECT_EQ(trial["page-faults:u.status"], counted ? "counted" : "absent") << trial;
  }
}

// What 'check' says is what the trials of this user find, and not what root would.
TEST_F(Users, AreToldByCheckWhatTheirTrialsCannotCount) {
  constexpr const char* folder = "/sys/kernel/debug";
  if (mount("none", folder, "debugfs", 0, nullptr) != 0)
    GTEST_SKIP() << "debugfs cannot be mounted here";
  const std::string name = std::to_string(ada) + "/tracepoint.toml";
  const auto plan = [&](const std::string& event) {
    lab_.write(name,
               "[experiment]\nname = \"t\"\n[measure]\ncounters = [\"" + event +
                   "\"]\n[[benchmark]]\nname = \"b\"\nrun = [\"/bin/true\"]\nrepetitions = 2\n");
    return lab_.path(name);
  };
  const std::string absent =
      "sched:sched_switch cannot be counted here: the name may be a tracepoint, but this user is "
      "not allowed to look up or count tracepoints";
  const std::string good = plan("sched:sched_switch");
  const Output check = as(ada, {"check", good});
  EXPECT_EQ(check.code, 0) << check.err;
  EXPECT_THAT(check.out, HasSubstr(absent));
  const Output run = as(ada, {"submit", "--wait", good});
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(as(ada, {"logs", "1"}).out, HasSubstr(absent));
  const Output wrong = as(ada, {"submit", plan("sched:sched_swich")});
  EXPECT_EQ(wrong.code, 1) << "root's daemon knows the tracepoints: " << wrong.out;
  EXPECT_EQ(as(ada, {"check", plan("cyclez:u")}).code, 1);
  umount2(folder, MNT_DETACH);
}

TEST_F(Users, ChangeNothingOfTheMachine) {
  const std::string root = lab_.path("machine");
  const std::string swappiness = "machine/proc/sys/vm/swappiness";
  lab_.write("machine/proc/sys/kernel/random/boot_id", "4b1c\n");
  lab_.write(swappiness, "60\n");
  const auto plan = [&](const std::string& how, const std::string& knob = "swappiness") {
    const std::string name = std::to_string(ada) + "/quiet.toml";
    lab_.write(name, "[experiment]\nname = \"q\"\n[machine]\nquiesce = \"" + how +
                         "\"\nknobs = [\"" + knob +
                         "\"]\n[[benchmark]]\nname = \"b\"\nrun = "
                         "[\"true\"]\nrepetitions = 3\n");
    return lab_.path(name);
  };
  const auto restart_with = [&](const std::string& settings) {
    kill(daemon_, SIGTERM);
    ASSERT_EQ(end_of(daemon_), 0);
    lab_.write("users.toml", settings);
    start_daemon({"--config", lab_.path("users.toml"), "--machine-root", root});
  };
  restart_with("");
  const Output refused = as(ada, {"submit", plan("strict")});
  EXPECT_NE(refused.code, 0);
  EXPECT_THAT(refused.err, HasSubstr("plans of user 61234 may not change settings"));
  const Output tried = as(ada, {"submit", "--wait", plan("best-effort")});
  EXPECT_EQ(tried.code, 0) << tried.err;
  EXPECT_THAT(as(ada, {"status", "1"}).out, HasSubstr("loud     plans of user 61234 may not"));

  restart_with("[machine]\nquiesce_for = \"all\"\n");
  const Output allowed = as(ada, {"submit", "--wait", plan("strict")});
  EXPECT_EQ(allowed.code, 0) << allowed.err;
  EXPECT_THAT(as(ada, {"status", "2"}).out, HasSubstr("quieted  swappiness"));
  EXPECT_EQ(read_file(lab_.path(swappiness), 100).value(), "60\n");

  const Output others = as(ada, {"submit", plan("strict", "other_processes")});
  EXPECT_NE(others.code, 0);
  EXPECT_THAT(others.err, HasSubstr("may move other processes"));
}

TEST_F(Users, FindTheirOwnDaemonElseTheSystems) {
  const std::string own = lab_.path(std::to_string(ada));
  fs::create_directories(own + "/run/stabd");
  for (const char* folder : {"", "/run", "/run/stabd"})
    ASSERT_EQ(chown((own + folder).c_str(), ada, ada), 0);
  const std::vector<std::string> ada_is{"/usr/bin/env",          "XDG_RUNTIME_DIR=" + own + "/run",
                                        "XDG_STATE_HOME=" + own, "/usr/bin/setpriv",
                                        "--clear-groups",        "--reuid",
                                        std::to_string(ada),     "--regid",
                                        std::to_string(ada)};
  const auto list = [&] {
    auto argv = ada_is;
    argv.insert(argv.end(), {std::string(STAB_BIN_DIR) + "/stabctl", "list"});
    return run_program(argv, lab_.folder());
  };
  ASSERT_EQ(as(ada, {"submit", "--wait", "--fail-on", "trials", plan_of(ada)}).code, 0);
  EXPECT_THAT(list().out, HasSubstr("of-61234"));

  auto argv = ada_is;
  argv.insert(argv.end(), {std::string(STAB_BIN_DIR) + "/stabd", "--ready-fd", "1"});
  const pid_t other = start_program(argv, lab_.folder(), lab_.path("own.log"));
  ASSERT_TRUE(wait_for_text(lab_.path("own.log"), "ready"));
  EXPECT_THAT(list().out, HasSubstr("there are no experiments"));
  for (const pid_t daemon : {other, daemon_}) {
    kill(daemon, SIGTERM);
    EXPECT_EQ(end_of(daemon), 0);
  }
  daemon_ = 0;
  const Output none = list();
  EXPECT_EQ(none.code, 1);
  EXPECT_THAT(none.err, HasSubstr("no stabd answers at " + own + "/run/stabd/stabd.sock ("));
  EXPECT_THAT(none.err, HasSubstr(std::string(" or at ") + socket_path + " ("));
}

TEST_F(Users, OutsideTheSocketsGroupDoNotGetIn) {
  constexpr const char* group = "61300";
  kill(daemon_, SIGTERM);
  ASSERT_EQ(end_of(daemon_), 0);
  lab_.write("users.toml", std::string("[daemon]\nsocket_group = \"") + group + "\"\n");
  start_daemon({"--config", lab_.path("users.toml"), "--socket-mode", "0660"});
  struct stat status{};
  ASSERT_EQ(stat(socket_path, &status), 0);
  EXPECT_EQ(status.st_gid, 61300U);
  EXPECT_EQ(status.st_mode & 0777U, 0660U);
  auto member = command(ada, {"list"});
  for (std::string& word : member)
    if (word == "--clear-groups") word = std::string("--groups=") + group;
  const Output inside = run_program(member, lab_.folder());
  EXPECT_EQ(inside.code, 0) << inside.err;
  for (const uid_t user : {ada, bob}) {
    const Output outside = as(user, {"list"});
    EXPECT_EQ(outside.code, 1);
    EXPECT_THAT(outside.err, HasSubstr("you are not allowed to connect to"));
  }
  EXPECT_EQ(as(0, {"list"}).code, 0);
}

TEST_F(Users, SeeTheirOwnExperimentsAndNoOthers) {
  ASSERT_EQ(as(ada, {"submit", "--wait", "--fail-on", "trials", plan_of(ada)}).code, 0);
  EXPECT_THAT(as(bob, {"list"}).out, HasSubstr("there are no experiments"));
  for (const char* verb : {"status", "report", "export", "cancel", "watch", "pause", "resume",
                           "retry", "rm", "logs"}) {
    const Output refused = as(bob, {verb, "1"});
    EXPECT_EQ(refused.code, 1) << verb;
    EXPECT_THAT(refused.err, HasSubstr("there is no experiment 1")) << verb;
  }
  EXPECT_THAT(as(0, {"list"}).out, HasSubstr("of-61234"));
  // Nor do folders tell: the database is root's alone, builds are their user's alone.
  struct stat status{};
  ASSERT_EQ(stat("/var/lib/stabd", &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0700U);
  ASSERT_EQ(stat("/var/cache/stabd/builds/61234", &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0700U);
  EXPECT_EQ(status.st_uid, ada);
}

TEST_F(Users, SeeThatAnExperimentOfAnotherIsDamagedAndNothingElseOfIt) {
  ASSERT_EQ(as(ada, {"submit", "--wait", "--fail-on", "trials", plan_of(ada)}).code, 0);
  kill(daemon_, SIGTERM);
  ASSERT_EQ(end_of(daemon_), 0);
  const Output changed = run_program({"/usr/bin/sqlite3", "/var/lib/stabd/stabd.db",
                                      "update experiment set name = 'spoilt' where id = 1"},
                                     lab_.folder());
  ASSERT_EQ(changed.code, 0) << changed.err;
  start_daemon({});
  const Output list = as(bob, {"list", "--json"});
  const json listed = json::parse(list.out, nullptr, false);
  ASSERT_EQ(listed.size(), 1U) << list.err;
  EXPECT_EQ(listed[0]["id"], 1);
  EXPECT_EQ(listed[0]["state"], "damaged");
  EXPECT_EQ(listed[0]["name"], "");
  EXPECT_EQ(listed[0]["directory"], "");
  EXPECT_THAT(list.out, AllOf(Not(HasSubstr("spoilt")), Not(HasSubstr("61234"))));
  for (const char* verb : {"status", "report", "logs", "rm"})
    EXPECT_EQ(as(bob, {verb, "1"}).code, 1);
  EXPECT_EQ(as(bob, {"submit", "--wait", "--fail-on", "trials", plan_of(bob)}).code, 0);
}

TEST_F(Users, ReplayWhatIsTheirsAsThemselves) {
  ASSERT_EQ(as(ada, {"submit", "--wait", "--fail-on", "trials", plan_of(ada)}).code, 0);
  const Output own = as(ada, {"replay", "1", "0"});
  EXPECT_EQ(own.code, 0) << own.err;
  EXPECT_THAT(as(bob, {"replay", "1", "0"}).err, HasSubstr("there is no experiment 1"));
  const Output of_root = as(0, {"replay", "1", "0"});
  EXPECT_EQ(of_root.code, 1);
  EXPECT_THAT(of_root.err,
              HasSubstr("user 61234 ran this trial, so replay it as that user: sudo -u "
                        "'#61234' stabctl replay 1 0"));
}

TEST_F(Users, CopyNobodysDatabaseButTheirOwn) {
  const std::string copy = lab_.path(std::to_string(ada) + "/copy.db");
  ASSERT_EQ(chown(lab_.path(std::to_string(ada)).c_str(), ada, ada), 0);
  const Output refused = as(ada, {"backup", copy});
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.err, HasSubstr("only root and stabd's own user may copy this database"));
  EXPECT_FALSE(fs::exists(copy));
  EXPECT_EQ(as(0, {"backup", copy}).code, 0);
}

// A program that tries to reach its parent and the processes whose numbers it gets, in every way
// that a process has, and says each that worked.
constexpr const char* reach_others = R"c(
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <unistd.h>
static int reach(pid_t other) {
  const int pidfd = (int)syscall(SYS_pidfd_open, other, 0);
  int reached = 0;
  char path[64];
  for (int fd = 0; fd < 64; ++fd) {
    snprintf(path, sizeof path, "/proc/%d/fd/%d", other, fd);
    if (open(path, O_RDWR) >= 0 || open(path, O_RDONLY) >= 0)
      reached += fprintf(stderr, "opened descriptor %d\n", fd);
    if (syscall(SYS_pidfd_getfd, pidfd, fd, 0) >= 0)
      reached += fprintf(stderr, "took descriptor %d\n", fd);
  }
  for (int i = 0; i < 3; ++i) {
    snprintf(path, sizeof path, "/proc/%d/%s", other, i == 0 ? "mem" : i == 1 ? "environ" : "cwd");
    if (open(path, O_RDONLY) >= 0) reached += fprintf(stderr, "opened %s\n", path);
  }
  if (ptrace(PTRACE_SEIZE, other, 0, 0) == 0) reached += fprintf(stderr, "traced %d\n", other);
  return reached;
}
int main(int argc, char** argv) {
  int reached = reach(getppid());
  for (int i = 1; i < argc; ++i) reached += reach(atoi(argv[i]));
  return reached != 0;
}
)c";

TEST_F(Users, ReachNothingOfTheirWorkerNorOfTheDaemon) {
  lab_.write("61234/reach.c", reach_others);
  for (const bool isolated : {true, false}) {
    if (!isolated) {
      kill(daemon_, SIGTERM);
      ASSERT_EQ(end_of(daemon_), 0);
      start_daemon({"--no-namespaces"});
    }
    // In a namespace, the number may be that of another process.
    const std::string daemon = isolated ? "" : ", \"" + std::to_string(daemon_) + "\"";
    lab_.write("61234/reach.toml",
               "[experiment]\nname = \"reach\"\n[[benchmark]]\nname = \"b\"\nbuild = \"cc -o "
               "${OUT} reach.c\"\nsources = [\"reach.c\"]\nrun = [\"${OUT}\"" +
                   daemon + "]\nrepetitions = 2\n");
    EXPECT_EQ(
        as(ada, {"submit", "--wait", "--fail-on", "trials", lab_.path("61234/reach.toml")}).code, 0)
        << as(ada, {"logs"}).out;
  }
}

// It reaches all processes of its user that it sees, which are those of the trial.
TEST_F(Users, WhoseTrialKillsAllThatItMayEndNothingElse) {
  const std::string own = lab_.path("61234/");
  ASSERT_EQ(chown(own.c_str(), ada, ada), 0);
  lab_.write("61234/kill.sh",
             "#!/bin/sh\n[ \"$(readlink /proc/self/ns/pid)\" = '" +
                 fs::read_symlink("/proc/self/ns/pid").string() +
                 "' ] && exit\necho killed >>told\nkill -9 -1\n",
             true);
  lab_.write("61234/kill.toml",
             "[experiment]\nname = \"kill\"\n[[benchmark]]\nname = \"b\"\nrun = [\"./kill.sh\"]\n"
             "repetitions = 2\n");
  auto sleep = command(ada, {});
  sleep.resize(sleep.size() - 3);  // without stabctl and its socket
  sleep.insert(sleep.end(), {"/bin/sleep", "1000"});
  const pid_t bystander = start_program(sleep, lab_.folder(), lab_.path("sleep.log"));
  as(ada, {"submit", "--wait", lab_.path("61234/kill.toml")});
  EXPECT_EQ(as(bob, {"submit", "--wait", "--fail-on", "trials", plan_of(bob)}).code, 0);
  EXPECT_EQ(waitpid(bystander, nullptr, WNOHANG), 0) << "it was killed, too";
  kill(bystander, SIGKILL);
  waitpid(bystander, nullptr, 0);
  const std::string state = json::parse(as(ada, {"list", "--json"}).out).front()["state"];
  EXPECT_TRUE(state == "done" || state == "failed") << state;
  if (!fs::exists(own + "told")) GTEST_SKIP() << "trials have no pid namespaces here";
}

// A key in our user keyring, until the end of the test.
class KeyOfUser {
 public:
  explicit KeyOfUser(const char* name) : key_(syscall(SYS_add_key, "user", name, "x", 1, user)) {}
  KeyOfUser(const KeyOfUser&) = delete;
  KeyOfUser& operator=(const KeyOfUser&) = delete;
  ~KeyOfUser() { syscall(SYS_keyctl, KEYCTL_UNLINK, key_, user); }
  [[nodiscard]] bool is_linked_into(int keyring) const {
    return key_ >= 0 && syscall(SYS_keyctl, KEYCTL_LINK, user, keyring) == 0;
  }

 private:
  static constexpr int user = -4;
  long key_;
};

// The session from which root started stabd has a keyring, as pam_keyinit makes one at a login. It links root's user
// keyring, whose keys outlive the session.
TEST_F(Users, FindNoKeyOfTheSessionThatStartedStabd) {
  constexpr const char* secret = "stabd-test-secret";
  constexpr const char* linked = "stabd-test-linked-secret";
  constexpr int session = -3;
  if (syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, nullptr) < 0 ||
      syscall(SYS_add_key, "user", secret, "x", 1, session) < 0)
    GTEST_SKIP() << "this kernel has no keyrings for us";
  const KeyOfUser of_root(linked);
  ASSERT_TRUE(of_root.is_linked_into(session));
  const std::string own = lab_.path("61234/");
  ASSERT_EQ(chown(own.c_str(), ada, ada), 0);
  const auto has = [](const char* name) {
    return "(syscall(SYS_keyctl, 10, -3, \"user\", \"" + std::string(name) + "\", 0) >= 0)";
  };
  lab_.write("keys.c",
             "#define _GNU_SOURCE\n#include <sys/syscall.h>\n#include <unistd.h>\n"
             "int main(void) { return " +
                 has(secret) + " + 2 * " + has(linked) + "; }\n");
  ASSERT_EQ(run_program({"/usr/bin/cc", "-o", own + "keys", lab_.path("keys.c")}, "/").code, 0);
  ASSERT_EQ(run_program({own + "keys"}, "/").code, 3) << "we have them ourselves";
  lab_.write("61234/tell.sh", "#!/bin/sh\n./keys\necho found $? >told\n", true);
  restart("");
  lab_.write(
      "61234/keys.toml",
      "[experiment]\nname = \"keys\"\nnotify = [\"./tell.sh\"]\n[[benchmark]]\nname = \"b\"\n"
      "build = \"./keys && cp keys ${OUT}\"\nsources = [\"keys\"]\nrun = [\"${OUT}\"]\n"
      "repetitions = 1\n");
  const Output run =
      as(ada, {"submit", "--wait", "--fail-on", "trials", lab_.path("61234/keys.toml")});
  EXPECT_EQ(run.code, 0) << run.err << as(ada, {"status", "1"}).out;
  EXPECT_TRUE(wait_for_text(own + "told", "found 0"));
}

// "add" puts two keys into the keyring of the session and two into the keyring of the user. Everybody may read the first
// key of each keyring. Only its possessor and owner may read the second key, and "add" prints its number. "find" searches for all of them and reads those with the numbers
// that follow. "clear" empties the user keyring.
constexpr const char* keys_c = R"c(
#define _GNU_SOURCE
#include <linux/keyctl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
static const int keyrings[] = {KEY_SPEC_SESSION_KEYRING, KEY_SPEC_USER_KEYRING};
static const char* const names[2][2] = {{"stabd-test-session-open", "stabd-test-session-own"},
                                        {"stabd-test-user-open", "stabd-test-user-own"}};
static const unsigned rights[] = {0x3f3f3f3f, 0x3f3f0000};
static int add(void) {
  // The kernel lets only a process that possesses a key change its rights. This link gives possession.
  if (syscall(SYS_keyctl, KEYCTL_LINK, keyrings[1], keyrings[0]) != 0) return 1;
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 2; ++j) {
      const long key = syscall(SYS_add_key, "user", names[i][j], "x", 1, keyrings[i]);
      if (key < 0 || syscall(SYS_keyctl, KEYCTL_SETPERM, key, rights[j]) != 0) return 2;
      if (syscall(SYS_keyctl, KEYCTL_SEARCH, keyrings[i], "user", names[i][j], 0) != key) return 3;
      char content = 0;
      if (syscall(SYS_keyctl, KEYCTL_READ, key, &content, 1) != 1 || content != 'x') return 4;
      if (j == 1) printf("%ld ", key);
    }
  return 0;
}
static int found(int count, char** numbers) {
  int seen = 0;
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 4; ++j)
      if (syscall(SYS_keyctl, KEYCTL_SEARCH, keyrings[i], "user", names[j / 2][j % 2], 0) >= 0)
        seen += fprintf(stderr, "found %s in %d\n", names[j / 2][j % 2], keyrings[i]);
  for (int i = 0; i < count; ++i) {
    char content = 0;
    if (syscall(SYS_keyctl, KEYCTL_READ, atol(numbers[i]), &content, 1) >= 0)
      seen += fprintf(stderr, "read %s\n", numbers[i]);
  }
  return seen != 0;
}
int main(int argc, char** argv) {
  if (argc == 2 && strcmp(argv[1], "add") == 0) return add();
  if (argc == 2 && strcmp(argv[1], "clear") == 0)
    return syscall(SYS_keyctl, KEYCTL_CLEAR, keyrings[1]) != 0;
  return found(argc - 2, argv + 2);
}
)c";

// A user can read a key of another user by its number if the owner shares the key with everybody; stabd cannot prevent
// that. This test shows that a search does not find such a key, and that a key that is not shared cannot be read.
TEST_F(Users, FindNoKeysOfEachOther) {
  constexpr int session = -3;
  if (syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, nullptr) < 0 ||
      syscall(SYS_add_key, "user", "stabd-test", "x", 1, session) < 0)
    GTEST_SKIP() << "this kernel has no keyrings for us";
  lab_.write("keys.c", keys_c);
  const std::string own = lab_.path("61234/");
  ASSERT_EQ(chown(own.c_str(), ada, ada), 0);
  ASSERT_EQ(run_program({"/usr/bin/cc", "-o", own + "keys", lab_.path("keys.c")}, "/").code, 0);
  fs::copy_file(own + "keys", lab_.path("61235/keys"));
  // The new daemon has our session keyring.
  restart("");
  lab_.write("61234/adds.toml",
             "[experiment]\nname = \"adds\"\n[[benchmark]]\nname = \"b\"\n"
             "run = [\"sh\", \"-c\", \"./keys add >numbers\"]\nrepetitions = 1\n");
  const Output adds =
      as(ada, {"submit", "--wait", "--fail-on", "trials", lab_.path("61234/adds.toml")});
  EXPECT_EQ(adds.code, 0) << adds.err << as(ada, {"logs", "1"}).out;
  std::istringstream numbers(read_file(own + "numbers", 100).value_or(""));
  std::string first;
  std::string second;
  numbers >> first >> second;
  EXPECT_FALSE(second.empty());
  lab_.write("61235/finds.toml",
             "[experiment]\nname = \"finds\"\n[[benchmark]]\nname = \"b\"\n"
             "build = \"./keys find " +
                 first + " " + second +
                 " && cp keys ${OUT}\"\nsources = [\"keys\"]\nrun = [\"${OUT}\", \"find\", \"" +
                 first + "\", \"" + second + "\"]\nrepetitions = 1\n");
  const Output finds =
      as(bob, {"submit", "--wait", "--fail-on", "trials", lab_.path("61235/finds.toml")});
  EXPECT_EQ(finds.code, 0) << finds.err << as(bob, {"logs", "2"}).out;
  auto clear = command(ada, {});
  clear.resize(clear.size() - 3);  // without stabctl and its socket
  clear.insert(clear.end(), {own + "keys", "clear"});
  EXPECT_EQ(run_program(clear, "/").code, 0);
}

// The worker opens the stdin of a trial, and copies the sources of a build.
TEST_F(Users, GetNothingOfAFileOfRootsAsStdinOrByALinkAmongTheirSourcesOrAsTheirOutput) {
  const std::string text = "stabd-test-text-of-root";
  const std::string secret = lab_.path("secret.txt");
  lab_.write("secret.txt", text + "\n");
  ASSERT_EQ(chmod(secret.c_str(), 0600), 0);
  fs::create_symlink(secret, lab_.path("61234/linked.txt"));
  lab_.write("61234/stdin.toml",
             "[experiment]\nname = \"stdin\"\n[[benchmark]]\nname = \"b\"\nrun = [\"sh\", \"-c\", "
             "\"cat >&2\"]\nstdin = \"" +
                 secret + "\"\nrepetitions = 1\n");
  lab_.write("61234/linked.toml",
             "[experiment]\nname = \"linked\"\n[[benchmark]]\nname = \"b\"\n"
             "build = \"cat linked.txt && cp linked.txt ${OUT}\"\nsources = [\"linked.txt\"]\n"
             "run = [\"sh\", \"-c\", \"cat ${OUT} >&2\"]\nrepetitions = 1\n");
  lab_.write("61234/output.toml",
             "[experiment]\nname = \"output\"\n[[benchmark]]\nname = \"b\"\nbuild = \"ln -s " +
                 secret +
                 " ${OUT}\"\nsources = [\"b.c\"]\nrun = [\"sh\", \"-c\", \"cat ${OUT} >&2\"]\n"
                 "repetitions = 1\n");
  for (const char* plan : {"stdin", "linked", "output"}) {
    const Output run = as(ada, {"submit", "--wait", "--fail-on", "trials",
                                lab_.path("61234/" + std::string(plan) + ".toml")});
    EXPECT_EQ(run.code, 5) << plan << run.err;
  }
  const json trials = json::parse(as(ada, {"export", "--format", "json", "1"}).out);
  ASSERT_EQ(trials.size(), 1U);
  EXPECT_EQ(trials[0]["status"], "not_started");
  EXPECT_THAT(trials[0]["reason"].get<std::string>(),
              HasSubstr("cannot open the stdin file " + secret));
  EXPECT_THAT(as(ada, {"logs", "2"}).out, HasSubstr("cat: linked.txt"));
  for (const char* id : {"1", "2", "3"})
    for (const std::vector<std::string>& words : {std::vector<std::string>{"logs", id},
                                                  {"export", id},
                                                  {"export", "--format", "json", id},
                                                  {"status", id},
                                                  {"report", id}}) {
      const Output said = as(ada, words);
      EXPECT_THAT(said.out + said.err, Not(HasSubstr(text))) << words.front() << id;
    }
  // Nothing in the cache changes any more.
  kill(daemon_, SIGTERM);
  ASSERT_EQ(end_of(daemon_), 0);
  for (const fs::directory_entry& each : fs::recursive_directory_iterator("/var/cache/stabd"))
    if (fs::is_regular_file(each.symlink_status()))
      EXPECT_FALSE(read_file(each.path(), 1 << 20).value_or("").contains(text)) << each.path();
  start_daemon({});
}

TEST_F(Users, AreToldWithTheirOwnRights) {
  const std::string own = lab_.path("61234/");
  ASSERT_EQ(chown(own.c_str(), ada, ada), 0);
  lab_.write("61234/tell.sh",
             "#!/bin/sh\ncat >told\ngrep -E '^(Uid|Gid|Groups|CapEff|NoNewPrivs):' "
             "/proc/self/status >rights\nls -l /proc/self/fd >fds\n",
             true);
  lab_.write("root.sh", "#!/bin/sh\nid -u >" + lab_.path("root") + "\n", true);
  restart("[notify]\ncommand = [\"" + lab_.path("root.sh") + "\"]\n");
  lab_.write("61234/told.toml",
             "[experiment]\nname = \"told\"\nnotify = [\"./tell.sh\"]\n[[benchmark]]\nname = "
             "\"b\"\nrun = [\"true\"]\nrepetitions = 1\n");
  ASSERT_EQ(as(ada, {"submit", "--wait", "--fail-on", "trials", lab_.path("61234/told.toml")}).code,
            0);
  EXPECT_TRUE(wait_for_text(own + "rights",
                            "Uid:\t61234\t61234\t61234\t61234\nGid:\t61234\t61234\t61234\t61234\n"
                            "Groups:\t \nCapEff:\t0000000000000000\nNoNewPrivs:\t1\n"));
  EXPECT_TRUE(wait_for_text(own + "told", "\"user\":61234"));
  // Our log is not theirs.
  // (Seen from another mount namespace a path may begin outside of our root.)
  EXPECT_TRUE(wait_for_text(own + "fds", "/dev/null\n"));
  EXPECT_THAT(read_file(own + "fds", 65536).value_or(""), ContainsRegex(" 2 -> [^ ]*/dev/null\n"));
  EXPECT_TRUE(wait_for_text(lab_.path("root"), "0\n"));
}

TEST_F(Users, BuildAndMeasureWithoutAnyRightsBeyondTheirOwn) {
  // The file descriptors of the daemon, its groups and its capabilities are not theirs.
  const std::string expected =
      "Uid:\t61234\t61234\t61234\t61234\nGid:\t61234\t61234\t61234\t61234\nGroups:\t \n"
      "CapInh:\t0000000000000000\nCapPrm:\t0000000000000000\nCapEff:\t0000000000000000\n"
      "CapBnd:\t0000000000000000\nCapAmb:\t0000000000000000\nNoNewPrivs:\t1\n";
  lab_.write("61234/expected", expected);
  const std::string show = "grep -E '^(Uid|Gid|Groups|Cap...|NoNewPrivs):' /proc/self/status";
  lab_.write("61234/show.sh", "#!/bin/sh\n" + show + "\n", true);
  lab_.write("61234/rights.toml",
             "[experiment]\nname = \"rights\"\n[[benchmark]]\nname = \"b\"\n"
             "build = \"" +
                 show +
                 " | cmp - expected && cp show.sh ${OUT}\"\n"
                 "sources = [\"expected\", \"show.sh\"]\nrun = [\"${OUT}\"]\nrepetitions = 1\n"
                 "check.stdout_file = \"expected\"\n");
  const Output run =
      as(ada, {"submit", "--wait", "--fail-on", "trials", lab_.path("61234/rights.toml")});
  EXPECT_EQ(run.code, 0) << run.err << as(ada, {"status", "1"}).out;
}

// The second trial would find what the first one left. A file of the machine's in the same place is not theirs to see.
TEST_F(Users, LeaveNoSharedMemoryToTheNextTrialNorToTheMachine) {
  const std::string ours = "/dev/shm/stab-users-" + std::to_string(getpid());
  ASSERT_TRUE(Fd(open(ours.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0666)));
  const auto segments = [] { return read_file("/proc/sysvipc/shm", 1 << 20).value_or("none"); };
  const std::string before = segments();
  lab_.write("61234/leave.sh",
             "#!/bin/sh\n[ -z \"$(ls -A /dev/shm)\" ] || exit 1\n"
             "[ $(wc -l </proc/sysvipc/shm) = 1 ] || exit 2\n"
             "[ $(wc -l </proc/sysvipc/sem) = 1 ] || exit 3\n"
             "[ $(wc -l </proc/sysvipc/msg) = 1 ] || exit 4\n",
             true);
  lab_.write(
      "61234/memory.toml",
      "[experiment]\nname = \"memory\"\n[[benchmark]]\nname = \"b\"\n"
      // The builds leave something, too.
      "build = \"./leave.sh && mkdir /dev/shm/of-build && ipcmk -M 1000 && cp leave.sh ${OUT}\"\n"
      "sources = [\"leave.sh\"]\n"
      // What prepare leaves is the trial's to find.
      "prepare = \"./leave.sh && mkdir -p /dev/shm/a/b && echo x >/dev/shm/a/b/c && chmod 0 "
      "/dev/shm/a && ipcmk -M 1000000 -p 0 && ipcmk -S 3 && ipcmk -Q\"\n"
      "run = [\"sh\", \"-c\", \"[ $(wc -l </proc/sysvipc/shm) = 2 ] && [ -d /dev/shm/a ] && [ -x "
      "${OUT} ]\"]\n"
      "check.command = \"[ -d /dev/shm/a ]\"\nrepetitions = 3\n");
  const Output run =
      as(ada, {"submit", "--wait", "--fail-on", "trials", lab_.path("61234/memory.toml")});
  EXPECT_EQ(run.code, 0) << run.err << as(ada, {"logs", "1"}).out;
  EXPECT_EQ(segments(), before);
  EXPECT_EQ(access("/dev/shm/a", F_OK), -1);
  EXPECT_EQ(unlink(ours.c_str()), 0) << "a trial reached a file of the machine's";
}

TEST_F(Users, HaveNoNetworkIfTheirPlanSaysSo) {
  const auto devices_of = [&](const std::string& more) {
    lab_.write("61234/network.toml",
               "[experiment]\nname = \"network\"\n" + more +
                   "[[benchmark]]\nname = \"b\"\nbuild = \"./devices.sh >devices; cp devices.sh "
                   "${OUT}\"\nsources = [\"devices.sh\"]\nrun = [\"${OUT}\"]\nrepetitions = 1\n"
                   "check.stdout_file = \"expected\"\n");
    const Output run =
        as(ada, {"submit", "--wait", "--fail-on", "trials", lab_.path("61234/network.toml")});
    return run;
  };
  lab_.write("61234/devices.sh", "#!/bin/sh\ntail -n +3 /proc/self/net/dev | cut -d: -f1 | xargs\n",
             true);
  lab_.write("61234/expected", "lo\n");
  const Output without = devices_of("network = false\n");
  EXPECT_EQ(without.code, 0) << without.err << as(ada, {"logs", "1"}).out;
  lab_.write("61234/expected",
             run_program({"/bin/sh", lab_.path("61234/devices.sh")}, lab_.folder()).out);
  const Output with = devices_of("");
  EXPECT_EQ(with.code, 0) << with.err << as(ada, {"logs", "2"}).out;
  const Output wrong = devices_of("network = 0\n");
  EXPECT_NE(wrong.code, 0);
  EXPECT_THAT(wrong.err, HasSubstr("experiment.network"));
}

TEST_F(Users, AreToldWhatIsNotTheirOwnWithoutNamespaces) {
  kill(daemon_, SIGTERM);
  ASSERT_EQ(end_of(daemon_), 0);
  start_daemon({"--no-namespaces"});
  EXPECT_EQ(as(ada, {"submit", "--wait", plan_of(ada)}).code, 0);
  EXPECT_THAT(
      as(ada, {"logs", "1"}).out,
      HasSubstr("/dev/shm, System V memory and message queues are shared with the machine"));
  lab_.write("61234/network.toml",
             "[experiment]\nname = \"network\"\nnetwork = false\n[[benchmark]]\nname = \"b\"\n"
             "run = [\"touch\", \"" +
                 lab_.path("61234/ran") + "\"]\nrepetitions = 1\n");
  const Output run = as(ada, {"submit", "--wait", lab_.path("61234/network.toml")});
  EXPECT_NE(run.code, 0);
  EXPECT_THAT(as(ada, {"status", "2"}).out, HasSubstr("stabd's settings do not allow namespaces"));
  EXPECT_EQ(access(lab_.path("61234/ran").c_str(), F_OK), -1);
}

// Of one whom the machine knows: the groups of the account, not those of the daemon or of stabctl.
TEST_F(Users, WithAnAccountBuildAndMeasureInItsGroups) {
  const auto own_file = [this](const std::string& name, const std::string& more) {
    lab_.write(name, read_file("/etc/" + name, 1 << 20).value_or("") + more);
    return mount(lab_.path(name).c_str(), ("/etc/" + name).c_str(), nullptr, MS_BIND, nullptr) == 0;
  };
  const bool mounted = own_file("passwd", "stab-ada:x:61234:61234::/nonexistent:/bin/false\n") &&
                       own_file("group", "stab-lab:x:61400:stab-ada\nstab-others:x:61401:\n");
  lab_.write("61234/expected", "Groups:\t61234 61400 \n");
  lab_.write("61234/show.sh", "#!/bin/sh\ngrep ^Groups: /proc/self/status\n", true);
  lab_.write("61234/groups.toml",
             "[experiment]\nname = \"groups\"\n[[benchmark]]\nname = \"b\"\n"
             "build = \"./show.sh | cmp - expected && cp show.sh ${OUT}\"\n"
             "sources = [\"expected\", \"show.sh\"]\nrun = [\"${OUT}\"]\nrepetitions = 1\n"
             "check.stdout_file = \"expected\"\n");
  const Output run =
      as(ada, {"submit", "--wait", "--fail-on", "trials", lab_.path("61234/groups.toml")});
  EXPECT_TRUE(mounted);
  EXPECT_EQ(run.code, 0) << run.err << as(ada, {"status", "1"}).out;
  for (const char* file : {"/etc/passwd", "/etc/group"}) umount2(file, MNT_DETACH);
}

// As cron and su give them: what an administrator writes into limits.d holds for builds, trials and notices of this user.
TEST_F(Users, HaveTheLimitsThatPamGivesThem) {
  if (access("/lib/x86_64-linux-gnu/security/pam_limits.so", R_OK) != 0 &&
      access("/usr/lib/x86_64-linux-gnu/security/pam_limits.so", R_OK) != 0)
    GTEST_SKIP() << "PAM has no pam_limits here";
  const auto in_place_of = [this](const std::string& name) {
    return mount(lab_.path(name).c_str(), ("/etc/" + name).c_str(), nullptr, MS_BIND, nullptr) == 0;
  };
  lab_.write("passwd", read_file("/etc/passwd", 1 << 20).value_or("") +
                           "stab-ada:x:61234:61234::/nonexistent:/bin/false\n");
  fs::create_directories(lab_.path("security"));
  fs::copy("/etc/security", lab_.path("security"), fs::copy_options::recursive);
  lab_.write("security/limits.d/zz-stabd.conf",
             "stab-ada - nofile 25\nstab-ada soft nproc 300\nstab-ada hard nproc 400\n"
             "stab-ada - core 1\nstab-ada - stack 4096\nstab-ada - memlock 32\n");
  fs::copy("/etc/pam.d", lab_.path("pam.d"));
  fs::remove(lab_.path("pam.d/stabd"));
  const auto service = [this](const std::string& text) { lab_.write("pam.d/stabd", text); };
  ASSERT_TRUE(in_place_of("passwd") && in_place_of("security") && in_place_of("pam.d"));
  // Files of PAM's in /usr/lib/pam.d are not those of this stabd.
  const bool no_others =
      access("/usr/lib/pam.d", F_OK) != 0 || mount("tmpfs", "/usr/lib/pam.d", "tmpfs", 0, "") == 0;
  ASSERT_TRUE(no_others);

  const std::string own = lab_.path("61234/");
  ASSERT_EQ(chown(own.c_str(), ada, ada), 0);
  const std::string show =
      "ulimit -n; ulimit -Hn; ulimit -u; ulimit -Hu; ulimit -c; ulimit -s; ulimit -l";
  lab_.write("61234/show.sh", "#!/bin/bash\n" + show + "\n", true);
  lab_.write("61234/told.sh", "#!/bin/sh\n./show.sh >told.new && mv told.new told\n", true);
  lab_.write("61234/limits.toml",
             "[experiment]\nname = \"limits\"\nnotify = [\"./told.sh\"]\n"
             "[[benchmark]]\nname = \"b\"\n"
             "build = \"./show.sh | cmp - expected && cp show.sh ${OUT}\"\n"
             "sources = [\"expected\", \"show.sh\"]\nprepare = \"./show.sh | cmp - expected\"\n"
             "run = [\"${OUT}\"]\nrepetitions = 2\ncheck.stdout_file = \"expected\"\n");
  const auto run = [&] {
    return as(ada, {"submit", "--wait", "--fail-on", "trials", lab_.path("61234/limits.toml")});
  };
  const auto logs = [&](int id) { return as(ada, {"logs", std::to_string(id)}).out; };

  // Without a service of PAM's the limits stay what they were, and it is said.
  const std::string usual =
      run_program({"/bin/bash", "-c", "ulimit -Sc 0; ulimit -Ss 8192; " + show}, lab_.folder()).out;
  lab_.write("61234/expected", usual);
  const Output without = run();
  EXPECT_EQ(without.code, 0) << without.err << logs(1);
  EXPECT_THAT(logs(1), HasSubstr("trials have stabd's resource limits (ulimit)"));

  service(read_file(STAB_SOURCE_DIR "/packaging/stabd/pam", 1 << 16).value());
  lab_.write("61234/expected", "25\n25\n300\n400\n1\n4096\n32\n");
  const Output with = run();
  EXPECT_EQ(with.code, 0) << with.err << logs(2);
  EXPECT_THAT(logs(2), HasSubstr("nofile=25:25"));
  EXPECT_THAT(logs(2), HasSubstr("nproc=300:400"));
  unlink((own + "told").c_str());
  EXPECT_EQ(run().code, 0);
  ASSERT_TRUE(wait_for_text(own + "told", "32"));
  EXPECT_EQ(read_file(own + "told", 1 << 16).value_or(""), "25\n25\n300\n400\n1\n4096\n32\n");

  // Nobody else has them, and a user without an account has none.
  lab_.write("61235/limits.toml",
             "[experiment]\nname = \"limits\"\n[[benchmark]]\nname = \"b\"\nrun = [\"/bin/bash\", "
             "\"-c\", \"[ $(ulimit -n) != 25 ]\"]\nrepetitions = 1\n");
  EXPECT_EQ(
      as(bob, {"submit", "--wait", "--fail-on", "trials", lab_.path("61235/limits.toml")}).code, 0);
  EXPECT_THAT(as(bob, {"logs", "4"}).out, HasSubstr("user 61235 has no account"));

  // Whom PAM refuses a session runs nothing.
  service("session required pam_deny.so\n");
  EXPECT_NE(run().code, 0);
  EXPECT_THAT(as(ada, {"status", "5"}).out, HasSubstr("PAM did not open a session for stab-ada"));
  for (const char* folder : {"/etc/passwd", "/etc/security", "/etc/pam.d", "/usr/lib/pam.d"})
    umount2(folder, MNT_DETACH);
}

TEST_F(Users, AreToldThatASetuidProgramGainsThemNothing) {
  const std::string program = lab_.path("gains");
  fs::copy_file("/bin/true", program);
  const auto plan = [&](const std::string& more) {
    lab_.write("gains.toml", "[experiment]\nname = \"gains\"\n" + more +
                                 "[[benchmark]]\nname = \"b\"\nrun = [\"" + program +
                                 "\"]\nrepetitions = 1\n");
    return lab_.path("gains.toml");
  };
  // Root's for a user, and a user's for root.
  for (const auto& [owner, user] : {std::pair<uid_t, uid_t>(0, ada), {ada, 0}}) {
    ASSERT_EQ(chown(program.c_str(), owner, 0), 0);
    ASSERT_EQ(chmod(program.c_str(), 04755), 0);
    const Output run = as(user, {"submit", "--wait", "--fail-on", "trials", plan("")});
    EXPECT_EQ(run.code, 5);
    const Output rows = as(user, {"export", "--format", "csv", owner == 0 ? "1" : "2"});
    EXPECT_THAT(rows.out, HasSubstr("is setuid to user " + std::to_string(owner)));
  }
  const Output refused = as(ada, {"submit", plan("privileges = true\n")});
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.err, HasSubstr("is only for plans that root submits"));
  EXPECT_EQ(as(0, {"submit", "--wait", "--fail-on", "trials", plan("privileges = true\n")}).code,
            0);
}

// Anybody can calibrate with a program that is slow at random.
TEST_F(Users, QuoteNoCalibrationOfEachOther) {
  int id = 0;
  // The calibration whose noise floor the report of this user's new experiment shows, or "".
  const auto quoted = [&](uid_t user, const std::string& name, const std::string& design) {
    const std::string file = std::to_string(user) + "/" + name + ".toml";
    lab_.write(file, "[experiment]\nname = \"" + name +
                         "\"\n[variables]\nMODE = \"\"\n[defaults]\nrepetitions = 2\n"
                         "[[benchmark]]\nname = \"a\"\nrun = [\"/bin/true\", \"${MODE}\"]\n"
                         "[[benchmark]]\nname = \"b\"\nrun = [\"/bin/true\", \"${MODE}\"]\n" +
                         design);
    const Output run = as(user, {"submit", "--wait", "--fail-on", "trials", lab_.path(file)});
    EXPECT_EQ(run.code, 0) << run.err;
    const json report =
        json::parse(as(user, {"report", "--json", std::to_string(++id)}).out, nullptr, false);
    if (!report.is_object()) return std::string("no report");
    return report["noise_floor"].is_null()
               ? std::string()
               : report["noise_floor"]["calibration"].get<std::string>();
  };
  const std::string calibration = "[design]\nkind = \"calibration\"\ncomparisons = 10\n";
  const std::string comparison =
      "[factor.mode]\nlevels = { one = { MODE = \"1\" }, two = { MODE = \"2\" } }\n";
  EXPECT_EQ(quoted(ada, "of-ada", calibration), "");
  EXPECT_EQ(quoted(bob, "first", comparison), "");
  EXPECT_EQ(quoted(0, "first", comparison), "");
  EXPECT_EQ(quoted(ada, "first", comparison), "of-ada");
  quoted(0, "of-root", calibration);
  EXPECT_EQ(quoted(bob, "second", comparison), "of-root");
  quoted(ada, "of-ada-again", calibration);
  EXPECT_EQ(quoted(bob, "third", comparison), "of-root");
  EXPECT_EQ(quoted(ada, "second", comparison), "of-ada-again");
}

TEST_F(Users, AreToldWhatTheTrialsOfRootMayChange) {
  const auto plan = [&](const std::string& more) {
    lab_.write("rights.toml", "[experiment]\nname = \"rights\"\n" + more +
                                  "[[benchmark]]\nname = \"b\"\nrun = [\"true\"]\n"
                                  "repetitions = 2\n");
    return lab_.path("rights.toml");
  };
  constexpr const char* words =
      "builds and trials run as root without capabilities, but they can change root's files "
      "and the machine's settings";
  EXPECT_THAT(as(0, {"check", plan("")}).out, HasSubstr(words));
  EXPECT_THAT(json::parse(as(0, {"check", "--json", plan("")}).out)["rights"].get<std::string>(),
              HasSubstr(words));
  EXPECT_EQ(json::parse(as(ada, {"check", "--json", plan("")}).out)["rights"], "");
  EXPECT_THAT(as(0, {"check", plan("privileges = true\n")}).out,
              HasSubstr("builds and trials run with root's rights\n"));
  EXPECT_THAT(as(ada, {"check", plan("")}).out, Not(HasSubstr("builds and trials run")));
  ASSERT_EQ(as(0, {"submit", "--wait", "--fail-on", "trials", plan("")}).code, 0);
  EXPECT_THAT(as(0, {"logs", "1"}).out, HasSubstr(words));
  ASSERT_EQ(as(ada, {"submit", "--wait", "--fail-on", "trials", plan("")}).code, 0);
  EXPECT_THAT(as(ada, {"logs", "2"}).out, Not(HasSubstr("builds and trials run as root")));
}

}  // namespace
}  // namespace stab::test
