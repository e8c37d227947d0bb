// SPDX-License-Identifier: MIT
// [measure], and which of all that is measured is the response.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <span>
#include <utility>

#include "plan/measures/builds.h"
#include "plan/measures/formula.h"
#include "plan/measures/regions.h"
#include "plan/measures/simulated.h"
#include "plan/reading/draft.h"
#include "plan/rules.h"

namespace stab::plan {
namespace {

// An event by whose name each trial has a reading that is no count of events.
constexpr std::string_view first_threads_own = "cpu-migrations";

// Why a plan cannot count an event of this name; "" if it can.
std::string why_no_event(const std::string& name, const Draft& draft) {
  if (name == first_threads_own)
    return fmt::format(
        "{} of its first thread are already a reading of each trial; use 'migrations' to count "
        "those of all its threads and processes",
        shown(name));
  if (region_of(name) || is_simulated(name) || is_of_builds(name) ||
      std::ranges::find(words::responses, name) != words::responses.end())
    return fmt::format("{} is measured in each trial and is not a counter: leave it out",
                       shown(name));
  if (std::ranges::any_of(draft.factors,
                          [&](const DraftFactor& each) { return each.value.name == name; }))
    return fmt::format(
        "{} is also a factor, and exports need one column per name: give the factor another name",
        shown(name));
  return "";
}

// Groups of events that each block counts, and sets of which each block counts one.
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

  // After the counters. An event may be in several sets.
  void read_rotated(const Items& items) {
    const Pair& pair = *table_.find("rotate");
    if (items.size() < least_sets || items.size() > max_sets)
      return table_.refuse(
          pair, fmt::format("{} to {} arrays of names; for a single set use 'measure.counters'",
                            least_sets, max_sets));
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
  // Those that may be counted and are not in `seen`, which they become part of.
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
                        "{} is also in 'measure.counters', so it is counted in each block: leave "
                        "it out",
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
                      all, pair.key == "rotate" ? " with those of 'measure.counters'" : "",
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
          at,
          fmt::format("'analysis.response' needs '{}', but benchmark '{}' has no 'build' to time",
                      compile_time, shown(benchmark.value.name)));
}

// What is compared must be there in each benchmark.
void check_all_print(const std::string& response, Position at, Draft& draft) {
  for (const std::string& part : parts_of(draft.plan, response)) {
    if (part == compile_time) check_all_are_built(at, draft);
    const auto output = std::ranges::find(draft.plan.outputs, part, &OutputMeasure::name);
    if (output == draft.plan.outputs.end() || output->benchmarks.empty()) continue;
    for (const DraftBenchmark& benchmark : draft.benchmarks)
      if (std::ranges::find(output->benchmarks, benchmark.value.name) == output->benchmarks.end())
        return draft.problems.add(
            at, fmt::format(
                    "'analysis.response' needs '{}', which benchmark '{}' does not print: list the "
                    "benchmark in 'measure.output.benchmarks', or move it to a plan of its own",
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
    draft.problems.add(
        &value == &pair.value ? pair.at : value.at,
        fmt::format(
            "'analysis.response' {} needs [measure] simulate = true, which measures no time",
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
        fmt::format("'analysis.response' must be {}, {}, 'region-NAME-ns' or 'region-NAME-count', "
                    "one of 'measure.counters' or the name of a measure, not {}{}",
                    fmt::join(words::responses, ", "), fmt::join(words::of_builds, ", "),
                    shown(*given), did_you_mean(*given, known)));
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
          fmt::format("'analysis.higher' contains {}, which is not one of the further responses in "
                      "'analysis.response'; 'analysis.better' is about the first one",
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
  analysis.response = words::responses.front();
  const Pair* pair = table ? table->find("response") : nullptr;
  if (pair == nullptr) return;
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

}  // namespace stab::plan
