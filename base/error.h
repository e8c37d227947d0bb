// SPDX-License-Identifier: MIT
// An Error is a message for the user: it says what went wrong and what to change.
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
  // Whether the words of the command line are wrong, so that the help of its verb says what is right.
  bool of_call = false;
};

template <class T>
using Result = std::expected<T, Error>;

// A function that returns a Result reports an error with `return fail("...")`.
inline std::unexpected<Error> fail(std::string message) {
  return std::unexpected(Error{std::move(message)});
}

// The same for a mistake in the words of the command line.
inline std::unexpected<Error> wrong_call(std::string message) {
  return std::unexpected(Error{std::move(message), true});
}

// An error, followed by the reason why the last system call failed: "cannot open x: No such file or
// directory".
inline std::unexpected<Error> fail_errno(std::string_view what, int number = errno) {
  return fail(std::string(what) + ": " + std::strerror(number));
}

}  // namespace stab
