// SPDX-License-Identifier: MIT
#include "toml/table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "base/duration.h"
#include "base/text.h"

namespace stab::toml {
namespace {

constexpr std::size_t shown_bytes = 60;

struct Describer {
  std::string operator()(DateOrTime /*value*/) const { return "a date or time"; }
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(std::int64_t value) const { return fmt::format("{}", value); }
  std::string operator()(double value) const { return fmt::format("{}", value); }
  std::string operator()(const std::string& value) const {
    return fmt::format("\"{}\"", shown(value));
  }
  std::string operator()(const Items& /*value*/) const { return "an array"; }
  std::string operator()(const Pairs& /*value*/) const { return "a table"; }
};

// Parses "16MiB", "100kB" or "7B".
std::optional<std::uint64_t> parse_bytes(std::string_view text, std::uint64_t max) {
  static constexpr std::pair<std::string_view, std::uint64_t> units[] = {
      {"B", 1},           {"kB", 1000},        {"MB", 1000000},
      {"GB", 1000000000}, {"KiB", 1ULL << 10}, {"MiB", 1ULL << 20},
      {"GiB", 1ULL << 30}};
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return std::nullopt;
  const std::string_view unit(end, text.data() + text.size());
  for (const auto& [name, factor] : units)
    if (unit == name && number <= max / factor) return number * factor;
  return std::nullopt;
}

std::optional<double> parse_percentage(std::string_view text) {
  double number = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (error != std::errc() || std::string_view(end, text.data() + text.size()) != "%")
    return std::nullopt;
  return number / 100;
}

}  // namespace

std::string shown(std::string_view text) {
  return one_line(text, shown_bytes);
}

std::string did_you_mean(std::string_view word, const Words& candidates) {
  const std::string near = nearest(word, candidates);
  // A candidate that has no letter in common with the word is not a useful hint.
  if (near.empty() || edit_distance(word, near) >= word.size()) return "";
  return fmt::format(", did you mean '{}'?", near);
}

Table::Table(Problems& problems, const Value& value, std::string path)
    : problems_(problems), value_(value), path_(std::move(path)) {}

Table::Table(Problems& problems, const Value& value, std::string path, const Words& known)
    : Table(problems, value, std::move(path)) {
  for (const Pair& pair : pairs())
    if (std::ranges::find(known, pair.key) == known.end()) refuse_unknown(pair, known);
}

void Table::refuse_unknown(const Pair& pair, const Words& known) const {
  std::string hint = problems_.is_crowded() ? "" : did_you_mean(pair.key, known);
  if (hint.empty()) hint = fmt::format(": the known keys are {}", fmt::join(known, ", "));
  problems_.add(pair.at, fmt::format("unknown key '{}'{}", path(pair.key), hint));
}

const Pair* Table::find(std::string_view key) const {
  const auto found = std::ranges::find(pairs(), key, &Pair::key);
  return found == pairs().end() ? nullptr : &*found;
}

std::string Table::path(std::string_view key) const {
  return path_.empty() ? shown(key) : fmt::format("{}.{}", path_, shown(key));
}

void Table::refuse(const Pair& pair, std::string_view words) const {
  problems_.add(pair.at, fmt::format("'{}' must be {}, not {}", path(pair.key), words,
                                     std::visit(Describer{}, pair.value.data)));
}

void Table::refuse_item(const Pair& pair, const Value& item, std::string_view words) const {
  problems_.add(item.at, fmt::format("each item of '{}' must be {}, not {}", path(pair.key), words,
                                     std::visit(Describer{}, item.data)));
}

void Table::require(std::string_view key, std::string_view words) const {
  if (find(key) == nullptr)
    problems_.add(at(), fmt::format("'{}' is missing: add {}", path(key), words));
}

std::optional<std::string> Table::text(std::string_view key, Rule rule,
                                       std::string_view words) const {
  const Pair* pair = find(key);
  if (pair == nullptr) return std::nullopt;
  const auto* text = std::get_if<std::string>(&pair->value.data);
  if (text != nullptr && rule(*text)) return *text;
  refuse(*pair, words);
  return std::nullopt;
}

std::optional<std::uint64_t> Table::integer(std::string_view key, std::uint64_t min,
                                            std::uint64_t max) const {
  const Pair* pair = find(key);
  if (pair == nullptr) return std::nullopt;
  const auto* number = std::get_if<std::int64_t>(&pair->value.data);
  if (number != nullptr && std::cmp_greater_equal(*number, min) &&
      std::cmp_less_equal(*number, max))
    return static_cast<std::uint64_t>(*number);
  refuse(*pair, fmt::format("a whole number from {} to {}", min, max));
  return std::nullopt;
}

std::optional<double> Table::number(std::string_view key, double min, double max) const {
  const Pair* pair = find(key);
  if (pair == nullptr) return std::nullopt;
  std::optional<double> number;
  if (const auto* real = std::get_if<double>(&pair->value.data)) number = *real;
  if (const auto* whole = std::get_if<std::int64_t>(&pair->value.data))
    number = static_cast<double>(*whole);
  if (number && *number >= min && *number <= max) return number;
  refuse(*pair, fmt::format("a number from {} to {}", min, max));
  return std::nullopt;
}

std::optional<bool> Table::boolean(std::string_view key) const {
  const Pair* pair = find(key);
  if (pair == nullptr) return std::nullopt;
  if (const auto* value = std::get_if<bool>(&pair->value.data)) return *value;
  refuse(*pair, "true or false");
  return std::nullopt;
}

std::optional<std::chrono::nanoseconds> Table::duration(std::string_view key) const {
  const Pair* pair = find(key);
  if (pair == nullptr) return std::nullopt;
  if (const auto* text = std::get_if<std::string>(&pair->value.data)) {
    const auto duration = parse_duration(*text);
    if (duration && duration->count() > 0 && *duration <= longest_duration) return duration;
  }
  refuse(*pair,
         fmt::format(R"(a duration above 0 and at most {} hours, as in "500ms", "60s" or "10min")",
                     longest_duration.count()));
  return std::nullopt;
}

std::optional<std::uint64_t> Table::bytes(std::string_view key, std::uint64_t max) const {
  const Pair* pair = find(key);
  if (pair == nullptr) return std::nullopt;
  std::optional<std::uint64_t> bytes;
  if (const auto* text = std::get_if<std::string>(&pair->value.data))
    bytes = parse_bytes(*text, max);
  if (const auto* number = std::get_if<std::int64_t>(&pair->value.data); number && *number > 0)
    bytes = static_cast<std::uint64_t>(*number);
  if (bytes && *bytes > 0 && *bytes <= max) return bytes;
  refuse(*pair, fmt::format(R"(a number of bytes from 1 to {}, or a text such as "16MiB")", max));
  return std::nullopt;
}

std::optional<double> Table::percentage(std::string_view key) const {
  const Pair* pair = find(key);
  if (pair == nullptr) return std::nullopt;
  if (const auto* text = std::get_if<std::string>(&pair->value.data)) {
    const auto share = parse_percentage(*text);
    if (share && *share > 0 && *share <= 1) return share;
  }
  refuse(*pair, R"(a percentage above 0 and at most 100, as in "1%")");
  return std::nullopt;
}

std::optional<std::string> Table::choice(std::string_view key, const Words& choices) const {
  const Pair* pair = find(key);
  if (pair == nullptr) return std::nullopt;
  const auto* text = std::get_if<std::string>(&pair->value.data);
  if (text != nullptr && std::ranges::find(choices, *text) != choices.end()) return *text;
  const std::string hint = text == nullptr ? "" : did_you_mean(*text, choices);
  problems_.add(pair->at, fmt::format("'{}' must be \"{}\", not {}{}", path(key),
                                      fmt::join(choices, "\" or \""),
                                      std::visit(Describer{}, pair->value.data), hint));
  return std::nullopt;
}

const Items* Table::items(std::string_view key, std::string_view words) const {
  const Pair* pair = find(key);
  if (pair == nullptr) return nullptr;
  const auto* items = std::get_if<Items>(&pair->value.data);
  if (items == nullptr) refuse(*pair, words);
  return items;
}

std::optional<std::vector<std::string>> Table::texts(std::string_view key, Rule rule,
                                                     std::string_view words) const {
  const Items* array = items(key, "an array of texts");
  if (array == nullptr) return std::nullopt;
  std::vector<std::string> texts;
  for (const Value& item : *array) {
    const auto* text = std::get_if<std::string>(&item.data);
    if (text != nullptr && rule(*text))
      texts.push_back(*text);
    else
      refuse_item(*find(key), item, words);
  }
  if (texts.size() != array->size()) return std::nullopt;
  return texts;
}

std::optional<std::vector<std::string>> Table::choices(std::string_view key,
                                                       const Words& choices) const {
  const Items* array = items(key, "an array of texts");
  if (array == nullptr) return std::nullopt;
  std::vector<std::string> chosen;
  for (const Value& item : *array) {
    const auto* text = std::get_if<std::string>(&item.data);
    if (text != nullptr && std::ranges::find(choices, *text) != choices.end()) {
      chosen.push_back(*text);
      continue;
    }
    std::string hint =
        text == nullptr || problems_.is_crowded() ? "" : did_you_mean(*text, choices);
    if (hint.empty()) hint = fmt::format(": the known values are {}", fmt::join(choices, ", "));
    problems_.add(item.at, fmt::format("an item of '{}' is unknown: {}{}", path(key),
                                       std::visit(Describer{}, item.data), hint));
  }
  if (chosen.size() != array->size()) return std::nullopt;
  return chosen;
}

std::optional<Table> Table::table(std::string_view key, const Words& known) const {
  const auto opened = open_table(key);
  if (!opened) return std::nullopt;
  return Table(problems_, opened->value_, path(key), known);
}

std::optional<Table> Table::open_table(std::string_view key) const {
  const Pair* pair = find(key);
  if (pair == nullptr) return std::nullopt;
  if (std::holds_alternative<Pairs>(pair->value.data))
    return Table(problems_, pair->value, path(key));
  refuse(*pair, "a table");
  return std::nullopt;
}

}  // namespace stab::toml
