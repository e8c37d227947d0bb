// SPDX-License-Identifier: MIT
// What leaves the database: experiments that somebody removes, and what is older than the settings
// keep it. It goes in pieces, which whoever owns the store asks for when nothing is measured.
//
// Invariants
//  U1  The time of day makes nothing old. Ages are counted from when somebody here first saw that an experiment had ended,
//      by a clock that goes on as long as the machine runs (CLOCK_BOOTTIME), and at most a day for all the time between
//      two looks of which the machine was started anew.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/turns.h"
#include "stabd/settings/settings.h"
#include "store/store.h"

namespace stab::upkeep {

class Upkeep {
 public:
  explicit Upkeep(store::Store& store) : store_(store) {}

  // What somebody began before and has not ended.
  store::Outcome<void> load();
  // From here on nobody sees it. It has ended, or never began.
  store::Outcome<void> remove(const store::Experiment& experiment, std::string_view how);
  // One that came in part and is not seen yet.
  void give_up(store::Id id, std::uint32_t uid) { removals_.add(uid, id); }
  // Sees which experiments have ended; what is too old now is work from here on (U1).
  store::Outcome<void> look(const settings::Retention& retention, const Clocks& now);

  [[nodiscard]] bool has_work() const { return !removals_.empty() || !old_.empty(); }
  // Whether something that was removed is still in the store's log.
  [[nodiscard]] bool is_in_log() const { return in_log_; }
  // Leaves it there while somebody reads.
  store::Outcome<void> empty_log();
  // A piece of it: of what is being removed before what is too old, and there users take turns.
  // After an error that passes with time it is there as before; what another error is about is left
  // for the next load() or look().
  store::Outcome<void> step();
  // What went for its age since the last call, in words.
  std::vector<std::string> news() { return std::exchange(news_, {}); }

 private:
  enum class What { experiment, output };
  struct Old {
    What what = What::experiment;
    store::Id id = 0;
    std::int64_t ended_ns = 0;  // it has ended then, or is not touched
    std::int64_t days = 0;
    store::Store::Place place{};
  };
  store::Outcome<std::int64_t> age_now(const Clocks& now);
  store::Outcome<void> go_on_with_removal();
  store::Outcome<void> go_on_with_old();
  store::Outcome<bool> forget(Old& old);

  store::Store& store_;
  Turns<store::Id> removals_;
  std::deque<Old> old_;
  bool in_log_ = false;
  std::vector<std::string> news_;
};

}  // namespace stab::upkeep
