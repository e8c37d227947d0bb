// SPDX-License-Identifier: MIT
// A private folder for files on their way, which is gone with its last user.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/fd.h"

namespace stab::archive {

// What is freed of a file at once: whoever does so answers others between two pieces.
inline constexpr std::int64_t piece_of_file = std::int64_t{4} << 20;

class Spool {
 public:
  // Takes what is to be freed of a large file that has no name any more: see shrink(). Without it
  // that is done at once.
  using Leave = std::function<void(Fd file)>;

  // Nobody else reads its files at its end if there is a `leave`.
  static Result<std::shared_ptr<Spool>> make(const std::string& state_folder, Leave leave = {});
  // What a killed process left.
  static void remove_left(const std::string& state_folder, const Leave& leave = {});
  // Frees a piece of it; false: it is empty, or cannot be freed in pieces.
  static bool shrink(const Fd& file);
  ~Spool();
  Spool(const Spool&) = delete;
  Spool& operator=(const Spool&) = delete;

  // What a client sends, piece by piece, into file().
  Result<void> add(std::string_view piece);
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

  [[nodiscard]] std::string file() const { return folder_ + "/archive"; }
  [[nodiscard]] std::string parts() const { return folder_ + "/parts"; }

 private:
  Spool(std::string folder, Leave leave) : folder_(std::move(folder)), leave_(std::move(leave)) {}

  std::string folder_;
  Leave leave_;
  Fd file_;
  std::uint64_t bytes_ = 0;
};

}  // namespace stab::archive
