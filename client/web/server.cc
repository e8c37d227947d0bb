// SPDX-License-Identifier: MIT
#include "client/web/server.h"

#include <fmt/format.h>
#include <sys/random.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <utility>

#include "client/web/address.h"

namespace stab::client::web {
namespace {

Result<std::string> secret() {
  std::array<unsigned char, 16> bytes{};
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    return fail_errno("there are no random bytes");
  std::string text;
  for (const unsigned char byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

}  // namespace

Server::Server(Fd listening, std::string path)
    : listening_(std::move(listening)), path_(std::move(path)) {}

Result<Server> Server::open(const std::string& where) {
  const auto address = Address::read(where);
  if (!address) return std::unexpected(address.error());
  auto listening = address->listen();
  if (!listening) return std::unexpected(listening.error());
  const auto name = secret();
  if (!name) return std::unexpected(name.error());
  return Server(std::move(*listening), "/" + *name + "/");
}

std::string Server::url() const {
  return "http://" + place_of(listening_) + path_;
}

void Server::add_to(std::vector<pollfd>& fds) const {
  if (connections_.size() < most_connections)
    fds.push_back({.fd = listening_.get(), .events = POLLIN, .revents = 0});
  for (const Connection& each : connections_)
    fds.push_back({.fd = each.fd(), .events = each.events(), .revents = 0});
}

Clock::time_point Server::until() const {
  Clock::time_point first = Clock::time_point::max();
  for (const Connection& each : connections_) first = std::min(first, each.until());
  return first;
}

void Server::go_on(const Answers& answers, Clock::time_point now) {
  while (connections_.size() < most_connections) {
    Fd one(accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!one) break;
    connections_.emplace_back(std::move(one), now);
  }
  for (Connection& each : connections_) {
    each.go_on(answers, path_, now);
    last_was_taken_ |= each.took_last();
  }
  std::erase_if(connections_, [](const Connection& each) { return each.is_over(); });
}

}  // namespace stab::client::web
