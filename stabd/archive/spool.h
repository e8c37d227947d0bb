// SPDX-License-Identifier: MIT
// A private folder for files on their way, which is gone with its last user.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/fd.h"

namespace stab::archive {

class Spool {
 public:
  static Result<std::shared_ptr<Spool>> make(const std::string& state_folder);
  // What a killed process left.
  static void remove_left(const std::string& state_folder);
  ~Spool();
  Spool(const Spool&) = delete;
  Spool& operator=(const Spool&) = delete;

  // What a client sends, piece by piece, into file().
  Result<void> add(std::string_view piece);
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

  [[nodiscard]] std::string file() const { return folder_ + "/archive"; }
  [[nodiscard]] std::string parts() const { return folder_ + "/parts"; }

 private:
  explicit Spool(std::string folder) : folder_(std::move(folder)) {}

  std::string folder_;
  Fd file_;
  std::uint64_t bytes_ = 0;
};

}  // namespace stab::archive
