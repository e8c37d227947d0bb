// SPDX-License-Identifier: MIT
// Lets only one process write (S5): a file beside the database, locked with flock, which has the
// holder's pid. The kernel releases the lock when the holder ends, however it ends. A child
// inherits the lock until it execs, so a child that never execs must not outlive its parent.
#pragma once

#include <string>

#include "base/fd.h"
#include "store/store.h"

namespace stab::store {

class Lock {
 public:
  // Does not wait for another holder. The error names that holder's pid.
  static Outcome<Lock> take(const std::string& database_path);

 private:
  explicit Lock(Fd fd) : fd_(std::move(fd)) {}
  Fd fd_;
};

}  // namespace stab::store
