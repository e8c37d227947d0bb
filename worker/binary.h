// SPDX-License-Identifier: MIT
// The file that a build wrote: its digest, the compilers that made it, and the size of its code.
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
  std::string_view key;  // the build's key, which is the name of its folder
  std::chrono::steady_clock::time_point until;
  int stop_fd = -1;  // if it becomes readable, stop
};

// Returns the file's digest. Two files have the same digest if they differ only in the name of the
// build's folder and in the linker's build id. Returns nullopt if there is no such file, and an
// error if it is not a regular file, is larger than the limit, or takes too long. Holds one
// megabyte of the file at a time.
Result<std::optional<std::string>> digest_of(const std::string& path, const Reading& reading);

// The compilers and linkers that made the file, as its .comment section names them: "Debian LLD
// 19.1.7, Debian clang version 19.1.7". Returns "" if there is no such file or section. The text is
// safe for a terminal whatever the file contains.
std::string compilers_of(const std::string& path);

// The number of bytes in the program's loaded and executable segments. The error says why the file
// is not such a program: "the file is not a 64-bit ELF program".
Result<std::int64_t> code_size_of(const std::string& path);

// code_size_of() for files that many trials run. It reads each file once, and again after the file
// has changed.
class CodeSizes {
 public:
  Result<std::int64_t> of(const std::string& path);

 private:
  struct Known {
    std::string state;  // the file's state when it was read
    Result<std::int64_t> size;
  };
  std::map<std::string, Known> known_;
};

}  // namespace stab::worker
