// SPDX-License-Identifier: MIT
#include "causal/run/run_program.h"

#include <poll.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <fstream>
#include <set>
#include <string_view>
#include <thread>

#include "base/fd.h"

namespace stab::causal {
namespace {

using Clock = std::chrono::steady_clock;

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> made;
  for (std::string& word : words) made.push_back(word.data());
  made.push_back(nullptr);
  return made;
}

// While this object exists, these signals come to a descriptor.
class Signals {
 public:
  Signals() {
    sigset_t ours;
    sigemptyset(&ours);
    for (const int each : {SIGINT, SIGTERM, SIGHUP, SIGCHLD}) sigaddset(&ours, each);
    sigprocmask(SIG_BLOCK, &ours, &before_);
    fd_ = Fd(signalfd(-1, &ours, SFD_CLOEXEC | SFD_NONBLOCK));
  }
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;
  ~Signals() { sigprocmask(SIG_SETMASK, &before_, nullptr); }

  [[nodiscard]] const sigset_t& before() const { return before_; }

  // Passes signals on to the child, unless that is 0. Returns the last signal that asked for the
  // end, or 0. If a terminal sent a signal, the program has already got it.
  int pass(pid_t child) const {
    int asked = 0;
    signalfd_siginfo info{};
    while (read(fd_.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
      const auto number = static_cast<int>(info.ssi_signo);
      if (number == SIGCHLD) continue;
      asked = number;
      if (child != 0 && info.ssi_code != SI_KERNEL) kill(child, number);
    }
    return asked;
  }

  void wait() const {
    pollfd events{fd_.get(), POLLIN, 0};
    poll(&events, 1, 1000);
  }

 private:
  sigset_t before_{};
  Fd fd_;
};

Result<pid_t> start(const Command& command, const SessionFile& session, const sigset_t& mask) {
  std::vector<std::string> ours;
  for (char** each = environ; *each != nullptr; ++each) ours.emplace_back(*each);
  std::vector<std::string> environment = profiled(ours, command.library, session);
  std::vector<std::string> words = command.argv;
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setsigmask(&attributes, &mask);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  pid_t child = 0;
  const int failed = posix_spawn(&child, command.path.c_str(), nullptr, &attributes,
                                 pointers(words).data(), pointers(environment).data());
  posix_spawnattr_destroy(&attributes);
  if (failed != 0) return fail_errno("cannot start " + command.path, failed);
  return child;
}

// Ends the program when its time is over: by SIGTERM, and by SIGKILL if it still runs five seconds
// later.
class Timeout {
 public:
  Timeout(std::chrono::nanoseconds time, Clock::time_point began)
      : end_(time.count() == 0 ? Clock::time_point::max() : began + time) {}

  // Returns whether the time was over.
  bool look(pid_t child) {
    if (Clock::now() < end_) return is_over_;
    kill(child, is_over_ ? SIGKILL : SIGTERM);
    end_ = is_over_ ? Clock::time_point::max() : Clock::now() + std::chrono::seconds(5);
    return is_over_ = true;
  }

 private:
  Clock::time_point end_;
  bool is_over_ = false;
};

// While this object exists, processes of the program become our children when their parents end.
class Orphans {
 public:
  Orphans() : before_(children()) { prctl(PR_SET_CHILD_SUBREAPER, 1); }
  Orphans(const Orphans&) = delete;
  Orphans& operator=(const Orphans&) = delete;
  ~Orphans() { prctl(PR_SET_CHILD_SUBREAPER, 0); }

  // Whether any of them still run. Reaps the ones that have ended.
  [[nodiscard]] bool go_on() const {
    bool some = false;
    for (const pid_t child : children())
      some = (!before_.contains(child) && waitpid(child, nullptr, WNOHANG) == 0) || some;
    return some;
  }
  // A program's helpers may end a moment later than the program.
  [[nodiscard]] bool go_on_for(std::chrono::milliseconds time) const {
    const auto end = Clock::now() + time;
    while (go_on()) {
      if (Clock::now() > end) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  }
  // Kills them, and those that they leave behind.
  void end() const {
    const auto most = Clock::now() + std::chrono::seconds(5);
    while (go_on() && Clock::now() < most) {
      for (const pid_t child : children())
        if (!before_.contains(child)) kill(child, SIGKILL);
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }

 private:
  static std::set<pid_t> children() {
    std::set<pid_t> found;
    std::ifstream file("/proc/thread-self/children");
    for (pid_t child = 0; file >> child;) found.insert(child);
    return found;
  }

  std::set<pid_t> before_;
};

}  // namespace

std::vector<std::string> profiled(const std::vector<std::string>& environment,
                                  const std::string& library, const SessionFile& session) {
  constexpr std::string_view preload = "LD_PRELOAD=";
  std::vector<std::string> made;
  std::string libraries = std::string(preload) + library;
  for (const std::string& entry : environment) {
    if (entry.starts_with(preload)) {
      if (entry.size() > preload.size()) libraries += ":" + entry.substr(preload.size());
    } else if (!entry.starts_with("STAB_CAUSAL=")) {
      made.push_back(entry);
    }
  }
  made.push_back(std::move(libraries));
  made.push_back("STAB_CAUSAL=" + session.path());
  return made;
}

Result<Ended> run_program(const Command& command, const SessionFile& session,
                          const std::function<void()>& looked) {
  const Signals signals;
  const Orphans orphans;
  const auto began = Clock::now();
  const auto child = start(command, session, signals.before());
  if (!child) return std::unexpected(child.error());
  Ended ended;
  int status = 0;
  Timeout timeout(command.timeout, began);
  auto next_look = began + std::chrono::seconds(1);
  while (true) {
    const pid_t got = waitpid(*child, &status, WNOHANG);
    if (got == *child) break;
    if (got < 0 && errno != EINTR) return fail_errno("cannot wait for the program");
    signals.wait();
    if (const int asked = signals.pass(*child); asked != 0) ended.interrupted = asked;
    ended.timed_out = timeout.look(*child);
    if (Clock::now() < next_look) continue;
    next_look = Clock::now() + std::chrono::seconds(1);
    looked();
  }
  if (const int asked = signals.pass(0); asked != 0) ended.interrupted = asked;
  ended.passed_ns =
      static_cast<std::uint64_t>((Clock::now() - began) / std::chrono::nanoseconds(1));
  if (ended.timed_out) orphans.end();
  ended.others_go_on = orphans.go_on_for(std::chrono::seconds(1));
  if (WIFSIGNALED(status)) ended.signal = WTERMSIG(status);
  if (WIFEXITED(status)) ended.exit_code = WEXITSTATUS(status);
  return ended;
}

}  // namespace stab::causal
