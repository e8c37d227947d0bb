// SPDX-License-Identifier: MIT
// A worker as the loop sees it: lines in both directions, what it prints, and its end. One at a time.
//
// It runs with the rights of its trials, which may be hostile: it has nothing of ours but one end of a socket and of a pipe.
// What it prints is logged with its control characters taken out, up to a bound.
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
  std::string record;   // file that remembers the worker while it lives, for the next daemon
  std::string token;    // marks its processes where there are no namespaces
  machine::Containment containment = machine::Containment::process_tree;
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  bool privileged = false;           // as in machine/containment.h
  bool network = true;               // the same
  std::vector<std::string> doors{};  // the same
};

struct WorkerEvents {
  std::function<void(const std::string& line)> said;
  // It did not answer in time and is being killed; ended() follows.
  std::function<void(const std::string& how)> silent;
  // Called once, when it and all that it started have ended.
  std::function<void(const std::string& how)> ended;
};

class WorkerProcess {
 public:
  // Owned by the loop from here on: it lives until its end has been reported, and a little longer.
  static Result<std::shared_ptr<WorkerProcess>> start(uv_loop_t* loop, const WorkerStart& start,
                                                      WorkerEvents events);
  ~WorkerProcess() = default;
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  // Small lines to a process that waits for them: never blocks for long. The answer must come within
  // the time.
  void send(const std::string& line, std::chrono::nanoseconds within);
  // Hangs up, which ends what it runs; after a grace it is killed, and after another one it counts as
  // ended.
  void stop();

 private:
  WorkerProcess() = default;
  void expect_answer(std::chrono::nanoseconds within);
  void fell_silent();
  void kill_now();
  bool read_some();  // whether there may be more
  bool log_some();   // the same of what it prints
  void process_ended();
  void finish(const std::string& how);
  void hang_up();
  void close_handles();
  void discard();
  static void handle_closed(uv_handle_t* handle);

  machine::Contained process_;
  Fd socket_;
  Fd printed_;
  std::string unfinished_;  // line of what it printed
  std::size_t logged_ = 0;
  protocol::LineBuffer lines_{protocol::max_work_line};
  WorkerEvents events_;
  WorkerStart start_;
  uv_poll_t socket_poll_{};
  uv_poll_t printed_poll_{};
  uv_poll_t process_poll_{};
  uv_timer_t grace_{};
  uv_timer_t answer_{};  // runs while an answer is due
  int open_handles_ = 0;
  std::chrono::nanoseconds within_{0};
  bool late_ = false;  // the time has passed once
  bool asked_ = false;
  std::shared_ptr<WorkerProcess> self_;
};

// Ends the worker that an earlier daemon left, if the record names one that is alive, and all that
// it started.
Result<void> end_recorded_worker(const std::string& record, const std::string& token);

}  // namespace stab::daemon
