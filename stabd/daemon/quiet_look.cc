// SPDX-License-Identifier: MIT
#include "stabd/daemon/quiet_look.h"

#include <utility>

namespace stab::daemon {
namespace {

// So one tick of the kernel is at most 2 % of a look.
constexpr std::chrono::milliseconds length_of_look{500};

}  // namespace

QuietLook::QuietLook(Clock& clock, std::string root)
    : clock_(clock), root_(std::move(root)), timer_(clock.timer([this] { end(); })) {}

void QuietLook::begin(const machine::CpuSet& trial, const machine::CalmBounds& bounds,
                      OnLook done) {
  looking_.emplace(Looking{
      .calm = machine::Calm(trial, bounds, root_), .since = clock_.now(), .done = std::move(done)});
  looking_->calm.begin();
  // The loop's clock stands at the beginning of this turn, and storing a trial may have taken long
  // since then.
  timer_->start_from_now(length_of_look);
}

void QuietLook::stop() {
  timer_->stop();
  looking_.reset();
}

void QuietLook::end() {
  if (!looking_) return;
  Looking look = *std::exchange(looking_, std::nullopt);
  const std::string loud = look.calm.end(clock_.now() - look.since);
  look.done(loud, look.calm.missing());
}

}  // namespace stab::daemon
