// SPDX-License-Identifier: MIT
// A conversation with the daemon.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/fd.h"
#include "protocol/lines.h"
#include "protocol/messages.h"

namespace stab::client {

class Client {
 public:
  // To the first of these sockets at which somebody listens. Greets. The error says how to start a
  // daemon, or which program is too old.
  static Result<Client> connect(const std::vector<std::string>& sockets);

  // For those who must not wait: the greeting is on its way, its answer is the first line that
  // arrives.
  static Result<Client> connect_without_waiting(const std::vector<std::string>& sockets);
  template <class Request>
  Result<void> send(const Request& request) {
    return channel_->send(protocol::encode(request));
  }
  // The next line that is there; nothing: it has not arrived yet, fd() tells when more has.
  Result<std::optional<std::string>> arrived();
  [[nodiscard]] int fd() const { return socket_.get(); }

  // A refusal by the daemon is an error with its words.
  template <class Request>
  Result<typename Request::Reply> ask(const Request& request) {
    const auto line = exchange(protocol::encode(request));
    if (!line) return std::unexpected(line.error());
    return protocol::decode_reply<typename Request::Reply>(*line);
  }

  // The next line that the daemon sends by itself, after `watch`. Nothing when a signal arrived on
  // `signal_fd` first.
  Result<std::optional<protocol::Progress>> listen(int signal_fd);

 private:
  explicit Client(Fd socket);
  static Result<Client> reach(const std::vector<std::string>& sockets);
  Result<void> greet();
  Result<std::string> exchange(const std::string& line);
  // Waits as long as it takes; says on stderr when the daemon has been silent for five seconds.
  // Nothing when `signal_fd` became readable first; -1: no signal is looked for.
  Result<std::optional<std::string>> receive(int signal_fd = -1);

  Fd socket_;
  std::unique_ptr<protocol::Channel> channel_;
  bool greeted_ = false;
};

}  // namespace stab::client
