// SPDX-License-Identifier: MIT
// What can go wrong is a value: a sentence for the user that says what to change.
#pragma once

#include <cerrno>
#include <cstring>
#include <expected>
#include <string>
#include <string_view>
#include <utility>

namespace stab {

struct Error {
  std::string message;
};

template <class T>
using Result = std::expected<T, Error>;

// return fail("...") from a function that returns a Result.
inline std::unexpected<Error> fail(std::string message) {
  return std::unexpected(Error{std::move(message)});
}

// The same with the reason of the last failed system call: "cannot open x: No such file or
// directory".
inline std::unexpected<Error> fail_errno(std::string_view what, int number = errno) {
  return fail(std::string(what) + ": " + std::strerror(number));
}

}  // namespace stab
