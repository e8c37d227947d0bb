// SPDX-License-Identifier: MIT
// The value types of a plan. A Plan that the reader returned is valid: every bound is kept, every
// name resolves. See doc/glossary.md for plan, benchmark, factor, level, cell, block, trial.
// Defaults are in plan/reading/key_list.h; the zeros here are none.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace stab::plan {

// Variables of a plan, as in ${CFLAGS}.
using Variables = std::map<std::string, std::string>;

// What a trial must do to count as right.
struct Check {
  int exit = 0;
  std::vector<int> other_exits{};  // codes that are as right as `exit`
  std::optional<std::string> stdout_sha256;
  std::optional<std::string> stdout_file;  // relative to the plan's directory
  std::optional<std::string> command;      // for /bin/sh; gets the trial's stdout on its stdin

  [[nodiscard]] bool accepts(int code) const;
};
// "0", "0 or 1": the codes that it accepts.
std::string exits_of(const Check& check);

struct Benchmark {
  std::string name;
  // for /bin/sh; none: `run` names a program that is there already
  std::optional<std::string> build;
  std::vector<std::string> run;  // argv, at least one word
  Variables env;                 // added to the environment that is built from scratch
  std::optional<std::string> stdin_file;
  // For /bin/sh, before and after each trial.
  std::optional<std::string> prepare;
  std::optional<std::string> cleanup;
  // what the build reads, relative to the plan's directory; empty: all of it
  std::vector<std::string> sources;
  Check check;
  // Taken from [defaults] unless the benchmark says otherwise.
  std::uint32_t repetitions = 0;  // measured blocks
  std::chrono::nanoseconds timeout{0};
  std::chrono::nanoseconds build_timeout{0};
  std::uint64_t output_limit = 0;  // bytes of stdout, and of stderr
  // Of a trial's processes together; 0: none.
  std::uint64_t memory_limit = 0;
  std::chrono::nanoseconds cpu_limit{0};
  std::uint32_t process_limit = 0;
  std::uint64_t file_limit = 0;  // bytes of each file that they write
};

// What a factor acts on. `user` sets variables, or says which revision is built; the others are built in. `option` is an option of
// the runtime that szc links into programs (options.h), `layout` the seed of its random choices.
// `arm` acts on nothing: a calibration's two arms differ in their names.
enum class FactorKind {
  user,
  env_bytes,
  link_order,
  link_padding,
  aslr,
  layout,
  option,
  arm,
  arrival_speedup
};

struct Level {
  std::string name;     // "O2", "true", "4096": how it is shown and stored
  Variables variables;  // user factors
  // env_bytes: bytes; link_order, link_padding, layout: seed; arrival_speedup: ns; aslr: 0 or 1; option: see options.h
  std::uint64_t number = 0;
  // User factors without variables: the whole name of the git commit whose files are built, or
  // working_tree; what nobody has resolved yet is as the user wrote it. "": all others.
  std::string revision{};
};

// With all that is not committed.
inline constexpr std::string_view working_tree = ".";
// A whole name of a commit, which never means another one, or working_tree.
bool is_resolved(std::string_view revision);

inline constexpr std::uint64_t max_drawn_seed = 2147483647;  // seeds in a plan are 1 to this

struct FixedLevels {
  std::vector<Level> levels;  // at least two, or one to hold the factor at that level
};
// A fresh value for each block, the same in every cell of the block.
struct RandomPerBlock {
  std::uint64_t minimum = 0;  // drawn from [minimum, maximum]
  std::uint64_t maximum = 0;
};
// `seeds` values, each run `runs` times: block r is run r of every seed. In a nested design each
// cell has its own, in a padding study all cells have the same.
struct RandomSeeds {
  std::uint32_t seeds = 0;
  std::uint32_t runs = 0;
  std::uint64_t minimum = 0;  // seeds are drawn from [minimum, maximum], none twice in a cell
  std::uint64_t maximum = 0;
};

struct Factor {
  std::string name;
  FactorKind kind = FactorKind::user;
  std::variant<FixedLevels, RandomPerBlock, RandomSeeds> levels;

  // A treatment has fixed levels, two or more of them.
  [[nodiscard]] bool is_treatment() const;
};

enum class DesignKind {
  one_way,
  within_subjects,
  full_factorial,
  nested,
  custom,
  calibration,    // A/A comparisons: `comparisons` of each benchmark, one after the other
  padding_study,  // one treatment under the same seeds in each arm
  fractional,     // a part of the cells of treatments with two levels
  causal          // nothing is compared: trials are runs of a causal profile, one of each cell
};
constexpr std::string_view to_string(DesignKind kind) {
  switch (kind) {
    case DesignKind::one_way:
      return "one-way";
    case DesignKind::within_subjects:
      return "within-subjects";
    case DesignKind::full_factorial:
      return "full-factorial";
    case DesignKind::nested:
      return "nested";
    case DesignKind::custom:
      return "custom";
    case DesignKind::calibration:
      return "calibration";
    case DesignKind::padding_study:
      return "padding-study";
    case DesignKind::fractional:
      return "fractional";
    case DesignKind::causal:
      return "causal";
  }
  return "unknown";
}
// The design runs Design::cells, not all combinations of levels.
bool lists_cells(DesignKind kind);

// One treatment cell that is listed: factor name -> level name, all treatments present.
using Cell = std::map<std::string, std::string>;

// Fractional designs: the treatment whose level is the product of those of others, with -1 for the
// first level and +1 for the second. Numbers as in treatments(), sets of them as bits.
struct Generator {
  std::size_t treatment = 0;
  std::uint32_t product = 0;
};

// When an experiment may end before its last block (stats/verdicts/stopping.h). It is asked between
// blocks only, so that what is stored are whole blocks.
enum class StopRule { precision, sequential };
constexpr std::string_view to_string(StopRule rule) {
  return rule == StopRule::precision ? "precision" : "sequential";
}

struct Stop {
  StopRule rule = StopRule::precision;
  double half_width = 0;             // precision: 0.005 for "0.5%"
  std::uint32_t max = 0;             // blocks
  std::vector<std::uint32_t> looks;  // after how many blocks it is asked: rising, below max

  [[nodiscard]] std::uint32_t min() const { return looks.front(); }
};
// "by precision: when every interval is within +-0.5 %, after 20 to 100 blocks".
std::string describe(const Stop& stop);

// Where a time ends the experiment, blocks that are run whatever they take.
inline constexpr std::uint32_t fewest_timed_blocks = 5;

struct Design {
  DesignKind kind = DesignKind::full_factorial;
  std::vector<Cell> cells;            // custom and fractional designs
  std::vector<Generator> generators;  // fractional designs
  // Calibrations: how many of each benchmark. Each has Benchmark::repetitions / comparisons blocks,
  // the first one the first of them.
  std::uint32_t comparisons = 0;
  std::optional<Stop> stop;  // none: all blocks are run
  // For how long it is driven: no block begins that would end later.
  std::optional<std::chrono::nanoseconds> time;

  // Blocks that are run whatever the rule and the time say; none: all are.
  [[nodiscard]] std::optional<std::uint32_t> fewest_blocks() const {
    if (stop) return stop->min();
    return time ? std::optional(fewest_timed_blocks) : std::nullopt;
  }
};

// Of causal designs: what the profiler of each trial does, as the options of 'stabctl causal' say.
struct Causal {
  std::vector<std::string> scope;     // patterns of source files; empty: where the build is
  std::vector<std::string> binaries;  // patterns of files whose lines are looked at, too
  std::vector<std::string> progress;  // FILE:LINE
  std::string line;                   // FILE:LINE; "": samples choose
  std::chrono::nanoseconds experiment{0};
  std::chrono::nanoseconds sample_period{0};
  std::chrono::nanoseconds arrival_speedup{0};  // 0: none
  std::optional<double> speedup;  // 0.25 for "25%", in one of each two blocks; none: it is drawn
  bool end_to_end = false;
};

// What becomes of the settings of the machine that disturb trials.
enum class Quiesce {
  off,          // they stay as they are
  best_effort,  // those that can be changed are
  strict        // nothing is measured unless all are quiet
};
constexpr std::string_view to_string(Quiesce quiesce) {
  return quiesce == Quiesce::off ? "off" : quiesce == Quiesce::strict ? "strict" : "best-effort";
}

// How quiet the machine has to be before a block begins.
struct QuietWait {
  std::chrono::nanoseconds most{};      // then the block begins anyway
  double load = 0;                      // 0.05 for "5%"
  std::optional<double> temperature_c;  // at most
  std::optional<double> frequency_khz;  // at least
};

// Which of a pattern's matches counts; with `samples` each is a sample of the trial.
enum class Pick { only, first, last, mean, sum, samples };
constexpr std::string_view to_string(Pick pick) {
  switch (pick) {
    case Pick::only:
      return "only";
    case Pick::first:
      return "first";
    case Pick::last:
      return "last";
    case Pick::mean:
      return "mean";
    case Pick::sum:
      return "sum";
    case Pick::samples:
      return "samples";
  }
  return "only";
}
// A number that programs print, which becomes a reading of each trial.
struct OutputMeasure {
  std::string name{};
  std::string unit{};                 // "": it counts something
  std::string regex{};                // its first group is the number
  std::optional<std::string> json{};  // a pointer, in place of a pattern
  // In place of both: "real_time", "cpu_time" or a counter of each benchmark in the JSON of Google
  // Benchmark.
  std::optional<std::string> google_benchmark{};
  Pick pick = Pick::only;                 // of the pattern's matches
  bool from_stderr = false;               // or from stdout
  std::vector<std::string> benchmarks{};  // that print it; empty: all of them

  bool operator==(const OutputMeasure&) const = default;

  // A trial has many numbers of it.
  [[nodiscard]] bool has_samples() const { return google_benchmark || pick == Pick::samples; }
};

// What is computed of other numbers of the trial (plan/measures/formula.h).
struct DerivedMeasure {
  std::string name{};
  std::string formula{};

  bool operator==(const DerivedMeasure&) const = default;
};

enum class OnBuildFailure { fail_benchmark, fail_experiment };

// A further number that is compared, with a family of verdicts of its own.
struct OtherResponse {
  std::string name{};
  bool higher_is_better = false;
};

struct Analysis {
  // wall, user, system, cpu, max_rss, main_to_exit, region, a counter or one of the plan's measures
  std::string response;
  std::vector<OtherResponse> others;  // beside the response, which decides
  bool log_scale = false;
  double alpha = 0;
  std::optional<double> equivalence;  // 0.01 for "1%"
  bool stabilizer = false;            // the procedure of the paper of 2013, on raw numbers
  int sums_of_squares = 0;            // type 2 or 3
  bool pooled = false;                // one error for all comparisons, not each its own
  std::string losses = "extremes";    // what lost trials may have been: or "monotone", "random"
  std::string estimand = "mean";      // what the verdict is about: or "typical", "median"
  bool these_programs = false;        // within subjects: the answer is about these, not such ones
  bool all_pairs = false;             // compare all levels with each other
  bool higher_is_better = false;      // of the response
  // A level that is the first one once more: its comparison is no verdict. "": there is none.
  std::string control{};
};

// A trial whose quantity is so counts as disturbed (plan/quantities.h).
enum class Bound { above, at_least, below, at_most };
struct Exclusion {
  std::string quantity;  // "involuntary_switches_per_s"
  Bound bound = Bound::above;
  double limit = 0;
};
// "involuntary_switches_per_s > 50".
std::string describe(const Exclusion& rule);

struct Plan {
  std::string name;
  std::string question;
  std::uint64_t seed = 0;
  std::uint32_t warmup = 0;   // blocks that run first and are not analysed
  std::uint32_t retries = 0;  // further attempts at a trial that failed
  // after how many failed trials in a row the benchmark's other trials are skipped; 0: never
  std::uint32_t give_up_after = 0;
  // In the plan's order; the first one that catches a trial counts.
  std::vector<Exclusion> exclude;
  std::uint32_t exclude_repeats = 0;  // further attempts at a position that was disturbed
  OnBuildFailure on_build_failure = OnBuildFailure::fail_benchmark;
  std::uint32_t cpus = 0;           // reserved for a trial
  std::vector<unsigned> cpu;        // these, as the kernel numbers them, ascending; empty: any
  bool privileges = false;          // builds and trials keep root's capabilities
  bool network = true;              // builds and trials have the machine's
  std::vector<std::string> notify;  // a command that is told of the end; empty: none
  bool aslr = false;                // where no factor says otherwise
  Quiesce quiesce = Quiesce::off;
  std::vector<std::string> knobs;  // that are made quiet; empty: the standard ones
  std::optional<QuietWait> wait_for_quiet;
  // [measure]: events that are counted in each trial; those of a group at the same time.
  std::vector<std::vector<std::string>> counters;
  // Sets of further events, of which each block counts one (design/turns.h); none, or two and more.
  std::vector<std::vector<std::string>> rotated;
  // Whose samples say which functions each trial spends it in; "": none are taken.
  std::string profile;
  std::uint32_t profile_hz = 0;  // samples a second
  bool refuse_absent = false;    // measure nothing if this machine cannot count one of them
  // Every trial runs under a simulator (plan/measures/simulated.h): counts are simulated, and there
  // are no times.
  bool simulated = false;
  std::vector<OutputMeasure> outputs;
  std::vector<DerivedMeasure> derived;  // in the plan's order, none of another one
  // [randomize]: options of the runtime that are the same in all trials.
  std::map<std::string, Level> randomize;
  // [by_default]: the frames of programs that szc builds have pads although the plan does not
  // mention them. A stored plan without that table is of an earlier version and has none.
  bool pads_by_default = false;
  Variables variables;  // [variables]; the predefined ones are in there too
  std::vector<Benchmark> benchmarks;
  std::vector<Factor> factors;  // in the plan's order
  Design design;
  Causal causal;
  Analysis analysis;

  [[nodiscard]] bool is_causal() const { return design.kind == DesignKind::causal; }
  // Whether each benchmark of a program has a number of that name of its own.
  [[nodiscard]] bool is_split(std::string_view response) const;
  // The answer is over all benchmarks, which it takes for independent of each other: those that one
  // program measures share its trials.
  [[nodiscard]] bool answers_over_all() const {
    return design.kind == DesignKind::within_subjects || design.kind == DesignKind::calibration;
  }
};

// The events that a plan counts, in each block or in some, each once, in its order.
std::vector<std::string> counter_names(const Plan& plan);

}  // namespace stab::plan
