// SPDX-License-Identifier: MIT
// One process at a time (S5): a file beside the database, locked with flock, that holds the pid of
// its holder. The kernel gives the lock back when the holder ends, however it ends. A child
// inherits it until it execs, so a child that never execs must not outlive its parent.
#pragma once

#include <string>

#include "base/fd.h"
#include "store/store.h"

namespace stab::store {

class Lock {
 public:
  // Does not wait. The error names the pid of the holder.
  static Outcome<Lock> take(const std::string& database_path);

 private:
  explicit Lock(Fd fd) : fd_(std::move(fd)) {}
  Fd fd_;
};

}  // namespace stab::store
