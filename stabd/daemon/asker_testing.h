// SPDX-License-Identifier: MIT
// A client that a test plays, for tests of the daemon's parts.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include "stabd/daemon/part.h"

namespace stab::daemon {

class AskerOfTest : public Asker {
 public:
  void await_answer(std::function<void()> gone) override {
    awaits = true;
    gone_ = std::move(gone);
  }
  void answer(std::string line) override {
    got = std::move(line);
    awaits = false;
    gone_ = nullptr;
    if (when_answered) when_answered();
  }
  // The client hangs up.
  void go() {
    awaits = false;
    if (const auto gone = std::exchange(gone_, nullptr)) gone();
  }

  bool awaits = false;
  std::string got;  // the last answer
  std::function<void()> when_answered;

 private:
  std::function<void()> gone_;
};

}  // namespace stab::daemon
