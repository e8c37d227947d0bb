// SPDX-License-Identifier: MIT
#include "client/client.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/fd.h"
#include "client/streams.h"

namespace stab::client {
namespace {

constexpr int silence_ms = 5000;

// Returns false if the state is hidden, as that of another user's daemon may be.
bool is_stopped(pid_t process) {
  const auto stat = read_file(fmt::format("/proc/{}/stat", process), 4096);
  const std::size_t name_end = stat ? stat->rfind(") ") : std::string::npos;
  return name_end != std::string::npos && (*stat)[name_end + 2] == 'T';
}

std::string silence_of(int socket, bool greeted) {
  ucred daemon{};
  socklen_t size = sizeof daemon;
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &daemon, &size) == 0 && is_stopped(daemon.pid))
    return fmt::format(
        "stabd is stopped and does not answer: 'kill -CONT {}' resumes it; stabctl waits for it",
        daemon.pid);
  // A daemon that has greeted us may still have a problem now.
  return greeted ? "stabd has been silent for 5 s: it may be reading many trials, or waiting for "
                   "the end of a block; stabctl waits for it"
                 : "stabd has not answered for 5 s; stabctl waits for it";
}

// Either a connection, or the errno that says why there is none.
struct Connected {
  Fd fd;
  int problem = 0;
};

Result<Connected> connect_to(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path)
    return fail(fmt::format("the path is longer than {} bytes", sizeof address.sun_path - 1));
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  Connected made{.fd = Fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0))};
  if (!made.fd) return fail_errno("cannot make a socket");
  if (connect(made.fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0)
    return made;
  made.problem = errno;
  made.fd.reset();
  return made;
}

// Anybody may have put a socket at a default path, as in /tmp. They would read our requests, and we
// would believe their answers.
Result<void> is_ours(const std::string& path, int socket) {
  ucred daemon{};
  socklen_t size = sizeof daemon;
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &daemon, &size) != 0)
    return fail_errno("cannot tell who serves " + path);
  if (daemon.uid == 0 || daemon.uid == geteuid()) return {};
  return fail(
      fmt::format("the daemon at {} runs as user {}, not as you or root: if you trust that user, "
                  "name the socket with --socket",
                  path, daemon.uid));
}

// Says where the log of the daemon at this socket is. The daemon of 'stabctl run' has its socket
// and its log in the run's folder.
std::string closed_by(const std::string& socket) {
  const std::string log = std::filesystem::path(socket).replace_filename("stabd.log").string();
  if (access(log.c_str(), F_OK) == 0)
    return "stabd closed the connection: its log may say why, see " + log;
  return "stabd closed the connection: its log may say why ('journalctl -u stabd' if systemd runs "
         "stabd, stabd.log in the folder of a run, and otherwise stabd's stderr)";
}

protocol::HelloRequest greeting() {
  return {.protocol = protocol::version, .version = STAB_VERSION};
}

std::string too_large(std::size_t most) {
  return fmt::format(
      "stabd's answer is larger than {} MiB, the most that stabctl accepts from a daemon: ask for "
      "less (csv exports are smaller than json exports). Root and stabd's own user can also read "
      "stabd's database with --folder FOLDER, which has no such limit",
      most >> 20);
}

}  // namespace

Client::Client(Fd socket, std::string path, std::size_t most)
    : socket_(std::move(socket)),
      path_(std::move(path)),
      channel_(std::make_unique<protocol::Channel>(socket_.get(), most, too_large(most))) {}

Result<Client> Client::reach(const std::vector<std::string>& sockets, std::size_t most) {
  std::vector<std::string> silent;
  for (const std::string& path : sockets) {
    auto socket = connect_to(path);
    if (!socket) {
      silent.push_back(fmt::format("{} ({})", path, socket.error().message));
      continue;
    }
    if (!socket->fd) {
      silent.push_back(fmt::format("{} ({})", path, std::strerror(socket->problem)));
      if (socket->problem == EACCES && path == sockets.back())
        return fail(
            fmt::format("you are not allowed to connect to {}: ask the person who runs stabd",
                        fmt::join(silent, ", and no stabd answers at ")));
      continue;
    }
    // Several paths are defaults, which the user did not name; the last one is the system's.
    if (path != sockets.back())
      if (auto ours = is_ours(path, socket->fd.get()); !ours) return std::unexpected(ours.error());
    return Client(std::move(socket->fd), path, most);
  }
  return fail(
      fmt::format("no stabd answers at {}: start one with 'stabd', name its socket with "
                  "--socket, or use 'stabctl run', which needs no daemon. To read "
                  "results of 'stabctl run', add --folder FOLDER; 'stabctl runs' lists the folders",
                  fmt::join(silent, " or at ")));
}

Result<Client> Client::connect(const std::vector<std::string>& sockets, std::size_t most) {
  auto client = reach(sockets, most);
  if (!client) return client;
  if (auto greeted = client->greet(); !greeted) return std::unexpected(greeted.error());
  client->greeted_ = true;
  return client;
}

Result<Client> Client::connect_without_waiting(const std::vector<std::string>& sockets) {
  auto client = reach(sockets, max_answer);
  if (!client) return client;
  if (auto sent = client->send(greeting()); !sent) return std::unexpected(sent.error());
  return client;
}

Result<std::optional<std::string>> Client::arrived() {
  for (;;) {
    if (auto line = channel_->buffered()) return line;
    pollfd socket{.fd = socket_.get(), .events = POLLIN, .revents = 0};
    if (poll(&socket, 1, 0) <= 0) return std::nullopt;
    const auto more = channel_->fill();
    if (!more) return std::unexpected(more.error());
    if (!*more) return fail(closed_by(path_));
  }
}

// An older daemon may not know greetings, or may explain its refusal poorly.
Result<void> Client::greet() {
  const auto line = exchange(protocol::encode(greeting()));
  if (!line) return std::unexpected(line.error());
  const auto refusal = protocol::refusal_in(*line);
  if (refusal && refusal->protocol == 0)
    return fail(
        fmt::format("the running stabd is older than this stabctl ({}, protocol {}): use the "
                    "stabctl of the same release as stabd, or start the newer stabd. The answer "
                    "of the running stabd was: {}",
                    STAB_VERSION, protocol::version, refusal->error));
  if (auto reply = protocol::decode_reply<protocol::HelloReply>(*line); !reply)
    return std::unexpected(reply.error());
  return {};
}

Result<std::optional<std::string>> Client::receive(int signal_fd) {
  std::array<pollfd, 2> fds{{{socket_.get(), POLLIN, 0}, {signal_fd, POLLIN, 0}}};
  bool told = false;
  for (;;) {
    if (auto line = channel_->buffered()) return line;
    const int ready = poll(fds.data(), fds.size(), told ? -1 : silence_ms);
    if (ready < 0 && errno == EINTR) continue;
    if (ready == 0) {
      tell(silence_of(socket_.get(), greeted_));
      told = true;
      continue;
    }
    if (fds[1].revents != 0) return std::nullopt;
    const auto more = channel_->fill();
    if (!more) return std::unexpected(more.error());
    if (!*more) return fail(closed_by(path_));
  }
}

Result<std::string> Client::exchange(const std::string& line) {
  // A daemon that refused the connection has hung up, but its message can still be read.
  const auto sent = channel_->send(line);
  auto reply = receive();
  if (!sent && !reply) return fail(closed_by(path_));
  if (!reply) return std::unexpected(reply.error());
  return std::move(**reply);
}

Result<std::optional<protocol::Progress>> Client::listen(int signal_fd) {
  const auto line = receive(signal_fd);
  if (!line) return std::unexpected(line.error());
  if (!*line) return std::nullopt;
  auto progress = protocol::decode_reply<protocol::Progress>(**line);
  if (!progress) return std::unexpected(progress.error());
  return std::move(*progress);
}

}  // namespace stab::client
