// SPDX-License-Identifier: MIT
// Progress for people: lines that are redrawn on a terminal, plain ones now and then elsewhere. Below
// the first one stand the comparisons as the plan's stopping rule saw them last.
#pragma once

#include <chrono>
#include <string>

#include "protocol/messages.h"

namespace stab::client {

// "[#####-----] 120 of 240 trials, 118 ok, 2 failed, 1 min 3 s left | sort O2, block 3", at most
// `width` characters.
std::string progress_text(const protocol::Progress& progress, std::size_t width);

// "120 of 240 trials, 118 ok, 2 failed" and "2 of 3 builds, 1 cached".
std::string trials_words(const protocol::Progress& progress);
std::string builds_words(const protocol::Progress& progress);
// "at most 1 min 3 s"; "": it cannot be told.
std::string left_words(const protocol::Progress& progress);

class ProgressDisplay {
 public:
  // Draws on stderr, so that stdout holds the report alone.
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
