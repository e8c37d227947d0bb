// SPDX-License-Identifier: MIT
// Which trial comes next. Pure: the expansion and what the store holds decide, so that a daemon
// that was killed goes on exactly where it was.
//
// Invariants
//  C1  Trials are attempted in the order of their positions; a failed one is repeated at once, at
//      its place, a disturbed one behind the others of its block, those with fewer disturbances
//      first.
//  C2  Every position ends with exactly one attempt that stands (`last`), run or not.
//  C3  A benchmark whose build failed, or that failed give_up_after times in a row, is not run
//      again; each of its remaining positions is stored with the reason.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "design/expand.h"
#include "plan/plan.h"
#include "store/store.h"

namespace stab::daemon {

struct Counts {
  std::uint64_t total = 0;
  std::uint64_t ok = 0;
  std::uint64_t failed = 0;
  std::uint64_t skipped = 0;    // not run for C3
  std::uint64_t disturbed = 0;  // even the last attempt
  [[nodiscard]] std::uint64_t finished() const { return ok + failed + skipped + disturbed; }
};

class Schedule {
 public:
  // Keeps references to the plan and the expansion.
  Schedule(const plan::Plan& plan, const plan::Expansion& expansion,
           const std::vector<store::Store::Progress>& progress = {});
  // What the store has of these positions, which come in their order; then loaded().
  void remember(const std::vector<store::Store::Progress>& progress);
  void loaded() { settle(); }

  struct Step {
    std::uint32_t position = 0;
    std::uint32_t attempt = 0;
    std::uint32_t disturbed = 0;  // earlier attempts of it that were
    // Not to be run: the row to store instead.
    std::optional<store::TrialStatus> without_running{};
    std::string reason{};
  };
  // Nothing: all positions are finished.
  [[nodiscard]] std::optional<Step> next() const;

  // Whether a step that ended so is the last one at its position.
  [[nodiscard]] bool is_last(const Step& step, store::TrialStatus status) const;
  // The step was stored.
  void record(const Step& step, store::TrialStatus status);

  // Whether a later position is finished: a retry goes back to this one.
  [[nodiscard]] bool goes_back(std::uint32_t position) const { return position < end_; }

  void fail_benchmark(std::uint32_t benchmark, const std::string& reason);

  [[nodiscard]] const Counts& counts() const { return counts_; }

 private:
  // Of an open position with attempts.
  struct Begun {
    std::uint32_t attempts = 0;
    std::uint32_t disturbed = 0;  // of these
  };
  struct Postponed {
    std::uint32_t block = 0;  // warm-up blocks count, too
    std::uint32_t disturbed = 0;
    std::uint32_t position = 0;
    auto operator<=>(const Postponed&) const = default;
  };
  [[nodiscard]] std::uint32_t block_of(std::uint32_t position) const;
  [[nodiscard]] std::uint32_t next_position() const;
  [[nodiscard]] std::optional<Postponed> postponed(std::uint32_t position) const;
  void begin(std::uint32_t position, Begun begun);
  void finish(std::uint32_t position, store::TrialStatus status);
  void skip_taken();
  // C3 goes by the order in which trials ended, which in a block is not that of the positions: what
  // is remembered of a block waits until all of it is.
  struct Ended {
    std::uint32_t round = 0;  // how often it was put behind the others
    std::uint32_t position = 0;
    store::TrialStatus status{};
    auto operator<=>(const Ended&) const = default;
  };
  void count_row(std::uint32_t position, store::TrialStatus status);
  void settle();

  const plan::Plan& plan_;
  const plan::Expansion& expansion_;
  std::vector<std::uint8_t> finished_;    // by position
  std::uint32_t end_ = 0;                 // behind the last finished one
  std::uint32_t first_open_ = 0;          // no earlier position is open, but for those postponed
  std::map<std::uint32_t, Begun> begun_;  // by position
  std::set<Postponed> postponed_;         // the open positions with disturbed attempts
  std::map<std::uint32_t, std::uint32_t> failures_in_a_row_;  // by benchmark
  std::map<std::uint32_t, std::string> failed_builds_;        // benchmark -> why
  Counts counts_;
  std::vector<Ended> remembered_;  // of one block
};

}  // namespace stab::daemon
