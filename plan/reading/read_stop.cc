// SPDX-License-Identifier: MIT
// [design] stop: reads the rule, and says which designs it does not fit.
#include <fmt/format.h>

#include <algorithm>

#include "plan/reading/draft.h"

namespace stab::plan {
namespace {

// Intervals of fewer blocks would hold the truth less often than they say (doc/statistics.md).
constexpr std::uint32_t least_precise = 15;
constexpr std::uint32_t least_sequential = 5;
constexpr std::uint32_t default_min = 20;
constexpr std::uint32_t default_looks = 5;
constexpr std::uint32_t most_looks = 20;           // of a sequential rule
constexpr std::uint32_t most_precise_looks = 100;  // each reads all trials so far
constexpr std::uint32_t most_blocks = 1'000'000;

// `count` numbers of blocks from min on, evenly spaced; after them comes max, where all ends.
std::vector<std::uint32_t> looks(std::uint32_t min, std::uint32_t max, std::uint32_t count) {
  std::vector<std::uint32_t> result;
  for (std::uint64_t i = 0; i < count; ++i)
    result.push_back(min + static_cast<std::uint32_t>((max - min) * i / count));
  return result;
}

void refuse_key(const Table& table, const char* key, const char* rule) {
  if (const Entry* entry = table.find(key))
    table.problems().add(entry->at,
                         fmt::format("'{}' belongs to rule = \"{}\": set it, or remove the key",
                                     table.path(key), rule));
}

struct Bounds {
  std::uint32_t min = 0;
  std::uint32_t max = 0;
};

std::optional<Bounds> read_bounds(const Table& table, std::uint32_t least) {
  table.require("max", "the largest number of blocks");
  const auto min = table.integer("min", least, most_blocks);
  const auto max = table.integer("max", least, most_blocks);
  if (!max || (!min && table.find("min") != nullptr)) return std::nullopt;
  const Bounds bounds{static_cast<std::uint32_t>(min.value_or(default_min)),
                      static_cast<std::uint32_t>(*max)};
  if (bounds.min < bounds.max) return bounds;
  table.refuse(*table.find("max"),
               fmt::format("more blocks than '{}', which is {}", table.path("min"), bounds.min));
  return std::nullopt;
}

std::optional<Stop> read_precision(const Table& table) {
  refuse_key(table, "looks", "sequential");
  table.require("half_width", R"(what every interval must come down to, as in "0.5%")");
  const auto half_width = table.percentage("half_width");
  const auto bounds = read_bounds(table, least_precise);
  if (!half_width || !bounds) return std::nullopt;
  const auto [min, max] = *bounds;
  return Stop{.rule = StopRule::precision,
              .half_width = *half_width,
              .max = max,
              .looks = looks(min, max, std::min(max - min, most_precise_looks))};
}

std::optional<Stop> read_sequential(const Table& table) {
  refuse_key(table, "half_width", "precision");
  const auto count = table.integer("looks", 2, most_looks);
  const auto bounds = read_bounds(table, least_sequential);
  if (!bounds || (!count && table.find("looks") != nullptr)) return std::nullopt;
  const auto [min, max] = *bounds;
  const std::uint32_t most = max - min + 1;
  if (count && *count > most) {
    table.refuse(*table.find("looks"), fmt::format("at most {}, one for each number of blocks from "
                                                   "{} to {}",
                                                   most, min, max));
    return std::nullopt;
  }
  const auto wanted = static_cast<std::uint32_t>(count.value_or(std::min(most, default_looks)));
  // The last look is at the end.
  return Stop{.rule = StopRule::sequential,
              .half_width = 0,
              .max = max,
              .looks = looks(min, max, wanted - 1)};
}

std::string_view why_not(DesignKind kind) {
  switch (kind) {
    case DesignKind::within_subjects:
      return "its answer is about programs like these, and more blocks add no programs";
    case DesignKind::nested:
      return "its treatments are tested against seeds, and more blocks add no seeds";
    default:
      return "its error rate has not been looked at there";
  }
}

}  // namespace

void read_stop(const Table& design, Draft& draft) {
  static const Words known{"rule", "half_width", "min", "max", "looks"};
  static const Words rules{"precision", "sequential"};
  const auto table = design.table("stop", known);
  if (!table) return;
  draft.stop_at = design.find("stop")->at;
  table->require("rule", R"("precision" or "sequential")");
  const auto rule = table->choice("rule", rules);
  if (rule)
    draft.plan.design.stop =
        *rule == "precision" ? read_precision(*table) : read_sequential(*table);
}

void check_stop(Draft& draft) {
  if (!draft.plan.design.stop || !draft.kind_is_good || !draft.factors_are_good) return;
  const DesignKind kind = draft.plan.design.kind;
  if (kind != DesignKind::full_factorial && kind != DesignKind::one_way &&
      kind != DesignKind::custom)
    return draft.problems.add(
        draft.stop_at, fmt::format("'design.stop' does not apply to a {} design: {}; remove it, or "
                                   "choose a full-factorial, one-way or custom design",
                                   to_string(kind), why_not(kind)));
  if (std::ranges::none_of(draft.factors, &Factor::is_treatment, &DraftFactor::value))
    draft.problems.add(draft.stop_at,
                       "'design.stop' asks how well levels are compared, and this plan has no "
                       "treatment (a factor with two or more fixed levels)");
  for (const Position at : draft.repetitions_at)
    draft.problems.add(at,
                       "'repetitions' must not be given: 'design.stop.max' is the largest number "
                       "of blocks");
}

}  // namespace stab::plan
