// SPDX-License-Identifier: MIT
// Follows an experiment to its end, or until Ctrl-C, and shows its progress to people.
#pragma once

#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/fd.h"
#include "client/client.h"
#include "protocol/messages.h"

namespace stab::client {

// While it exists, SIGINT, SIGTERM and SIGHUP (a lost terminal) arrive on fd() and don't end us.
class SignalFd {
 public:
  SignalFd();
  ~SignalFd();
  SignalFd(const SignalFd&) = delete;
  SignalFd& operator=(const SignalFd&) = delete;
  [[nodiscard]] int fd() const { return fd_.get(); }
  [[nodiscard]] int take() const;  // reads and returns the signal

 private:
  sigset_t before_{};
  Fd fd_;
};

struct Followed {
  protocol::Progress progress;  // the last line
  int signal = 0;               // the signal that came before the end; 0: none came
};

// Opens a connection on which the experiment's progress lines arrive.
Result<Client> start_watching(const std::vector<std::string>& sockets, std::int64_t id);

// Returns a line to show once, above the progress; "" if there is nothing to say.
using Notice = std::function<std::string(const protocol::Progress& progress)>;

// Shows progress until the experiment ends or a signal arrives. The experiment itself continues
// after a signal.
Result<Followed> follow(Client& client, const SignalFd& signals, const Notice& notice = {});

// Does what start_watching() and follow() do, and possibly more: see web/web.h.
using Follower =
    std::function<Result<Followed>(const std::vector<std::string>& sockets, std::int64_t id,
                                   const SignalFd& signals, const Notice& notice)>;

// The room for lines on a terminal.
struct Room {
  std::size_t width = 80;
  std::size_t most = 20;
  bool colour = false;
};
// Makes lines for a terminal under one axis: "new   -2.1 %  -3.4 to -0.8 %    [-o-]  |   faster".
// They are shown while the experiment runs, so a comparison without a verdict is "not decided yet".
// Each line fits into `width` columns, not counting colour codes. There are at most `most` lines;
// if not all comparisons fit, the last line counts the rest. Returns no lines without comparisons.
std::vector<std::string> change_lines(const std::vector<protocol::Change>& changes,
                                      const Room& room);

// "new against old: -2.1 % (-3.4 to -0.8 %), faster": for output that is not redrawn. Until the
// experiment is over, a comparison without a verdict is "not decided yet".
std::string change_words(const protocol::Change& change, bool is_over = false);

// "[#####-----] 120 of 240 trials, 118 ok, 2 failed, 1 min 3 s left | sort O2, block 3", at most
// `width` characters.
std::string progress_text(const protocol::Progress& progress, std::size_t width);

// "120 of 240 trials, 118 ok, 2 failed" and "2 of 3 builds, 1 cached".
std::string trials_words(const protocol::Progress& progress);
std::string builds_words(const protocol::Progress& progress);
// "at most 1 min 3 s"; "" if it is unknown.
std::string left_words(const protocol::Progress& progress);

// Shows progress to people: redraws lines on a terminal, and prints plain lines now and then
// elsewhere. Below the first line are the comparisons of the last look of the plan's stopping rule.
// Their intervals are valid at every look, so watching them narrow misleads nobody.
class ProgressDisplay {
 public:
  // Draws on stderr, so that stdout has only the report. Asks `notice` at each progress line.
  explicit ProgressDisplay(Notice notice = {});
  void show(const protocol::Progress& progress);
  // Leaves the terminal's lines as if nothing had been drawn.
  void clear();

 private:
  void draw_lines(const protocol::Progress& progress);
  void print_lines(const protocol::Progress& progress);

  Notice notice_;
  bool terminal_;
  bool colour_;
  std::size_t below_ = 0;  // lines below the first one
  std::string last_look_;
  bool drawn_ = false;
  std::string last_state_;
  std::chrono::steady_clock::time_point last_line_{};
};

}  // namespace stab::client
