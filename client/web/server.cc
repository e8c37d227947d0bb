// SPDX-License-Identifier: MIT
#include "client/web/server.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "client/web/request.h"

namespace stab::client::web {
namespace {

// How long a connection stays open after the answer. If it closed with unread bytes, the reset
// could make the browser lose the answer.
constexpr std::chrono::seconds time_to_leave{1};

bool would_wait() {
  return errno == EAGAIN || errno == EINTR;
}

}  // namespace

Connection::Connection(Fd socket, Clock::time_point now)
    : socket_(std::move(socket)), until_(now + time_to_ask), end_(now + time_in_all) {}

short Connection::events() const {
  return stage_ == Stage::taking ? POLLOUT : POLLIN;
}

void Connection::go_on(const Answers& answers, std::string_view path, Clock::time_point now) {
  if (now >= until_) return socket_.reset();
  if (stage_ == Stage::asking) read_some(answers, path, now);
  if (socket_ && stage_ == Stage::taking) write_some(now);
  if (socket_ && stage_ == Stage::leaving) drain();
}

void Connection::read_some(const Answers& answers, std::string_view path, Clock::time_point now) {
  std::array<char, 4096> buffer;
  for (;;) {
    const ssize_t n = recv(socket_.get(), buffer.data(), buffer.size(), 0);
    if (n < 0 && would_wait()) return;
    if (n <= 0) return socket_.reset();
    asked_.append(buffer.data(), static_cast<std::size_t>(n));
    const auto request = read_request(asked_, path);
    if (!request) continue;
    answer_ = answers(*request);
    stage_ = Stage::taking;
    until_ = std::min(now + time_to_take, end_);
    return;
  }
}

// The unsent part of the head, or of the body once the head is sent.
std::string_view Connection::rest() const {
  if (sent_ < answer_.head.size()) return std::string_view(answer_.head).substr(sent_);
  if (!answer_.body) return "";
  return std::string_view(*answer_.body).substr(sent_ - answer_.head.size());
}

void Connection::write_some(Clock::time_point now) {
  for (std::string_view piece = rest(); !piece.empty(); piece = rest()) {
    const ssize_t n = send(socket_.get(), piece.data(), piece.size(), MSG_NOSIGNAL);
    if (n < 0 && would_wait()) return;
    if (n < 0) return socket_.reset();
    sent_ += static_cast<std::size_t>(n);
    until_ = std::min(now + time_to_take, end_);
  }
  took_last_ = answer_.last;
  answer_ = {};
  shutdown(socket_.get(), SHUT_WR);
  stage_ = Stage::leaving;
  until_ = now + time_to_leave;
}

void Connection::drain() {
  std::array<char, 4096> buffer;
  const ssize_t n = recv(socket_.get(), buffer.data(), buffer.size(), 0);
  if (n == 0 || (n < 0 && !would_wait())) socket_.reset();
}

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
