// SPDX-License-Identifier: MIT
// The worker process as the loop sees it: lines in both directions, its output, and its end. At
// most one runs at a time.
//
// The worker has the rights of its trials, which may be hostile, so it shares nothing with us
// except one end of a socket and of a pipe. Its output is logged without control characters, up to
// a limit.
#pragma once

#include <uv.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/fd.h"
#include "machine/containment.h"
#include "protocol/lines.h"
#include "protocol/work.h"

namespace stab::daemon {

struct WorkerStart {
  std::string program;  // stabd itself
  // Its arguments make it a worker, or the process that starts one on a node (cluster/relays.h).
  std::vector<std::string> arguments{"--worker"};
  std::vector<std::string> environment{};  // added to a worker's
  // How often it gets an empty line as a sign of life; 0: never.
  std::chrono::milliseconds beat{0};
  std::string farewell{};  // the last line that it gets before we hang up; "": none
  std::string record;      // the file that names the living worker, for the next daemon
  std::string token;       // marks its processes if there are no namespaces
  machine::Containment containment = machine::Containment::process_tree;
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  bool privileged = false;           // as in machine/containment.h
  bool network = true;               // the same
  std::vector<std::string> doors{};  // the same
};

struct WorkerEvents {
  std::function<void(const std::string& line)> said;
  // The worker did not answer in time and is being killed; ended() follows.
  std::function<void(const std::string& how)> silent;
  // Called once, when the worker and all processes that it started have ended.
  std::function<void(const std::string& how)> ended;
};

class WorkerProcess {
 public:
  // The loop owns the worker, which lives until its end has been reported and its handles are
  // closed.
  static Result<std::shared_ptr<WorkerProcess>> start(uv_loop_t* loop, const WorkerStart& start,
                                                      WorkerEvents events);
  ~WorkerProcess() = default;
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  // Sends a small line, which the worker is waiting for, so this never blocks for long. The answer
  // must come within the given time.
  void send(const std::string& line, std::chrono::nanoseconds within);
  // Hangs up, so that the worker ends what it runs. After a grace period it is killed, and after
  // another one it counts as ended.
  void stop();

 private:
  WorkerProcess() = default;
  void expect_answer(std::chrono::nanoseconds within);
  void fell_silent();
  void give_sign();
  void kill_now();
  bool read_some();  // returns whether there may be more
  bool log_some();   // the same for its output
  void process_ended();
  void finish(const std::string& how);
  void hang_up();
  void close_handles();
  void discard();
  static void handle_closed(uv_handle_t* handle);

  machine::Contained process_;
  Fd socket_;
  Fd printed_;
  std::string unfinished_;  // the output after the last newline, not logged yet
  std::size_t logged_ = 0;
  protocol::LineBuffer lines_{protocol::max_work_line};
  WorkerEvents events_;
  WorkerStart start_;
  uv_poll_t socket_poll_{};
  uv_poll_t printed_poll_{};
  uv_poll_t process_poll_{};
  uv_timer_t grace_{};
  uv_timer_t answer_{};  // runs while an answer is due
  uv_timer_t beat_{};    // runs if the worker gets signs of life
  int open_handles_ = 0;
  std::chrono::nanoseconds within_{0};
  bool late_ = false;  // the time for the answer has passed once
  bool asked_ = false;
  std::shared_ptr<WorkerProcess> self_;
};

// Ends the worker that an earlier daemon left, if the record names a living one, and all processes
// that it started.
Result<void> end_recorded_worker(const std::string& record, const std::string& token);

}  // namespace stab::daemon
