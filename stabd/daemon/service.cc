// SPDX-License-Identifier: MIT

#include "stabd/daemon/service.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <optional>
#include <utility>

#include "base/time.h"

namespace stab::service {
namespace {

constexpr int first_passed = 3;

// Returns the variable and removes it.
std::optional<std::string> take(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr) return std::nullopt;
  std::string text = value;
  unsetenv(name);
  return text;
}

std::optional<std::uint64_t> number_in(const std::optional<std::string>& text) {
  std::uint64_t number = 0;
  if (!text) return std::nullopt;
  const char* const end = text->data() + text->size();
  const auto [stop, error] = std::from_chars(text->data(), end, number);
  if (error != std::errc() || stop != end) return std::nullopt;
  return number;
}

bool is_us(const std::optional<std::string>& pid) {
  return number_in(pid) == static_cast<std::uint64_t>(getpid());
}

int option_of(int fd, int option) {
  int value = -1;
  socklen_t size = sizeof value;
  return getsockopt(fd, SOL_SOCKET, option, &value, &size) == 0 ? value : -1;
}

Result<Fd> passed_socket(std::uint64_t count) {
  if (count != 1)
    return fail(
        fmt::format("{} sockets were passed to stabd, but it serves only one: keep only one "
                    "ListenStream in stabd.socket",
                    count));
  Fd socket(first_passed);
  if (option_of(first_passed, SO_DOMAIN) != AF_UNIX ||
      option_of(first_passed, SO_TYPE) != SOCK_STREAM ||
      option_of(first_passed, SO_ACCEPTCONN) != 1)
    return fail(
        "the descriptor passed to stabd is not a listening unix socket: ListenStream in "
        "stabd.socket must be a path");
  fcntl(first_passed, F_SETFD, FD_CLOEXEC);
  return socket;
}

}  // namespace

Result<Manager> Manager::from_environment() {
  Manager manager;
  manager.address_ = take("NOTIFY_SOCKET").value_or("");
  if (manager.address_.starts_with('@')) manager.address_.front() = '\0';
  const auto watchdog = number_in(take("WATCHDOG_USEC"));
  const auto watched = take("WATCHDOG_PID");
  constexpr std::uint64_t longest = std::chrono::microseconds(std::chrono::hours(24)).count();
  if (watchdog && (!watched || is_us(watched)))
    manager.watchdog_ = std::chrono::microseconds(std::min(*watchdog, longest));
  const auto count = number_in(take("LISTEN_FDS"));
  const bool for_us = is_us(take("LISTEN_PID"));
  take("LISTEN_FDNAMES");
  if (!for_us || !count || *count == 0) return manager;
  auto socket = passed_socket(*count);
  if (!socket) return std::unexpected(socket.error());
  manager.socket_ = std::move(*socket);
  return manager;
}

void Manager::tell(std::string_view lines) const {
  sockaddr_un address{};
  if (address_.empty() || address_.size() >= sizeof address.sun_path) return;
  address.sun_family = AF_UNIX;
  address_.copy(address.sun_path, address_.size());
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + address_.size());
  const Fd socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket) return;
  // A message is sent only once. A busy manager gets this long; a hanging one does not delay us
  // longer.
  const timeval patience{.tv_sec = 1, .tv_usec = 0};
  setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  sendto(socket.get(), lines.data(), lines.size(), MSG_NOSIGNAL,
         reinterpret_cast<const sockaddr*>(&address), size);
}

std::string path_of(const Fd& socket) {
  sockaddr_un address{};
  socklen_t size = sizeof address;
  if (getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0) return "";
  address.sun_path[sizeof address.sun_path - 1] = '\0';
  return address.sun_path;
}

}  // namespace stab::service

namespace stab::daemon {

Supervision::Supervision(Clock& clock, service::Manager manager)
    : manager_(std::move(manager)),
      watchdog_(clock.timer([this] { manager_.tell("WATCHDOG=1"); })) {}

// Tells the manager at half of its time limit that we are alive. The message comes from the loop,
// because it means that the loop turns.
void Supervision::ready() {
  manager_.tell("READY=1");
  const auto half = std::chrono::ceil<std::chrono::milliseconds>(manager_.watchdog()) / 2;
  if (half.count() > 0) watchdog_->start(half, half);
}

void Supervision::show(store::Id id, const std::string& name, std::optional<State> state) {
  if (told_ == std::pair(id, state)) return;
  told_ = {id, state};
  manager_.tell(state ? fmt::format("STATUS=experiment {} ({}) is {}", id, name, to_string(*state))
                      : "STATUS=no experiment is running");
}

void Supervision::stopping(std::chrono::microseconds within, std::string_view how) {
  manager_.tell(fmt::format("STOPPING=1\nEXTEND_TIMEOUT_USEC={}\nSTATUS={}", within.count(), how));
}

namespace {

constexpr std::chrono::seconds longest_wait_to_leave{10};

}  // namespace

Ending::Ending(Clock& clock, Steps& steps)
    : steps_(steps), timer_(clock.timer([this] { ring(); })) {}

void Ending::stop() {
  if (leaving_) steps_.stop_loop();
  if (std::exchange(begun_, true)) return abandon();
  const auto within = steps_.begin_to_stop();
  if (!within) return abandon();
  timer_->start(std::chrono::ceil<std::chrono::milliseconds>(*within));
}

void Ending::abandon() {
  if (std::exchange(abandoned_, true)) return;
  if (!steps_.stop_worker()) leave();
}

void Ending::leave() {
  const bool notices = steps_.owes_notices();
  if (!notices && !steps_.owes_allocations()) return steps_.stop_loop();
  if (std::exchange(leaving_, true)) return;
  spdlog::info("stabd waits up to {} for {}; a second signal ends the wait",
               format_duration(longest_wait_to_leave),
               notices ? "unfinished notices" : "the cluster to free its allocations");
  timer_->start(longest_wait_to_leave);
  steps_.wait_to_leave();
}

void Ending::ring() {
  if (leaving_)
    steps_.stop_loop();
  else
    abandon();
}

}  // namespace stab::daemon
