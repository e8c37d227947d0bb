// SPDX-License-Identifier: MIT
// The address at which a page is served: on this machine, and nowhere else.
#pragma once

#include <sys/socket.h>

#include <cstdint>
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

}  // namespace stab::client::web
