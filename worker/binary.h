// SPDX-License-Identifier: MIT
// What a build wrote, whatever it is: its digest, who made it, and how much code it has.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
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

// Bytes of the program's segments that are loaded and may be executed. The error says why the file
// is no such program: "it is no program of the 64-bit ELF format".
Result<std::int64_t> code_size_of(const std::string& path);

// The same of files that many trials run: each is read once, and again when it has changed.
class CodeSizes {
 public:
  Result<std::int64_t> of(const std::string& path);

 private:
  struct Known {
    std::string state;  // of the file, when it was read
    Result<std::int64_t> size;
  };
  std::map<std::string, Known> known_;
};

}  // namespace stab::worker
