// SPDX-License-Identifier: MIT
// A conversation with the daemon.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "base/error.h"
#include "base/fd.h"
#include "stabd/wire/lines.h"

namespace stab::client {

class Client {
 public:
  // The error says how to start a daemon.
  static Result<Client> connect(const std::string& socket_path);

  // The answer's object. A refusal by the daemon is an error with its words.
  Result<nlohmann::json> ask(const nlohmann::json& request);

  // The next line that the daemon sends by itself, after `watch`. Nothing when a signal arrived on
  // `signal_fd` first.
  Result<std::optional<nlohmann::json>> listen(int signal_fd);

 private:
  explicit Client(Fd socket);
  Result<nlohmann::json> receive();

  Fd socket_;
  std::unique_ptr<wire::Channel> channel_;
};

}  // namespace stab::client
