// SPDX-License-Identifier: MIT
// The value types of a plan, the quantities that its rules of exclusion can use, and words for what
// it sets. A Plan that the reader returned is valid: every bound is kept, every name resolves. See
// doc/glossary.md for plan, benchmark, factor, level, cell, block, trial. The defaults are in
// plan/reading/key_list.h, and the zeros here are not defaults.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace stab::plan {

// Variables of a plan, which texts use as in ${CFLAGS}.
using Variables = std::map<std::string, std::string>;

// The conditions under which a trial counts as right.
struct Check {
  int exit = 0;
  std::vector<int> other_exits{};  // further codes that are as right as `exit`
  std::optional<std::string> stdout_sha256;
  std::optional<std::string> stdout_file;  // relative to the plan's directory
  std::optional<std::string> command;      // for /bin/sh; gets the trial's stdout on its stdin

  [[nodiscard]] bool accepts(int code) const;
};
// The exit codes that a check accepts, as "0" or "0 or 1".
std::string exits_of(const Check& check);

struct Benchmark {
  std::string name;
  // For /bin/sh. If there is none, `run` names a program that exists already.
  std::optional<std::string> build;
  std::vector<std::string> run;  // argv, at least one word
  Variables env;                 // added to the environment that is built from scratch
  std::optional<std::string> stdin_file;
  // A command that runs at the same time as each trial, on the same CPUs; empty: none.
  std::vector<std::string> beside;
  // For /bin/sh, before and after each trial.
  std::optional<std::string> prepare;
  std::optional<std::string> cleanup;
  // The files that the build reads, relative to the plan's directory. Empty: the whole directory.
  std::vector<std::string> sources;
  Check check;
  // Taken from [defaults] if the benchmark does not set them.
  std::uint32_t repetitions = 0;  // measured blocks
  std::chrono::nanoseconds timeout{0};
  std::chrono::nanoseconds build_timeout{0};
  std::uint64_t output_limit = 0;  // bytes of stdout, and of stderr
  // For all processes of a trial together; 0: no limit.
  std::uint64_t memory_limit = 0;
  std::chrono::nanoseconds cpu_limit{0};
  std::uint32_t process_limit = 0;
  std::uint64_t file_limit = 0;  // bytes of each file that the processes write
  // Its trials have the heap layer, because test runs allowed it (results/heap_layer.h). Only the
  // stored results of test runs say so, not the plan's text.
  bool has_layer = false;
};

// The kind of thing that a factor changes. `user` sets variables, or chooses the revision that is
// built. The other kinds are built in. `option` is an option of the runtime that szc links into
// programs (options.h), and `layout` is the seed of its random choices. `arm` changes nothing: a
// calibration's two arms differ only in their names.
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
  std::string name;     // "O2", "true", "4096": as it is shown and stored
  Variables variables;  // user factors
  // For env_bytes: bytes. For link_order, link_padding and layout: a seed. For arrival_speedup: ns.
  // For aslr: 0 or 1. For option: see options.h.
  std::uint64_t number = 0;
  // For user factors without variables: the full name of the git commit whose files are built, or
  // working_tree. Before it is resolved, it is as the user wrote it. It is "" for all other
  // factors.
  std::string revision{};
};

// The repository's files, including uncommitted changes.
inline constexpr std::string_view working_tree = ".";
// Whether this is the full name of a commit, which always means the same commit, or working_tree.
bool is_resolved(std::string_view revision);

inline constexpr std::uint64_t max_drawn_seed = 2147483647;  // seeds in a plan are from 1 to this

struct FixedLevels {
  std::vector<Level> levels;  // at least two, or one to hold the factor at that level
};
// A new value for each block, which is the same in every cell of the block.
struct RandomPerBlock {
  std::uint64_t minimum = 0;  // drawn from [minimum, maximum]
  std::uint64_t maximum = 0;
};
// `seeds` values, each of which runs `runs` times: block r is run r of every seed. In a nested
// design each cell has its own seeds. In a padding study all cells have the same ones.
struct RandomSeeds {
  std::uint32_t seeds = 0;
  std::uint32_t runs = 0;
  std::uint64_t minimum = 0;  // seeds are drawn from [minimum, maximum], each once in a cell
  std::uint64_t maximum = 0;
};

struct Factor {
  std::string name;
  FactorKind kind = FactorKind::user;
  std::variant<FixedLevels, RandomPerBlock, RandomSeeds> levels;

  // Whether the factor has two or more fixed levels.
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
  fractional,     // some of the cells of treatments with two levels
  causal          // compares nothing: trials are runs of a causal profile, one in each cell
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
// Whether the design runs Design::cells, and not all combinations of levels.
bool lists_cells(DesignKind kind);

// A listed treatment cell: factor name -> level name, for all treatments.
using Cell = std::map<std::string, std::string>;

// For fractional designs: a treatment whose level is the product of other treatments' levels, where
// -1 stands for the first level and +1 for the second. Numbers are positions in treatments(), and
// sets of them are bit masks.
struct Generator {
  std::size_t treatment = 0;
  std::uint32_t product = 0;
};

// The rule by which an experiment may end before its last block (stats/verdicts/decide.h). It is
// evaluated only between blocks, so that the stored blocks are complete.
enum class StopRule { precision, sequential };
constexpr std::string_view to_string(StopRule rule) {
  return rule == StopRule::precision ? "precision" : "sequential";
}

struct Stop {
  StopRule rule = StopRule::precision;
  double half_width = 0;             // precision: 0.005 for "0.5%"
  std::uint32_t max = 0;             // blocks, those of all machines together
  std::vector<std::uint32_t> looks;  // after how many blocks it is evaluated: rising, below max

  [[nodiscard]] std::uint32_t min() const { return looks.front(); }
};
// For example: rule "precision": the experiment ends when every interval extends at most 0.5 % to
// either side; the experiment has at least 20 and at most 100 blocks.
std::string describe(const Stop& stop);

struct Design {
  DesignKind kind = DesignKind::full_factorial;
  bool has_idle_order = false;        // 'order' is set; its only value is what happens anyway
  std::vector<Cell> cells;            // custom and fractional designs
  std::vector<Generator> generators;  // fractional designs
  // For calibrations: the number of comparisons of each benchmark. A comparison has
  // Benchmark::repetitions / comparisons blocks, and the first comparison has the first of them.
  std::uint32_t comparisons = 0;
  std::optional<Stop> stop;  // if there is none, all blocks are run
  // How long the experiment may run: no block begins if it would end later.
  std::optional<std::chrono::nanoseconds> time;
  // The number of blocks that are run in any case if the time ends the experiment.
  std::uint32_t fewest_timed_blocks = 5;

  // The number of blocks that are run whatever the rule and the time say. If there is none, all
  // blocks are run.
  [[nodiscard]] std::optional<std::uint32_t> fewest_blocks() const {
    if (stop) return stop->min();
    return time ? std::optional(fewest_timed_blocks) : std::nullopt;
  }
};

// For causal designs: what the profiler of each trial does, as with the options of 'stabctl
// causal'.
struct Causal {
  std::vector<std::string> scope;     // patterns of source files; empty: the build's directory
  std::vector<std::string> binaries;  // patterns of files whose lines are also profiled
  std::vector<std::string> progress;  // FILE:LINE
  std::string line;                   // FILE:LINE; "": chosen by samples
  std::chrono::nanoseconds experiment{0};
  std::chrono::nanoseconds sample_period{0};
  std::chrono::nanoseconds arrival_speedup{0};  // 0: no speedup
  // 0.25 for "25%", in one of every two blocks. If there is none, it is drawn.
  std::optional<double> speedup;
  bool end_to_end = false;
};

inline constexpr std::uint32_t max_machines = 64;  // of one experiment

// At least so many nodes, and at most so many.
struct NodeRange {
  std::uint32_t least = 1;
  std::uint32_t most = 1;

  bool operator==(const NodeRange&) const = default;
};

// The nodes of a cluster that trials run on. A text that is "" leaves the choice to the cluster.
struct Machines {
  std::uint32_t nodes = 1;
  // The plan's range, if it has one. `nodes` is its least number until stabctl chooses a number, when
  // it submits the plan.
  std::optional<NodeRange> range{};
  bool is_chosen = false;
  std::vector<std::string> names;  // these nodes; empty: any
  std::string partition;
  std::string account;
  std::string qos;
  std::string constraint;
  std::string reservation;
  std::optional<std::chrono::nanoseconds> time_limit;  // of each allocation
  bool like_these = false;  // the answer is about machines like these, not about these machines
  bool drain = false;       // whether stabd drains a node that is out of order

  bool operator==(const Machines&) const = default;
};
// For example "1 node of a Slurm cluster (n1), partition lab, at most 2 h". A number that was chosen
// from a range is followed by "of 2 to 4".
std::string describe(const Machines& machines);

// The treatment of settings of the machine that disturb trials.
enum class Quiesce {
  off,          // they stay as they are
  best_effort,  // the settings that can be changed are made quiet
  strict        // nothing is measured unless all settings are quiet
};
constexpr std::string_view to_string(Quiesce quiesce) {
  return quiesce == Quiesce::off ? "off" : quiesce == Quiesce::strict ? "strict" : "best-effort";
}

// How quiet the machine must be before a block begins.
struct QuietWait {
  std::chrono::nanoseconds most{};      // after this time the block begins anyway
  double load = 0;                      // 0.05 for "5%"
  std::optional<double> temperature_c;  // at most
  std::optional<double> frequency_khz;  // at least
};

// Which of a pattern's matches counts. With `samples`, each match is a sample of the trial.
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
  std::string unit{};                 // "": the number is a count
  std::string regex{};                // its first group is the number
  std::optional<std::string> json{};  // a pointer, instead of a pattern
  // Instead of both: "real_time", "cpu_time" or a counter of each benchmark in the JSON of Google
  // Benchmark.
  std::optional<std::string> google_benchmark{};
  Pick pick = Pick::only;                 // of the pattern's matches
  bool from_stderr = false;               // otherwise from stdout
  std::vector<std::string> benchmarks{};  // the benchmarks that print it; empty: all of them

  bool operator==(const OutputMeasure&) const = default;

  // Whether a trial has many values of it.
  [[nodiscard]] bool has_samples() const { return google_benchmark || pick == Pick::samples; }
};

// A number that is computed from other numbers of the trial (plan/measures/formula.h).
struct DerivedMeasure {
  std::string name{};
  std::string formula{};

  bool operator==(const DerivedMeasure&) const = default;
};

enum class OnBuildFailure { fail_benchmark, fail_experiment };

// Another number that is compared, with its own family of verdicts.
struct OtherResponse {
  std::string name{};
  bool higher_is_better = false;
};

struct Analysis {
  // wall, user, system, cpu, relative_cpu, max_rss, main_to_exit, region, a counter or one of the
  // plan's measures
  std::string response;
  std::vector<OtherResponse> others;  // in addition to the response, which decides
  bool has_idle_higher = false;       // 'higher' is set without 'response', so it has no effect
  bool log_scale = false;
  double alpha = 0;
  std::optional<double> equivalence;  // 0.01 for "1%"
  bool stabilizer = false;            // the procedure of the 2013 paper, on raw numbers
  int sums_of_squares = 0;            // type 2 or 3
  bool pooled = false;  // all comparisons share one error, instead of having their own
  // An assumption about lost trials: "extremes", "monotone" or "random".
  std::string losses = "extremes";
  std::string estimand = "mean";  // what the verdict is about: "mean", "typical" or "median"
  bool these_programs = false;    // within subjects: about these programs, not about similar ones
  bool all_pairs = false;         // compare all levels with each other
  bool higher_is_better = false;  // of the response
  // A level that repeats the first one. Its comparison is a control, which is never reported as a
  // verdict. "": no control.
  std::string control{};
  // Whether blocks have plain trials (design/trial_list.h). They show what random layouts cost.
  bool cost = false;
  bool has_cost = false;  // 'cost' is set
};

// A trial is disturbed if its quantity is beyond the limit in this sense (see Quantity).
enum class Bound { above, at_least, below, at_most };
struct Exclusion {
  std::string quantity;  // "involuntary_switches_per_s"
  Bound bound = Bound::above;
  double limit = 0;
};
// For example "involuntary_switches_per_s > 50".
std::string describe(const Exclusion& rule);

// [stated]: facts for reports that only the author of the plan knows. "": not stated.
struct Stated {
  std::string compiler{};  // that szc called for programs that exist already
  std::string beside{};    // a name for the commands that run beside trials
  // The cost of random heap blocks, or the change that they cause, as in "costs +0.4 % of CPU time".
  std::string heap_cost{};
  // Why these options are not in [randomize].
  std::string why_no_heap{};
  std::string why_no_stack{};
};

struct Plan {
  std::string name;
  std::string question;
  std::uint64_t seed = 0;
  std::uint32_t warmup = 0;   // number of blocks that run first and are not analysed
  std::uint32_t retries = 0;  // further attempts at a trial that failed
  // After this number of failed trials in a row, a benchmark's other trials are skipped. 0: never.
  std::uint32_t give_up_after = 0;
  // In the plan's order. The first rule that catches a trial counts.
  std::vector<Exclusion> exclude;
  std::uint32_t exclude_repeats = 0;  // further attempts at a disturbed trial
  OnBuildFailure on_build_failure = OnBuildFailure::fail_benchmark;
  std::uint32_t cpus = 0;           // number of CPUs that are reserved for a trial
  std::vector<unsigned> cpu;        // these CPUs, by the kernel's numbers, ascending; empty: any
  bool privileges = false;          // builds and trials keep root's capabilities
  bool network = true;              // builds and trials can use the machine's network
  std::vector<std::string> notify;  // a command that is told of the end; empty: no command
  bool aslr = false;                // if no factor says otherwise
  Quiesce quiesce = Quiesce::off;
  std::vector<std::string> knobs;  // the knobs that are made quiet; empty: the standard ones
  std::optional<QuietWait> wait_for_quiet;
  std::optional<Machines> machines;  // if there are none, trials run on the daemon's machine
  // [measure]: events that are counted in each trial. The events of a group are counted at the same
  // time.
  std::vector<std::vector<std::string>> counters;
  // Sets of further events. Each block counts one set (design/trial_list.h). There are no sets, or at
  // least two.
  std::vector<std::vector<std::string>> rotated;
  // The event whose samples say in which functions each trial spends it; "": no samples are taken.
  std::string profile;
  std::uint32_t profile_hz = 0;  // samples per second
  bool refuse_absent = false;    // measure nothing if this machine cannot count one of the events
  // Every trial runs under a simulator (plan/measures/names.h): counts are simulated, and there
  // are no times.
  bool simulated = false;
  std::vector<OutputMeasure> outputs;
  std::vector<DerivedMeasure> derived;  // in the plan's order; they don't refer to each other
  // [randomize]: options of the runtime that are the same in all trials.
  std::map<std::string, Level> randomize;
  // [by_default]: the frames of programs that szc builds have pads although the plan does not
  // mention them. A stored plan without that table comes from an earlier version, and its programs
  // have no pads.
  bool pads_by_default = false;
  // [by_default]: test runs decide for each benchmark whether its trials have the heap layer.
  bool layer_by_default = false;
  Stated stated;
  Variables variables;  // [variables], including the predefined ones
  std::vector<Benchmark> benchmarks;
  std::vector<Factor> factors;  // in the plan's order
  Design design;
  Causal causal;
  Analysis analysis;

  // On how many machines blocks run, at the same time.
  [[nodiscard]] std::uint32_t machine_count() const { return machines ? machines->nodes : 1; }
  [[nodiscard]] bool is_causal() const { return design.kind == DesignKind::causal; }
  // Whether each benchmark that a program measures has its own number of that name.
  [[nodiscard]] bool is_split(std::string_view response) const;
  // Whether the answer is over all benchmarks, which are assumed to be independent of each other.
  // Benchmarks that one program measures share its trials, so they are not independent.
  [[nodiscard]] bool answers_over_all() const {
    return design.kind == DesignKind::within_subjects || design.kind == DesignKind::calibration;
  }
};

// The column with the machine of each trial.
inline constexpr const char* machine_column = "node";

// The events that a plan counts, in all blocks or in some, each once, in the plan's order.
std::vector<std::string> counter_names(const Plan& plan);

// How a quantity is computed from its reading.
enum class Take {
  per_second,  // of the trial's wall time
  share,       // a reading in ns, of the trial's wall time
  as_it_is,
  difference,       // the reading minus the one before
  relative_change,  // the absolute difference, as a share of the one before
};

// A number that a rule for excluding trials compares with its limit.
struct Quantity {
  std::string_view name;     // "involuntary_switches_per_s"
  std::string_view unit;     // "1/s", "C"; "": a share or a plain number
  std::string_view reading;  // a reading of a trial: "context-switches-involuntary"
  std::string_view before;   // for difference and relative_change; otherwise ""
  Take take;
  std::string_view meaning;
};

// The quantities that a rule for excluding trials can use. No response is among them. Counts and
// times are taken per second of wall time or as a share of it, because a slower arm counts more of
// everything. A count that a program itself causes, and that is the same in each run (minor
// faults), is not among them either: per second it would be the wall time again.
std::span<const Quantity> quantities();
// Returns a null pointer if there is no such quantity.
const Quantity* find_quantity(std::string_view name);
// Whether the quantity may be negative.
bool has_sign(const Quantity& quantity);

// The first of the plan's rules whose quantity counts the same as one of these names, which are
// events of the plan or readings that each trial has. Returns a null pointer if there is no such
// rule.
const Exclusion* rule_on(const Plan& plan, std::span<const std::string> names);

std::string_view to_string(Bound bound);  // ">"
bool catches(const Exclusion& rule, double value);

// Describes what a plan sets, in words for reports: a line with the variables that are used and not
// empty, if there are any: "CC = clang-22". Lines about random stack frames and heap blocks, if they
// are random by default. A line for each treatment that is not a built-in factor: "opt: O1 sets
// CFLAGS = -O1; O2 sets CFLAGS = -O2". Long texts and long lists are cut, and say so. Levels leave
// out our own variables, STABD_...
std::vector<std::string> settings_of(const Plan& plan);

// The treatments that the experiment's question names, the most plainly named first: by the
// factor's name, then by a value that a level sets ("-O3"), then by a level's name.
std::vector<std::string> treatments_asked(const Plan& plan);

}  // namespace stab::plan
