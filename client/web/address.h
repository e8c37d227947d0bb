// SPDX-License-Identifier: MIT
// Where a page is served: on this machine, and nowhere else.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/fd.h"

namespace stab::client::web {

// Of the loopback device always (A1).
class Address {
 public:
  // "8080", "127.0.0.1:8080", "localhost:8080" or "[::1]:8080"; port 0: a free one.
  static Result<Address> read(const std::string& text);
  // A socket that listens there, without blocking.
  [[nodiscard]] Result<Fd> listen() const;

 private:
  sockaddr_storage address_{};
  socklen_t size_ = 0;
  std::string text_;
};

// "127.0.0.1:41234": where this socket listens.
std::string place_of(const Fd& listening);

// Whether the Host of a request is this machine itself, with any port: a tunnel has its own. A page
// of a foreign name that resolves to us is not to read ours.
bool is_own_host(std::string_view host);

}  // namespace stab::client::web
