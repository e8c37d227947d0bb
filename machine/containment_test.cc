// SPDX-License-Identifier: MIT
#include "machine/containment.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <linux/keyctl.h>
#include <poll.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <sstream>
#include <string>

#include "base/fd.h"

namespace stab::machine {
namespace {

using ::testing::MatchesRegex;

struct Pipe {
  Pipe() {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) std::abort();
    read = Fd(ends[0]);
    write = Fd(ends[1]);
  }
  Fd read;
  Fd write;
};

Result<Contained> start(const std::string& script, Containment containment, const Pipe& pipe,
                        bool privileged = false) {
  ContainedStart what;
  what.privileged = privileged;
  what.argv = {"/bin/sh", "-c", script};
  what.environment = {"PATH=/usr/bin:/bin"};
  what.containment = containment;
  what.uid = geteuid();
  what.gid = getegid();
  what.passed_fd = pipe.write.get();
  return start_contained(what);
}

// Everything that is written to the pipe until its last writer has gone.
std::string read_all(Pipe& pipe) {
  pipe.write.reset();
  std::string text;
  char c = 0;
  while (read(pipe.read.get(), &c, 1) == 1) text += c;
  return text;
}

class ContainmentTest : public ::testing::TestWithParam<Containment> {
 protected:
  void SetUp() override {
    if (GetParam() == Containment::pid_namespace &&
        best_containment() != Containment::pid_namespace)
      GTEST_SKIP() << "pid namespaces are not allowed here";
  }
};

INSTANTIATE_TEST_SUITE_P(Kinds, ContainmentTest,
                         ::testing::Values(Containment::process_tree, Containment::pid_namespace));

TEST_P(ContainmentTest, TheProgramGetsItsDescriptorAndNoOther) {
  Pipe pipe;
  const auto worker = start("ls /proc/self/fd | tr '\\n' ' ' >&3", GetParam(), pipe);
  ASSERT_TRUE(worker) << worker.error().message;
  const std::string text = read_all(pipe);
  EXPECT_TRUE(text == "0 1 2 3 4 " || text == "0 1 2 3 ") << text;
  waitpid(worker->pid, nullptr, 0);
}

TEST_P(ContainmentTest, ItsStreamsAreThoseThatItIsGivenAndItGetsNoOther) {
  Pipe pipe;
  const Fd inherited(dup(pipe.read.get()));
  const Fd input(memfd_create("input", MFD_CLOEXEC));
  ASSERT_TRUE(write_all(input.get(), "read "));
  ASSERT_EQ(lseek(input.get(), 0, SEEK_SET), 0);
  ContainedStart what;
  what.argv = {"/bin/sh", "-c", "cat; ls /proc/self/fd | tr '\\n' ' '"};
  what.environment = {"PATH=/usr/bin:/bin"};
  what.containment = GetParam();
  what.uid = geteuid();
  what.gid = getegid();
  what.input_fd = input.get();
  what.output_fd = pipe.write.get();
  const auto child = start_contained(what);
  ASSERT_TRUE(child);
  EXPECT_EQ(read_all(pipe), "read 0 1 2 3 ");
  waitpid(child->pid, nullptr, 0);
}

TEST_P(ContainmentTest, NoStreamOfOursIsItsOwn) {
  Pipe pipe;
  const auto child = start("for fd in 0 1 2; do at=$(readlink /proc/$$/fd/$fd); echo $at >&3; done",
                           GetParam(), pipe);
  ASSERT_TRUE(child) << child.error().message;
  // (Seen from another mount namespace a path may begin outside of our root.)
  EXPECT_THAT(read_all(pipe), MatchesRegex("([^\n]*/dev/null\n){3}"));
  waitpid(child->pid, nullptr, 0);
}

// Its pid, its session and its terminal are numbers in its namespace.
TEST_P(ContainmentTest, ItHasASessionOfItsOwnAndSoNoTerminalOfOurs) {
  Pipe pipe;
  const auto child = start("echo $$ $(cut -d' ' -f6,7 /proc/$$/stat) >&3", GetParam(), pipe);
  ASSERT_TRUE(child) << child.error().message;
  std::istringstream numbers(read_all(pipe));
  pid_t pid = -1;
  pid_t session = -1;
  int terminal = -1;
  numbers >> pid >> session >> terminal;
  EXPECT_GT(pid, 0);
  EXPECT_EQ(session, pid);
  EXPECT_EQ(terminal, 0);
  waitpid(child->pid, nullptr, 0);
}

TEST_P(ContainmentTest, ItsEndIsSeenOnThePidfd) {
  Pipe pipe;
  const auto worker = start("exit 7", GetParam(), pipe);
  ASSERT_TRUE(worker);
  pollfd wait{worker->pidfd.get(), POLLIN, 0};
  EXPECT_EQ(poll(&wait, 1, 10'000), 1);
  int status = 0;
  waitpid(worker->pid, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 7);
}

constexpr const char* show_rights =
    "grep -hE '^(CapPrm|CapEff|CapBnd|NoNewPrivs):' /proc/self/status | tr -d '\\t' >&3";

TEST_P(ContainmentTest, NothingInItHasOrGainsRights) {
  Pipe pipe;
  const auto worker = start(show_rights, GetParam(), pipe);
  ASSERT_TRUE(worker);
  const std::string text = read_all(pipe);
  EXPECT_EQ(text.find("CapPrm:0000000000000000\nCapEff:0000000000000000\n"), 0U) << text;
  EXPECT_NE(text.find("NoNewPrivs:1"), std::string::npos) << text;
  if (geteuid() == 0) EXPECT_NE(text.find("CapBnd:0000000000000000\n"), std::string::npos) << text;
  waitpid(worker->pid, nullptr, 0);
}

// 248 is add_key, 250 is keyctl, 10 is KEYCTL_SEARCH, and -3 is the keyring of the session.
TEST_P(ContainmentTest, ItFindsNoKeyOfOurSession) {
  constexpr const char* name = "stab-test-key";
  if (syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, nullptr) < 0 ||
      syscall(SYS_add_key, "user", name, "x", 1, KEY_SPEC_SESSION_KEYRING) < 0)
    GTEST_SKIP() << "this kernel has no keyrings for us";
  ASSERT_GE(syscall(SYS_keyctl, KEYCTL_SEARCH, KEY_SPEC_SESSION_KEYRING, "user", name, 0), 0);
  Pipe pipe;
  const auto child = start(
      "perl -e 'my ($type, $name, $x) = (\"user\", \"stab-test-key\", \"x\"); "
      "sub look { syscall(250, 10, -3, $type, $name, 0) >= 0 ? \"found \" : \"missing \" } "
      "print look(); syscall(248, $type, $name, $x, 1, -3); print look()' >&3",
      GetParam(), pipe);
  ASSERT_TRUE(child) << child.error().message;
  EXPECT_EQ(read_all(pipe), "missing found ");
  waitpid(child->pid, nullptr, 0);
}

// The keys of programs that have ended count for a moment longer.
TEST_P(ContainmentTest, AProgramWaitsForRoomInItsUsersQuotaOfKeys) {
  constexpr uid_t user = 61230;
  constexpr int more_than_the_quota = 220;
  const auto join = [] { return syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, nullptr) >= 0; };
  if (geteuid() != 0 || !join()) GTEST_SKIP() << "needs root and a kernel with keys";
  Pipe until;
  std::vector<pid_t> holders;
  for (int i = 0; i < more_than_the_quota; ++i) {
    const pid_t pid = fork();
    if (pid == 0) {
      until.write.reset();
      char c = 0;
      const bool held = setresuid(user, user, user) == 0 && join();
      _exit(read(until.read.get(), &c, 1) == 0 && held ? 0 : 1);
    }
    holders.push_back(pid);
  }
  usleep(200'000);
  ContainedStart what;
  what.argv = {"/bin/true"};
  what.containment = GetParam();
  what.uid = user;
  what.gid = user;
  const auto child = start_contained(what);
  ASSERT_TRUE(child) << child.error().message;
  usleep(200'000);
  until.write.reset();
  for (const pid_t pid : holders) waitpid(pid, nullptr, 0);
  int status = -1;
  waitpid(child->pid, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST_P(ContainmentTest, RootsPlansHaveNoneOfOurGroupsEither) {
  const gid_t ours = 61299;
  if (geteuid() != 0 || setgroups(1, &ours) != 0) GTEST_SKIP() << "groups cannot be set here";
  Pipe pipe;
  const auto worker = start("grep '^Groups:' /proc/self/status >&3", GetParam(), pipe);
  ASSERT_TRUE(worker);
  const std::string text = read_all(pipe);
  EXPECT_EQ(text.find("61299"), std::string::npos) << text;
  waitpid(worker->pid, nullptr, 0);
  setgroups(0, nullptr);
}

TEST_P(ContainmentTest, APrivilegedOneKeepsWhatRootHas) {
  if (geteuid() != 0) GTEST_SKIP() << "only root has capabilities to keep";
  Pipe pipe;
  const auto worker = start(show_rights, GetParam(), pipe, true);
  ASSERT_TRUE(worker);
  const std::string text = read_all(pipe);
  EXPECT_EQ(text.find("CapEff:0000000000000000"), std::string::npos) << text;
  EXPECT_NE(text.find("NoNewPrivs:0"), std::string::npos) << text;
  waitpid(worker->pid, nullptr, 0);
}

TEST(Rights, OfRootsBuildsAndTrialsAreSaidAndOfOthersNothing) {
  EXPECT_THAT(words_about_rights(0, false), ::testing::HasSubstr("as root without capabilities"));
  EXPECT_THAT(words_about_rights(0, true), ::testing::HasSubstr("with root's rights"));
  EXPECT_EQ(words_about_rights(1000, false), "");
}

TEST(ContainmentNamespace, ItsEndIsTheEndOfAllThatItStarted) {
  if (best_containment() != Containment::pid_namespace)
    GTEST_SKIP() << "pid namespaces are not allowed here";
  Pipe pipe;
  const auto worker = start("setsid env -i sh -c 'echo up >&3; sleep 1000' & (sleep 1000 &) & wait",
                            Containment::pid_namespace, pipe);
  ASSERT_TRUE(worker);
  std::array<char, 3> up{};
  ASSERT_EQ(read(pipe.read.get(), up.data(), up.size()), 3);
  kill(worker->pid, SIGKILL);
  waitpid(worker->pid, nullptr, 0);
  // The descendants held the pipe: its end is reached only if none is alive.
  pollfd wait{pipe.read.get(), POLLIN, 0};
  pipe.write.reset();
  ASSERT_EQ(poll(&wait, 1, 0), 1) << "a descendant is still alive";
  EXPECT_EQ(wait.revents & POLLIN, 0);
}

TEST(ContainmentNamespace, ProcShowsTheNamespace) {
  if (best_containment() != Containment::pid_namespace)
    GTEST_SKIP() << "pid namespaces are not allowed here";
  Pipe pipe;
  const auto worker =
      start("readlink /proc/self >&3; echo $$ >&3; id -u >&3", Containment::pid_namespace, pipe);
  ASSERT_TRUE(worker);
  const std::string text = read_all(pipe);
  EXPECT_EQ(text, "2\n1\n" + std::to_string(geteuid()) + "\n");
  waitpid(worker->pid, nullptr, 0);
}

TEST(ContainmentNamespace, SharesNoMemoryByNameWithOthers) {
  if (best_containment() != Containment::pid_namespace)
    GTEST_SKIP() << "pid namespaces are not allowed here";
  const int ours = shmget(IPC_PRIVATE, 4096, 0600);
  ASSERT_GE(ours, 0);
  const std::string name = "/dev/shm/stab-test-" + std::to_string(getpid());
  ASSERT_TRUE(Fd(open(name.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600)));
  Pipe pipe;
  const auto child = start("ls -A /dev/shm >&3; tail -n +2 /proc/sysvipc/shm >&3; echo seen >&3",
                           Containment::pid_namespace, pipe);
  ASSERT_TRUE(child);
  EXPECT_EQ(read_all(pipe), "seen\n");
  waitpid(child->pid, nullptr, 0);
  EXPECT_EQ(unlink(name.c_str()), 0);
  EXPECT_EQ(shmctl(ours, IPC_RMID, nullptr), 0);
}

TEST(ContainmentNamespace, WithoutTheNetworkHasALoopbackDeviceOnly) {
  if (best_containment() != Containment::pid_namespace)
    GTEST_SKIP() << "pid namespaces are not allowed here";
  Pipe pipe;
  ContainedStart what;
  what.argv = {"/bin/sh", "-c",
               "tail -n +3 /proc/self/net/dev | cut -d: -f1 >&3; "
               "perl -MSocket -e 'socket(S, PF_INET, SOCK_STREAM, 0); "
               "bind(S, pack_sockaddr_in(0, INADDR_LOOPBACK)) && listen(S, 1) || die; "
               "socket(C, PF_INET, SOCK_STREAM, 0); connect(C, getsockname(S)) || die; "
               "print \"talks\\n\"' >&3"};
  what.environment = {"PATH=/usr/bin:/bin"};
  what.containment = Containment::pid_namespace;
  what.uid = geteuid();
  what.gid = getegid();
  what.passed_fd = pipe.write.get();
  what.network = false;
  const auto child = start_contained(what);
  ASSERT_TRUE(child) << child.error().message;
  EXPECT_THAT(read_all(pipe), MatchesRegex(" *lo\ntalks\n"));
  waitpid(child->pid, nullptr, 0);
  what.containment = Containment::process_tree;
  const auto refused = start_contained(what);
  ASSERT_FALSE(refused) << "it would have the network";
  EXPECT_THAT(refused.error().message, ::testing::HasSubstr("needs namespaces"));
}

// 0, or the number of what failed.
int fill_and_empty_own() {
  if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
    return 77;
  take_own_shared_memory();
  if (!has_own_shared_memory()) return 1;
  const int segment = shmget(IPC_PRIVATE, 4096, 0);
  const int semaphores = semget(IPC_PRIVATE, 1, 0);
  const int queue = msgget(IPC_PRIVATE, 0);
  if (segment < 0 || semaphores < 0 || queue < 0) return 2;
  // So deep that no path reaches the end, and without rights for their owner.
  if (chdir("/dev/shm") != 0) return 3;
  for (int i = 0; i < 3000; ++i)
    if (mkdir("d", 0700) != 0 || chdir("d") != 0) return 4;
  if (!Fd(open("file", O_CREAT | O_RDWR | O_CLOEXEC, 0))) return 5;
  if (symlink("/etc", "link") != 0 || mkdir("x", 0) != 0) return 6;
  if (mkdir("/dev/shm/lifted-0", 0) != 0 || chdir("/") != 0) return 7;
  const auto emptied = empty_own_shared_memory();
  if (!emptied) return 8;
  struct stat status{};
  if (stat("/dev/shm/d", &status) == 0 || stat("/dev/shm/lifted-0", &status) == 0) return 9;
  if (stat("/etc/passwd", &status) != 0) return 10;
  shmid_ds left{};
  if (shmctl(segment, IPC_STAT, &left) == 0) return 11;
  if (semctl(semaphores, 0, GETVAL) >= 0) return 12;
  msqid_ds messages{};
  if (msgctl(queue, IPC_STAT, &messages) == 0) return 13;
  return 0;
}

int in_a_child(int (*what)()) {
  const pid_t child = fork();
  if (child == 0) _exit(what());
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(SharedMemory, OfItsOwnIsEmptiedWhateverLiesThere) {
  const int result = in_a_child(fill_and_empty_own);
  if (result == 77) GTEST_SKIP() << "mount namespaces are not allowed here";
  EXPECT_EQ(result, 0);
}

TEST(SharedMemory, OfTheMachineIsLeftAlone) {
  const std::string name = "/dev/shm/stab-test-" + std::to_string(getpid());
  ASSERT_TRUE(Fd(open(name.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600)));
  const int segment = shmget(IPC_PRIVATE, 4096, 0600);
  ASSERT_GE(segment, 0);
  if (has_own_shared_memory()) GTEST_SKIP() << "this test runs in a trial";
  EXPECT_TRUE(empty_own_shared_memory());
  EXPECT_EQ(unlink(name.c_str()), 0);
  EXPECT_EQ(shmctl(segment, IPC_RMID, nullptr), 0);
}

// Starts a parent that starts the worker; returns once the worker runs.
pid_t start_parent(const std::string& script, Containment containment, Pipe& pipe) {
  const pid_t parent = fork();
  if (parent == 0) {
    const auto worker = start(script, containment, pipe);
    if (!worker) _exit(1);
    pause();
    _exit(0);
  }
  pipe.write.reset();
  std::array<char, 3> up{};
  EXPECT_EQ(read(pipe.read.get(), up.data(), up.size()), 3);
  return parent;
}

TEST_P(ContainmentTest, ItDiesWithItsParent) {
  Pipe pipe;
  const pid_t parent = start_parent("echo up >&3; exec sleep 1000", GetParam(), pipe);
  kill(parent, SIGKILL);
  waitpid(parent, nullptr, 0);
  EXPECT_EQ(read_all(pipe), "");  // its only writer has gone
}

TEST(ContainmentNamespace, ItsDescendantsDieWithTheParentToo) {
  if (best_containment() != Containment::pid_namespace)
    GTEST_SKIP() << "pid namespaces are not allowed here";
  Pipe pipe;
  const pid_t parent = start_parent("(setsid sleep 1000 &) ; echo up >&3; sleep 1000",
                                    Containment::pid_namespace, pipe);
  kill(parent, SIGKILL);
  waitpid(parent, nullptr, 0);
  EXPECT_EQ(read_all(pipe), "");
}

}  // namespace
}  // namespace stab::machine
