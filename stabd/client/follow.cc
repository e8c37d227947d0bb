// SPDX-License-Identifier: MIT
#include "stabd/client/follow.h"

#include <fmt/format.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "stabd/client/client.h"
#include "stabd/client/progress.h"

namespace stab::client {

SignalFd::SignalFd() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  sigprocmask(SIG_BLOCK, &set, &before_);
  fd_ = Fd(signalfd(-1, &set, SFD_CLOEXEC));
}

SignalFd::~SignalFd() {
  sigprocmask(SIG_SETMASK, &before_, nullptr);
}

void SignalFd::take() const {
  signalfd_siginfo info{};
  static_cast<void>(!read(fd_.get(), &info, sizeof info));
}

Result<Followed> follow(const std::string& socket_path, std::int64_t id, OnInterrupt on_interrupt,
                        const SignalFd& signals) {
  auto client = Client::connect(socket_path);
  if (!client) return std::unexpected(client.error());
  if (auto watching = client->ask({{"verb", "watch"}, {"id", id}}); !watching)
    return std::unexpected(watching.error());
  ProgressDisplay display;
  Followed followed;
  for (;;) {
    auto line = client->listen(signals.fd());
    if (!line) {
      display.clear();
      return std::unexpected(line.error());
    }
    if (!*line) {
      signals.take();
      followed.interrupted = true;
      if (on_interrupt == OnInterrupt::leave) break;
      display.clear();
      fmt::print(stderr, "cancelling; what was measured is kept\n");
      auto other = Client::connect(socket_path);
      // It may have ended in this very moment, which is as good.
      if (other && !other->ask({{"verb", "cancel"}, {"id", id}})) display.clear();
      continue;
    }
    followed.progress = std::move(**line);
    display.show(followed.progress);
    if (followed.progress.value("final", false)) break;
  }
  display.clear();
  return followed;
}

}  // namespace stab::client
