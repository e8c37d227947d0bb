// SPDX-License-Identifier: MIT
#include "stabd/daemon/leavings.h"

#include <utility>

namespace stab::daemon {

Leavings::Leavings(Clock& clock) : timer_(clock.timer([this] { free_some(); })) {}

void Leavings::add(Fd file) {
  constexpr std::chrono::milliseconds next_piece{1};
  files_.push_back(std::move(file));
  if (files_.size() == 1) timer_->start(next_piece, next_piece);
}

void Leavings::free_some() {
  if (!files_.empty() && !archive::Spool::shrink(files_.front())) files_.pop_front();
  if (files_.empty()) timer_->stop();
}

}  // namespace stab::daemon
