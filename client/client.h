// SPDX-License-Identifier: MIT
// A client's connection to the daemon.
#pragma once

#include <cstddef>
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
  static constexpr std::size_t max_answer = std::size_t{2} << 30;

  // Connects to the first of these sockets at which a daemon listens, and greets it. The error says
  // how to start a daemon, or which program is too old. An answer of more than `most` bytes is an
  // error, which says so.
  static Result<Client> connect(const std::vector<std::string>& sockets,
                                std::size_t most = max_answer);

  // Sends the greeting, but does not wait for the answer, which is the first line that arrives.
  static Result<Client> connect_without_waiting(const std::vector<std::string>& sockets);
  template <class Request>
  Result<void> send(const Request& request) {
    return channel_->send(protocol::encode(request));
  }
  // The next line, or nothing if it has not arrived yet; fd() becomes readable when more arrives.
  Result<std::optional<std::string>> arrived();
  [[nodiscard]] int fd() const { return socket_.get(); }

  // If the daemon refuses the request, the error has its message.
  template <class Request>
  Result<typename Request::Reply> ask(const Request& request) {
    const auto line = exchange(protocol::encode(request));
    if (!line) return std::unexpected(line.error());
    return protocol::decode_reply<typename Request::Reply>(*line);
  }

  // Waits for the next line that the daemon sends by itself after `watch`. Returns nothing if a
  // signal arrives on `signal_fd` first.
  Result<std::optional<protocol::Progress>> listen(int signal_fd);

 private:
  Client(Fd socket, std::string path, std::size_t most);
  static Result<Client> reach(const std::vector<std::string>& sockets, std::size_t most);
  Result<void> greet();
  Result<std::string> exchange(const std::string& line);
  // Waits for a line without a limit, but says on stderr if the daemon is silent for five seconds.
  // Returns nothing if `signal_fd` becomes readable first; -1 stands for no descriptor.
  Result<std::optional<std::string>> receive(int signal_fd = -1);

  Fd socket_;
  std::string path_;
  std::unique_ptr<protocol::Channel> channel_;
  bool greeted_ = false;
};

}  // namespace stab::client
