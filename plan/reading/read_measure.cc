// SPDX-License-Identifier: MIT
// Reads [measure]: the events, the plan's own readings, the response, and trials under a simulator.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <span>
#include <utility>

#include "design/trial_list.h"
#include "plan/measures/formula.h"
#include "plan/measures/google_benchmark.h"
#include "plan/measures/names.h"
#include "plan/measures/output.h"
#include "plan/reading/draft.h"
#include "plan/texts.h"

namespace stab::plan {

namespace {

// An event whose name is also the name of a reading that each trial has without counting.
constexpr std::string_view first_threads_own = "cpu-migrations";

// The reason why a plan can't count an event of this name, or "" if it can.
std::string why_no_event(const std::string& name, const Draft& draft) {
  if (name == first_threads_own)
    return fmt::format(
        "each trial already records {} for its first thread; to count the migrations of all "
        "threads and processes, use 'migrations'",
        shown(name));
  if (region_of(name) || is_simulated(name) || is_of_builds(name) ||
      std::ranges::find(words::responses, name) != words::responses.end())
    return fmt::format("{} is measured in each trial and is not a counter: leave it out",
                       shown(name));
  if (std::ranges::any_of(draft.factors,
                          [&](const DraftFactor& each) { return each.value.name == name; }))
    return fmt::format(
        "{} is also the name of a factor, but an export has only one column for each name: rename "
        "the factor",
        shown(name));
  return "";
}

// Reads groups of events that each block counts, and sets of which each block counts one.
class CounterReader {
 public:
  explicit CounterReader(const Table& table, Draft& draft) : draft_(draft), table_(table) {}

  void read_counters(const Items& items) {
    const Pair& pair = *table_.find("counters");
    for (const Value& item : items) {
      const auto* group = std::get_if<Items>(&item.data);
      if (group != nullptr && group->empty())
        table_.refuse_item(pair, item, "the name of an event or an array of such names");
      else
        draft_.plan.counters.push_back(
            names_of(pair, group == nullptr ? std::span(&item, 1) : std::span(*group), always_));
    }
    check_number(pair);
  }

  // Sets come after the counters. An event may be in several sets.
  void read_rotated(const Items& items) {
    const Pair& pair = *table_.find("rotate");
    if (items.size() < least_sets || items.size() > max_sets)
      return draft_.problems.add(
          pair.at,
          fmt::format("'measure.rotate' needs {} to {} arrays of names, but has {}{}", least_sets,
                      max_sets, items.size(),
                      items.size() == 1 ? ": for a single set, use 'measure.counters'" : ""));
    draft_.rotate_at = pair.at;
    for (const Value& item : items) {
      const auto* set = std::get_if<Items>(&item.data);
      std::set<std::string> seen = always_;
      if (set == nullptr || set->empty())
        table_.refuse_item(pair, item, "an array of at least one name");
      else
        draft_.plan.rotated.push_back(names_of(pair, *set, seen));
    }
    check_number(pair);
  }

 private:
  // Returns the events that may be counted and are not in `seen`, and adds them to `seen`.
  std::vector<std::string> names_of(const Pair& pair, std::span<const Value> items,
                                    std::set<std::string>& seen) {
    std::vector<std::string> names;
    for (const Value& item : items) {
      const auto* name = std::get_if<std::string>(&item.data);
      if (name == nullptr || !is_event(*name)) {
        table_.refuse_item(pair, item, event_rule);
        continue;
      }
      std::string why = why_no_event(*name, draft_);
      if (why.empty() && !seen.insert(*name).second)
        why = always_.contains(*name) && &seen != &always_
                  ? fmt::format(
                        "{} is also in 'measure.counters', so each block counts it: leave it out "
                        "of 'measure.rotate'",
                        shown(*name))
                  : fmt::format("{} is already counted", shown(*name));
      if (why.empty())
        names.push_back(*name);
      else
        draft_.problems.add(item.at, std::move(why));
    }
    return names;
  }

  void check_number(const Pair& pair) {
    const std::size_t all = counter_names(draft_.plan).size();
    if (all > max_counters)
      draft_.problems.add(
          pair.at,
          fmt::format("'measure.{}' has {} names{}, but at most {} are allowed", shown(pair.key),
                      all, pair.key == "rotate" ? " including the names in 'measure.counters'" : "",
                      max_counters));
  }

  Draft& draft_;
  const Table& table_;
  std::set<std::string> always_;  // counted in each block
};

void check_all_are_built(Position at, Draft& draft) {
  for (const DraftBenchmark& benchmark : draft.benchmarks)
    if (!benchmark.value.build)
      return draft.problems.add(
          at, fmt::format("'analysis.response' needs '{}', but benchmark '{}' has no 'build'",
                          compile_time, shown(benchmark.value.name)));
}

void check_all_have_company(Position at, Draft& draft) {
  for (const DraftBenchmark& benchmark : draft.benchmarks)
    if (benchmark.value.beside.empty())
      return draft.problems.add(
          at, fmt::format("'analysis.response' needs 'relative_cpu', which compares with a "
                          "'beside' command, but benchmark '{}' has no 'beside'",
                          shown(benchmark.value.name)));
}

// Each benchmark must print the number that is compared.
void check_all_print(const std::string& response, Position at, Draft& draft) {
  for (const std::string& part : parts_of(draft.plan, response)) {
    if (part == compile_time) check_all_are_built(at, draft);
    if (part == counters::relative_cpu) check_all_have_company(at, draft);
    const auto output = std::ranges::find(draft.plan.outputs, part, &OutputMeasure::name);
    if (output == draft.plan.outputs.end() || output->benchmarks.empty()) continue;
    for (const DraftBenchmark& benchmark : draft.benchmarks)
      if (std::ranges::find(output->benchmarks, benchmark.value.name) == output->benchmarks.end())
        return draft.problems.add(
            at, fmt::format(
                    "'analysis.response' needs the number '{}' from each benchmark, but "
                    "'measure.output.benchmarks' does not list benchmark '{}': add the benchmark "
                    "to this list, or move it to a plan of its own",
                    shown(part), shown(benchmark.value.name)));
  }
}

bool is_response(const Table& table, const Pair& pair, const Value& value, Draft& draft) {
  const auto* given = std::get_if<std::string>(&value.data);
  if (given == nullptr || !is_event(*given)) {
    constexpr std::string_view words = "a text of 1 to 200 printable characters";
    if (&value == &pair.value)
      table.refuse(pair, words);
    else
      table.refuse_item(pair, value, words);
    return false;
  }
  if (is_simulated(*given) && !draft.plan.simulated) {
    draft.problems.add(&value == &pair.value ? pair.at : value.at,
                       fmt::format("'analysis.response' {} needs simulate = true in [measure], "
                                   "because only the simulator counts it",
                                   *given));
    return false;
  }
  Words known(words::responses.begin(), words::responses.end());
  for (const std::string_view name : simulated_names) known.emplace_back(name);
  for (const std::string_view name : words::of_builds) known.emplace_back(name);
  for (std::string& name : counter_names(draft.plan)) known.push_back(std::move(name));
  for (const OutputMeasure& each : draft.plan.outputs) known.push_back(each.name);
  for (const DerivedMeasure& each : draft.plan.derived) known.push_back(each.name);
  if (!region_of(*given) && std::ranges::find(known, *given) == known.end()) {
    draft.problems.add(
        &value == &pair.value ? pair.at : value.at,
        fmt::format(
            "'analysis.response' must be {}, {}, 'region-NAME-ns' or 'region-NAME-count', "
            "an event of 'measure.counters' or 'measure.rotate', a count of 'measure.simulate', or "
            "the name of a measure, not {}{}",
            fmt::join(words::responses, ", "), fmt::join(words::of_builds, ", "), shown(*given),
            did_you_mean(*given, known)));
    return false;
  }
  check_all_print(*given, pair.at, draft);
  return true;
}

bool is_other(const Analysis& analysis, const std::string& name) {
  return std::ranges::find(analysis.others, name, &OtherResponse::name) != analysis.others.end();
}

void read_directions(const Table& table, Draft& draft) {
  const auto names = given<"analysis.higher">(table);
  if (!names) return;
  const Items& items = std::get<Items>(table.find("higher")->value.data);
  for (std::size_t i = 0; i < names->size(); ++i) {
    const auto other =
        std::ranges::find(draft.plan.analysis.others, (*names)[i], &OtherResponse::name);
    if (other != draft.plan.analysis.others.end())
      other->higher_is_better = true;
    else
      draft.problems.add(
          items[i].at,
          fmt::format("'analysis.higher' contains {}, but 'analysis.response' does not list it as "
                      "a further response; for the first response, set 'analysis.better'",
                      shown((*names)[i])));
  }
}

}  // namespace

void read_measure(const Table& root, Draft& draft) {
  const auto table = root.table("measure", names_below("measure"));
  draft.plan.refuse_absent = value<"measure.on_absent">(table) == "refuse";
  draft.plan.simulated = value<"measure.simulate">(table);
  draft.plan.profile_hz = value<"measure.profile_hz">(table);
  if (!table) return;
  draft.measure_at = table->at();
  if (const Pair* simulate = table->find("simulate")) draft.simulate_at = simulate->at;
  draft.plan.profile = given<"measure.profile">(*table).value_or("");
  CounterReader counters(*table, draft);
  if (const Items* items = table->items("counters", "an array of names"))
    counters.read_counters(*items);
  if (const Items* items = table->items("rotate", "an array of arrays of names"))
    counters.read_rotated(*items);
  read_own_measures(*table, draft);
}

void read_response(const std::optional<Table>& table, Draft& draft) {
  Analysis& analysis = draft.plan.analysis;
  // While a command runs beside a trial, the trial's other times tell little.
  const bool has_company = !draft.benchmarks.empty() &&
                           std::ranges::none_of(draft.benchmarks, [](const DraftBenchmark& each) {
                             return each.value.beside.empty();
                           });
  analysis.response = has_company ? counters::relative_cpu : words::responses.front();
  const Pair* pair = table ? table->find("response") : nullptr;
  if (pair == nullptr) {
    // Earlier versions accepted such plans, so stored plans may have this key.
    analysis.has_idle_higher = table && table->find("higher") != nullptr;
    return;
  }
  draft.response_at = pair->at;
  const auto* items = std::get_if<Items>(&pair->value.data);
  if (items != nullptr && (items->empty() || items->size() > max_responses))
    return table->refuse(*pair, fmt::format("a text, or an array of 1 to {} texts", max_responses));
  bool is_first = true;
  for (const Value& item : items == nullptr ? std::span(&pair->value, 1) : std::span(*items)) {
    if (!is_response(*table, *pair, item, draft)) continue;
    const std::string& name = std::get<std::string>(item.data);
    if (std::exchange(is_first, false))
      analysis.response = name;
    else if (name == analysis.response || is_other(analysis, name))
      draft.problems.add(item.at, fmt::format("'analysis.response' has {} twice", shown(name)));
    else
      analysis.others.push_back({.name = name});
  }
  read_directions(*table, draft);
}

// Reads [[measure.output]] and [measure.derived], the readings that the plan defines.

namespace {

// The numbers that formulas can name.
Words parts_for(const Plan& plan) {
  Words names(words::responses.begin(), words::responses.end());
  names.insert(names.end(), words::of_builds.begin(), words::of_builds.end());
  if (plan.simulated)
    for (const std::string_view name : simulated_names) names.emplace_back(name);
  for (const std::string& name : counter_names(plan)) names.push_back(name);
  for (const OutputMeasure& each : plan.outputs) names.push_back(each.name);
  return names;
}

bool is_among(const Words& words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

// The reason why a measure can't have this name, or "" if the name is free. Each name is one column
// of an export.
std::string_view why_taken(const std::string& name, const Draft& draft) {
  if (is_own_name(name)) return "is a name that every trial already uses";
  if (is_among(parts_for(draft.plan), name)) return "is already measured";
  if (std::ranges::find(draft.plan.derived, name, &DerivedMeasure::name) !=
      draft.plan.derived.end())
    return "is already measured";
  if (std::ranges::any_of(draft.factors,
                          [&](const DraftFactor& each) { return each.value.name == name; }))
    return "is also a factor";
  return "";
}

bool is_free(const std::string& name, Position at, Draft& draft) {
  const std::string_view why = why_taken(name, draft);
  if (why.empty()) return true;
  draft.problems.add(at,
                     fmt::format("'{}' {}: choose another name for the measure", shown(name), why));
  return false;
}

void read_regex(const Table& table, OutputMeasure& measure) {
  measure.regex = given<"measure.output.regex">(table).value_or("");
  if (measure.regex.empty()) return;
  if (const std::string fault = pattern_fault(measure.regex); !fault.empty())
    table.problems().add(table.find("regex")->value.at,
                         fmt::format("'measure.output.regex': {}", shown(fault)));
}

void read_json(const Table& table, OutputMeasure& measure) {
  measure.json = given<"measure.output.json">(table);
  if (!measure.json) return;
  if (const std::string fault = pointer_fault(*measure.json); !fault.empty())
    table.problems().add(table.find("json")->value.at,
                         "'measure.output.json' is not a pointer: " + fault);
}

void read_google_benchmark(const Table& table, OutputMeasure& measure) {
  measure.google_benchmark = given<"measure.output.google_benchmark">(table);
  const Pair* unit = table.find("unit");
  if (unit != nullptr && measure.unit != "ns" && measure.google_benchmark &&
      is_google_time(*measure.google_benchmark))
    table.problems().add(unit->at,
                         "'measure.output.unit' must be ns for times of Google Benchmark");
}

// Reads the keys that say where the number is, and checks them.
void read_place(const Table& table, OutputMeasure& measure) {
  const bool regex = table.find("regex") != nullptr;
  const bool json = table.find("json") != nullptr;
  const bool google = table.find("google_benchmark") != nullptr;
  if (int{regex} + int{json} + int{google} != 1)
    return table.problems().add(
        table.at(),
        "'measure.output' needs one of 'regex', 'json' and 'google_benchmark' to find the value");
  if (regex) return read_regex(table, measure);
  if (json)
    read_json(table, measure);
  else
    read_google_benchmark(table, measure);
  if (const Pair* take = table.find("take"))
    table.problems().add(
        take->at,
        fmt::format("'measure.output.take' is for 'regex': {}",
                    json ? "'json' selects one value"
                         : "with 'google_benchmark', each repetition is a sample of the trial"));
}

void read_benchmark_names(const Table& table, OutputMeasure& measure, const Draft& draft) {
  const auto names = given<"measure.output.benchmarks">(table);
  if (!names) return;
  const Pair& pair = *table.find("benchmarks");
  if (names->empty())
    return table.refuse(pair,
                        "an array of at least one name (to use all benchmarks, leave the key out)");
  Words known;
  for (const DraftBenchmark& each : draft.benchmarks) known.push_back(each.value.name);
  const Items& items = std::get<Items>(pair.value.data);
  for (std::size_t i = 0; i < names->size(); ++i)
    if (!is_among(known, (*names)[i]))
      table.problems().add(items[i].at,
                           fmt::format("no benchmark has the name '{}'{}", shown((*names)[i]),
                                       did_you_mean((*names)[i], known)));
  measure.benchmarks = *names;
}

void read_output_measure(const Value& value, Draft& draft) {
  const Table table(draft.problems, value, "measure.output", names_below("measure.output"));
  OutputMeasure measure;
  table.require("name", name_rule);
  measure.name = given<"measure.output.name">(table).value_or("");
  measure.unit = given<"measure.output.unit">(table).value_or("");
  read_place(table, measure);
  const auto take = plan::value<"measure.output.take">(table);
  for (const Pick pick : {Pick::first, Pick::last, Pick::mean, Pick::sum, Pick::samples})
    if (take == to_string(pick)) measure.pick = pick;
  measure.from_stderr = plan::value<"measure.output.from">(table) == "stderr";
  read_benchmark_names(table, measure, draft);
  if (!measure.name.empty() && is_free(measure.name, table.find("name")->value.at, draft))
    draft.plan.outputs.push_back(std::move(measure));
}

void read_outputs(const Table& measure, Draft& draft) {
  const Items* items = measure.items("output", "an array of tables, written as [[measure.output]]");
  if (items == nullptr) return;
  const Pair& pair = *measure.find("output");
  if (items->size() > max_measures)
    return draft.problems.add(
        pair.at,
        fmt::format("a plan may have at most {} 'measure.output' tables, but this one has {}",
                    max_measures, items->size()));
  for (const Value& item : *items)
    if (std::holds_alternative<Pairs>(item.data))
      read_output_measure(item, draft);
    else
      measure.refuse_item(pair, item, "a table, written as [[measure.output]]");
}

// "; 'page-faults' stands in quotes": a hint if a longer name begins at the same place.
std::string quotes_hint(std::string_view text, const Step& step, const Words& known) {
  for (const std::string& name : known)
    if (name.size() > step.name.size() && text.substr(step.at - 1).starts_with(name))
      return fmt::format(": put '{}' in quotes", name);
  return "";
}

void check_names_of(const std::string& path, Position at, const std::string& text,
                    const Formula& formula, const Table& derived, Draft& draft) {
  const Words known = parts_for(draft.plan);
  for (const Step& step : formula) {
    if (step.kind != Step::Kind::name) continue;
    if (draft.plan.is_split(step.name))
      draft.problems.add(
          at, fmt::format("'{}', character {}: '{}' has a value for each of Google Benchmark's "
                          "benchmarks, but a formula needs one value per trial",
                          path, step.at, shown(step.name)));
    if (is_among(known, step.name) || region_of(step.name)) continue;
    const std::string hint = quotes_hint(text, step, known);
    std::string why =
        fmt::format("'{}' is not a counter, response or output measure{}", shown(step.name),
                    hint.empty() ? did_you_mean(step.name, known) : hint);
    if (derived.find(step.name) != nullptr)
      why =
          fmt::format("'{}' is itself a derived measure: write its formula here", shown(step.name));
    draft.problems.add(at, fmt::format("'{}', character {}: {}", path, step.at, why));
  }
}

void read_derived(const Table& measure, Draft& draft) {
  const auto table = measure.open_table("derived");
  if (!table) return;
  if (table->pairs().size() > max_measures)
    return draft.problems.add(
        table->at(), fmt::format("'measure.derived' has {} names, but at most {} are allowed",
                                 table->pairs().size(), max_measures));
  for (const Pair& pair : table->pairs()) {
    const std::string path = table->path(shown(pair.key));
    if (!is_name(pair.key)) {
      draft.problems.add(
          pair.at, fmt::format("'{}' is not a valid name for a measure: use {}", path, name_rule));
      continue;
    }
    const auto text = table->text(pair.key, is_formula, formula_rule);
    if (!text || !is_free(pair.key, pair.at, draft)) continue;
    const auto formula = parse_formula(*text);
    if (!formula)
      draft.problems.add(pair.value.at, fmt::format("'{}', character {}: {}", path,
                                                    formula.error().at, formula.error().message));
    else
      check_names_of(path, pair.value.at, *text, *formula, *table, draft);
    if (!formula) continue;
    draft.plan.derived.push_back({.name = pair.key, .formula = *text});
    if (BlocksWithNumber(draft.plan, pair.key).in_no_set())
      draft.problems.add(pair.value.at,
                         fmt::format("'{}' is computed from events that no block counts together: "
                                     "put them into one set of 'measure.rotate'",
                                     path));
  }
}

}  // namespace

void read_own_measures(const Table& measure, Draft& draft) {
  read_outputs(measure, draft);
  read_derived(measure, draft);
}

// Checks measure.rotate: sets of events that take turns need enough blocks, and the response must
// be counted in some of them.

namespace {

// The number of the benchmark's blocks, once the plan is read.
std::uint32_t blocks_of(const Draft& draft, const DraftBenchmark& benchmark) {
  if (draft.plan.design.stop) return draft.plan.design.stop->min();
  for (const DraftFactor& factor : draft.factors)
    if (const auto* seeds = std::get_if<RandomSeeds>(&factor.value.levels)) return seeds->runs;
  return benchmark.value.repetitions;
}

void check_blocks(Draft& draft) {
  const std::size_t sets = draft.plan.rotated.size();
  for (const DraftBenchmark& benchmark : draft.benchmarks)
    if (const std::uint32_t blocks = blocks_of(draft, benchmark); blocks < sets)
      draft.problems.add(
          draft.rotate_at,
          fmt::format("'measure.rotate' has {} sets and needs a block for each set, but '{}' has "
                      "{} block{}{}: use more blocks, or fewer sets",
                      sets, shown(benchmark.value.name), blocks, blocks == 1 ? "" : "s",
                      draft.plan.design.stop ? " before the experiment may end" : ""));
}

void check_response(const std::string& name, Draft& draft) {
  if (!BlocksWithNumber(draft.plan, name).takes_turns()) return;
  if (const std::string_view why = why_not_by_turns(draft.plan); !why.empty())
    draft.problems.add(
        draft.response_at,
        fmt::format(
            "'analysis.response' cannot be {}: 'measure.rotate' counts it only in some blocks, "
            "and {}. Count it in 'measure.counters', or compare another response",
            shown(name), why));
}

}  // namespace

void check_turns(Draft& draft) {
  if (draft.plan.rotated.empty() || !draft.kind_is_good || !draft.factors_are_good) return;
  check_blocks(draft);
  check_response(draft.plan.analysis.response, draft);
  for (const OtherResponse& other : draft.plan.analysis.others) check_response(other.name, draft);
}

// Checks measure.simulate: a plan whose trials run under a simulator can't ask for anything that
// only real runs have.

namespace {

void refuse(Draft& draft, std::string_view what) {
  draft.problems.add(*draft.simulate_at, fmt::format("'measure.simulate' {}", what));
}

void check_number(const std::string& name, Position at, Draft& draft) {
  for (const std::string& part : parts_of(draft.plan, name))
    if (is_of_real_runs(part))
      draft.problems.add(
          at, fmt::format(
                  "with 'measure.simulate', the value of {} would describe the simulator itself: "
                  "compare one of {}",
                  part == name ? shown(name) : fmt::format("{} of {}", shown(part), shown(name)),
                  fmt::join(simulated_names, ", ")));
}

void check_numbers(Draft& draft) {
  const bool given = draft.response_at.line != 0;
  const Position at = given ? draft.response_at : *draft.simulate_at;
  if (given)
    check_number(draft.plan.analysis.response, at, draft);
  else
    refuse(draft,
           "does not measure wall time: add [analysis] response = \"simulated-instructions\"");
  for (const OtherResponse& each : draft.plan.analysis.others) check_number(each.name, at, draft);
  for (const DerivedMeasure& each : draft.plan.derived)
    check_number(each.name, *draft.simulate_at, draft);
}

void check_runtime(Draft& draft) {
  const auto is_repeated = [](std::string_view name, const Level& level) {
    return name == "period" || name == "budget" ||
           (name == "rerandomize" && level.name == "repeated");
  };
  constexpr std::string_view why =
      "does not change the layout during a run, because a clock would decide when to change it: ";
  for (const auto& [name, level] : draft.plan.randomize)
    if (is_repeated(name, level))
      refuse(draft, fmt::format("{}leave out 'randomize.{}'", why, name));
  for (const DraftFactor& factor : draft.factors) {
    if (factor.value.kind == FactorKind::option &&
        (factor.value.name == "rerandomize" || is_repeated(factor.value.name, {})))
      refuse(draft, fmt::format("{}leave out the factor '{}'", why, factor.value.name));
    if (factor.value.kind == FactorKind::aslr)
      refuse(draft, "runs in the simulator's address space: leave out the factor 'aslr'");
  }
}

}  // namespace

void check_simulated(Draft& draft) {
  if (!draft.plan.simulated) return;
  const Plan& plan = draft.plan;
  check_numbers(draft);
  check_runtime(draft);
  if (!plan.counters.empty() || !plan.rotated.empty())
    refuse(draft,
           "does its own counting, and other counters would include the simulator's own work: "
           "leave out 'measure.counters' and 'measure.rotate'");
  if (!plan.profile.empty())
    refuse(draft, "does not measure time, but a profile needs times: leave out 'measure.profile'");
  if (std::ranges::any_of(plan.outputs, [](const OutputMeasure& each) {
        return each.google_benchmark.has_value();
      }))
    refuse(draft,
           "cannot be combined with Google Benchmark, which decides by the clock how often it "
           "repeats a measurement");
  if (!plan.exclude.empty() || plan.wait_for_quiet || plan.quiesce != Quiesce::off)
    refuse(draft,
           "counts in a simulator that other programs cannot disturb: leave out 'exclude', "
           "'machine.wait_for_quiet' and 'machine.quiesce'");
  if (plan.aslr) refuse(draft, "runs in the simulator's address space: leave out 'machine.aslr'");
  if (std::ranges::any_of(draft.benchmarks,
                          [](const DraftBenchmark& each) { return each.value.memory_limit != 0; }))
    refuse(draft,
           "needs memory of its own, which would count as the program's memory: leave out "
           "'memory_limit'");
  if (std::ranges::any_of(draft.benchmarks,
                          [](const DraftBenchmark& each) { return each.value.file_limit != 0; }))
    refuse(draft,
           "writes files of its own, and 'file_limit' would limit these files, too: leave out "
           "'file_limit'");
}

}  // namespace stab::plan
