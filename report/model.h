// SPDX-License-Identifier: MIT
// The content of a report, independent of its form (text, page, JSON or CSV).
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "stats/causal/analyse.h"
#include "stats/causal/arrival_loads.h"
#include "stats/causal/profile.h"
#include "stats/verdicts/analysis.h"
#include "stats/verdicts/decide.h"

namespace stab::report {

// Counts of measured trials. Warm-up trials are not counted.
struct TrialCounts {
  std::uint64_t planned = 0;
  std::uint64_t ok = 0;
  std::uint64_t failed = 0;
  std::uint64_t skipped = 0;
  std::uint64_t disturbed = 0;  // their last attempt was disturbed, too
};

// A reason why trials have no result, with all cells that have this reason.
struct FailureCause {
  std::string why{};  // "the build failed: error: unknown argument '-O9'"
  std::uint64_t trials = 0;
  std::set<std::string> cells{};  // "sort opt=O3"
  std::string said{};             // the last line of the first such trial's stderr; "": nothing
  std::vector<std::string> last_lines{};  // the last three lines, safe for a terminal
};

// A note of the runtime about the layouts of some randomized trials.
struct LayoutNote {
  std::string text{};
  std::uint64_t trials = 0;
};

// How the programs randomized their own layout, over the measured trials that are ok.
struct Layouts {
  std::uint64_t randomized = 0;
  // The randomized trials in which this part was placed at random.
  std::uint64_t random_code = 0;
  std::uint64_t random_stack = 0;
  std::uint64_t random_heap = 0;
  std::uint64_t unrandomized = 0;     // the program could, but was told not to or failed to
  std::uint64_t without_runtime = 0;  // szc did not build the program
  std::uint64_t in_place = 0;  // trials without_runtime whose program's file rules a runtime out
  std::string why_in_place{};  // "the program is linked statically, ..."
  std::string kinds{};         // "code once"; several are separated by commas; see kinds_text()
  std::optional<double> least_share{};  // the smallest share of text bytes that moved in a trial
  std::optional<double> median_share{};
  std::optional<double> median_epochs{};
  std::optional<double> median_fixed{};  // share of the heap's bytes that were not shuffled
  std::uint64_t fixed_heaps = 0;         // trials in which more than half was not shuffled
  std::uint64_t few_epochs = 0;   // trials with repeated layouts that had fewer than enough_epochs
  bool period_is_chosen = false;  // by stabctl ab: its users can only make the runs longer
  std::string why_no_pads{};      // the notes of randomized trials without random stack frames
  std::vector<LayoutNote> notes{};  // of randomized trials, the most frequent ones first
};
inline constexpr std::int64_t enough_epochs = 30;
// "code and stack frames, again every 500 ms" for the kind "code stack repeated 500ms".
std::string kinds_text(const Layouts& layouts);

// The noise floor of the response, by the machine's latest calibration: A/A comparisons of one
// benchmark stay within the margin with probability 1 - alpha.
struct NoiseFloor {
  std::string calibration{};  // the experiment's name
  std::int64_t at_ns = 0;     // wall clock, since 1970
  double alpha = 0.05;
  std::int64_t blocks = 0;      // of each comparison
  std::int64_t benchmarks = 0;  // the calibrated benchmarks
  std::int64_t comparisons = 0;
  std::int64_t significant = 0;
  double margin = 0;            // 0.008: 0.8 %
  std::optional<double> low{};  // the (1 - alpha) interval of the margin
  std::optional<double> high{};
  bool holds_here = true;  // the document's comparisons have the same number of blocks
  // The user who ran the calibration. Absent if an administrator imported it, or if its experiment
  // was removed since.
  std::optional<std::uint32_t> by_user{};
  bool by_same_user = false;  // the calibration's user also owns the document's experiment
};

// How quiet the machine was when the trials began.
struct Quietness {
  std::string asked{};    // by the plan: "off", "best-effort", "strict"
  std::string grade{};    // "good", "fair" or "poor"; "": not known
  std::string found{};    // "fair: swappiness (60)"; "": not known
  std::string changed{};  // settings that stabd changed to make the machine quiet; "": none
  std::string loud{};     // settings that it could not change, and why
  // Waits for a quiet machine before trials.
  std::uint64_t waits = 0;
  std::uint64_t waits_in_vain = 0;
  std::int64_t waited_ns = 0;
};

// Other work on the machine during the measured trials that are ok.
struct Load {
  std::optional<double> others{};  // CPUs that other processes kept busy, on average
  std::optional<double> stolen{};  // the share of the trials' time that was steal
  std::uint64_t known = 0;         // trials whose program rarely gave up its CPU by itself
  std::uint64_t kept_waiting = 0;  // the `known` trials that ran for less than 95 % of their time

  // Whether so much ran that the intervals are wider than on a quiet machine.
  [[nodiscard]] bool is_busy() const {
    constexpr double many_cpus = 0.25;
    constexpr double much_stolen = 0.01;
    constexpr std::uint64_t one_in = 10;
    return others.value_or(0) >= many_cpus || stolen.value_or(0) >= much_stolen ||
           kept_waiting * one_in > known;
  }
};

// A benchmark whose measured, successful trials printed different outputs on stdout.
struct Outputs {
  std::string benchmark{};
  std::uint64_t trials = 0;     // trials whose output is known
  std::uint64_t different = 0;  // distinct outputs
  // The factors that determine the output: each of their levels printed a single output, whatever
  // the levels of the other factors.
  std::vector<std::string> factors{};
  std::uint64_t cells = 0;
  std::uint64_t varying_cells = 0;  // cells whose trials printed more than one output
};

// An event that the plan counts or a measure that it defines, over the measured trials that are ok.
struct Counter {
  std::string name{};
  std::string unit{};  // "ns", what the plan says, or ""
  std::uint64_t counted = 0;
  std::uint64_t scaled = 0;  // counted during part of the time, then scaled
  std::uint64_t absent = 0;
  // Scaled readings that were counted for less than half of the time. They are not compared, and
  // the median ignores them.
  std::uint64_t left_out = 0;
  double least_coverage = 1;       // among the scaled readings
  std::optional<double> median{};  // of the readings that were counted for long enough
  std::string reason{};            // why the first absent reading is absent
  // If the event takes turns: `blocks` of the `of_blocks` measured blocks counted it. Both are 0 if
  // every block did.
  std::uint64_t blocks = 0;
  std::uint64_t of_blocks = 0;
};

// For trials with several samples: how much of the variance is between the trials of a cell, and
// how much within a trial. On the log scale, the square roots are relative standard deviations.
struct WithinTrials {
  std::string subject{};
  double samples = 0;  // samples of a trial, on average
  double between = 0;  // never below 0
  double between_low = 0;
  double between_high = 0;
  double within = 0;
  double within_low = 0;
  double within_high = 0;
  // A trial's number is the mean of its samples. This is the share of that number's variance that
  // more samples could remove. Absent if nothing varies.
  std::optional<double> share{};
};

// The stopping rule of an experiment that may end before its last block.
struct Stopping {
  std::string rule{};        // "precision", "sequential"
  std::string words{};       // describes the rule and its last look, for people
  std::uint64_t fewest = 0;  // blocks
  std::uint64_t most = 0;
  std::uint64_t blocks = 0;  // measured
  double alpha = 0;          // the plan's alpha; the analysis may use a smaller one
};

// The effect of the plan's rules on the measured trials.
struct Exclusions {
  struct Rule {
    std::string when{};        // "steal_share > 0.01"
    std::uint64_t caught = 0;  // attempts
    std::uint64_t open = 0;    // attempts without the reading that this rule needs
  };
  // Counts the first attempts that succeeded and that the rules could judge.
  struct Cell {
    std::string name{};  // "sort opt=O2"
    std::uint64_t judged = 0;
    std::uint64_t disturbed = 0;
  };
  std::vector<Rule> rules{};
  std::vector<Cell> cells{};
  std::uint64_t disturbed = 0;  // attempts
  std::uint64_t lost = 0;       // trials whose last attempt was disturbed
  double alpha = 0;             // of the test below
  std::optional<double> p{};    // of equal exclusion in all cells; absent: nothing to test
  std::vector<stats::Effect>
      without{};  // the effects without the rules; empty if no trial is disturbed
  // The deciding effects of `without` that the trials left by the rules cannot estimate at all.
  std::vector<stats::Effect> vanished{};

  [[nodiscard]] bool depends() const { return p && *p <= alpha; }
};

// A cell of a causal plan. Its measured trials that are ok are the runs of one profile.
struct CausalCell {
  std::string name{};  // "sort opt=O2"
  std::string benchmark{};
  std::map<std::string, std::string> levels{};  // of treatments
  stats::causal::Profile profile{};
  std::optional<stats::causal::Analysis> analysis{};
  std::string reason{};  // why the analysis is absent; else ""
};

// Cells of a causal plan that differ only in how much faster arrivals are. They are the runs of one
// profile with loads.
struct CausalLoads {
  std::string name{};  // "sort opt=O2"
  std::string benchmark{};
  std::map<std::string, std::string> levels{};  // of the other treatments
  stats::causal::Profile profile{};
  std::optional<stats::causal::Loads> loads{};
  std::string reason{};  // why `loads` is absent; else ""
};

// A condition that trials can randomize, and why some trials did not.
struct Drawn {
  std::string what{};     // "stack frames"
  bool is_random = true;  // in all trials
  std::string why{};      // why it is not random in all trials; else ""
  std::string cost{};     // what its randomness costs or changes: "costs +0.4 % of CPU time"
};

// The cost of placing small blocks at random: CPU time with the layer above the programs' own
// allocators, compared with the time without it.
struct HeapCost {
  double change = 0;            // 0.01: 1 % more
  std::optional<double> low{};  // the 95 % interval; absent with too few pairs
  std::optional<double> high{};
  std::uint64_t pairs = 0;  // of runs
};

// Whether test runs before the first trial allow the layer in the trials of a benchmark.
struct HeapLayer {
  std::string benchmark{};         // "": the versions of stabctl ab
  bool drawn = false;              // heap blocks are at random addresses
  std::string why_not{};           // if not `drawn`
  std::string changes{};           // what the layer changes: a clause; "": nothing that matters
  std::optional<HeapCost> cost{};  // if it was measured
};

// The cost of random layouts: the change from the first cell without random layouts (a plain trial)
// to the same cell with them. Numbers are absent if no block has both trials.
struct Cost {
  struct Of {
    std::string benchmark{};        // "": all benchmarks
    std::optional<double> ratio{};  // 1.012: random layouts cost 1.2 %
    std::optional<double> low{};    // the (1 - alpha) interval; absent with too few blocks
    std::optional<double> high{};
    std::uint64_t blocks = 0;  // with both trials
  };
  std::string response{};  // "cpu"
  double alpha = 0.05;
  std::vector<std::string> off{};  // what plain trials lack: "functions", "heap blocks"
  Of all{};
  std::vector<Of> benchmarks{};

  // Whether the programs that were measured surely differ much from those that users run.
  [[nodiscard]] bool is_large() const {
    constexpr double much = 1.1;
    return all.low && all.high && (*all.low > much || *all.high < 1 / much);
  }
};

// The commit that was checked out in the plan's git repository. A member is "" if it is not known.
struct Source {
  std::string branch{};
  std::string commit{};
};
// "main 3f2a91c1" or "3f2a91c1"; "" if the commit is not known.
std::string to_text(const Source& source);

struct Document {
  std::string experiment{};
  std::int64_t id = 0;
  std::string question{};  // "": the plan has none
  std::string state{};     // "done", "cancelled", ...
  std::string reason{};    // why it is in that state; "" if there is nothing to say
  std::string machine{};   // one line
  // The part of that line that is the same under each kernel and system; the whole line if the
  // stored facts don't tell.
  std::string hardware{};
  std::vector<std::string> nodes{};  // the cluster's nodes that ran its trials, sorted
  std::string pool{};  // the hardware that all of these nodes have; "": it differs, or is not known
  bool simulated = false;  // its trials ran under a simulator, so they have no times
  std::string versions{};  // of stabd and of the compilers, when it was measured; "": not known
  std::string compiler{};  // "szc with clang 19", if the plan states it; "": not known
  // The CPU time of this command, which ran beside each trial, is 1 in the comparisons. "": the
  // document has no such comparisons.
  std::string beside{};
  Quietness quietness{};
  Load load{};
  std::vector<Outputs> outputs{};
  std::optional<NoiseFloor> noise{};  // absent: no calibration, or this is one
  std::uint64_t seed = 0;
  TrialCounts trials{};
  std::optional<Stopping> stopping{};
  std::optional<Exclusions> exclusions{};  // absent: the plan has no rules
  Layouts layouts{};
  std::vector<Counter> counters{};  // in the plan's order
  std::vector<Counter> measures{};  // in the plan's order
  std::vector<WithinTrials> samples{};
  // A line for each group of equal failures: "sort at O2: timeout after 60 s (3 trials)".
  std::vector<std::string> failures{};
  std::vector<FailureCause> causes{};  // the causes of these failures, the most frequent one first
  std::string database{};              // its path; "": the report leaves it out
  std::string folder{};                // that `stabctl report --folder` reads; "": a daemon answers
  std::chrono::nanoseconds duration{0};
  // When the first trial began and when the last one ended, by the wall clock. 0: not known.
  std::int64_t from_ns = 0;
  std::int64_t to_ns = 0;
  std::vector<std::string> settings{};  // "CC = clang-22", "opt: O1 sets CFLAGS = -O1; ..."
  Source source{};
  std::vector<Drawn> drawn{};
  std::vector<HeapLayer> heap{};  // empty: nobody made test runs of the layer
  std::optional<Cost> cost{};     // absent: there are no plain trials, or they lack nothing
  stats::Analysis analysis{};
  std::vector<stats::Analysis> others{};  // of further responses; each is a family of its own
  // The profiles of a causal plan, which compares nothing. Absent for other plans.
  std::optional<std::vector<CausalCell>> causal{};
  std::vector<CausalLoads> causal_loads{};  // of a causal plan that varies the arrivals
  std::set<std::string> counts{};           // the responses that count something
  bool compares = true;                     // the plan has a treatment
  // The report was made before all blocks of a fixed number had run. Repeated looks find a
  // difference too often.
  bool looked_early = false;

  // A plan that compares nothing has no findings.
  [[nodiscard]] stats::Findings findings() const {
    if (!compares) return {};
    stats::Findings found = stats::findings(analysis);
    found.unsure = found.unsure || (exclusions && !exclusions->vanished.empty());
    return found;
  }
};

}  // namespace stab::report
