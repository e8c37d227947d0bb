// SPDX-License-Identifier: MIT
// [measure], and which of all that is measured is the response.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <span>

#include "plan/measures/formula.h"
#include "plan/reading/draft.h"
#include "plan/rules.h"

namespace stab::plan {
namespace {

// An event by whose name each trial has a reading that is no count of events.
constexpr std::string_view first_threads_own = "cpu-migrations";

class CounterReader {
 public:
  explicit CounterReader(const Table& table, Draft& draft)
      : draft_(draft), pair_(*table.find("counters")), table_(table) {}

  void read(const Items& items) {
    for (const Value& item : items) {
      const auto* group = std::get_if<Items>(&item.data);
      if (group == nullptr)
        add(std::span(&item, 1));
      else if (group->empty())
        table_.refuse_item(pair_, item, "the name of an event or an array of such names");
      else
        add(*group);
    }
    if (seen_.size() > max_counters)
      draft_.problems.add(pair_.at, fmt::format("'measure.counters' has {} names, at most {} are "
                                                "allowed",
                                                seen_.size(), max_counters));
  }

 private:
  void add(std::span<const Value> items) {
    std::vector<std::string>& group = draft_.plan.counters.emplace_back();
    for (const Value& item : items) {
      const auto* name = std::get_if<std::string>(&item.data);
      if (name == nullptr || !is_event(*name))
        table_.refuse_item(pair_, item, event_rule);
      else if (*name == first_threads_own)
        draft_.problems.add(item.at,
                            fmt::format("{} of its first thread are a reading of each trial; "
                                        "'migrations' counts those of all that it starts",
                                        shown(*name)));
      else if (std::ranges::find(words::responses, *name) != words::responses.end())
        draft_.problems.add(item.at, fmt::format("{} is measured in each trial and no counter: "
                                                 "leave it out",
                                                 shown(*name)));
      else if (std::ranges::any_of(draft_.factors, [&](const DraftFactor& each) {
                 return each.value.name == *name;
               }))
        draft_.problems.add(item.at,
                            fmt::format("{} is a factor, too: exports have one column of a "
                                        "name, so give the factor another one",
                                        shown(*name)));
      else if (!seen_.insert(*name).second)
        draft_.problems.add(item.at, fmt::format("{} is counted already", shown(*name)));
      else
        group.push_back(*name);
    }
  }

  Draft& draft_;
  const Pair& pair_;
  const Table& table_;
  std::set<std::string> seen_;
};

// What is compared must be there in each benchmark.
void check_all_print(const std::string& response, Position at, Draft& draft) {
  for (const std::string& part : parts_of(draft.plan, response)) {
    const auto output = std::ranges::find(draft.plan.outputs, part, &OutputMeasure::name);
    if (output == draft.plan.outputs.end() || output->benchmarks.empty()) continue;
    for (const DraftBenchmark& benchmark : draft.benchmarks)
      if (std::ranges::find(output->benchmarks, benchmark.value.name) == output->benchmarks.end())
        return draft.problems.add(
            at, fmt::format("'analysis.response' needs '{}', which benchmark '{}' does not print: "
                            "name it in 'measure.output.benchmarks', or make it a plan of its own",
                            shown(part), shown(benchmark.value.name)));
  }
}

}  // namespace

void read_measure(const Table& root, Draft& draft) {
  const auto table = root.table("measure", names_below("measure"));
  draft.plan.refuse_absent = value<"measure.on_absent">(table) == "refuse";
  if (!table) return;
  if (const Items* items = table->items("counters", "an array of names"))
    CounterReader(*table, draft).read(*items);
  read_own_measures(*table, draft);
}

void read_response(const std::optional<Table>& table, Draft& draft) {
  std::string& response = draft.plan.analysis.response;
  response = words::responses.front();
  if (!table) return;
  const auto given = table->text("response", is_event, "a text of 1 to 200 printable characters");
  if (!given) return;
  Words known(words::responses.begin(), words::responses.end());
  for (const auto& group : draft.plan.counters)
    known.insert(known.end(), group.begin(), group.end());
  for (const OutputMeasure& each : draft.plan.outputs) known.push_back(each.name);
  for (const DerivedMeasure& each : draft.plan.derived) known.push_back(each.name);
  response = *given;
  const Position at = table->find("response")->at;
  if (std::ranges::find(known, *given) == known.end())
    draft.problems.add(
        at,
        fmt::format("'analysis.response' must be {}, one of 'measure.counters' or the name of "
                    "a measure, not {}{}",
                    fmt::join(words::responses, ", "), shown(*given), did_you_mean(*given, known)));
  else
    check_all_print(*given, at, draft);
}

}  // namespace stab::plan
