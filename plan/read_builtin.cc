// SPDX-License-Identifier: MIT
// The built-in factors env_bytes, link_order and aslr.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "plan/draft.h"

namespace stab::plan {
namespace {

// What a factor's numbers may be.
struct Range {
  std::uint64_t min = 0;
  std::uint64_t max = 0;
  std::string words;
};

constexpr std::uint64_t default_env_bytes = 4096;  // one page
constexpr std::uint64_t max_repeats = 100'000;

Range range_of(FactorKind kind) {
  if (kind == FactorKind::env_bytes)
    return {.min = 0,
            .max = std::uint64_t{1} << 20,
            .words = "a whole number of bytes from 0 to 1048576"};
  return {.min = 1, .max = max_link_seed, .words = "a seed, a whole number from 1 to 2147483647"};
}

std::optional<Level> read_level(const Value& item, FactorKind kind) {
  if (kind == FactorKind::aslr) {
    const auto* on = std::get_if<bool>(&item.data);
    if (on == nullptr) return std::nullopt;
    return Level{.name = *on ? "true" : "false", .variables = {}, .number = *on ? 1U : 0U};
  }
  const Range range = range_of(kind);
  const auto* number = std::get_if<std::int64_t>(&item.data);
  if (number == nullptr || std::cmp_less(*number, range.min) ||
      std::cmp_greater(*number, range.max))
    return std::nullopt;
  return Level{.name = fmt::format("{}", *number),
               .variables = {},
               .number = static_cast<std::uint64_t>(*number)};
}

FixedLevels read_levels(const Table& table, FactorKind kind) {
  const bool is_aslr = kind == FactorKind::aslr;
  const Entry& entry = *table.find("levels");
  const Items* items =
      table.items("levels", is_aslr ? "an array: [false, true]" : "an array of numbers");
  FixedLevels fixed;
  if (items == nullptr) return fixed;
  if (items->empty() || items->size() > max_entries)
    table.problems().add(entry.at, fmt::format("'{}' must have 1 to {} levels, not {}",
                                               table.path("levels"), max_entries, items->size()));
  for (const Value& item : *items) {
    auto level = read_level(item, kind);
    if (!level) {
      table.refuse_item(entry, item, is_aslr ? "true or false" : range_of(kind).words);
    } else if (std::ranges::find(fixed.levels, level->name, &Level::name) != fixed.levels.end()) {
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
  const std::uint64_t limit = range.max;
  range.max = default_env_bytes;
  if (const auto min = random.integer("min", 0, limit)) range.min = *min;
  if (const auto max = random.integer("max", 0, limit)) range.max = *max;
  if (range.min >= range.max)
    random.problems().add(
        (random.find("min") != nullptr ? random.find("min") : random.find("max"))->at,
        fmt::format("'{}' must be below '{}', but they are {} and {}", random.path("min"),
                    random.path("max"), range.min, range.max));
  return range;
}

RandomSeeds read_seeds(const Table& random, const Range& range) {
  random.require("seeds", "how many seeds each cell gets, 2 or more");
  random.require("runs", "how often each seed is run");
  RandomSeeds seeds{.minimum = range.min, .maximum = range.max};
  if (const auto count = random.integer("seeds", 2, max_repeats)) {
    seeds.seeds = static_cast<std::uint32_t>(*count);
    if (range.min < range.max && range.max - range.min + 1 < *count)
      random.problems().add(random.find("seeds")->at,
                            fmt::format("'{}' is {}, but there are only {} values from {} to {}",
                                        random.path("seeds"), *count, range.max - range.min + 1,
                                        range.min, range.max));
  }
  if (const auto runs = random.integer("runs", 1, max_repeats))
    seeds.runs = static_cast<std::uint32_t>(*runs);
  return seeds;
}

void read_random(const Table& table, FactorKind kind, Factor& factor) {
  static const Words with_bounds{"per", "seeds", "runs", "min", "max"};
  static const Words without_bounds{"per", "seeds", "runs"};
  static const Words per{"block"};
  const auto random =
      table.table("random", kind == FactorKind::env_bytes ? with_bounds : without_bounds);
  if (!random) return;
  const Range range = read_bounds(*random, kind);
  const bool has_seeds = random->find("seeds") != nullptr || random->find("runs") != nullptr;
  const Entry* per_entry = random->find("per");
  if (has_seeds == (per_entry != nullptr)) {
    table.problems().add(
        table.find("random")->at,
        fmt::format("'{}' must be {{ per = \"block\" }} or {{ seeds = 10, runs = 3 }}",
                    table.path("random")));
  } else if (has_seeds) {
    factor.levels = read_seeds(*random, range);
  } else if (random->choice("per", per)) {
    factor.levels = RandomPerBlock{.minimum = range.min, .maximum = range.max};
  }
}

}  // namespace

void read_builtin_factor(const Entry& entry, FactorKind kind, Draft& draft) {
  static const Words known{"levels", "random"};
  const Table table(draft.problems, entry.value, "factor." + entry.key, known);
  Factor factor{.name = entry.key, .kind = kind, .levels = {}};
  const Entry* random = table.find("random");
  if ((table.find("levels") != nullptr) == (random != nullptr))
    draft.problems.add(entry.at,
                       fmt::format("'factor.{}' must have one of levels and random", entry.key));
  else if (random == nullptr)
    factor.levels = read_levels(table, kind);
  else if (kind == FactorKind::aslr)
    draft.problems.add(random->at,
                       "'factor.aslr.random' is not possible: use levels = [false, true]");
  else
    read_random(table, kind, factor);
  draft.factors.push_back({entry.at, std::move(factor)});
}

}  // namespace stab::plan
