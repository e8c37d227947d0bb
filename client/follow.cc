// SPDX-License-Identifier: MIT
#include "client/follow.h"

#include <fmt/format.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "client/progress.h"

namespace stab::client {

SignalFd::SignalFd() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGHUP);
  sigprocmask(SIG_BLOCK, &set, &before_);
  fd_ = Fd(signalfd(-1, &set, SFD_CLOEXEC));
}

SignalFd::~SignalFd() {
  sigprocmask(SIG_SETMASK, &before_, nullptr);
}

int SignalFd::take() const {
  signalfd_siginfo info{};
  return read(fd_.get(), &info, sizeof info) == sizeof info ? static_cast<int>(info.ssi_signo)
                                                            : SIGINT;
}

Result<Client> start_watching(const std::vector<std::string>& sockets, std::int64_t id) {
  auto client = Client::connect(sockets);
  if (!client) return client;
  if (auto watching = client->ask(protocol::WatchRequest{.id = id}); !watching)
    return std::unexpected(watching.error());
  return client;
}

Result<Followed> follow(Client& client, const SignalFd& signals) {
  ProgressDisplay display;
  Followed followed;
  while (!followed.progress.final) {
    auto line = client.listen(signals.fd());
    if (!line) {
      display.clear();
      return std::unexpected(line.error());
    }
    if (!*line) {
      followed.signal = signals.take();
      break;
    }
    followed.progress = std::move(**line);
    display.show(followed.progress);
  }
  display.clear();
  return followed;
}

}  // namespace stab::client
