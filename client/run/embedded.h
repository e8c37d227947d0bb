// SPDX-License-Identifier: MIT
// A daemon of our own: started for one experiment, ended with us.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/error.h"

namespace stab::client {

class EmbeddedDaemon {
 public:
  // Returns when clients can connect. Its log goes to `state_directory`/stabd.log.
  static Result<EmbeddedDaemon> start(const std::string& state_directory);
  EmbeddedDaemon(EmbeddedDaemon&& other) noexcept;
  EmbeddedDaemon& operator=(EmbeddedDaemon&&) = delete;
  ~EmbeddedDaemon();

  [[nodiscard]] const std::string& socket_path() const { return socket_path_; }

 private:
  EmbeddedDaemon(pid_t pid, std::string socket_path, std::string socket_folder);

  pid_t pid_;
  std::string socket_path_;
  std::string socket_folder_;  // of its own, or ""
};

}  // namespace stab::client
