// SPDX-License-Identifier: MIT
// The address at which a page is served, which is on this machine and nowhere else, and the small
// part of HTTP that a page needs: reading a request, and writing an answer's head.
#pragma once

#include <sys/socket.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/fd.h"

namespace stab::client::web {

// A1: an address is always a loopback address.
class Address {
 public:
  // Reads "8080", "127.0.0.1:8080", "localhost:8080" or "[::1]:8080"; port 0 means any free port.
  static Result<Address> read(const std::string& text);
  // Returns a nonblocking socket that listens at the address.
  [[nodiscard]] Result<Fd> listen() const;

 private:
  sockaddr_storage address_{};
  socklen_t size_ = 0;
  std::string text_;
};

// The address at which this socket listens: "127.0.0.1:41234".
std::string place_of(const Fd& listening);

// Whether a request's Host is this machine itself, with any port, because a tunnel has its own
// port. This keeps a page whose foreign host name resolves to this machine from reading ours.
bool is_own_host(std::string_view host);

// The most bytes that a request's head may have.
inline constexpr std::size_t most_request = std::size_t{8} << 10;

// H1: the status is 200 only for a GET or HEAD of our path whose host is this machine.
struct Request {
  int status = 400;           // the answer's status; 200 means that the page is wanted
  bool without_body = false;  // for HEAD
  std::string known{};        // If-None-Match: the version that the browser has
};

// Returns nothing until the whole request has arrived. `path`: the only path that exists.
std::optional<Request> read_request(std::string_view bytes, std::string_view path);

// The head of an answer with a body of this size, including the empty line. `version`: the page's
// version, or "".
std::string head_of(int status, std::size_t bytes, std::string_view version);

// The text that a browser shows for a refused request.
std::string_view words_of(int status);

}  // namespace stab::client::web
