// SPDX-License-Identifier: MIT
// Tells people what happened: runs commands that get JSON on their stdin, one at a time, behind
// everything else and away from trials. What goes wrong is reported, and nothing waits for it.
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
  std::uint32_t of = 0;  // whose experiment it is
  std::vector<std::string> command{};
  std::string directory = "/";  // where it runs
  std::uint32_t uid = 0;        // with whose rights
  std::uint32_t gid = 0;
  bool ours = true;  // the daemon's own: it keeps our rights, and its output is our log
  std::string json{};
};

inline constexpr std::size_t max_notices = 100;  // that wait
inline constexpr const char* notice_cut_short = "the notice is not sent: stabd is stopping";

class Notifier {
 public:
  // `failed` is called from the loop with what went wrong, in words.
  using OnFailed = std::function<void(std::int64_t experiment, const std::string& why)>;

  // `rested` is called from the loop when all that was sent has ended.
  // `program` is stabd itself, which asks for users' limits (machine/user_limits.h).
  Notifier(uv_loop_t* loop, machine::Containment containment, std::string program,
           std::chrono::nanoseconds limit, OnFailed failed, std::function<void()> rested);
  // Before the loop is closed. Ends what runs; what was not sent has failed.
  ~Notifier();
  // Kills what runs and waits for its end until then; nothing begins any more.
  void end(std::chrono::steady_clock::time_point until);
  Notifier(const Notifier&) = delete;
  Notifier& operator=(const Notifier&) = delete;

  void send(Notice notice);
  [[nodiscard]] bool busy() const { return child_ || !waiting_.empty(); }
  // Of those that begin from now on.
  void use_limit(std::chrono::nanoseconds limit) { limit_ = limit; }
  // Run on these from now on.
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
  std::int64_t current_ = 0;          // the experiment of what runs
  std::shared_ptr<LoopChild> child_;  // what runs
  uv_timer_t* timer_;                 // runs with it
  bool late_ = false;
};

}  // namespace stab::daemon
