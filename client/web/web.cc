// SPDX-License-Identifier: MIT
#include "client/web/web.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "client/client.h"
#include "client/follow.h"
#include "client/streams.h"
#include "client/web/live_page.h"
#include "client/web/server.h"

namespace stab::client::web {
namespace {

// After the final page was sent, other open pages have this long to ask once more.
constexpr std::chrono::seconds linger = pace + std::chrono::seconds(1);

// Requests a report from the daemon, without waiting for it.
class Asking {
 public:
  Asking(std::vector<std::string> sockets, std::int64_t id)
      : sockets_(std::move(sockets)), id_(id) {}

  Result<void> begin() {
    auto client = Client::connect_without_waiting(sockets_);
    if (!client) return std::unexpected(client.error());
    if (auto sent = client->send(protocol::ReportRequest{.id = id_, .format = "html"}); !sent)
      return sent;
    client_ = std::make_unique<Client>(std::move(*client));
    greeted_ = false;
    return {};
  }
  // -1 if no request is open.
  [[nodiscard]] int fd() const { return client_ ? client_->fd() : -1; }
  // Returns nothing until the answer has arrived.
  std::optional<Result<protocol::ReportReply>> answer() {
    if (!client_) return std::nullopt;
    for (;;) {
      auto line = client_->arrived();
      if (line && !*line) return std::nullopt;
      if (line && !greeted_) {
        greeted_ = true;
        const auto reply = protocol::decode_reply<protocol::HelloReply>(**line);
        if (reply) continue;
        line = std::unexpected(reply.error());
      }
      client_.reset();
      if (!line) return std::unexpected(line.error());
      return protocol::decode_reply<protocol::ReportReply>(**line);
    }
  }

 private:
  std::vector<std::string> sockets_;
  std::int64_t id_;
  std::unique_ptr<Client> client_{};
  bool greeted_ = false;
};

std::int64_t time_of_day() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

class Watch {
 public:
  Watch(Client& watching, Asking asking, Server& server, std::int64_t id, const Notice& notice)
      : watching_(watching),
        asking_(std::move(asking)),
        server_(server),
        id_(id),
        page_(id),
        display_(notice) {}

  Result<Followed> to_end(const SignalFd& signals) {
    for (;;) {
      if (auto heard = listen(); !heard) {
        display_.clear();
        return std::unexpected(heard.error());
      }
      const auto now = Clock::now();
      read_report(now);
      server_.go_on([&](const Request& request) { return answer(request, now); }, now);
      read_report(now);
      if (is_over(now)) break;
      if (wait(signals, now)) {
        const int signal = signals.take();
        if (!followed_.progress.final) followed_.signal = signal;
        break;
      }
    }
    display_.clear();
    return followed_;
  }

 private:
  Result<void> listen() {
    while (!followed_.progress.final) {
      auto line = watching_.arrived();
      if (!line) return std::unexpected(line.error());
      if (!*line) return {};
      auto progress = protocol::decode_reply<protocol::Progress>(**line);
      if (!progress) return std::unexpected(progress.error());
      followed_.progress = std::move(*progress);
      announce();
      page_.follow(followed_.progress);
      display_.show(followed_.progress);
    }
    return {};
  }

  // Announces the page once. If the experiment has already ended, stabctl exits without waiting for
  // a browser, so it must not announce a page.
  void announce() {
    if (std::exchange(announced_, true)) return;
    if (followed_.progress.final)
      tell(fmt::format(
          "experiment {} has ended, so no page is served: 'stabctl report {} --format html' prints "
          "the report (for an experiment of 'stabctl run', add --folder FOLDER)",
          id_, id_));
    else
      tell(fmt::format("live report, for browsers on this machine: {}", server_.url()));
  }

  void read_report(Clock::time_point now) {
    if (auto report = asking_.answer()) page_.answered(std::move(*report), now, time_of_day());
    if (!page_.wants_report(now)) return;
    page_.asked(now);
    if (auto begun = asking_.begin(); !begun)
      page_.answered(std::unexpected(begun.error()), now, time_of_day());
  }

  Answer answer(const Request& request, Clock::time_point now) {
    if (request.status != 200) {
      auto words = std::make_shared<const std::string>(words_of(request.status));
      return {.head = head_of(request.status, words->size(), ""), .body = std::move(words)};
    }
    const View view = page_.look(now);
    if (request.known == view.version)
      return {.head = head_of(304, 0, view.version), .last = view.final};
    Answer answer{.head = head_of(200, view.text->size(), view.version)};
    if (request.without_body) return answer;
    answer.body = view.text;
    answer.last = view.final;
    return answer;
  }

  bool is_over(Clock::time_point now) {
    if (!followed_.progress.final) return false;
    if (!page_.was_looked_at()) return true;
    if (!server_.last_was_taken()) {
      if (!std::exchange(told_, true)) {
        display_.clear();
        tell(
            fmt::format("experiment {} has ended; stabctl will exit when the page has shown the "
                        "final report, or when you press Ctrl-C",
                        id_));
      }
      return false;
    }
    if (!taken_) taken_ = now;
    return now >= *taken_ + linger;
  }

  // Returns true if a signal arrived.
  bool wait(const SignalFd& signals, Clock::time_point now) {
    const int listening = followed_.progress.final ? -1 : watching_.fd();
    std::vector<pollfd> fds{{.fd = signals.fd(), .events = POLLIN, .revents = 0},
                            {.fd = listening, .events = POLLIN, .revents = 0},
                            {.fd = asking_.fd(), .events = POLLIN, .revents = 0}};
    server_.add_to(fds);
    Clock::time_point until = server_.until();
    if (const auto from = page_.may_want_from(); from > now) until = std::min(until, from);
    if (taken_) until = std::min(until, *taken_ + linger);
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(
        std::min<Clock::duration>(until - now, longest_pause));
    const int ready = poll(fds.data(), fds.size(), static_cast<int>(left.count()));
    return ready > 0 && fds[0].revents != 0;
  }

  Client& watching_;
  Asking asking_;
  Server& server_;
  std::int64_t id_;
  LivePage page_;
  ProgressDisplay display_;
  Followed followed_{};
  bool announced_ = false;
  bool told_ = false;
  std::optional<Clock::time_point> taken_{};
};

Result<Followed> follow_with(Server& server, const std::vector<std::string>& sockets,
                             std::int64_t id, const SignalFd& signals, const Notice& notice = {}) {
  auto watching = start_watching(sockets, id);
  if (!watching) return std::unexpected(watching.error());
  Watch running(*watching, Asking(sockets, id), server, id, notice);
  return running.to_end(signals);
}

}  // namespace

Result<int> watch(const Common& common, std::int64_t id, const std::string& where) {
  auto server = Server::open(where);
  if (!server) return std::unexpected(server.error());
  const SignalFd signals;
  const auto followed = follow_with(*server, common.sockets, id, signals);
  if (!followed) return std::unexpected(followed.error());
  return end_of_watch(common, id, *followed);
}

Result<Follower> follower(const std::string& where) {
  auto server = Server::open(where);
  if (!server) return std::unexpected(server.error());
  return [shared = std::make_shared<Server>(std::move(*server))](
             const std::vector<std::string>& sockets, std::int64_t id, const SignalFd& signals,
             const Notice& notice) { return follow_with(*shared, sockets, id, signals, notice); };
}

}  // namespace stab::client::web
