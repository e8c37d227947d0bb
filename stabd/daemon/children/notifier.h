// SPDX-License-Identifier: MIT
// Tells people what happened: runs one command at a time with JSON on its stdin. Commands yield to
// all other processes and stay off the trials' CPUs. Failures are reported, and nothing else waits
// for a notice.
#pragma once

#include <uv.h>

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "machine/processes.h"
#include "stabd/daemon/children/loop_child.h"

namespace stab::daemon {

struct Notice {
  std::int64_t experiment = 0;
  std::uint32_t of = 0;  // the user whose experiment it is
  std::vector<std::string> command{};
  std::string directory = "/";  // the command's working directory
  std::uint32_t uid = 0;        // the command runs with the rights of this user and group
  std::uint32_t gid = 0;
  // The daemon's own command: it keeps our rights, and its output goes into our log.
  bool ours = true;
  std::string json{};
};

inline constexpr std::size_t max_notices = 100;  // that may wait for one notifier
inline constexpr const char* notice_cut_short = "the notice is not sent: stabd is stopping";

class Notifier {
 public:
  // Called from the loop, or from end(); `why` says what went wrong.
  using OnFailed = std::function<void(std::int64_t experiment, const std::string& why)>;

  // `rested` is called from the loop when no notice is left. `program` is stabd itself, which asks
  // for users' limits (machine/user_limits.h).
  Notifier(uv_loop_t* loop, machine::Containment containment, std::string program,
           std::chrono::nanoseconds limit, OnFailed failed, std::function<void()> rested);
  // Must run before the loop is closed. Calls end().
  ~Notifier();
  // Kills the running command and waits until then for its end. All notices that were not delivered
  // have failed.
  void end(std::chrono::steady_clock::time_point until);
  Notifier(const Notifier&) = delete;
  Notifier& operator=(const Notifier&) = delete;

  void send(Notice notice);
  [[nodiscard]] bool busy() const { return child_ || !waiting_.empty(); }
  // Applies to commands that begin from now on.
  void use_limit(std::chrono::nanoseconds limit) { limit_ = limit; }
  // Moves the running command, and later ones, to these CPUs.
  void use_cpus(const std::vector<unsigned>& cpus);

 private:
  void run_next();
  Result<void> start(const Notice& notice);
  void ended(std::optional<int> status);

  uv_loop_t* loop_;
  machine::Containment containment_;
  std::string program_;
  std::chrono::nanoseconds limit_;
  OnFailed failed_;
  std::function<void()> rested_;
  std::vector<unsigned> cpus_;
  std::deque<Notice> waiting_;
  std::int64_t current_ = 0;          // the experiment of the running notice
  std::shared_ptr<LoopChild> child_;  // the running command, or nullptr
  uv_timer_t* timer_;                 // kills child_ after the limit; the loop frees it
  bool late_ = false;
};

}  // namespace stab::daemon
