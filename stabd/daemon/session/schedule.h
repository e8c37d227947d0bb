// SPDX-License-Identifier: MIT
// The work that an experiment needs: its distinct builds, and its next trial. Pure: no clock, no
// I/O.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "counters/readings.h"
#include "design/trial_list.h"
#include "plan/plan.h"
#include "store/store.h"

namespace stab::daemon {

struct BuildSlot {
  std::uint32_t benchmark = 0;
  // With the plan's variables replaced; it identifies a build within its benchmark.
  std::string command;
  std::string revision{};  // the revision to build; "" builds the files in the plan's folder
  // One for each factor; "" for factors that don't affect this build.
  std::vector<std::string> levels;
  // The fields below are known once the build has ended.
  std::string key;
  std::string out;
  std::string directory;
  std::string binary_sha256;
  std::string compilers{};
  std::string in_place{};  // why its functions can't move
  bool usable = false;
  bool cached = false;  // nothing was built
  std::chrono::nanoseconds took{0};
  std::vector<counters::Reading> readings{};  // readings that each trial of this build gets
};

struct Builds {
  std::vector<BuildSlot> slots;  // in the order in which trials need them
  // The slot of each position; -1 if the benchmark has no build.
  std::vector<std::int64_t> of_trial;
};

// Collects the distinct builds of an experiment.
Builds collect_builds(const plan::Plan& plan, const plan::Expansion& expansion);

// Returns why the plan can't be run if a build factor changes no benchmark (results/identical.h).
// Looks at usable slots only.
std::optional<std::string> find_identical(const plan::Plan& plan, const Builds& builds);

// Returns why the plan can't be run if a trial needs the runtime in a built program, but the
// program's functions can't move. Looks at usable slots only.
std::optional<std::string> find_in_place(const plan::Plan& plan, const plan::Expansion& expansion,
                                         const Builds& builds);

// Test runs of a benchmark, which show whether its trials can have the heap layer. A version is a
// set of cells that differ only in how the machine or the runtime is set.
struct HeapTest {
  std::uint32_t benchmark = 0;
  std::vector<std::string> versions{};  // "sort O2"
  // The positions of one trial of each version, for each pair of test runs. Both runs of a pair are
  // like that trial, but one has the layer.
  std::vector<std::vector<std::uint32_t>> pairs{};
  std::string why_none{};  // if there are no pairs
};

// The test runs of each benchmark whose builds are all usable. Their number is at most the number of
// the benchmark's trials, divided by results::heap_tests_one_in.
std::vector<HeapTest> heap_tests(const plan::Plan& plan, const plan::Expansion& expansion,
                                 const Builds& builds);

struct Counts {
  std::uint64_t total = 0;
  std::uint64_t ok = 0;
  std::uint64_t failed = 0;
  std::uint64_t skipped = 0;    // not run because of C3
  std::uint64_t disturbed = 0;  // the last attempt was disturbed, too
  [[nodiscard]] std::uint64_t finished() const { return ok + failed + skipped + disturbed; }
  Counts& operator+=(const Counts& more) {
    total += more.total;
    ok += more.ok;
    failed += more.failed;
    skipped += more.skipped;
    disturbed += more.disturbed;
    return *this;
  }
};

// The part of a list of trials that one of several machines runs. Without `machine_of`, all of it.
struct Share {
  std::shared_ptr<const std::vector<std::uint8_t>> machine_of{};  // by position
  std::uint8_t machine = 0;
};

// Chooses the next trial. Pure: only the expansion and the stored trials decide, so that a new
// daemon continues exactly where a killed one was.
//
// Invariants
//  C1  Trials are attempted in the order of their positions. A failed trial is repeated at once, a
//      disturbed one after the others of its block, and trials with fewer disturbed attempts go
//      first.
//  C2  Every position ends with exactly one attempt that counts (`last`), whether or not it was
//      run.
//  C3  A benchmark is not run again if its build failed or its trials failed give_up_after times in
//      a row. Each of its remaining positions is stored with the reason.
class Schedule {
 public:
  // Keeps references to the plan and the expansion.
  Schedule(const plan::Plan& plan, const plan::Expansion& expansion,
           const std::vector<store::Store::Progress>& progress = {}, const Share& share = {});
  // Takes stored attempts, in the order of their positions. Call loaded() after the last ones.
  void remember(const std::vector<store::Store::Progress>& progress);
  void loaded() { settle(); }

  struct Step {
    std::uint32_t position = 0;
    std::uint32_t attempt = 0;
    std::uint32_t disturbed = 0;  // earlier disturbed attempts at this position
    // If set, the trial is not run, and a row with this status is stored instead.
    std::optional<store::TrialStatus> without_running{};
    std::string reason{};
  };
  // Nothing if all positions are finished.
  [[nodiscard]] std::optional<Step> next() const;

  // Whether a step that ended with this status is the last one at its position.
  [[nodiscard]] bool is_last(const Step& step, store::TrialStatus status) const;
  // Whether a position in [from, end) has an attempt that counts.
  [[nodiscard]] bool has_begun(std::uint32_t from, std::uint32_t end) const;
  // The step was stored with this status.
  void record(const Step& step, store::TrialStatus status);

  // Whether a later position is finished, which means that a retry goes back to this one.
  [[nodiscard]] bool goes_back(std::uint32_t position) const { return position < end_; }

  void fail_benchmark(std::uint32_t benchmark, const std::string& reason);

  [[nodiscard]] const Counts& counts() const { return counts_; }

 private:
  // The attempts at an open position.
  struct Begun {
    std::uint32_t attempts = 0;
    std::uint32_t disturbed = 0;  // how many of them were disturbed
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
  // C3 counts trials in the order in which they ended, which within a block may differ from the
  // order of positions. So the remembered trials of a block are sorted and counted when the block
  // is complete.
  struct Ended {
    std::uint32_t round = 0;  // how often the trial was put behind the others
    std::uint32_t position = 0;
    store::TrialStatus status{};
    auto operator<=>(const Ended&) const = default;
  };
  void count_row(std::uint32_t position, store::TrialStatus status);
  void settle();

  const plan::Plan& plan_;
  const plan::Expansion& expansion_;
  // Each position is finished (1), open (0), or `others` if another machine runs it.
  static constexpr std::uint8_t others = 2;
  std::vector<std::uint8_t> finished_;
  std::uint32_t end_ = 0;                 // one past the last finished position
  std::uint32_t first_open_ = 0;          // all earlier positions are finished or postponed
  std::map<std::uint32_t, Begun> begun_;  // by position
  std::set<Postponed> postponed_;         // the open positions with disturbed attempts
  std::map<std::uint32_t, std::uint32_t> failures_in_a_row_;  // by benchmark
  std::map<std::uint32_t, std::string> failed_builds_;        // benchmark -> why
  Counts counts_;
  std::vector<Ended> remembered_;  // of one block
};

}  // namespace stab::daemon
