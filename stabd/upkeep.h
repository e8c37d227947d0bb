// SPDX-License-Identifier: MIT
// Removes data from the database: experiments that somebody removes, and data that is older than
// the settings allow. The work is divided into pieces, for which the store's owner asks when
// nothing is measured.
//
// Invariants
//  U1  The time of day does not make anything old. Ages are counted from the moment when stabd
//      first saw that an experiment had ended, by a clock that runs as long as the machine
//      (CLOCK_BOOTTIME). If the machine was restarted between two looks, the time between them
//      counts as at most one day.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.h"
#include "base/turns.h"
#include "stabd/settings.h"
#include "store/store.h"

namespace stab::upkeep {

class Upkeep {
 public:
  // Users of the same account take turns together.
  using AccountOf = std::function<std::uint32_t(std::uint32_t uid)>;
  explicit Upkeep(store::Store& store, AccountOf account_of = std::identity())
      : store_(store), account_of_(std::move(account_of)) {}

  // Loads the removals that a process began and did not complete.
  store::Outcome<void> load();
  // Hides the experiment at once, and begins its removal. The experiment must have ended or never
  // begun.
  store::Outcome<void> remove(const store::Experiment& experiment, std::string_view how);
  // Removes an incomplete import, which nobody sees yet.
  void give_up(store::Id id, std::uint32_t uid) { removals_.add(account_of_(uid), id); }
  // Records which experiments have ended, and plans the removal of data that is too old now (U1).
  store::Outcome<void> look(const settings::Retention& retention, const Clocks& now);
  // Keeps the old data that is still there. An experiment whose removal has begun is still removed.
  void keep_old() { old_.clear(); }

  [[nodiscard]] bool has_work() const { return !removals_.empty() || !old_.empty(); }
  // Whether the store's log still contains removed data.
  [[nodiscard]] bool is_in_log() const { return in_log_; }
  // Empties the log unless somebody is reading the store.
  store::Outcome<void> empty_log();
  // Does a piece of the work: first the removals, in which users take turns, then old data. After a
  // temporary error the work stays as it was. After another error it is left to the next load() or
  // look().
  store::Outcome<void> step();
  // Describes the data that was removed for its age since the last call.
  std::vector<std::string> news() { return std::exchange(news_, {}); }

 private:
  enum class What { experiment, output };
  struct Old {
    What what = What::experiment;
    store::Id id = 0;
    std::int64_t ended_ns = 0;  // the experiment's end; if it has changed since, nothing is removed
    std::int64_t days = 0;
    store::Store::Place place{};
  };
  store::Outcome<std::int64_t> age_now(const Clocks& now);
  store::Outcome<void> go_on_with_removal();
  store::Outcome<void> go_on_with_old();
  store::Outcome<bool> forget(Old& old);

  store::Store& store_;
  AccountOf account_of_;
  Turns<store::Id> removals_;
  std::deque<Old> old_;
  bool in_log_ = false;
  std::vector<std::string> news_;
};

// Opens the unsuccessful trials of an experiment again, in pieces, so that the store's owner can do
// other things in between.
//
// Invariants
//  R1  If there is nothing to measure again, or if a failed trial is damaged, nothing changes. From
//      begin_retry() on, the retry is completed, if necessary by the next process (S8).
class Retry {
 public:
  // Retries an experiment that is stored as `before` and will be stored as `after`. If no trial has
  // to be opened, that happens only if `anyway` is true.
  Retry(const store::Experiment& before, store::Experiment after, bool anyway);
  // Continues a retry that a killed process began; `row` is the experiment's row at the end.
  explicit Retry(store::Experiment row);

  // Does a piece of the work. Returns false if nothing is left. After a temporary error it may be
  // called again.
  store::Outcome<bool> step(store::Store& store);

  // The row that the retry stores at its end, if it does so.
  [[nodiscard]] const store::Experiment& experiment() const { return after_; }
  // The number of trials that are open again.
  [[nodiscard]] std::uint64_t open() const { return open_; }
  [[nodiscard]] bool has_begun() const { return stage_ > Stage::beginning; }
  // Whether the row is stored, so that the experiment can continue.
  [[nodiscard]] bool goes_on() const { return stage_ == Stage::stored; }

 private:
  enum class Stage { looking, beginning, opening, storing, stored, nothing };
  store::Outcome<void> look(store::Store& store);
  store::Outcome<void> open_some(store::Store& store);
  store::Outcome<void> do_stage(store::Store& store);

  std::string state_before_;
  store::Experiment after_;
  bool anyway_ = true;
  Stage stage_ = Stage::looking;
  store::Store::Place place_{};
  std::uint64_t open_ = 0;
};

}  // namespace stab::upkeep
