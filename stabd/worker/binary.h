// SPDX-License-Identifier: MIT
// What a build wrote, whatever it is: its digest, and who made it.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace stab::worker {

inline constexpr std::uint64_t max_binary_bytes = std::uint64_t{4} << 30;

struct Reading {
  std::string_view key;  // of the build: the name of its folder
  std::chrono::steady_clock::time_point until;
  int stop_fd = -1;  // readable: stop
};

// Two builds that differ in nothing but their folder's name and the linker's note of a digest have
// the same. Nothing if there is no such file. An error if it is not a regular file, is larger than
// the limit, or takes too long. Holds a megabyte of it at a time.
Result<std::optional<std::string>> digest_of(const std::string& path, const Reading& reading);

// The compilers and linkers that made it, by what they say of themselves in its .comment: "Debian LLD
// 19.1.7, Debian clang version 19.1.7"; "" of what is no such file or says nothing. Fit for a
// terminal, whatever the file holds.
std::string compilers_of(const std::string& path);

}  // namespace stab::worker
