// SPDX-License-Identifier: MIT
// [design] stop: reads the rule, and says which designs it does not fit.
#include <fmt/format.h>

#include <algorithm>

#include "plan/reading/draft.h"

namespace stab::plan {
namespace {

constexpr std::uint32_t most_precise_looks = 100;  // each reads all trials so far

// `count` numbers of blocks from min on, evenly spaced; after them comes max, where all ends.
std::vector<std::uint32_t> looks(std::uint32_t min, std::uint32_t max, std::uint32_t count) {
  std::vector<std::uint32_t> result;
  for (std::uint64_t i = 0; i < count; ++i)
    result.push_back(min + static_cast<std::uint32_t>((max - min) * i / count));
  return result;
}

void refuse_key(const Table& table, const char* key, const char* rule) {
  if (const Pair* pair = table.find(key))
    table.problems().add(
        pair->at,
        fmt::format("'{}' needs rule = \"{}\": set it, or remove the key", table.path(key), rule));
}

struct Bounds {
  std::uint32_t min = 0;
  std::uint32_t max = 0;
};

std::optional<Bounds> read_bounds(const Table& table, StopRule rule) {
  table.require("max", "the largest number of blocks");
  const auto min = given<"design.stop.min">(table, rule);
  const auto max = given<"design.stop.max">(table, rule);
  if (!max || (!min && table.find("min") != nullptr)) return std::nullopt;
  const Bounds bounds{.min = min.value_or(standard_of<"design.stop.min">), .max = *max};
  if (bounds.min < bounds.max) return bounds;
  table.refuse(*table.find("max"),
               fmt::format("more blocks than '{}', which is {}", table.path("min"), bounds.min));
  return std::nullopt;
}

std::optional<Stop> read_precision(const Table& table) {
  refuse_key(table, "looks", "sequential");
  table.require("half_width", R"(what every interval must come down to, as in "0.5%")");
  const auto half_width = given<"design.stop.half_width">(table);
  const auto bounds = read_bounds(table, StopRule::precision);
  if (!half_width || !bounds) return std::nullopt;
  const auto [min, max] = *bounds;
  return Stop{.rule = StopRule::precision,
              .half_width = *half_width,
              .max = max,
              .looks = looks(min, max, std::min(max - min, most_precise_looks))};
}

std::optional<Stop> read_sequential(const Table& table) {
  refuse_key(table, "half_width", "precision");
  const auto count = given<"design.stop.looks">(table);
  const auto bounds = read_bounds(table, StopRule::sequential);
  if (!bounds || (!count && table.find("looks") != nullptr)) return std::nullopt;
  const auto [min, max] = *bounds;
  const std::uint32_t most = max - min + 1;
  if (count && *count > most) {
    table.refuse(*table.find("looks"), fmt::format("at most {}, one for each number of blocks from "
                                                   "{} to {}",
                                                   most, min, max));
    return std::nullopt;
  }
  const std::uint32_t wanted = count.value_or(std::min(most, standard_of<"design.stop.looks">));
  // The last look is at the end.
  return Stop{.rule = StopRule::sequential,
              .half_width = 0,
              .max = max,
              .looks = looks(min, max, wanted - 1)};
}

std::string_view why_not(DesignKind kind) {
  switch (kind) {
    case DesignKind::within_subjects:
      return "its answer is about programs like these, and more blocks do not add programs";
    case DesignKind::causal:
      return "it compares nothing, and 'design.time' limits how long it takes";
    case DesignKind::nested:
      return "its treatments are tested against seeds, and more blocks do not add seeds";
    default:
      return "its error rate is unknown there";
  }
}

}  // namespace

void read_stop(const Table& design, Draft& draft) {
  draft.plan.design.time = given<"design.time">(design);
  if (const Pair* time = design.find("time")) draft.time_at = time->at;
  const auto table = design.table("stop", names_below("design.stop"));
  if (!table) return;
  draft.stop_at = design.find("stop")->at;
  table->require("rule", R"("precision" or "sequential")");
  const auto rule = given<"design.stop.rule">(*table);
  if (rule)
    draft.plan.design.stop =
        *rule == "precision" ? read_precision(*table) : read_sequential(*table);
}

void check_stop(Draft& draft) {
  const Design& design = draft.plan.design;
  if ((!design.stop && !design.time) || !draft.kind_is_good || !draft.factors_are_good) return;
  const char* name = design.stop ? "stop" : "time";
  const Position place = design.stop ? draft.stop_at : draft.time_at;
  const DesignKind kind = design.kind;
  if (kind == DesignKind::causal && !design.stop) return;
  if (kind != DesignKind::full_factorial && kind != DesignKind::one_way &&
      kind != DesignKind::custom)
    return draft.problems.add(
        place, fmt::format("'design.{}' does not apply to a {} design: {}; remove it, or "
                           "choose a full-factorial, one-way or custom design",
                           name, to_string(kind), why_not(kind)));
  if (!design.stop) return;
  if (std::ranges::none_of(draft.factors, &Factor::is_treatment, &DraftFactor::value))
    draft.problems.add(draft.stop_at,
                       "'design.stop' compares levels, but this plan has no treatment (a factor "
                       "with two or more fixed levels)");
  for (const Position at : draft.repetitions_at)
    draft.problems.add(at,
                       "'repetitions' must not be given: 'design.stop.max' is the largest number "
                       "of blocks");
}

}  // namespace stab::plan
