// SPDX-License-Identifier: MIT
// The rows of the store as values, and the columns of trials. doc/store.md has the schema. Every
// field has a default, so that designated initializers may leave it out.
#pragma once

#include <boost/describe.hpp>
#include <boost/mp11.hpp>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "counters/readings.h"

namespace stab::store {

using Id = std::int64_t;

struct Machine {
  std::string key{};  // digest of the other fields, so each distinct machine state has one row
  std::string host{};
  std::string facts{};  // JSON: cpu model, kernel, topology, ...

  bool operator==(const Machine&) const = default;
};

// The state of an experiment that is being removed and that nobody sees (S7 of store.h).
inline constexpr std::string_view being_removed = "removing";
// The state of an experiment that returns to the queue as soon as its failed attempts have lost the
// mark `last` (S8).
inline constexpr std::string_view being_retried = "retrying";

// The cause that ended an experiment's trials before the last planned one: the plan's time, or its
// stopping rule.
enum class StopCause { time, rule };
std::string_view to_string(StopCause cause);
std::optional<StopCause> stop_cause(std::string_view text);

// How suitable the machine was for measurements.
enum class Quietness { good, fair, poor };
std::string_view to_string(Quietness quietness);
std::optional<Quietness> quietness_named(std::string_view text);

// Whether the text has only the characters of a list of CPUs, "0,2-3", and is not longer than one.
bool is_cpu_list(std::string_view text);
// Whether these are the full name of a commit of git, and the name of a branch or "".
bool is_source(std::string_view branch, std::string_view commit);

// A node of a cluster, if the trials of an experiment run on several.
struct Node {
  std::string name{};
  std::string hardware{};    // "AMD EPYC, 8 CPUs in 4 cores in 1 package"; "" if it is not known
  std::string trial_cpus{};  // "2-3": where its first trials ran; "" if that is not known
  // How many times as long everything took there as on other nodes of its kind, when the experiment
  // ended; 1: the node was in order. Absent if nobody has judged the node.
  std::optional<double> times{};

  bool operator==(const Node&) const = default;
};
// Whether a node can have these facts.
bool is_possible(const Node& node);

struct Experiment {
  Id id = 0;
  std::string name{};
  std::string plan{};       // the submitted TOML text
  std::string directory{};  // the directory in which it was submitted
  std::uint32_t uid = 0;    // the submitter
  std::uint32_t gid = 0;
  std::string state{};            // a session state: "queued", "running", ...
  std::string reason{};           // why it is in that state; "" if there is nothing to say
  std::int64_t submitted_ns = 0;  // wall clock, since 1970
  std::int64_t started_ns = 0;    // 0 if it has not started
  std::int64_t ended_ns = 0;      // 0 if it has not ended
  std::uint64_t trials = 0;       // the number of trials in its expansion
  Id machine = 0;                 // 0 until it starts
  // The time for which daemons have run it, by the monotonic clock; absent in rows of earlier
  // versions.
  std::optional<std::int64_t> duration_ns{};
  std::int64_t priority = 0;  // a higher priority goes first
  // The user who paused it and may therefore resume it.
  std::optional<std::uint32_t> held_by{};
  // Set only in the states "analysing" and "done"; absent if all planned trials ran.
  std::optional<StopCause> stopped_by{};
  std::string trial_cpus{};  // "2-3": where its first trials ran; "" before it starts
  // When the trials of its latest start began; absent before that, or if it is not known.
  std::optional<Quietness> quietness{};
  // The branch and the commit that were checked out in the plan's git repository when it was
  // submitted. The branch is "" if HEAD was detached; both are "" if there was no commit.
  std::string source_branch{};
  std::string source_commit{};
  std::vector<Node> nodes{};  // empty unless its trials run on several
  // The decisions of test runs (results/heap_layer.h), or "".
  std::string heap_layer{};

  bool operator==(const Experiment&) const = default;
};

enum class BuildStatus { built, cached, failed };
std::string_view to_string(BuildStatus status);
std::optional<BuildStatus> build_status(std::string_view text);

// The most bytes of the line that says why a build failed.
inline constexpr std::size_t most_build_error = 256;
// The reason of a trial that was not run because a build failed: "the build failed: ERROR".
std::string reason_of_failed_build(std::string_view error);

struct Build {
  Id experiment = 0;
  std::string key{};  // names its directory in the cache
  std::string benchmark{};
  std::string command{};
  BuildStatus status = BuildStatus::failed;
  std::string binary_sha256{};
  std::string output{};  // the end of the command's output
  std::int64_t duration_ns = 0;

  bool operator==(const Build&) const = default;
};

// How an attempt at a trial ended. Only `ok` ones are analysed.
enum class TrialStatus {
  ok,
  wrong_exit,
  signalled,
  timeout,
  output_limit,
  over_limit,  // of memory, CPU time, processes or a file's size
  check_failed,
  not_started,
  build_failed,
  skipped,
  not_randomized,  // the plan asks for a layout that the program did not get
  not_measured,    // the response that the plan analyses is missing
  disturbed        // a rule of the plan excludes it
};
std::string_view to_string(TrialStatus status);
std::optional<TrialStatus> trial_status(std::string_view text);

// Parts of a layout's note that stabd's own worker wrote begin like this. The program's runtime
// wrote the other parts.
inline constexpr std::string_view own_part = "stabd: ";

// The report of the runtime that szc links into programs; empty if there was no report.
struct Layout {
  // Absent if the program has no runtime, or the runtime did not report.
  std::optional<bool> randomized{};
  std::string kind{};  // "code once", "code repeated 500ms"; "" unless it was randomized
  std::string note{};  // why the layout was not randomized, or what was wrong with the report
  std::optional<std::uint64_t> seed{};
  std::optional<std::int64_t> epochs{};            // layouts that the program had
  std::optional<std::int64_t> given_up{};          // epochs that could not be made
  std::optional<std::int64_t> epochs_ns{};         // the time of all epochs together
  std::optional<std::int64_t> longest_pause_ns{};  // of one epoch
  std::optional<std::int64_t> functions{};
  std::optional<std::int64_t> moved_functions{};
  std::optional<std::int64_t> text_bytes{};
  std::optional<std::int64_t> moved_bytes{};
  std::optional<std::int64_t> setup_ns{};
  std::optional<std::int64_t> main_to_exit_ns{};
  std::optional<std::int64_t> region_ns{};  // absent if the program marked no region
  std::optional<std::int64_t> regions{};
  std::optional<std::int64_t> heap_operations{};   // absent unless the heap was randomized
  std::optional<std::int64_t> heap_bytes{};        // bytes that the program requested
  std::optional<std::int64_t> heap_fixed_bytes{};  // requested bytes that could not be shuffled
  // Whether each part was placed at random, and whether its place changed during the run. A member
  // is absent if the program was not randomized, or if its processes did different things.
  std::optional<bool> random_code{};  // only programs that szc built
  std::optional<bool> random_stack{};
  std::optional<bool> random_heap{};
  std::optional<bool> repeated{};

  bool operator==(const Layout&) const = default;
};
// The JSON of the protocol, the columns of the store and those of the export follow from this list.
BOOST_DESCRIBE_STRUCT(Layout, (),
                      (randomized, kind, note, seed, epochs, given_up, epochs_ns, longest_pause_ns,
                       functions, moved_functions, text_bytes, moved_bytes, setup_ns,
                       main_to_exit_ns, region_ns, regions, heap_operations, heap_bytes,
                       heap_fixed_bytes, random_code, random_stack, random_heap, repeated))

// The column of a member of Layout, in the store and in exports.
struct LayoutColumn {
  std::string_view name{};  // "" if it has the member's name
  int since = 2;            // version of the schema
};
template <auto Member>
inline constexpr LayoutColumn layout_column{};
template <>
inline constexpr LayoutColumn layout_column<&Layout::kind>{.name = "randomization"};
template <>
inline constexpr LayoutColumn layout_column<&Layout::note>{.name = "layout_note"};
template <>
inline constexpr LayoutColumn layout_column<&Layout::seed>{.name = "layout_seed"};
template <>
inline constexpr LayoutColumn layout_column<&Layout::heap_operations>{.since = 3};
template <>
inline constexpr LayoutColumn layout_column<&Layout::heap_bytes>{.since = 3};
template <>
inline constexpr LayoutColumn layout_column<&Layout::heap_fixed_bytes>{.since = 3};
template <>
inline constexpr LayoutColumn layout_column<&Layout::random_code>{.since = 12};
template <>
inline constexpr LayoutColumn layout_column<&Layout::random_stack>{.since = 12};
template <>
inline constexpr LayoutColumn layout_column<&Layout::random_heap>{.since = 12};
template <>
inline constexpr LayoutColumn layout_column<&Layout::repeated>{.since = 12};

// Calls `visit(column, pointer to the member)` for each in order.
template <class Visitor>
void for_each_layout_column(Visitor visit) {
  using Members = boost::describe::describe_members<Layout, boost::describe::mod_public>;
  boost::mp11::mp_for_each<Members>([&](auto member) {
    LayoutColumn column = layout_column<decltype(member)::pointer>;
    if (column.name.empty()) column.name = member.name;
    visit(column, member.pointer);
  });
}

// The trials at the positions [from, end).
struct Positions {
  std::uint32_t from = 0;
  std::uint64_t end = std::uint64_t{1} << 32;
};

// Enough for some 10,000 performance experiments.
inline constexpr std::size_t most_causal_bytes = std::size_t{1} << 20;

struct Trial {
  Id experiment = 0;
  std::uint32_t position = 0;  // (experiment, position, attempt) is unique
  std::uint32_t attempt = 0;   // from 0; `last` marks the attempt that counts
  bool last = true;
  std::uint32_t block = 0;
  bool warmup = false;
  std::string benchmark{};
  std::map<std::string, std::string> levels{};  // factor -> level
  std::uint64_t seed = 0;
  std::string build{};  // key, or ""
  std::string node{};   // the node of a cluster that it ran on; "": the daemon's machine
  TrialStatus status = TrialStatus::not_started;
  std::string reason{};            // for people; "" when ok
  std::optional<int> exit_code{};  // absent if it did not exit by itself
  std::optional<int> signal{};
  std::int64_t started_ns = 0;            // wall clock, since 1970
  std::optional<std::int64_t> wall_ns{};  // exec to exit, monotonic clock
  std::optional<std::int64_t> user_ns{};
  std::optional<std::int64_t> system_ns{};
  std::optional<std::int64_t> max_rss_bytes{};
  std::string stdout_sha256{};
  std::string stderr_tail{};
  Layout layout{};
  std::vector<counters::Reading> readings{};  // kept in this order
  std::vector<counters::Samples> samples{};   // these, too
  counters::Profile profile{};
  // The results of a causal plan's performance experiments (stats/causal/run_text.h), or "".
  std::string causal{};

  bool operator==(const Trial&) const = default;
};

// The result of A/A comparisons on a machine (stats/verdicts/calibration.h): for one benchmark,
// for any benchmark, or for all together.
enum class CalibrationScope { benchmark, any, suite };
std::string_view to_string(CalibrationScope scope);
std::optional<CalibrationScope> calibration_scope(std::string_view text);

struct Calibration {
  Id machine = 0;
  Id experiment = 0;       // 0 if the experiment is not in this database
  std::string name{};      // the experiment's
  std::int64_t at_ns = 0;  // when its first trial began; wall clock, since 1970
  CalibrationScope scope = CalibrationScope::any;
  std::string benchmark{};      // set for the scope `benchmark`, otherwise ""
  std::string response{};       // "wall"
  double alpha = 0.05;          // for the comparisons, and for every interval here
  std::int64_t blocks = 0;      // the blocks of one comparison
  std::int64_t benchmarks = 0;  // the number that took part
  std::int64_t comparisons = 0;
  std::int64_t significant = 0;
  std::optional<double> margin{};  // 0.008 means a noise floor of 0.8 %
  std::optional<double> margin_low{};
  std::optional<double> margin_high{};

  bool operator==(const Calibration&) const = default;
};

// The kind of the event that says when an experiment was imported from an archive.
inline constexpr std::string_view imported = "import";

struct Event {
  Id experiment = 0;       // 0 for events of the daemon itself
  std::int64_t at_ns = 0;  // wall clock, since 1970
  std::string kind{};      // "state", "build", "trial", "daemon"
  std::string text{};

  bool operator==(const Event&) const = default;
};

// The approximate size of a row's texts in the store. The rest of a row is small and always about
// the same size.
std::size_t bytes_of(const Trial& trial);
std::size_t bytes_of(const Build& build);
std::size_t bytes_of(const Event& event);

// The trial's number with this name in plans, with its unit: one of its times, its memory, or a
// reading. Nothing if it has no such number.
std::optional<counters::Reading> number_of(const Trial& trial, std::string_view name);

// A row that does not match its checksum, its readings or the rows that it refers to. For damage to
// the file's structure, the table is "database" and the row 0.
struct Damage {
  std::string table{};
  Id row = 0;
  std::string problem{};  // "the row's content does not match its checksum"

  [[nodiscard]] bool is_of_structure() const { return row == 0; }
};

// A column's place in exports, whose columns of factors lie between the other two groups.
enum class Exported { nowhere, before_factors, after_factors };

template <auto Member>
struct TrialColumn {
  std::string_view name;
  Exported exported;
  static constexpr auto member = Member;
};

// The members of a trial that have one column each, in the store and in exports. A member's type
// decides how it is written and read. The trial's levels, layout (see LayoutColumn) and lists are
// not in this table.
inline constexpr std::tuple trial_columns{
    TrialColumn<&Trial::experiment>{"experiment", Exported::nowhere},
    TrialColumn<&Trial::position>{"position", Exported::before_factors},
    TrialColumn<&Trial::attempt>{"attempt", Exported::before_factors},
    TrialColumn<&Trial::last>{"last", Exported::before_factors},
    TrialColumn<&Trial::block>{"block", Exported::before_factors},
    TrialColumn<&Trial::warmup>{"warmup", Exported::before_factors},
    TrialColumn<&Trial::benchmark>{"benchmark", Exported::before_factors},
    TrialColumn<&Trial::seed>{"seed", Exported::after_factors},
    TrialColumn<&Trial::status>{"status", Exported::after_factors},
    TrialColumn<&Trial::reason>{"reason", Exported::after_factors},
    TrialColumn<&Trial::exit_code>{"exit_code", Exported::after_factors},
    TrialColumn<&Trial::signal>{"signal", Exported::after_factors},
    TrialColumn<&Trial::started_ns>{"started_ns", Exported::after_factors},
    TrialColumn<&Trial::wall_ns>{"wall_ns", Exported::after_factors},
    TrialColumn<&Trial::user_ns>{"user_ns", Exported::after_factors},
    TrialColumn<&Trial::system_ns>{"system_ns", Exported::after_factors},
    TrialColumn<&Trial::max_rss_bytes>{"max_rss_bytes", Exported::after_factors},
    TrialColumn<&Trial::stdout_sha256>{"stdout_sha256", Exported::after_factors},
    TrialColumn<&Trial::build>{"build", Exported::after_factors},
    TrialColumn<&Trial::stderr_tail>{"stderr_tail", Exported::nowhere},
};

// Calls `visit(column)` for each in order.
template <class Visitor>
constexpr void for_each_trial_column(Visitor visit) {
  std::apply([&](const auto&... column) { (visit(column), ...); }, trial_columns);
}

}  // namespace stab::store
