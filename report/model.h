// SPDX-License-Identifier: MIT
// What a report says, independent of the form that it takes.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "stats/causal/analyse.h"
#include "stats/causal/loads.h"
#include "stats/causal/profile.h"
#include "stats/verdicts/analysis.h"
#include "stats/verdicts/decide.h"

namespace stab::report {

// Measured trials; warm-up ones are in no count.
struct TrialCounts {
  std::uint64_t planned = 0;
  std::uint64_t ok = 0;
  std::uint64_t failed = 0;
  std::uint64_t skipped = 0;
  std::uint64_t disturbed = 0;  // even the last attempt
};

// Why trials have no result, once for all cells that have the same reason.
struct FailureCause {
  std::string why{};  // "the build failed: error: unknown argument '-O9'"
  std::uint64_t trials = 0;
  std::set<std::string> cells{};          // "sort opt=O3"
  std::string said{};                     // the last line of the first one's stderr; "": nothing
  std::vector<std::string> last_lines{};  // the last three lines of it, fit for a terminal
};

// What the programs themselves placed at random, over the measured trials that are ok.
struct Layouts {
  std::uint64_t randomized = 0;
  // Of the randomized ones, those in which this part was placed at random.
  std::uint64_t random_code = 0;
  std::uint64_t random_stack = 0;
  std::uint64_t random_heap = 0;
  std::uint64_t unrandomized = 0;       // they could, and were told not to or failed to
  std::uint64_t without_runtime = 0;    // szc did not build them
  std::uint64_t in_place = 0;           // of these, those whose file rules a runtime out
  std::string why_in_place{};           // "the program is linked statically, ..."
  std::string kinds{};                  // "code once"; several with commas
  std::optional<double> least_share{};  // of the text bytes that moved, by trial
  std::optional<double> median_share{};
  std::optional<double> median_epochs{};
  std::optional<double> median_fixed{};  // of the heap's bytes, those that were not shuffled
  std::uint64_t fixed_heaps = 0;         // trials with more than half of them
  std::uint64_t few_epochs = 0;   // trials with repeated layouts that had fewer than enough_epochs
  bool period_is_chosen = false;  // by stabctl ab: its users can only make the runs longer
};
inline constexpr std::int64_t enough_epochs = 30;

// What the latest calibration of the machine found for the response: A/A comparisons of one
// benchmark stay within the margin with probability 1 - alpha.
struct NoiseFloor {
  std::string calibration{};  // the experiment's name
  std::int64_t at_ns = 0;     // wall clock, since 1970
  double alpha = 0.05;
  std::int64_t blocks = 0;      // of a comparison
  std::int64_t benchmarks = 0;  // that took part
  std::int64_t comparisons = 0;
  std::int64_t significant = 0;
  double margin = 0;            // 0.008: 0.8 %
  std::optional<double> low{};  // the (1 - alpha) interval of the margin
  std::optional<double> high{};
  bool holds_here = true;  // the document's comparisons have as many blocks
  // Whose calibration it is; nothing of one that an administrator brought from elsewhere, or removed since.
  std::optional<std::uint32_t> by_user{};
  bool by_same_user = false;  // whose experiment the document is about
};

// How quiet the machine was when the trials began.
struct Quietness {
  std::string asked{};    // of the plan: "off", "best-effort", "strict"
  std::string found{};    // "fair: swappiness (60)"; "": not known
  std::string changed{};  // settings that were made quiet; "": none
  std::string loud{};     // what could not be, and why
  // Before trials, for a quiet machine.
  std::uint64_t waits = 0;
  std::uint64_t waits_in_vain = 0;
  std::int64_t waited_ns = 0;
};

// What else ran while trials did, those that were measured and are ok.
struct Load {
  std::optional<double> others{};  // CPUs that were busy on average, beside those of the trials
  std::optional<double> stolen{};  // share of the trials' time that the host took
  std::uint64_t known = 0;         // trials of programs that hardly give their CPU away themselves
  std::uint64_t kept_waiting = 0;  // of these, those that ran for less than 95 % of their time

  // So much that intervals are wider than they would be on a quiet machine.
  [[nodiscard]] bool is_busy() const {
    constexpr double many_cpus = 0.25;
    constexpr double much_stolen = 0.01;
    constexpr std::uint64_t one_in = 10;
    return others.value_or(0) >= many_cpus || stolen.value_or(0) >= much_stolen ||
           kept_waiting * one_in > known;
  }
};

// A benchmark whose trials printed different things on stdout, of the measured ones that are ok.
struct Outputs {
  std::string benchmark{};
  std::uint64_t trials = 0;     // of which it is known
  std::uint64_t different = 0;  // outputs
  // Each of their levels printed one thing, whatever those of the others were.
  std::vector<std::string> factors{};
  std::uint64_t cells = 0;
  std::uint64_t varying_cells = 0;  // whose trials differ among themselves
};

// An event that the plan counts, or a measure that it defines, over the measured trials that are ok.
struct Counter {
  std::string name{};
  std::string unit{};  // "ns", what the plan says, or ""
  std::uint64_t counted = 0;
  std::uint64_t scaled = 0;  // counted in a part of the time
  std::uint64_t absent = 0;
  // Of the scaled ones those that were counted in less than half of the time: they are neither
  // compared nor in the median.
  std::uint64_t left_out = 0;
  double least_coverage = 1;       // of the scaled ones
  std::optional<double> median{};  // of those that were counted for long enough
  std::string reason{};            // why the first absent one is
  // Of an event that takes turns: measured blocks that counted it, of so many; 0: each one did.
  std::uint64_t blocks = 0;
  std::uint64_t of_blocks = 0;
};

// Of samples within trials: how much of the variance is between the trials of a cell, and how much
// within a trial. On the log scale the square roots are relative standard deviations.
struct WithinTrials {
  std::string subject{};
  double samples = 0;  // of a trial, on average
  double between = 0;  // never below 0
  double between_low = 0;
  double between_high = 0;
  double within = 0;
  double within_low = 0;
  double within_high = 0;
  // Of the variance of a trial's number, which is the mean of its samples: what more samples could
  // take away. None: nothing varies.
  std::optional<double> share{};
};

// Of an experiment that may end before its last block.
struct Stopping {
  std::string rule{};        // "precision", "sequential"
  std::string words{};       // what the rule is and what it saw last, for people
  std::uint64_t fewest = 0;  // blocks
  std::uint64_t most = 0;
  std::uint64_t blocks = 0;  // measured
  double alpha = 0;          // the plan's; that of the analysis may be smaller
};

// What the plan's rules excluded; of measured trials.
struct Exclusions {
  struct Rule {
    std::string when{};        // "steal_share > 0.01"
    std::uint64_t caught = 0;  // attempts
    std::uint64_t open = 0;    // attempts of which this rule's reading is absent
  };
  // Of the first attempts that succeeded and could be judged.
  struct Cell {
    std::string name{};  // "sort opt=O2"
    std::uint64_t judged = 0;
    std::uint64_t disturbed = 0;
  };
  std::vector<Rule> rules{};
  std::vector<Cell> cells{};
  std::uint64_t disturbed = 0;  // attempts
  std::uint64_t lost = 0;       // trials whose last attempt was
  double alpha = 0;             // of the test of dependence
  std::optional<double> p{};    // that exclusions are the same in all cells; none: nothing to test
  std::vector<stats::Effect>
      without{};  // as if there were no rules; empty if no trial is disturbed
  // Those of `without` that would decide and that the trials which are left cannot tell at all.
  std::vector<stats::Effect> vanished{};

  [[nodiscard]] bool depends() const { return p && *p <= alpha; }
};

// A cell of a causal plan, whose measured trials that are ok are runs of a profile.
struct CausalCell {
  std::string name{};  // "sort opt=O2"
  std::string benchmark{};
  std::map<std::string, std::string> levels{};  // of treatments
  stats::causal::Profile profile{};
  std::optional<stats::causal::Analysis> analysis{};
  std::string reason{};  // why there is none; else ""
};

// Cells of it that differ in nothing but by how much arrivals are faster: runs of one profile with loads.
struct CausalLoads {
  std::string name{};  // "sort opt=O2"
  std::string benchmark{};
  std::map<std::string, std::string> levels{};  // of the other treatments
  stats::causal::Profile profile{};
  std::optional<stats::causal::Loads> loads{};
  std::string reason{};  // why there are none; else ""
};

// Something that trials can draw, and why it was not drawn in all of them.
struct Drawn {
  std::string what{};     // "stack frames"
  bool is_random = true;  // in all trials
  std::string why{};      // "" if it is random
};

// What was checked out in the git repository of the plan; "": it is not known.
struct Source {
  std::string branch{};
  std::string commit{};
};
// "main 3f2a91c1", "3f2a91c1"; "" if no commit is known.
std::string to_text(const Source& source);

struct Document {
  std::string experiment{};
  std::int64_t id = 0;
  std::string question{};  // "": the plan asks none
  std::string state{};     // "done", "cancelled", ...
  std::string reason{};    // why it is in that state; "" if there is nothing to say
  std::string machine{};   // one line
  bool simulated = false;  // its trials ran under a simulator, and have no times
  std::string versions{};  // of stabd and of the compilers, when it was measured; "": not known
  Quietness quietness{};
  Load load{};
  std::vector<Outputs> outputs{};
  std::optional<NoiseFloor> noise{};  // none: the machine was not calibrated, or this does it
  std::uint64_t seed = 0;
  TrialCounts trials{};
  std::optional<Stopping> stopping{};
  std::optional<Exclusions> exclusions{};  // none: the plan has no rules
  Layouts layouts{};
  std::vector<Counter> counters{};  // in the plan's order
  std::vector<Counter> measures{};  // too
  std::vector<WithinTrials> samples{};
  // One line each group of equal failures: "sort at O2: timeout after 60 s (3 trials)".
  std::vector<std::string> failures{};
  std::vector<FailureCause> causes{};  // of these failures, the most frequent one first
  std::string database{};              // path; "": not worth saying
  std::chrono::nanoseconds duration{0};
  // When its first trial began and its last one ended, wall clock; 0: not known.
  std::int64_t from_ns = 0;
  std::int64_t to_ns = 0;
  std::vector<std::string> settings{};  // "CC = clang-19", "opt: O1 sets CFLAGS = -O1; ..."
  Source source{};
  std::vector<Drawn> drawn{};
  stats::Analysis analysis{};
  std::vector<stats::Analysis> others{};  // of further responses, each a family of its own
  // Of a causal plan, which compares nothing; none: it is no such plan.
  std::optional<std::vector<CausalCell>> causal{};
  std::vector<CausalLoads> causal_loads{};  // of one with the factor
  std::set<std::string> counts{};           // the responses that count something
  bool compares = true;                     // the plan has a treatment
  // Of a fixed number of blocks not all were there: who looks again and again decides too often.
  bool looked_early = false;

  // A plan that compares nothing has nothing to be unsure of.
  [[nodiscard]] stats::Findings findings() const {
    if (!compares) return {};
    stats::Findings found = stats::findings(analysis);
    found.unsure = found.unsure || (exclusions && !exclusions->vanished.empty());
    return found;
  }
};

}  // namespace stab::report
