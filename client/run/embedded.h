// SPDX-License-Identifier: MIT
// A daemon for one experiment, which ends with this process.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/error.h"

namespace stab::client {

class EmbeddedDaemon {
 public:
  // Returns when clients can connect. The daemon's log goes to `state_directory`/stabd.log.
  static Result<EmbeddedDaemon> start(const std::string& state_directory);
  EmbeddedDaemon(EmbeddedDaemon&& other) noexcept;
  EmbeddedDaemon& operator=(EmbeddedDaemon&&) = delete;
  ~EmbeddedDaemon();

  [[nodiscard]] const std::string& socket_path() const { return socket_path_; }

 private:
  EmbeddedDaemon(pid_t pid, std::string socket_path, std::string socket_folder);

  pid_t pid_;
  std::string socket_path_;
  std::string socket_folder_;  // a temporary folder for the socket; "": it is beside the database
};

}  // namespace stab::client
