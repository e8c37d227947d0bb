// SPDX-License-Identifier: MIT
// Implements the small part of HTTP that a page needs: reading a request, and writing an answer's
// head. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace stab::client::web {

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
