// SPDX-License-Identifier: MIT
#include "stabd/client/client.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <cerrno>

namespace stab::client {
namespace {

using nlohmann::json;

constexpr std::size_t max_answer = std::size_t{2} << 30;

}  // namespace

Client::Client(Fd socket)
    : socket_(std::move(socket)),
      channel_(std::make_unique<wire::Channel>(socket_.get(), max_answer)) {}

Result<Client> Client::connect(const std::string& socket_path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (socket_path.size() >= sizeof address.sun_path)
    return fail(fmt::format("the socket's path {} is too long", socket_path));
  socket_path.copy(address.sun_path, sizeof address.sun_path - 1);
  Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket) return fail_errno("cannot make a socket");
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    const int number = errno;
    if (number == EACCES)
      return fail(fmt::format("you may not connect to {}: ask who runs stabd", socket_path));
    return fail(
        fmt::format("no stabd answers at {} ({}): start one with 'stabd', name its socket with "
                    "--socket, or use "
                    "'stabctl run', which needs none",
                    socket_path, std::strerror(number)));
  }
  return Client(std::move(socket));
}

Result<json> Client::receive() {
  auto line = channel_->receive();
  if (!line) return std::unexpected(line.error());
  if (!*line) return fail("stabd has hung up: see its log");
  json answer = json::parse(**line, nullptr, false);
  if (!answer.is_object())
    return fail("stabd's answer makes no sense: are stabctl and stabd of the same version?");
  return answer;
}

Result<json> Client::ask(const json& request) {
  if (auto sent = channel_->send(request.dump(-1, ' ', false, json::error_handler_t::replace));
      !sent)
    return fail("stabd has hung up: see its log");
  auto answer = receive();
  if (!answer) return answer;
  if (answer->value("ok", false)) return answer;
  return fail(answer->value("error", "stabd refused without a reason"));
}

Result<std::optional<json>> Client::listen(int signal_fd) {
  if (auto line = channel_->buffered()) return json::parse(*line, nullptr, false);
  std::array<pollfd, 2> fds{{{socket_.get(), POLLIN, 0}, {signal_fd, POLLIN, 0}}};
  while (poll(fds.data(), fds.size(), -1) < 0 && errno == EINTR) {
  }
  if (fds[1].revents != 0) return std::optional<json>();
  auto answer = receive();
  if (!answer) return std::unexpected(answer.error());
  return std::move(*answer);
}

}  // namespace stab::client
