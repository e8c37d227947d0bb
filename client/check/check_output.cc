// SPDX-License-Identifier: MIT

#include "client/check/check_output.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <variant>

#include "base/text.h"
#include "base/time.h"
#include "counters/events/counting.h"
#include "counters/profiles/profiler.h"
#include "design/fractional.h"
#include "design/model.h"
#include "design/trial_list.h"
#include "machine/containment.h"
#include "machine/observer.h"
#include "machine/processes.h"
#include "plan/measures/formula.h"
#include "plan/measures/output.h"
#include "plan/plan.h"
#include "report/sections/section.h"
#include "results/exclusion.h"

namespace stab::client {
namespace {

using report::column;
using report::json_only;
using report::known;
using report::Row;
using report::shown_only;
using report::Value;
using results::prediction::OwnError;
using results::prediction::planned_power;
using stats::Scope;

// With fewer degrees of freedom, an error is so uncertain that only large changes are found.
constexpr std::size_t few_df = 10;

// "these", "like-these", or "".
std::string key_of(Scope scope) {
  if (scope == Scope::these) return "these";
  return scope == Scope::like_these ? "like-these" : "";
}

std::string df_text(std::size_t df) {
  return df == 1 ? "1 degree of freedom" : fmt::format("{} degrees of freedom", df);
}

// "3 to 29 degrees of freedom" if benchmarks differ.
std::string df_words(const Family& family) {
  const auto [fewest, most] = std::ranges::minmax(family.errors, {}, &OwnError::df);
  return (fewest.df < most.df ? fmt::format("{} to ", fewest.df) : "") + df_text(most.df);
}

std::string header(const plan::Plan& plan, const Family& family) {
  const std::string on = words_of(plan, family.scope);
  if (family.comparisons == 1)
    return fmt::format("there is one comparison on {}; its error term has {}", on,
                       df_words(family));
  return fmt::format("{} comparisons on {} are corrected together, and each error term has {}",
                     family.comparisons, on, df_words(family));
}

// The largest detectable change of the family's comparisons with few degrees of freedom.
std::optional<double> largest(const Family& family, const std::vector<Detectable>& detectable) {
  std::optional<double> change;
  for (const Detectable& each : detectable)
    if (each.scope == family.scope && each.error_df < few_df)
      change = std::max(change.value_or(0), each.change);
  return change;
}

std::string warning(const plan::Plan& plan, const Family& family,
                    const std::vector<Detectable>& detectable) {
  const std::size_t df = family.fewest_df();
  const std::string words = words_of(plan, family.scope);
  if (df == 0)
    return fmt::format(
        "an error term has no degrees of freedom, so nothing can be concluded about {}: use more "
        "{}",
        words, family.more);
  const auto change = largest(family, detectable);
  return fmt::format(
      "an error term has only {}, so the experiment can detect only {} on {}: use more {} to "
      "detect smaller effects",
      df_text(df),
      change ? fmt::format("effects larger than {:.3g} %", 100 * *change) : "large effects", words,
      family.more);
}

void add_lines(const Value& value, std::vector<std::string>& lines) {
  if (const auto* const rows = std::get_if<std::vector<Row>>(&value))
    for (const Row& row : *rows) add_lines(row, lines);
  if (const auto* const row = std::get_if<Row>(&value))
    for (const report::Field& field : *row) {
      if (!field.text.empty()) lines.push_back(field.text);
      add_lines(field.value, lines);
    }
}

}  // namespace

std::vector<std::string> value_lines(const Value& value) {
  std::vector<std::string> lines;
  add_lines(value, lines);
  return lines;
}

std::string words_of(const plan::Plan& plan, Scope scope) {
  if (plan::tells_machines_apart(plan, plan.analysis.response)) {
    if (scope == Scope::these) return fmt::format("these {} nodes", plan.machine_count());
    return scope == Scope::like_these ? "nodes like these" : "each node";
  }
  if (scope == Scope::these) return fmt::format("these {} benchmarks", plan.benchmarks.size());
  if (scope == Scope::like_these) return "benchmarks like these";
  return plan.benchmarks.size() == 1 ? "the benchmark" : "each benchmark";
}

Row detectable_row(const Detectable& each) {
  return {column("benchmark", known(each.benchmark), "",
                 fmt::format("    {:<24} {:<16} {:.3g} %   (standard deviation {:.3g} %)",
                             each.benchmark.empty() ? "over all benchmarks" : each.benchmark,
                             each.treatment, 100 * each.change, 100 * each.sd)),
          json_only("programs", key_of(each.scope)),
          json_only("treatment", each.treatment),
          json_only("sd", each.sd),
          json_only("power", planned_power),
          json_only("change", each.change),
          json_only("error_df", each.error_df),
          json_only("comparisons", each.comparisons)};
}

Row comparisons(const plan::Plan& plan, const std::vector<Family>& families,
                const std::vector<Detectable>& detectable, const std::string& source) {
  Row row;
  std::vector<Row> errors;
  std::vector<std::string> warnings;
  const auto& stop = plan.design.stop;
  for (const Family& family : families) {
    row.push_back(shown_only("", header(plan, family)));
    std::vector<Row> changes;
    for (const Detectable& each : detectable)
      if (each.scope == family.scope) changes.push_back(detectable_row(each));
    // JSON has the changes of all families in smallest_detectable.
    if (!changes.empty())
      row.push_back(column(
          "", std::move(changes), "",
          fmt::format(
              "  smallest change that can be detected with {:.0f} % power{}{}, judging by {}:",
              100 * planned_power, stop ? fmt::format(" with all {} blocks", stop->max) : "",
              family.comparisons > 1
                  ? fmt::format(" after the correction for {} comparisons", family.comparisons)
                  : "",
              source)));
    if (family.fewest_df() < few_df) {
      warnings.push_back(warning(plan, family, detectable));
      row.push_back(shown_only("", "  warning: " + warnings.back()));
    }
    for (const OwnError& error : family.errors)
      errors.push_back(
          {json_only("programs", key_of(family.scope)), json_only("benchmark", error.benchmark),
           json_only("comparisons", family.comparisons), json_only("error_df", error.df)});
  }
  row.push_back(json_only("comparisons", families.empty() ? 0 : families.front().comparisons));
  row.push_back(
      json_only("error_df", families.empty() ? Value() : Value(families.front().fewest_df())));
  row.push_back(json_only("families", std::move(errors)));
  row.push_back(json_only("warnings", std::move(warnings)));
  return row;
}

namespace {

// The figures that are known without an earlier experiment.
std::string words_of_question(const plan::Plan& plan) {
  constexpr std::size_t fewest = results::prediction::fewest_like_these;
  const std::size_t nodes = plan.machine_count();
  const std::string more = fmt::format("an answer about nodes like {} needs at least {} nodes",
                                       nodes == 1 ? "it" : "these", fewest);
  if (!plan.machines->like_these)
    return fmt::format("the plan's question is about {}, so it needs no more nodes; {}",
                       nodes == 1 ? "the node that runs it" : fmt::format("these {} nodes", nodes),
                       more);
  return fmt::format("{}, and the plan has {}", more, nodes);
}

Row nodes_row(const plan::Plan& plan, const OnMachines& each, const std::string& source) {
  std::vector<Row> numbers;
  std::vector<std::string> words;
  for (const OnMachines::Smallest& one : each.smallest) {
    numbers.push_back({json_only("nodes", one.machines), json_only("change", one.change)});
    words.push_back(fmt::format("{:.3g} % with {} nodes", 100 * one.change, one.machines));
  }
  const auto& margin = plan.analysis.equivalence;
  return {
      column("treatment", each.treatment, "",
             fmt::format("  {}: judging by {}, the change differs between nodes with a standard "
                         "deviation of {:.3g} %; the smallest change on nodes like these that "
                         "can be detected with {:.0f} % power is {}",
                         each.treatment, source, 100 * each.sd, 100 * planned_power,
                         fmt::join(words, ", "))),
      json_only("sd", each.sd), json_only("smallest", std::move(numbers)),
      json_only("margin", known(margin)),
      column("needed", each.needed ? Value(std::uint64_t{*each.needed}) : Value(), "",
             each.needed && margin
                 ? fmt::format("  {}: to detect a change of {:.3g} % (analysis.margin) on nodes "
                               "like these, the experiment needs {} nodes",
                               each.treatment, 100 * *margin, *each.needed)
                 : "")};
}

}  // namespace

Value nodes_needed(const plan::Plan& plan, const std::vector<OnMachines>& known,
                   const std::string& source) {
  if (!plan.machines || !plan::why_machines_are_one(plan, plan.analysis.response).empty())
    return {};
  std::vector<Row> rows;
  for (const OnMachines& each : known) rows.push_back(nodes_row(plan, each, source));
  const bool is_unknown = rows.empty() && plan.machine_count() > 1;
  return Row{column("question", plan.machines->like_these ? "like-these" : "these", "",
                    words_of_question(plan)),
             column("fewest_like_these", results::prediction::fewest_like_these, "",
                    is_unknown ? "  how many nodes find a given change is not known before an "
                                 "experiment of this name has run on several nodes"
                               : ""),
             json_only("treatments", std::move(rows))};
}

std::chrono::nanoseconds scaled_duration(std::chrono::nanoseconds taken, const Amount& ran,
                                         const Amount& wanted) {
  const double times = (wanted.trials / wanted.nodes) / (ran.trials / ran.nodes);
  return std::chrono::nanoseconds(
      static_cast<std::int64_t>(static_cast<double>(taken.count()) * times));
}

namespace {

// Why rules with this quantity can't be applied; "" if they can.
std::string why_absent(const plan::Quantity& quantity, std::span<const counters::Reading> here) {
  constexpr std::int64_t any_time = 1'000'000'000;
  const auto value = exclusion::value_of(quantity, here, any_time);
  return value ? "" : value.error();
}

// Whether the kernel counts the reading in its own ticks; other times are exact to the microsecond.
bool is_in_ticks(const plan::Quantity& quantity) {
  return quantity.reading == "steal-ns" || quantity.reading == "other-cpus-busy-ns";
}

// Names the duration of a trial in which a single event or tick would reach the rule's limit.
std::string words_of_one(const plan::Exclusion& rule, const plan::Quantity& quantity) {
  const bool upper = rule.bound == plan::Bound::above || rule.bound == plan::Bound::at_least;
  if (!upper || rule.limit <= 1e-5) return "";
  const auto time = [&](double one_ns) {
    return format_duration(
        std::chrono::nanoseconds(static_cast<std::int64_t>(one_ns / rule.limit)));
  };
  if (quantity.take == plan::Take::per_second)
    return fmt::format("in a trial shorter than {}, a single event already exceeds the limit",
                       time(1e9));
  if (quantity.take != plan::Take::share || !is_in_ticks(quantity)) return "";
  const std::chrono::nanoseconds tick(1'000'000'000 / sysconf(_SC_CLK_TCK));
  return fmt::format(
      "the kernel counts in ticks of {}, so in a trial shorter than {}, a single tick already "
      "exceeds the limit",
      format_duration(tick), time(static_cast<double>(tick.count())));
}

}  // namespace

std::vector<counters::Reading> readings_here() {
  std::vector<counters::Reading> readings;
  machine::Observer observer(machine::CpuSet{static_cast<unsigned>(std::max(sched_getcpu(), 0))});
  observer.before();
  observer.after(readings);
  // The kernel counts these for every process.
  for (const char* name : {"page-faults-minor", "page-faults-major", "context-switches-voluntary",
                           "context-switches-involuntary"})
    readings.push_back(counters::counted(name, "", 0));
  readings.push_back(
      machine::migrations_of(getpid())
          ? counters::counted("cpu-migrations", "", 0)
          : counters::absent("cpu-migrations", "", "this kernel does not show /proc/PID/sched"));
  return readings;
}

Value exclusions(const plan::Plan& plan, std::span<const counters::Reading> here) {
  if (plan.exclude.empty()) return {};
  std::vector<Row> rules;
  for (const plan::Exclusion& rule : plan.exclude) {
    const plan::Quantity& quantity = *plan::find_quantity(rule.quantity);
    const std::string when = plan::describe(rule);
    const std::string one = words_of_one(rule, quantity);
    const std::string why = why_absent(quantity, here);
    rules.push_back(
        {column("when", when, "", fmt::format("excluded if {} ({})", when, quantity.meaning)),
         json_only("meaning", std::string(quantity.meaning)),
         shown_only("", one.empty() ? "" : "  " + one),
         column("absent_here", known(why), "",
                why.empty() ? "" : "  warning: this rule excludes nothing here: " + why)});
  }
  return Row{
      json_only("rules", std::move(rules)),
      column(
          "repeats", plan.exclude_repeats, "",
          plan.exclude_repeats == 0
              ? "excluded trials are not repeated (exclude_repeats = 0)"
              : fmt::format(
                    "excluded trials are repeated at the end of their block, up to {} time{} each",
                    plan.exclude_repeats, plan.exclude_repeats == 1 ? "" : "s"))};
}

Value revisions(const plan::Plan& plan) {
  std::vector<Row> rows;
  for (const plan::Factor& factor : plan.factors)
    if (const auto* fixed = std::get_if<plan::FixedLevels>(&factor.levels))
      for (const plan::Level& level : fixed->levels) {
        if (level.revision.empty()) continue;
        const bool is_tree = level.revision == plan::working_tree;
        rows.push_back(
            {json_only("factor", factor.name), json_only("level", level.name),
             column("commit", is_tree ? Value() : level.revision, "",
                    fmt::format("{} {}: {}", factor.name, level.name,
                                is_tree ? "the working tree with its uncommitted changes, in its "
                                          "state at the time of the build"
                                        : "commit " + level.revision))});
      }
  return rows;
}

namespace {

using plan::DesignKind;

std::string calibration_words(const plan::Plan& plan) {
  const std::uint32_t comparisons = plan.design.comparisons;
  return fmt::format(
      "each benchmark is compared with itself {} times, in {} blocks each time; the model below "
      "describes one of these A/A comparisons",
      comparisons, plan.benchmarks.front().repetitions / comparisons);
}

std::string padding_words(const plan::Plan& plan) {
  for (const plan::Factor& factor : plan.factors)
    if (const auto* seeds = std::get_if<plan::RandomSeeds>(&factor.levels))
      return fmt::format(
          "both arms get the same {} seeds of the factor {}; each seed has {} runs, which give one "
          "value",
          seeds->seeds, factor.name, seeds->runs);
  return "";
}

std::string causal_words(const plan::Plan& plan) {
  return fmt::format(
      "causal profile: each trial runs under the profiler and takes longer because of virtual "
      "pauses; each experiment lasts {}{}",
      plan.causal.end_to_end ? "one run" : format_duration(plan.causal.experiment),
      plan.causal.end_to_end ? "" : " or more");
}

std::vector<std::string> fraction_words(const plan::FractionalDesign& design) {
  std::vector<std::string> lines{fmt::format(
      "fraction: the plan runs {} of {} cells; the resolution is {}", design.cells.size(),
      std::size_t{1} << design.treatments.size(), design.resolution)};
  for (const std::string& line : plan::defining_relation(design)) lines.push_back("  " + line);
  return lines;
}

}  // namespace

std::vector<std::string> study_words(const plan::Plan& plan) {
  if (plan.design.kind == DesignKind::calibration) return {calibration_words(plan)};
  if (plan.design.kind == DesignKind::padding_study) return {padding_words(plan)};
  if (plan.is_causal()) return {causal_words(plan)};
  if (const auto design = plan::fraction(plan)) return fraction_words(*design);
  return {};
}

namespace {

// Looks at the current CPU for a moment to find out which sources are missing on this machine.
std::vector<std::string> missing_here(const plan::QuietWait& wait) {
  machine::Calm calm({static_cast<unsigned>(std::max(sched_getcpu(), 0))},
                     {.load = wait.load,
                      .temperature_c = wait.temperature_c,
                      .frequency_khz = wait.frequency_khz});
  calm.begin();
  static_cast<void>(calm.end(std::chrono::seconds(1)));
  return calm.missing();
}

}  // namespace

Value quiet_wait(const plan::Plan& plan) {
  if (!plan.wait_for_quiet) return {};
  const plan::QuietWait& wait = *plan.wait_for_quiet;
  std::string line = fmt::format(
      "before each block, trials wait up to {} for a quiet machine. On a quiet machine, other "
      "programs use at most {:g} % of the CPUs",
      format_duration(wait.most), 100 * wait.load);
  if (wait.temperature_c)
    line += fmt::format(", the temperature of the CPU is at most {:g} C", *wait.temperature_c);
  if (wait.frequency_khz)
    line += fmt::format(", the trials' CPUs run at {:g} kHz or more", *wait.frequency_khz);
  const std::vector<std::string> missing = missing_here(wait);
  Row row{column("most_ns", static_cast<std::uint64_t>(wait.most.count()), "", line),
          json_only("load", wait.load), json_only("temperature_c", known(wait.temperature_c)),
          json_only("frequency_khz", known(wait.frequency_khz)), json_only("absent_here", missing)};
  for (const std::string& each : missing)
    row.push_back(
        shown_only("", "  warning: trials cannot wait for a quiet machine here: " + each));
  return row;
}

namespace {

std::string_view words_of_pick(plan::Pick pick) {
  switch (pick) {
    case plan::Pick::only:
      return "the only match";
    case plan::Pick::first:
      return "the first match";
    case plan::Pick::last:
      return "the last match";
    case plan::Pick::mean:
      return "the mean of all matches";
    case plan::Pick::sum:
      return "the sum of all matches";
    case plan::Pick::samples:
      return "samples, one per match";
  }
  return "";
}

// How many measured blocks count a set, for the benchmarks with the fewest and the most of them.
struct Blocks {
  std::uint32_t fewest = 0;
  std::uint32_t most = 0;
};
Blocks blocks_of(const plan::Plan& plan, std::uint32_t set) {
  Blocks blocks{.fewest = std::numeric_limits<std::uint32_t>::max()};
  const auto& stop = plan.design.stop;
  for (const plan::Benchmark& benchmark : plan.benchmarks) {
    const std::uint32_t least = stop ? stop->min() : benchmark.repetitions;
    blocks.fewest = std::min(blocks.fewest, plan::blocks_of_set(plan, set, least));
    blocks.most = std::max(blocks.most, plan::blocks_of_set(plan, set, benchmark.repetitions));
  }
  return blocks;
}

// Adds the sets that take turns.
void add_turns(const plan::Plan& plan, const CountersHere& here, Row& row) {
  std::vector<Row> sets;
  std::uint32_t fewest = std::numeric_limits<std::uint32_t>::max();
  for (std::uint32_t set = 0; set < plan.rotated.size(); ++set) {
    const Blocks blocks = blocks_of(plan, set);
    fewest = std::min(fewest, blocks.fewest);
    const std::string most = fmt::format("{} block{}", blocks.most, blocks.most == 1 ? "" : "s");
    const bool fits = here.sets.at(set).fits;
    sets.push_back(
        {json_only("set", set + 1),
         column("events", plan.rotated[set], "",
                fmt::format("  set {}, in {}{}: {}", set + 1,
                            blocks.fewest < blocks.most ? fmt::format("{} to ", blocks.fewest) : "",
                            most, fmt::join(plan.rotated[set], " with "))),
         json_only("fewest_blocks", blocks.fewest), json_only("most_blocks", blocks.most),
         column("fits", fits, "",
                fits ? ""
                     : fmt::format(
                           "  set {} does not fit on the CPU's counters here{}: its counts would "
                           "be scaled; remove events, or make more sets",
                           set + 1,
                           plan.counters.empty() ? "" : " together with what each block counts"))});
  }
  row.push_back(column("rotate", std::move(sets), "",
                       plan.rotated.empty()
                           ? ""
                           : "the plan counts sets of events in turn, one set in each block:"));
  if (fewest == 1)
    row.push_back(shown_only(
        "",
        "at least one set of events is counted in only one block, so the experiment cannot detect "
        "changes in these events: use more repetitions or fewer sets"));
  else if (fewest <= few_df)
    row.push_back(shown_only(
        "",
        fmt::format("with {} blocks for each set of events, the experiment can detect only large "
                    "changes in the events: use more repetitions or fewer sets to detect smaller "
                    "changes",
                    fewest)));
}

// Each event that a block counts, or that one of the sets counts.
std::vector<Row> event_rows(const plan::Plan& plan, const CountersHere& here) {
  std::vector<Row> rows;
  const auto add = [&](const std::string& name, const Value& group, const Value& set,
                       std::size_t blocks_of) {
    const auto& lacking = here.sets.at(blocks_of).lacking;
    const auto missing = std::ranges::find(lacking, name, &counters::Reading::name);
    const bool absent = missing != lacking.end();
    rows.push_back({json_only("name", name), json_only("group", group), json_only("set", set),
                    json_only("status", absent ? "absent" : "counted"),
                    json_only("reason", absent ? missing->reason : "")});
  };
  for (std::size_t i = 0; i < plan.counters.size(); ++i)
    for (const std::string& name : plan.counters[i]) add(name, i + 1, {}, 0);
  for (std::size_t i = 0; i < plan.rotated.size(); ++i)
    for (const std::string& name : plan.rotated[i]) add(name, {}, i + 1, i);
  return rows;
}

// The sampled event; null if the plan has no profile.
Value profile_of(const plan::Plan& plan, const CountersHere& here) {
  if (plan.profile.empty()) return {};
  return Row{
      column("event", plan.profile, "",
             fmt::format("profiles: {}, {} samples per second of running time", plan.profile,
                         plan.profile_hz)),
      json_only("hz", plan.profile_hz),
      column("reason", here.profile, "",
             here.profile.empty()
                 ? ""
                 : fmt::format("there are no profiles, because {} cannot be sampled here: {}",
                               plan.profile, here.profile))};
}

// Adds a line for each event that this machine lacks, whichever sets count the event.
void add_lacking(const plan::Plan& plan, const CountersHere& here, Row& row) {
  bool nothing = !here.profile.empty() && plan.refuse_absent;
  std::vector<std::string> lines;
  const plan::BlocksWithNumber measured(plan, plan.analysis.response);
  const auto parts = plan::parts_of(plan, plan.analysis.response);
  for (std::uint32_t set = 0; set < here.sets.size(); ++set)
    for (const counters::Reading& each : here.sets[set].lacking) {
      std::string line = fmt::format("{} cannot be counted here: {}", each.name, each.reason);
      if (std::ranges::find(lines, line) == lines.end()) lines.push_back(std::move(line));
      nothing = nothing || plan.refuse_absent ||
                (measured.in_set(set) && std::ranges::find(parts, each.name) != parts.end());
    }
  if (nothing) lines.emplace_back("this plan would therefore measure nothing on this machine");
  for (std::string& line : lines) row.push_back(shown_only("", std::move(line)));
}

// A derived measure has a formula instead of a stream, `from`.
Row measure_row(const plan::OutputMeasure& each, const Value& from, const Value& formula,
                const std::string& words) {
  const auto or_null = [](const auto& text) { return text ? Value(*text) : Value(); };
  return {column("name", each.name, "", one_line(words, 1500)),
          json_only("unit", each.unit),
          json_only("from", from),
          json_only("regex", known(each.regex)),
          json_only("json", or_null(each.json)),
          json_only("google_benchmark", or_null(each.google_benchmark)),
          json_only("take", each.regex.empty() ? Value() : std::string(to_string(each.pick))),
          json_only("benchmarks", each.benchmarks),
          json_only("formula", formula)};
}

}  // namespace

Result<CountersHere> counters_here(const plan::Plan& plan) {
  CountersHere here;
  const bool counts = !plan.counters.empty() || !plan.rotated.empty() || !plan.profile.empty();
  if (counts && !plan.privileges && !machine::give_up_privileges())
    return fail_errno("cannot give up root's rights");
  const auto each_block = counters::find_groups(plan.counters);
  if (!each_block) return fail("'measure.counters': " + each_block.error().message);
  const auto rotated = counters::find_groups(plan.rotated);
  if (!rotated) return fail("'measure.rotate': " + rotated.error().message);
  for (std::size_t i = 0; i < std::max<std::size_t>(rotated->size(), 1); ++i) {
    std::vector<counters::Group> groups = *each_block;
    if (i < rotated->size()) groups.push_back((*rotated)[i]);
    counters::Counting counting(std::move(groups));
    here.sets.push_back({.lacking = counting.lacking(), .fits = counting.fits()});
  }
  if (plan.profile.empty()) return here;
  if (const auto event = counters::find_sampled(plan.profile); !event)
    return fail("'measure.profile': " + event.error().message);
  here.profile = counters::Profiler(plan.profile, plan.profile_hz).lacking();
  return here;
}

Row events(const plan::Plan& plan, const CountersHere& here) {
  std::vector<std::string> groups;
  for (const auto& group : plan.counters)
    groups.push_back(fmt::format("{}", fmt::join(group, " with ")));
  Row row{column("counters", event_rows(plan, here), "",
                 groups.empty() ? "" : fmt::format("counts: {}", fmt::join(groups, ", ")))};
  add_turns(plan, here, row);
  row.push_back(json_only("profile", profile_of(plan, here)));
  add_lacking(plan, here, row);
  return row;
}

Row measures(const plan::Plan& plan) {
  Row row;
  for (const plan::OtherResponse& each : plan.analysis.others) {
    const bool by_turns = plan::BlocksWithNumber(plan, each.name).takes_turns();
    row.push_back(shown_only(
        "", fmt::format("the plan also compares {}, with separate verdicts ({} is better){}",
                        one_line(each.name, 200), each.higher_is_better ? "more" : "less",
                        by_turns ? ", in the blocks that count it" : "")));
  }
  std::vector<Row> rows;
  for (const plan::OutputMeasure& each : plan.outputs) {
    const std::string from(stream_of(each));
    const std::string unit = each.unit.empty() ? "" : fmt::format(" ({})", each.unit);
    const std::string how =
        each.google_benchmark ? fmt::format("each benchmark's {} in Google Benchmark's JSON on {}",
                                            *each.google_benchmark, from)
        : each.json ? fmt::format("the number at '{}' in the JSON on {}", *each.json, from)
                    : fmt::format("{} of '{}' on {}", words_of_pick(each.pick), each.regex, from);
    const std::string where =
        each.benchmarks.empty() ? "" : fmt::format(", of {}", fmt::join(each.benchmarks, ", "));
    rows.push_back(
        measure_row(each, from, {}, fmt::format("reads {}{}: {}{}", each.name, unit, how, where)));
  }
  for (const plan::DerivedMeasure& each : plan.derived)
    rows.push_back(measure_row({.name = each.name}, {}, each.formula,
                               fmt::format("derives {}: {}", each.name, each.formula)));
  row.push_back(json_only("measures", std::move(rows)));
  return row;
}

}  // namespace stab::client
