// SPDX-License-Identifier: MIT
#include "client/ab/build.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <utility>

#include "base/fd.h"
#include "base/text.h"
#include "client/output.h"
#include "machine/child.h"
#include "machine/environment.h"
#include "machine/processes.h"

namespace stab::client::ab {
namespace {

namespace fs = std::filesystem;
using machine::Ended;

constexpr std::chrono::hours longest_build{2};
constexpr std::uint64_t bytes_kept = std::uint64_t{64} << 20;

}  // namespace

Result<void> build_in(const std::string& folder, const std::string& log, const BuildOf& build) {
  std::error_code error;
  if (!fs::is_directory(folder, error)) return fail("it has no folder of this name");
  auto variables = machine::base_variables(geteuid());
  for (const auto& [name, value] : build.variables) variables[name] = value;
  machine::Launch launch;
  launch.argv = {"/bin/sh", "-c", build.command};
  launch.environment = machine::make_environment(std::move(variables), 0);
  launch.directory = folder;
  launch.timeout = longest_build;
  launch.output_limit = bytes_kept;
  launch.merge_stderr = true;
  launch.stop_fd = build.stop_fd;
  const Ended ended = machine::run(launch);
  if (auto written = write_output(ended.out, log, Colours::none); !written) return written;
  const bool exited = ended.how == machine::End::exited;
  if (exited && ended.exit_code == 0) return {};
  return fail(fmt::format(
      "{}; all of its output is in {}\n{}",
      exited ? fmt::format("it ended with exit code {}", ended.exit_code) : ended.reason, log,
      tail(ended.out, 2000)));
}

namespace {

// A process for one build: machine::run() ends all descendants of its caller after a build, so
// builds that run at the same time can't share a process.
struct Builder {
  const BuildPlace* place = nullptr;
  pid_t pid = 0;
  Fd said{};  // a pipe with the error, if any; it closes when the builder ends
  std::string error{};
};

Result<Builder> start_builder(const BuildPlace& place, const BuildOf& build) {
  int ends[2] = {};
  if (pipe2(ends, O_CLOEXEC) != 0) return fail_errno("cannot make a pipe");
  Fd from(ends[0]);
  Fd to(ends[1]);
  const pid_t us = getpid();
  const pid_t pid = fork();
  if (pid < 0) return fail_errno("cannot start a process");
  if (pid > 0) return Builder{.place = &place, .pid = pid, .said = std::move(from)};
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  auto built = getppid() == us ? machine::adopt_orphans() : Result<void>();
  if (built) built = build_in(place.folder, place.log, build);
  if (!built) {
    const auto written = write_all(to.get(), built.error().message);
    static_cast<void>(written);
  }
  _exit(built ? 0 : 1);
}

// Waits until a builder writes or ends. Returns whether `stop_fd` has become readable.
bool wait_for_one(std::vector<Builder>& running, int stop_fd) {
  std::vector<pollfd> polled;
  for (const Builder& each : running)
    polled.push_back({.fd = each.said.get(), .events = POLLIN, .revents = 0});
  polled.push_back({.fd = stop_fd, .events = POLLIN, .revents = 0});
  while (poll(polled.data(), polled.size(), -1) < 0 && errno == EINTR) {
  }
  return polled.back().revents != 0;
}

// Whether the builder has ended. Appends what it has written to its `error`.
bool has_ended(Builder& builder) {
  pollfd one{.fd = builder.said.get(), .events = POLLIN, .revents = 0};
  char piece[4096];
  while (poll(&one, 1, 0) == 1) {
    const ssize_t got = read(builder.said.get(), piece, sizeof piece);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return true;
    builder.error.append(piece, static_cast<std::size_t>(got));
  }
  return false;
}

// "" if the build succeeded, otherwise its error.
std::string outcome_of(Builder& builder) {
  int status = 0;
  while (waitpid(builder.pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return "";
  return builder.error.empty() ? "its builder ended unexpectedly" : builder.error;
}

}  // namespace

Result<void> build_all(const std::vector<BuildPlace>& places, const BuildOf& build) {
  cpu_set_t cpus;
  const bool known = sched_getaffinity(0, sizeof cpus, &cpus) == 0;
  const std::size_t most = std::max(known ? CPU_COUNT(&cpus) : 1, 1);
  std::vector<Builder> running;
  const BuildPlace* failed = nullptr;  // the first in the list
  std::string why;
  int stop_fd = build.stop_fd;
  for (auto next = places.begin(); next != places.end() || !running.empty();) {
    while (next != places.end() && running.size() < most) {
      tell("building " + next->name);
      auto started = start_builder(*next, build);
      if (started) {
        running.push_back(std::move(*started));
        ++next;
        continue;
      }
      failed = &*next;
      why = started.error().message;
      next = places.end();
    }
    if (running.empty()) break;
    if (wait_for_one(running, stop_fd)) {
      for (const Builder& each : running) kill(each.pid, SIGTERM);
      next = places.end();
      stop_fd = -1;
    }
    std::erase_if(running, [&](Builder& each) {
      if (!has_ended(each)) return false;
      const std::string error = outcome_of(each);
      if (error.empty() || (failed != nullptr && failed < each.place)) return true;
      failed = each.place;
      why = error;
      return true;
    });
    if (failed == nullptr) continue;
    next = places.end();
    for (const Builder& each : running)
      if (each.place > failed) kill(each.pid, SIGTERM);
  }
  if (failed == nullptr) return {};
  return fail(fmt::format("{} cannot be built: {}", failed->name, why));
}

}  // namespace stab::client::ab
