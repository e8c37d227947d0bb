// SPDX-License-Identifier: MIT
#include "client/run/embedded.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "base/fd.h"
#include "base/text.h"
#include "protocol/paths.h"

namespace stab::client {
namespace {

constexpr std::size_t max_log_bytes = std::size_t{64} << 20;

// The socket is beside the database, so that the next run reuses the file that a killed run leaves.
// Only if its path would be longer than this, the socket gets a folder in /tmp.
constexpr std::size_t max_socket_path = sizeof(sockaddr_un{}.sun_path) - 1;

Result<std::string> private_folder() {
  std::string path = "/tmp/stabd-XXXXXX";
  if (mkdtemp(path.data()) == nullptr) return fail_errno("cannot make a folder in /tmp");
  return path;
}

[[noreturn]] void become_daemon(const std::string& program, const std::string& state,
                                const std::string& socket, int log, int ready, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(1);  // stabctl has died already
  setpgid(0, 0);                      // Ctrl-C is for stabctl, not for the daemon
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  dup2(log, 2);
  fcntl(ready, F_SETFD, 0);
  const std::string ready_text = std::to_string(ready);
  // The administrator's settings are for daemons that several users share.
  execl(program.c_str(), program.c_str(), "--config", "/dev/null", "--state", state.c_str(),
        "--socket", socket.c_str(), "--ready-fd", ready_text.c_str(), static_cast<char*>(nullptr));
  _exit(127);
}

}  // namespace

EmbeddedDaemon::EmbeddedDaemon(pid_t pid, std::string socket_path, std::string socket_folder)
    : pid_(pid), socket_path_(std::move(socket_path)), socket_folder_(std::move(socket_folder)) {}

EmbeddedDaemon::EmbeddedDaemon(EmbeddedDaemon&& other) noexcept
    : pid_(std::exchange(other.pid_, 0)),
      socket_path_(std::move(other.socket_path_)),
      socket_folder_(std::move(other.socket_folder_)) {}

EmbeddedDaemon::~EmbeddedDaemon() {
  if (pid_ == 0) return;
  kill(pid_, SIGTERM);
  waitpid(pid_, nullptr, 0);
  std::error_code error;
  if (!socket_folder_.empty()) std::filesystem::remove_all(socket_folder_, error);
}

Result<EmbeddedDaemon> EmbeddedDaemon::start(const std::string& state_directory) {
  const std::string log_path = state_directory + "/stabd.log";
  const Fd log(open(log_path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  if (!log) return fail_errno("cannot write " + log_path);
  std::string socket = state_directory + "/run.sock";
  std::string folder;
  if (socket.size() > max_socket_path) {
    auto made = private_folder();
    if (!made) return std::unexpected(made.error());
    folder = std::move(*made);
    socket = folder + "/stabd.sock";
  }
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return fail_errno("cannot make a pipe");
  const Fd ready(ends[0]);
  Fd told(ends[1]);
  const std::string program = companion("stabd");
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid == 0) become_daemon(program, state_directory, socket, log.get(), told.get(), parent);
  if (pid < 0) return fail_errno("cannot start stabd");
  told.reset();
  EmbeddedDaemon daemon(pid, socket, folder);
  char c = 0;
  if (read(ready.get(), &c, 1) == 1) return daemon;
  const auto text = read_file(log_path, max_log_bytes);
  return fail(
      fmt::format("stabd ({}) does not start:\n{}", program, text ? tail(*text, 2000) : ""));
}

}  // namespace stab::client
