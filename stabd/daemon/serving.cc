// SPDX-License-Identifier: MIT
// The daemon as a service: its socket, its signals, its end, and its messages to the service
// manager.
#include <fmt/format.h>
#include <grp.h>
#include <spdlog/spdlog.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <filesystem>

#include "base/streams.h"
#include "base/time.h"
#include "stabd/daemon/daemon.h"
#include "stabd/daemon/folders.h"

namespace stab::daemon {
namespace {

namespace fs = std::filesystem;

// The time within which a worker and its processes should end.
constexpr std::chrono::seconds ending{60};
// So many connections wait in the kernel until the loop accepts them; the kernel tells further
// clients to try again. The number is the default of limits.connections.
constexpr int most_waiting_connections = 256;

// Removes the socket file of a daemon that has gone, but never a living daemon's.
Result<void> clear_socket(const std::string& path) {
  sockaddr_un address{};
  if (path.size() >= sizeof address.sun_path)
    return fail(fmt::format(
        "the socket's path {} is longer than {} bytes: choose a shorter one with --socket", path,
        sizeof address.sun_path - 1));
  struct stat status{};
  if (lstat(path.c_str(), &status) != 0) return {};
  if (!S_ISSOCK(status.st_mode)) return fail(fmt::format("{} exists and is not a socket", path));
  const Fd probe(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  if (connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0)
    return fail(fmt::format("another stabd serves {}", path));
  if (unlink(path.c_str()) != 0)
    return fail_errno(fmt::format("cannot remove the stale socket {}", path));
  return {};
}

Result<gid_t> group_of(const std::string& name) {
  gid_t number = 0;
  const char* const end = name.data() + name.size();
  const auto [rest, error] = std::from_chars(name.data(), end, number);
  // The largest number is not a valid group: chown() takes it for "no change".
  if (error == std::errc() && rest == end && number + 1 != 0) return number;
  if (const auto* known = getgrnam(name.c_str())) return known->gr_gid;
  return fail(
      fmt::format("there is no group '{}' for the socket: 'daemon.socket_group' needs the name or "
                  "number of a group",
                  name));
}

Result<void> give_to_group(const std::string& socket, const std::string& name, unsigned mode) {
  if (name.empty()) return {};
  if ((mode & 0060U) == 0)
    return fail(
        fmt::format("'daemon.socket_group' has no effect with the socket's mode {:04o}: add "
                    "socket_mode = \"0660\", or leave the group out",
                    mode));
  const auto number = group_of(name);
  if (!number) return std::unexpected(number.error());
  if (chown(socket.c_str(), static_cast<uid_t>(-1), *number) == 0) return {};
  return fail_errno(fmt::format("cannot give the socket {} to the group '{}'", socket, name));
}

}  // namespace

Result<void> Daemon::make_socket() {
  if (auto cleared = clear_socket(options_.socket_path); !cleared) return cleared;
  const std::string folder = fs::path(options_.socket_path).parent_path().string();
  if (auto made = make_passable_folder(folder); !made) return made;
  if (geteuid() == 0 && options_.socket_mode != 0600) warn_if_closed(folder);
  const mode_t before = umask(0777 & ~options_.socket_mode);
  const int bound = uv_pipe_bind(&server_, options_.socket_path.c_str());
  umask(before);
  if (bound != 0)
    return fail(fmt::format("cannot bind {}: {}", options_.socket_path, uv_strerror(bound)));
  // Nobody can connect before it listens.
  return give_to_group(options_.socket_path, options_.socket_group, options_.socket_mode);
}

// A socket that was passed to us belongs to the service manager, which sets its mode and group and
// removes it.
Result<void> Daemon::use_socket(Fd passed) {
  options_.socket_path = service::path_of(passed);
  const int opened = uv_pipe_open(&server_, passed.get());
  if (opened != 0)
    return fail(
        fmt::format("cannot use the socket that was passed to stabd: {}", uv_strerror(opened)));
  static_cast<void>(passed.release());
  return {};
}

Result<void> Daemon::listen() {
  Fd passed = supervision_.take_socket();
  if (auto bound = passed ? use_socket(std::move(passed)) : make_socket(); !bound) return bound;
  const int listening = uv_listen(reinterpret_cast<uv_stream_t*>(&server_),
                                  most_waiting_connections, [](uv_stream_t* server, int status) {
                                    if (status == 0)
                                      static_cast<Daemon*>(server->data)->clients_.accept();
                                  });
  if (listening != 0)
    return fail(
        fmt::format("cannot listen on {}: {}", options_.socket_path, uv_strerror(listening)));
  return {};
}

void Daemon::watch_signals() {
  std::signal(SIGPIPE, SIG_IGN);
  const auto stop = [](uv_signal_t* handle, int) {
    static_cast<Daemon*>(handle->data)->ending_.stop();
  };
  uv_signal_start(&signals_[0], stop, SIGTERM);
  uv_signal_start(&signals_[1], stop, SIGINT);
  uv_signal_start(
      &signals_[2],
      [](uv_signal_t* handle, int) { static_cast<Daemon*>(handle->data)->read_settings_again(); },
      SIGHUP);
}

void Daemon::run() {
  watch_signals();
  spdlog::info("stabd {} serves {} and keeps its state in {}", STAB_VERSION, options_.socket_path,
               options_.state_directory);
  if (options_.ready_fd >= 0) {
    const auto told = write_all(options_.ready_fd, "ready\n");
    close(options_.ready_fd);
    open_closed_streams();
    if (!told) spdlog::warn("{}", told.error().message);
  }
  supervision_.ready();
  run_next();
  tell_status();
  archive::Spool::remove_left(options_.state_directory, leavings_.take());
  maintenance_.start();
  retries_.start();
  verify_trials();
  uv_run(loop_->get(), UV_RUN_DEFAULT);
  spdlog::info("stabd is stopping");
}

void Daemon::read_settings_again() {
  auto read = options_.read_again();
  if (!read)
    return spdlog::error("the settings stay as they are, because the new settings are wrong: {}",
                         read.error().message);
  for (const std::string_view key : settings::differences(wanted_, *read)) {
    if (settings::can_change(key))
      spdlog::info("'{}' has changed", key);
    else
      spdlog::warn("'{}' keeps its old value until stabd is restarted", key);
  }
  wanted_ = settings::changed(wanted_, *read);
  static_cast<settings::Settings&>(options_) = settings::changed(options_, *read);
  use_settings();
  spdlog::info("the settings were read again");
}

// Passes the new settings to everything that has copies of them. A running experiment keeps the
// cache limit that it began with.
void Daemon::use_settings() {
  spdlog::set_level(spdlog::level::from_str(options_.log));
  queue_.use_limits(options_.limits);
  turn_.use_limit(options_.limits.turn);
  clients_.use_limits(options_.limits);
  readers_->use_limit(options_.read_limit);
  notices_.use_settings(options_.notify);
  clients_.use_idle_limit(options_.idle_limit);
  maintenance_.use_retention(options_.retention);
}

void Daemon::tell_status() {
  if (session_)
    supervision_.show(session_->experiment().id, session_->experiment().name, session_->state());
  else
    supervision_.show(0, "", std::nullopt);
}

std::optional<std::chrono::nanoseconds> Daemon::begin_to_stop() {
  retries_.stop();
  maintenance_.stop();
  const bool finish = options_.stop == settings::Stop::finish && session_ && session_->runs_trial();
  const auto longest = std::chrono::duration_cast<std::chrono::microseconds>(
      finish ? options_.stop_limit + ending : ending);
  supervision_.stopping(longest, finish ? "stabd finishes the running trial" : "stopping");
  if (!finish) return std::nullopt;
  session_->ask_for_no_more();
  spdlog::info("stabd finishes the running trial if that takes at most {}, and then stops",
               format_duration(options_.stop_limit));
  return options_.stop_limit;
}

bool Daemon::stop_worker() {
  if (session_) session_->rest();
  const bool works = workshop_.has_worker();
  workshop_.stop();
  return works;
}

bool Daemon::owes_notices() const {
  return notices_.owed();
}

void Daemon::wait_for_notices() {
  allow_readers();
}

void Daemon::stop_loop() {
  uv_stop(loop_->get());
}

}  // namespace stab::daemon
