// SPDX-License-Identifier: MIT
#include "tests/system/users.h"

#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>

#include "base/fd.h"

namespace stab::test {

void Users::SetUp() {
  if (geteuid() != 0) GTEST_SKIP() << "only root can be two other users";
  if (unshare(CLONE_NEWNS) != 0) GTEST_SKIP() << "mounts of our own are not allowed here";
  ASSERT_EQ(mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr), 0);
  for (const char* folder : {"/run", "/var/lib", "/var/cache"})
    ASSERT_EQ(mount("tmpfs", folder, "tmpfs", 0, "mode=755"), 0);
  if (as(ada, {"--version"}).code != 0) GTEST_SKIP() << "users cannot reach " << STAB_BIN_DIR;
  chmod(lab_.folder().c_str(), 0755);
  for (const uid_t user : {ada, bob}) {
    const std::string name = std::to_string(user);
    lab_.write(name + "/b.c", "int main(void) { return " + name + " - " + name + "; }\n");
    lab_.write(name + "/plan.toml",
               "[experiment]\nname = \"of-" + name +
                   "\"\n[[benchmark]]\nname = \"b\"\nbuild = \"cc -o ${OUT} b.c\"\n"
                   "sources = [\"b.c\"]\nrun = [\"${OUT}\"]\nrepetitions = 3\n");
  }
  start_daemon({});
}

void Users::start_daemon(std::vector<std::string> more) {
  if (std::ranges::find(more, "--config") == more.end())
    more.insert(more.end(), {"--config", "/dev/null"});
  if (std::ranges::find(more, "--socket-mode") == more.end())
    more.insert(more.end(), {"--socket-mode", "0666"});
  std::vector<std::string> argv{std::string(STAB_BIN_DIR) + "/stabd", "--ready-fd", "1"};
  argv.insert(argv.end(), more.begin(), more.end());
  const std::string log = lab_.path("stabd" + std::to_string(++daemons_) + ".log");
  daemon_ = start_program(argv, lab_.folder(), log);
  ASSERT_TRUE(wait_for_text(log, "ready"));
}

void Users::restart(const std::string& settings) {
  kill(daemon_, SIGTERM);
  ASSERT_EQ(end_of(daemon_), 0);
  lab_.write("users.toml", settings);
  start_daemon({"--config", lab_.path("users.toml")});
}

void Users::TearDown() {
  if (daemon_ == 0) return;
  kill(daemon_, SIGTERM);
  EXPECT_EQ(end_of(daemon_), 0);
  for (const char* folder : {"/run", "/var/lib", "/var/cache"}) umount2(folder, MNT_DETACH);
}

std::vector<std::string> Users::command(uid_t user, const std::vector<std::string>& arguments,
                                        const std::string& socket) {
  std::vector<std::string> argv{"/usr/bin/setpriv",
                                "--clear-groups",
                                "--reuid",
                                std::to_string(user),
                                "--regid",
                                std::to_string(user),
                                std::string(STAB_BIN_DIR) + "/stabctl",
                                "--socket",
                                socket};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  return argv;
}

Output Users::as(uid_t user, const std::vector<std::string>& arguments) const {
  return run_program(command(user, arguments), lab_.folder());
}

Idle::Idle(uid_t user, int count, const std::string& says) {
  std::array<int, 2> ends{};
  EXPECT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
  told_ = Fd(ends[0]);
  tells_ = Fd(ends[1]);
  child_ = fork();
  if (child_ == 0) connect_and_wait(user, count, says);
  tells_.reset();
  char made = 0;
  EXPECT_EQ(read(told_.get(), &made, 1), 1);
}

Idle::~Idle() {
  kill(child_, SIGKILL);
  waitpid(child_, nullptr, 0);
}

bool Idle::is_hung_up_on() const {
  pollfd told{.fd = told_.get(), .events = POLLIN, .revents = 0};
  char ended = 0;
  return poll(&told, 1, 60'000) == 1 && read(told_.get(), &ended, 1) == 1;
}

void Idle::connect_and_wait(uid_t user, int count, const std::string& says) const {
  if (setgroups(0, nullptr) != 0 || setresgid(user, user, user) != 0 ||
      setresuid(user, user, user) != 0)
    _exit(1);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::string(socket_path).copy(address.sun_path, sizeof address.sun_path - 1);
  std::vector<pollfd> connections;
  for (int i = 0; i < count; ++i) {
    const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) _exit(2);
    connections.push_back({.fd = fd, .events = 0, .revents = 0});
  }
  for (const pollfd& each : connections)
    static_cast<void>(::send(each.fd, says.data(), says.size(), MSG_NOSIGNAL));
  for (const pollfd& each : connections) {
    pollfd answered{.fd = each.fd, .events = POLLIN, .revents = 0};
    if (!says.empty()) poll(&answered, 1, 60'000);
  }
  if (!write_all(tells_.get(), "+")) _exit(3);
  poll(connections.data(), connections.size(), -1);
  if (!write_all(tells_.get(), "+")) _exit(3);
  for (;;) pause();
}

}  // namespace stab::test
