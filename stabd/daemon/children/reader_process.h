// SPDX-License-Identifier: MIT
// One reader (stabd/reader) as the loop sees it: it gets its request, and the file with its answer
// comes back.
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
  std::string folder;          // for the file, which has no name in it
  std::string line;            // the request
  std::vector<unsigned> cpus;  // on which it may run; empty: on ours
  bool idle = true;            // whatever else wants to run goes first
};

class ReaderProcess {
 public:
  // What it answered: a file with one line. An error if it ended without.
  using OnEnded = std::function<void(Result<Fd> answer)>;

  // Owned by the loop from here on. `ended` is called once, from the loop, unless it is abandoned.
  static Result<std::shared_ptr<ReaderProcess>> start(uv_loop_t* loop, const ReaderStart& start,
                                                      OnEnded ended);
  ~ReaderProcess() = default;
  ReaderProcess(const ReaderProcess&) = delete;
  ReaderProcess& operator=(const ReaderProcess&) = delete;

  void move_to(const std::vector<unsigned>& cpus) const;
  void hurry() const;  // see LoopChild
  // While it is stopped its time does not run.
  void stop_running() const;
  void go_on() const;
  // Kills it; `why` becomes the error that is reported.
  void kill(const std::string& why);
  // Kills it; nothing is reported.
  void abandon();
  // The same, and waits for its end: the loop will not report it.
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
