// SPDX-License-Identifier: MIT
// Shows progress to people: redraws lines on a terminal, and prints plain lines now and then
// elsewhere. Below the first line are the comparisons of the last look of the plan's stopping rule.
// Their intervals are valid at every look, so watching them narrow misleads nobody.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "protocol/messages.h"

namespace stab::client {

// Makes lines for a terminal under one axis: "new   -2.1 %  -3.4 to -0.8 %    [-o-]  |   faster".
// Each fits into `width` columns, not counting colour codes. There are at most `most` lines; if not
// all comparisons fit, the last line counts the rest. Returns no lines without comparisons.
struct Room {
  std::size_t width = 80;
  std::size_t most = 20;
  bool colour = false;
};
std::vector<std::string> change_lines(const std::vector<protocol::Change>& changes,
                                      const Room& room);

// "new against old: -2.1 % (-3.4 to -0.8 %), faster": for output that is not redrawn.
std::string change_words(const protocol::Change& change);

// "[#####-----] 120 of 240 trials, 118 ok, 2 failed, 1 min 3 s left | sort O2, block 3", at most
// `width` characters.
std::string progress_text(const protocol::Progress& progress, std::size_t width);

// "120 of 240 trials, 118 ok, 2 failed" and "2 of 3 builds, 1 cached".
std::string trials_words(const protocol::Progress& progress);
std::string builds_words(const protocol::Progress& progress);
// "at most 1 min 3 s"; "" if it is unknown.
std::string left_words(const protocol::Progress& progress);

class ProgressDisplay {
 public:
  // Draws on stderr, so that stdout has only the report.
  ProgressDisplay();
  void show(const protocol::Progress& progress);
  // Leaves the terminal's lines as if nothing had been drawn.
  void clear();

 private:
  void draw_lines(const protocol::Progress& progress);
  void print_lines(const protocol::Progress& progress);

  bool terminal_;
  bool colour_;
  std::size_t below_ = 0;  // lines below the first one
  std::string last_look_;
  bool drawn_ = false;
  std::string last_state_;
  std::chrono::steady_clock::time_point last_line_{};
};

}  // namespace stab::client
