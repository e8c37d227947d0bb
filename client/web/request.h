// SPDX-License-Identifier: MIT
// The little of HTTP that a page needs: what a browser asks, and the lines before an answer. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace stab::client::web {

// Of a request, all its lines together.
inline constexpr std::size_t most_request = std::size_t{8} << 10;

// H1: no request but a GET or HEAD of our path, of a host that is this machine, has the status 200.
struct Request {
  int status = 400;           // what to answer with; 200: the page is asked for
  bool without_body = false;  // HEAD
  std::string known{};        // If-None-Match: which version the asker has
};

// Nothing while its end has not come yet. `path` is the only one that there is.
std::optional<Request> read_request(std::string_view bytes, std::string_view path);

// The lines before a body of so many bytes, with the empty one. `version` of the page, or "".
std::string head_of(int status, std::size_t bytes, std::string_view version);

// What is shown of a request that is refused.
std::string_view words_of(int status);

}  // namespace stab::client::web
