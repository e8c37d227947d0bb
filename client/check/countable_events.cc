// SPDX-License-Identifier: MIT
#include "client/check/countable_events.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/text.h"
#include "client/check/sentences.h"
#include "counters/events/counting.h"
#include "counters/profiles/profiler.h"
#include "design/rotation.h"
#include "machine/containment.h"
#include "plan/measures/formula.h"
#include "plan/measures/output.h"

namespace stab::client {
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

// Adds lines about the sets that take turns.
void add_turns(const plan::Plan& plan, const CountersHere& here, std::vector<std::string>& lines) {
  if (plan.rotated.empty()) return;
  lines.emplace_back("counts sets of events in turn, one set in each block:");
  std::uint32_t fewest = std::numeric_limits<std::uint32_t>::max();
  for (std::uint32_t set = 0; set < plan.rotated.size(); ++set) {
    const Blocks blocks = blocks_of(plan, set);
    fewest = std::min(fewest, blocks.fewest);
    const std::string most = fmt::format("{} block{}", blocks.most, blocks.most == 1 ? "" : "s");
    lines.push_back(
        fmt::format("  set {}, in {}{}: {}", set + 1,
                    blocks.fewest < blocks.most ? fmt::format("{} to ", blocks.fewest) : "", most,
                    fmt::join(plan.rotated[set], " with ")));
    if (!here.sets.at(set).fits)
      lines.push_back(fmt::format(
          "  set {} does not fit on the CPU's counters here{}: its counts would be scaled; remove "
          "events, or make more sets",
          set + 1, plan.counters.empty() ? "" : " together with what each block counts"));
  }
  if (fewest == 1)
    lines.emplace_back(
        "at least one set is counted in only one block, so the plan cannot find changes in the "
        "set's events: use more repetitions or fewer sets");
  else if (fewest <= few_df)
    lines.push_back(
        fmt::format("with {} blocks for each set, the plan finds only large changes in the set's "
                    "events: use more repetitions or fewer sets to find smaller changes",
                    fewest));
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

std::vector<std::string> counter_lines(const plan::Plan& plan, const CountersHere& here) {
  std::vector<std::string> lines;
  if (!plan.counters.empty()) {
    std::vector<std::string> groups;
    for (const auto& group : plan.counters)
      groups.push_back(fmt::format("{}", fmt::join(group, " with ")));
    lines.push_back(fmt::format("counts: {}", fmt::join(groups, ", ")));
  }
  add_turns(plan, here, lines);
  bool nothing = false;
  if (!plan.profile.empty())
    lines.push_back(fmt::format("profiles: {}, {} samples per second of running time", plan.profile,
                                plan.profile_hz));
  if (!here.profile.empty()) {
    lines.push_back(fmt::format("there are no profiles, because {} cannot be sampled here: {}",
                                plan.profile, here.profile));
    nothing = plan.refuse_absent;
  }
  const plan::Turns turns(plan, plan.analysis.response);
  const auto parts = plan::parts_of(plan, plan.analysis.response);
  for (std::uint32_t set = 0; set < here.sets.size(); ++set)
    for (const counters::Reading& each : here.sets[set].lacking) {
      std::string line = fmt::format("{} cannot be counted here: {}", each.name, each.reason);
      if (std::ranges::find(lines, line) == lines.end()) lines.push_back(std::move(line));
      nothing = nothing || plan.refuse_absent ||
                (turns.in_set(set) && std::ranges::find(parts, each.name) != parts.end());
    }
  if (nothing) lines.emplace_back("this plan would therefore measure nothing on this machine");
  return lines;
}

nlohmann::ordered_json counters_json(const plan::Plan& plan, const CountersHere& here) {
  using Json = nlohmann::ordered_json;
  Json list = Json::array();
  const auto add = [&](const std::string& name, const Json& group, const Json& set,
                       std::size_t blocks_of) {
    const auto& lacking = here.sets.at(blocks_of).lacking;
    const auto missing = std::ranges::find(lacking, name, &counters::Reading::name);
    const bool absent = missing != lacking.end();
    list.push_back({{"name", name},
                    {"group", group},
                    {"set", set},
                    {"status", absent ? "absent" : "counted"},
                    {"reason", absent ? missing->reason : ""}});
  };
  for (std::size_t i = 0; i < plan.counters.size(); ++i)
    for (const std::string& name : plan.counters[i]) add(name, i + 1, nullptr, 0);
  for (std::size_t i = 0; i < plan.rotated.size(); ++i)
    for (const std::string& name : plan.rotated[i]) add(name, nullptr, i + 1, i);
  return list;
}

nlohmann::ordered_json profile_json(const plan::Plan& plan, const CountersHere& here) {
  if (plan.profile.empty()) return nullptr;
  return {{"event", plan.profile}, {"hz", plan.profile_hz}, {"reason", here.profile}};
}

nlohmann::ordered_json rotate_json(const plan::Plan& plan, const CountersHere& here) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (std::uint32_t set = 0; set < plan.rotated.size(); ++set) {
    const Blocks blocks = blocks_of(plan, set);
    list.push_back({{"set", set + 1},
                    {"events", plan.rotated[set]},
                    {"fewest_blocks", blocks.fewest},
                    {"most_blocks", blocks.most},
                    {"fits", here.sets.at(set).fits}});
  }
  return list;
}

std::vector<std::string> measure_lines(const plan::Plan& plan) {
  std::vector<std::string> lines;
  for (const plan::OtherResponse& each : plan.analysis.others) {
    const bool by_turns = plan::Turns(plan, each.name).takes_turns();
    lines.push_back(fmt::format("also compares {}, with its own verdicts ({} is better){}",
                                one_line(each.name, 200), each.higher_is_better ? "more" : "less",
                                by_turns ? ", in the blocks that count it" : ""));
  }
  for (const plan::OutputMeasure& each : plan.outputs) {
    const std::string unit = each.unit.empty() ? "" : fmt::format(" ({})", each.unit);
    const std::string how =
        each.google_benchmark ? fmt::format("{} of each benchmark in Google Benchmark's JSON on {}",
                                            *each.google_benchmark, stream_of(each))
        : each.json
            ? fmt::format("the number at '{}' in the JSON on {}", *each.json, stream_of(each))
            : fmt::format("{} of '{}' on {}", words_of_pick(each.pick), each.regex,
                          stream_of(each));
    const std::string where =
        each.benchmarks.empty() ? "" : fmt::format(", of {}", fmt::join(each.benchmarks, ", "));
    lines.push_back(one_line(fmt::format("reads {}{}: {}{}", each.name, unit, how, where), 1500));
  }
  for (const plan::DerivedMeasure& each : plan.derived)
    lines.push_back(one_line(fmt::format("derives {}: {}", each.name, each.formula), 1500));
  return lines;
}

nlohmann::ordered_json measures_json(const plan::Plan& plan) {
  using Json = nlohmann::ordered_json;
  Json list = Json::array();
  for (const plan::OutputMeasure& each : plan.outputs)
    list.push_back(
        {{"name", each.name},
         {"unit", each.unit},
         {"from", stream_of(each)},
         {"regex", each.regex.empty() ? Json(nullptr) : Json(each.regex)},
         {"json", each.json ? Json(*each.json) : Json(nullptr)},
         {"google_benchmark", each.google_benchmark ? Json(*each.google_benchmark) : Json(nullptr)},
         {"take", each.regex.empty() ? Json(nullptr) : Json(to_string(each.pick))},
         {"benchmarks", each.benchmarks},
         {"formula", nullptr}});
  for (const plan::DerivedMeasure& each : plan.derived)
    list.push_back({{"name", each.name},
                    {"unit", ""},
                    {"from", nullptr},
                    {"regex", nullptr},
                    {"json", nullptr},
                    {"google_benchmark", nullptr},
                    {"take", nullptr},
                    {"benchmarks", Json::array()},
                    {"formula", each.formula}});
  return list;
}

}  // namespace stab::client
