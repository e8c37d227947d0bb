// SPDX-License-Identifier: MIT

#include "client/web/server.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "report/html/live.h"

namespace stab::client::web {
namespace {

std::optional<std::uint16_t> read_port(std::string_view text) {
  std::uint16_t port = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (text.empty() || problem != std::errc() || end != text.data() + text.size())
    return std::nullopt;
  return port;
}

// Splits "a:1" or "[::1]:1" at the port; a port alone has no host.
struct Split {
  std::string host;
  std::string_view port;
};

Split split(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return {.host = "", .port = text};
  return {.host = std::string(text.substr(0, colon)), .port = text.substr(colon + 1)};
}

std::optional<in_addr> loopback_4(const std::string& host) {
  in_addr address{};
  if (inet_pton(AF_INET, host == "localhost" ? "127.0.0.1" : host.c_str(), &address) != 1)
    return std::nullopt;
  return ntohl(address.s_addr) >> 24 == 127 ? std::optional(address) : std::nullopt;
}

std::string lower(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return result;
}

}  // namespace

Result<Address> Address::read(const std::string& text) {
  const auto refuse = [&](const std::string& why) {
    return wrong_call(
        fmt::format("--web={}: {}: give a port, 127.0.0.1:PORT or [::1]:PORT; to open the page on "
                    "another machine, use 'ssh -L PORT:127.0.0.1:PORT HOST'",
                    text, why));
  };
  const Split parts = split(text);
  const auto port = read_port(parts.port);
  if (!port) return refuse("this is not a port from 0 to 65535");
  Address made;
  made.text_ = text;
  if (parts.host == "[::1]") {
    const sockaddr_in6 six{.sin6_family = AF_INET6,
                           .sin6_port = htons(*port),
                           .sin6_flowinfo = 0,
                           .sin6_addr = in6addr_loopback,
                           .sin6_scope_id = 0};
    std::memcpy(&made.address_, &six, made.size_ = sizeof six);
    return made;
  }
  const auto four = loopback_4(parts.host.empty() ? "127.0.0.1" : parts.host);
  if (!four) return refuse("pages are served only on this machine's own addresses");
  const sockaddr_in address{
      .sin_family = AF_INET, .sin_port = htons(*port), .sin_addr = *four, .sin_zero = {}};
  std::memcpy(&made.address_, &address, made.size_ = sizeof address);
  return made;
}

Result<Fd> Address::listen() const {
  assert(size_ > 0);  // A1
  Fd made(socket(address_.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int on = 1;
  constexpr int waiting = 16;
  if (!made || setsockopt(made.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
      bind(made.get(), reinterpret_cast<const sockaddr*>(&address_), size_) != 0 ||
      ::listen(made.get(), waiting) != 0)
    return fail_errno(fmt::format("--web={}: cannot serve pages there", text_));
  return made;
}

std::string place_of(const Fd& listening) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (getsockname(listening.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0) return "";
  if (address.ss_family == AF_INET6) {
    sockaddr_in6 six{};
    std::memcpy(&six, &address, sizeof six);
    return fmt::format("[::1]:{}", ntohs(six.sin6_port));
  }
  sockaddr_in four{};
  std::memcpy(&four, &address, sizeof four);
  char text[INET_ADDRSTRLEN] = "";
  inet_ntop(AF_INET, &four.sin_addr, text, sizeof text);
  return fmt::format("{}:{}", text, ntohs(four.sin_port));
}

bool is_own_host(std::string_view host) {
  const std::string name = lower(host);
  const Split parts = split(name);
  // Neither "localhost" nor "[::1]" has a port.
  const bool has_port = name.contains(':') && !name.ends_with(']');
  if (has_port && !read_port(parts.port)) return false;
  const std::string own = has_port ? parts.host : name;
  return own == "[::1]" || loopback_4(own).has_value();
}

namespace {

bool same_name(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : int{c}; };
  return std::ranges::equal(a, b, {}, lower, lower);
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return "";
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

std::vector<std::string_view> lines_of(std::string_view head) {
  std::vector<std::string_view> lines;
  while (!head.empty()) {
    const std::size_t end = std::min(head.find("\r\n"), head.size());
    lines.push_back(head.substr(0, end));
    head.remove_prefix(std::min(end + 2, head.size()));
  }
  return lines;
}

// `whole` is false if a header is malformed: two programs could read such a request in different
// ways.
struct Headers {
  bool whole = true;
  int hosts = 0;
  std::string_view host;
  std::string_view known;
};

Headers headers_in(const std::vector<std::string_view>& lines) {
  Headers found;
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const std::size_t colon = lines[i].find(':');
    const std::string_view name = lines[i].substr(0, colon);
    if (colon == std::string_view::npos || name.empty() ||
        name.find_first_of(" \t") != std::string_view::npos)
      return {.whole = false, .hosts = 0, .host = {}, .known = {}};
    const std::string_view value = trimmed(lines[i].substr(colon + 1));
    if (same_name(name, "host")) {
      ++found.hosts;
      found.host = value;
    } else if (same_name(name, "if-none-match")) {
      found.known = value;
    }
  }
  return found;
}

// Takes as long for a wrong path as for a nearly right one, because the secret path is what keeps
// other users out.
bool equal_in_constant_time(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned differing = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    differing |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]);
  return differing == 0;
}

Request judged(std::string_view head, std::string_view path) {
  const auto has_control = [](char c) { return (c >= 0 && c < ' ' && c != '\t') || c == 0x7f; };
  const auto lines = lines_of(head);
  for (const std::string_view line : lines)
    if (std::ranges::any_of(line, has_control)) return {.status = 400};
  const std::string_view first = lines.empty() ? "" : lines.front();
  const std::size_t space = first.find(' ');
  const std::size_t last = first.rfind(' ');
  const std::string_view protocol = last == std::string_view::npos ? "" : first.substr(last + 1);
  if (space == last || (protocol != "HTTP/1.1" && protocol != "HTTP/1.0")) return {.status = 400};
  const std::string_view method = first.substr(0, space);
  const std::string_view target = first.substr(space + 1, last - space - 1);
  const Headers headers = headers_in(lines);
  if (!headers.whole || headers.hosts != 1) return {.status = 400};
  if (!is_own_host(headers.host)) return {.status = 403};
  if (method != "GET" && method != "HEAD") return {.status = 405};
  if (!equal_in_constant_time(target, path)) return {.status = 404};
  return {.status = 200, .without_body = method == "HEAD", .known = std::string(headers.known)};
}

std::string_view reason_of(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 304:
      return "Not Modified";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 431:
      return "Request Header Fields Too Large";
    default:
      return "Bad Request";
  }
}

}  // namespace

std::optional<Request> read_request(std::string_view bytes, std::string_view path) {
  const std::size_t end = bytes.find("\r\n\r\n");
  if (std::min(end, bytes.size()) > most_request) return Request{.status = 431};
  if (end == std::string_view::npos) return std::nullopt;
  return judged(bytes.substr(0, end), path);
}

std::string head_of(int status, std::size_t bytes, std::string_view version) {
  std::string head = fmt::format("HTTP/1.1 {} {}\r\n", status, reason_of(status));
  head += fmt::format("Content-Type: text/{}; charset=utf-8\r\n", status == 200 ? "html" : "plain");
  // A 304 has no body, and its length would be read as the page's.
  if (status != 304) head += fmt::format("Content-Length: {}\r\n", bytes);
  if (status == 405) head += "Allow: GET, HEAD\r\n";
  if (!version.empty()) head += fmt::format("ETag: {}\r\n", version);
  head += fmt::format(
      "Content-Security-Policy: {}; base-uri 'none'; form-action 'none'; frame-ancestors "
      "'none'\r\n",
      report::html::live_policy.text());
  return head +
         "Cache-Control: no-store\r\n"
         "Cross-Origin-Resource-Policy: same-origin\r\n"
         "Referrer-Policy: no-referrer\r\n"
         "X-Content-Type-Options: nosniff\r\n"
         "Connection: close\r\n\r\n";
}

std::string_view words_of(int status) {
  switch (status) {
    case 403:
      return "This page is served only at this machine's own addresses: open the address that "
             "stabctl printed.\n";
    case 404:
      return "There is no page at this address: open the full address that stabctl printed.\n";
    case 405:
      return "This page is read-only.\n";
    case 431:
      return "The request is too long.\n";
    default:
      return "This server does not understand that request.\n";
  }
}

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
