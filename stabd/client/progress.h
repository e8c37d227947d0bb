// SPDX-License-Identifier: MIT
// Progress for people: one line that is redrawn on a terminal, a plain line now and then elsewhere.
#pragma once

#include <chrono>
#include <string>

#include "stabd/protocol/messages.h"

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
  // Leaves the terminal's line as if nothing had been drawn.
  void clear();

 private:
  bool terminal_;
  bool drawn_ = false;
  std::string last_state_;
  std::chrono::steady_clock::time_point last_line_{};
};

}  // namespace stab::client
