// SPDX-License-Identifier: MIT
// Frees the space of large files that have no name any more. It frees them in pieces, so that
// clients are answered in between.
#pragma once

#include <deque>
#include <memory>
#include <utility>

#include "base/fd.h"
#include "stabd/archive/spool.h"
#include "stabd/daemon/clock.h"

namespace stab::daemon {

class Leavings {
 public:
  explicit Leavings(Clock& clock);

  // Takes over the files of a spool. The function must not outlive this object.
  archive::Spool::Leave take() {
    return [this](Fd file) { add(std::move(file)); };
  }

 private:
  void add(Fd file);
  void free_some();

  std::deque<Fd> files_;
  std::unique_ptr<Timer> timer_;  // runs while there are files
};

}  // namespace stab::daemon
