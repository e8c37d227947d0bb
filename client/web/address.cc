// SPDX-License-Identifier: MIT
#include "client/web/address.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>

#include <algorithm>
#include <cassert>
#include <charconv>
#include <cstring>
#include <optional>
#include <utility>

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
    return fail(
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

}  // namespace stab::client::web
