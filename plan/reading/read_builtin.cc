// SPDX-License-Identifier: MIT
// The levels of built-in factors, and [randomize], which holds options of the runtime constant.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/duration.h"
#include "plan/options.h"
#include "plan/reading/draft.h"

namespace stab::plan {
namespace {

// What a factor's numbers may be.
struct Range {
  std::uint64_t min = 0;
  std::uint64_t max = 0;
  std::string words;
};

Range range_of(FactorKind kind) {
  if (kind == FactorKind::env_bytes)
    return {.min = 0,
            .max = max_env_bytes,
            .words = fmt::format("a whole number of bytes from 0 to {}", max_env_bytes)};
  return {.min = 1, .max = max_drawn_seed, .words = "a seed, a whole number from 1 to 2147483647"};
}

bool has_numbers(FactorKind kind) {
  return kind != FactorKind::aslr && kind != FactorKind::option &&
         kind != FactorKind::arrival_speedup;
}

std::optional<Level> read_time(const Value& item) {
  const auto* text = std::get_if<std::string>(&item.data);
  const auto time = text == nullptr ? std::nullopt : parse_duration(*text);
  if (!time || *time > max_arrival_speedup) return std::nullopt;
  return Level{.name = *text, .variables = {}, .number = static_cast<std::uint64_t>(time->count())};
}

std::optional<Level> read_number(const Value& item, FactorKind kind) {
  const Range range = range_of(kind);
  const auto* number = std::get_if<std::int64_t>(&item.data);
  if (number == nullptr || std::cmp_less(*number, range.min) ||
      std::cmp_greater(*number, range.max))
    return std::nullopt;
  return Level{.name = fmt::format("{}", *number),
               .variables = {},
               .number = static_cast<std::uint64_t>(*number)};
}

std::optional<Level> read_level(const Value& item, const Factor& factor) {
  if (factor.kind == FactorKind::aslr) return read_flag(item);
  if (factor.kind == FactorKind::option) return read_option(*find_option(factor.name), item);
  if (factor.kind == FactorKind::arrival_speedup) return read_time(item);
  return read_number(item, factor.kind);
}

std::string level_rule(const Factor& factor) {
  if (factor.kind == FactorKind::aslr) return "true or false";
  if (factor.kind == FactorKind::option) return option_rule(*find_option(factor.name));
  if (factor.kind == FactorKind::arrival_speedup)
    return "a time from \"0ns\" to \"10s\", as in \"250us\"";
  return range_of(factor.kind).words;
}

bool is_flag(const Factor& factor) {
  return !has_numbers(factor.kind) && level_rule(factor) == "true or false";
}

FixedLevels read_levels(const Table& table, const Factor& factor) {
  const Pair& pair = *table.find("levels");
  const Items* items = table.items("levels", is_flag(factor)            ? "an array: [false, true]"
                                             : has_numbers(factor.kind) ? "an array of numbers"
                                                                        : "an array of texts");
  FixedLevels fixed;
  if (items == nullptr) return fixed;
  if (items->empty() || items->size() > max_length)
    table.problems().add(pair.at, fmt::format("'{}' must have 1 to {} levels, not {}",
                                              table.path("levels"), max_length, items->size()));
  for (const Value& item : *items) {
    auto level = read_level(item, factor);
    if (!level) {
      table.refuse_item(pair, item, level_rule(factor));
    } else if (std::ranges::any_of(fixed.levels, [&](const Level& other) {
                 return other.name == level->name || (factor.kind == FactorKind::arrival_speedup &&
                                                      other.number == level->number);
               })) {
      table.problems().add(item.at, fmt::format("'{}' has the level {} twice: remove one",
                                                table.path("levels"), level->name));
    } else {
      fixed.levels.push_back(*std::move(level));
    }
  }
  return fixed;
}

// The interval to draw from; only env_bytes lets the user choose it.
Range read_bounds(const Table& random, FactorKind kind) {
  Range range = range_of(kind);
  if (kind != FactorKind::env_bytes) return range;
  range.min = value<"factor.env_bytes.random.min">(random);
  range.max = value<"factor.env_bytes.random.max">(random);
  if (range.min >= range.max)
    random.problems().add(
        (random.find("min") != nullptr ? random.find("min") : random.find("max"))->at,
        fmt::format("'{}' must be below '{}', but they are {} and {}", random.path("min"),
                    random.path("max"), range.min, range.max));
  return range;
}

RandomSeeds read_seeds(const Table& random, const Range& range) {
  random.require("seeds", "how many seeds each cell gets, at least 2");
  random.require("runs", "how often each seed is run");
  RandomSeeds seeds{.minimum = range.min, .maximum = range.max};
  if (const auto count = given<"factor.NAME.random.seeds">(random)) {
    seeds.seeds = *count;
    if (range.min < range.max && range.max - range.min + 1 < *count)
      random.problems().add(random.find("seeds")->at,
                            fmt::format("'{}' is {}, but there are only {} values from {} to {}",
                                        random.path("seeds"), *count, range.max - range.min + 1,
                                        range.min, range.max));
  }
  if (const auto runs = given<"factor.NAME.random.runs">(random)) seeds.runs = *runs;
  return seeds;
}

void read_random(const Table& table, FactorKind kind, Factor& factor) {
  Words known = names_below("factor.NAME.random");
  if (kind == FactorKind::env_bytes)
    std::ranges::copy(names_below("factor.env_bytes.random"), std::back_inserter(known));
  const auto random = table.table("random", known);
  if (!random) return;
  const Range range = read_bounds(*random, kind);
  const bool has_seeds = random->find("seeds") != nullptr || random->find("runs") != nullptr;
  const Pair* per = random->find("per");
  if (has_seeds == (per != nullptr)) {
    table.problems().add(
        table.find("random")->at,
        fmt::format("'{}' must be {{ per = \"block\" }} or {{ seeds = 10, runs = 3 }}",
                    table.path("random")));
  } else if (has_seeds) {
    factor.levels = read_seeds(*random, range);
  } else if (given<"factor.NAME.random.per">(*random)) {
    factor.levels = RandomPerBlock{.minimum = range.min, .maximum = range.max};
  }
}

void refuse_option(const Table& table, const Pair& pair) {
  const Words known = option_names();
  std::string hint = did_you_mean(pair.key, known);
  if (hint.empty()) hint = fmt::format(": the known keys are {}", fmt::join(known, ", "));
  table.problems().add(pair.at, fmt::format("unknown key '{}'{}", table.path(pair.key), hint));
}

}  // namespace

void read_builtin_factor(const Pair& pair, FactorKind kind, Draft& draft) {
  const Table table(draft.problems, pair.value, "factor." + pair.key, names_below("factor.NAME"));
  Factor factor{.name = pair.key, .kind = kind, .levels = {}};
  const Pair* random = table.find("random");
  if ((table.find("levels") != nullptr) == (random != nullptr))
    draft.problems.add(pair.at,
                       fmt::format("'factor.{}' must have either levels or random", pair.key));
  else if (random == nullptr)
    factor.levels = read_levels(table, factor);
  else if (!has_numbers(kind))
    draft.problems.add(random->at,
                       fmt::format("'factor.{}.random' is not possible: use levels{}", pair.key,
                                   is_flag(factor) ? " = [false, true]" : ""));
  else
    read_random(table, kind, factor);
  draft.factors.push_back({pair.at, std::move(factor)});
}

void read_randomize(const Table& root, Draft& draft) {
  const auto table = root.open_table("randomize");
  if (!table) return;
  for (const Pair& pair : table->pairs()) {
    const RuntimeOption* option = find_option(pair.key);
    if (option == nullptr) {
      refuse_option(*table, pair);
    } else if (const auto level = read_option(*option, pair.value)) {
      draft.plan.randomize[pair.key] = *level;
      draft.randomize_at[pair.key] = pair.at;
    } else {
      table->refuse(pair, option_rule(*option));
    }
  }
}

}  // namespace stab::plan
