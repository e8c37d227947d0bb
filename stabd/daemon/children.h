// SPDX-License-Identifier: MIT
// The daemon's child processes other than the worker: readers, and the commands of notices.
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
#include "base/fd.h"
#include "machine/containment.h"
#include "machine/processes.h"
#include "stabd/daemon/part.h"

namespace stab::daemon {

// A child process of the daemon as the loop sees it. It can yield to all other processes until
// hurry(), and it runs on the CPUs that its owner chooses, so that trials are left alone.
class LoopChild {
 public:
  // `status` is what machine::reap() returns.
  using OnEnded = std::function<void(std::optional<int> status)>;

  // The loop owns the child. `ended` is called once, from the loop, unless the child is abandoned.
  // If `idle`, every other process goes first. The child may run on `cpus`, or on our CPUs if that
  // is empty.
  static Result<std::shared_ptr<LoopChild>> start(uv_loop_t* loop,
                                                  const machine::ContainedStart& what, bool idle,
                                                  const std::vector<unsigned>& cpus, OnEnded ended);
  ~LoopChild() = default;
  LoopChild(const LoopChild&) = delete;
  LoopChild& operator=(const LoopChild&) = delete;

  void move_to(const std::vector<unsigned>& cpus) const;
  // From now on the child runs like any other process, if the kernel lets us raise its priority.
  void hurry() const;
  void send_signal(int number) const;
  // Kills the child and reports nothing.
  void abandon();
  // The time within which a killed process ends, unless somebody traces one of its processes.
  static constexpr std::chrono::seconds killing{5};
  // Like abandon(), and waits until then for the child's end, which the loop won't report.
  void end(std::chrono::steady_clock::time_point until = std::chrono::steady_clock::now() +
                                                         killing);

 private:
  LoopChild() = default;
  [[nodiscard]] bool has_ended(std::chrono::milliseconds within) const;
  void process_ended();
  void kill_group() const;
  void close();

  machine::Contained process_;
  OnEnded ended_;
  uv_poll_t poll_{};
  std::shared_ptr<LoopChild> self_;
};

// One reader process (stabd/reader) as the loop sees it: it gets a request and returns a file with
// the answer. It has no streams of ours. Its output is logged when it has ended.

struct ReaderStart {
  std::string program;         // stabd itself
  std::string folder;          // where the answer's unlinked file is made
  std::string line;            // the request
  std::vector<unsigned> cpus;  // CPUs on which it may run; if empty, ours
  bool idle = true;            // every other process goes first
};

class ReaderProcess {
 public:
  // `answer` is the file with the answer, or an error if the reader failed.
  using OnEnded = std::function<void(Result<Fd> answer)>;

  // The loop owns the reader. `ended` is called once, from the loop, unless the reader is
  // abandoned.
  static Result<std::shared_ptr<ReaderProcess>> start(uv_loop_t* loop, const ReaderStart& start,
                                                      OnEnded ended);
  ~ReaderProcess() = default;
  ReaderProcess(const ReaderProcess&) = delete;
  ReaderProcess& operator=(const ReaderProcess&) = delete;

  void move_to(const std::vector<unsigned>& cpus) const;
  void hurry() const;  // see LoopChild
  // Stops the process until go_on(). The caller does not count that time.
  void stop_running() const;
  void go_on() const;
  // Kills the reader; `ended` gets `why` as the error.
  void kill(const std::string& why);
  // Kills the reader and reports nothing.
  void abandon();
  // Like abandon(), and waits for the reader's end, which the loop won't report.
  void end();

 private:
  ReaderProcess() = default;
  void log_printed() const;
  void process_ended(std::optional<int> status);

  std::shared_ptr<LoopChild> child_;
  Fd file_;
  Fd printed_;
  OnEnded ended_;
  std::string killed_for_;
};

// Tells people what happened: runs one command at a time with JSON on its stdin. Commands yield to
// all other processes and stay off the trials' CPUs. Failures are reported, and nothing else waits
// for a notice.

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

// The owner of a notifier learns through this interface what becomes of its notices.
class NotifierEvents {
 public:
  // Called from the loop, Notifier::send() or Notifier::end(); `why` says what went wrong.
  virtual void notice_failed(std::int64_t experiment, const std::string& why) = 0;
  // Called from the loop when no notice is left.
  virtual void notifier_rests() = 0;

 protected:
  ~NotifierEvents() = default;
};

class Notifier {
 public:
  // `program` is stabd itself, which asks for users' limits (machine/user_limits.h).
  Notifier(Clock& clock, uv_loop_t* loop, machine::Containment containment, std::string program,
           std::chrono::nanoseconds limit, NotifierEvents& events);
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
  void kill_late();

  uv_loop_t* loop_;
  machine::Containment containment_;
  std::string program_;
  std::chrono::nanoseconds limit_;
  NotifierEvents& events_;
  std::vector<unsigned> cpus_;
  std::deque<Notice> waiting_;
  std::int64_t current_ = 0;          // the experiment of the running notice
  std::shared_ptr<LoopChild> child_;  // the running command, or nullptr
  std::unique_ptr<Timer> timer_;      // kills child_ after the limit
  bool late_ = false;
};

}  // namespace stab::daemon
