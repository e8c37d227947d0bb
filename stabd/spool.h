// SPDX-License-Identifier: MIT
// A private folder for files in transit, which is removed with its last user.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/fd.h"

namespace stab::archive {

// The number of bytes that are freed at once. The owner answers others between two pieces.
inline constexpr std::int64_t piece_of_file = std::int64_t{4} << 20;

class Spool {
 public:
  // Takes over a large file that has no name any more, and frees it in pieces with shrink().
  // Without this function files are freed at once.
  using Leave = std::function<void(Fd file)>;

  // If there is a `leave`, nobody else may read the spool's files when it is destroyed, because
  // they are cut.
  static Result<std::shared_ptr<Spool>> make(const std::string& state_folder, Leave leave = {});
  // Removes the spools of killed processes.
  static void remove_left(const std::string& state_folder, const Leave& leave = {});
  // Frees the last piece of the file. Returns false if at most one piece is left, or if the file
  // can't be freed in pieces.
  static bool shrink(const Fd& file);
  ~Spool();
  Spool(const Spool&) = delete;
  Spool& operator=(const Spool&) = delete;

  // Appends a piece that a client sent to file().
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
