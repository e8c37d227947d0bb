// SPDX-License-Identifier: MIT
// One reader process (stabd/reader) as the loop sees it: it gets a request and returns a file with
// the answer.
#pragma once

#include <uv.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/fd.h"
#include "stabd/daemon/children/loop_child.h"

namespace stab::daemon {

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
  void process_ended(std::optional<int> status);

  std::shared_ptr<LoopChild> child_;
  Fd file_;
  OnEnded ended_;
  std::string killed_for_;
};

}  // namespace stab::daemon
