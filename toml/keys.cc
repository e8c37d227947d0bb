// SPDX-License-Identifier: MIT

#include "toml/keys.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/text.h"
#include "base/time.h"

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
         fmt::format(
             R"(a duration above 0 and at most {} hours, for example "500ms", "60s" or "10min")",
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
  refuse(*pair, R"(a percentage above 0 and at most 100, for example "1%")");
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

namespace {

// Writes a duration as a user would: "30min".
std::string written(std::chrono::nanoseconds duration) {
  if (duration < std::chrono::seconds(1))
    return fmt::format("{}ms",
                       std::chrono::duration_cast<std::chrono::milliseconds>(duration).count());
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(duration).count();
  return seconds % 60 == 0 ? fmt::format("{}min", seconds / 60) : fmt::format("{}s", seconds);
}

struct ValueWords {
  template <class T>
  std::string operator()(const Whole<T>& kind) const {
    return fmt::format("{} to {}", kind.min, kind.max);
  }
  std::string operator()(const CountWith& kind) const {
    return fmt::format("{} to {} with `{}`, {} to {} with `{}`", kind.least, kind.max, kind.with,
                       kind.other_least, kind.max, kind.other);
  }
  std::string operator()(const Number& kind) const {
    return fmt::format("{} to {}", kind.min, kind.max);
  }
  std::string operator()(Percentage /*kind*/) const { return "a percentage, for example `\"1%\"`"; }
  std::string operator()(Flag /*kind*/) const { return "`true`, `false`"; }
  std::string operator()(const Duration& kind) const {
    return fmt::format(R"(a duration of at most {} hours, for example `"60s"`{})",
                       longest_duration.count(), kind.or_never ? R"(, or `"never"`)" : "");
  }
  std::string operator()(const Bytes& kind) const {
    return fmt::format("1 to {} bytes, or a size such as `\"16MiB\"`", kind.max);
  }
  std::string operator()(const Choice& kind) const {
    return fmt::format("`\"{}\"`", fmt::join(kind.words, "\"`, `\""));
  }
  std::string operator()(const Choices& kind) const {
    return fmt::format("an array of `\"{}\"`", fmt::join(kind.words, "\"`, `\""));
  }
  std::string operator()(const Text& kind) const { return std::string(kind.words); }
  std::string operator()(const Texts& kind) const {
    return fmt::format("an array, each {}", kind.words);
  }
  std::string operator()(const Several& kind) const {
    return fmt::format("an array of {} to {} {}", kind.least, kind.most, kind.words);
  }
  std::string operator()(const Other& kind) const { return std::string(kind.words); }
};

std::string standard_words(const Key& key) {
  return std::visit(
      [&](const auto& kind) -> std::string {
        using K = std::decay_t<decltype(kind)>;
        if constexpr (requires { kind.standard; }) {
          if (!kind.standard) return std::string(key.otherwise);
          if constexpr (std::is_same_v<K, Choice> || std::is_same_v<K, Text>)
            return fmt::format("`\"{}\"`", *kind.standard);
          if constexpr (std::is_same_v<K, Duration>)
            return fmt::format("`\"{}\"`", written(*kind.standard));
          if constexpr (std::is_same_v<K, Bytes>)
            return *kind.standard % (std::uint64_t{1} << 30) == 0
                       ? fmt::format("`\"{}GiB\"`", *kind.standard >> 30)
                       : fmt::format("`\"{}MiB\"`", *kind.standard >> 20);
          if constexpr (!std::is_same_v<K, Duration>) return fmt::format("{}", *kind.standard);
        }
        return std::string(key.otherwise);
      },
      key.kind);
}

Words strings(std::span<const std::string_view> views) {
  return {views.begin(), views.end()};
}

}  // namespace

std::optional<std::uint32_t> read(const Table& table, std::string_view name, Count kind) {
  const auto whole = table.integer(name, kind.min, kind.max);
  return whole ? std::optional(static_cast<std::uint32_t>(*whole)) : std::nullopt;
}
std::optional<std::uint64_t> read(const Table& table, std::string_view name, Seed kind) {
  return table.integer(name, kind.min, kind.max);
}
std::optional<double> read(const Table& table, std::string_view name, Number kind) {
  return table.number(name, kind.min, kind.max);
}
std::optional<double> read(const Table& table, std::string_view name, Percentage /*kind*/) {
  return table.percentage(name);
}
std::optional<bool> read(const Table& table, std::string_view name, Flag /*kind*/) {
  return table.boolean(name);
}
std::optional<std::chrono::nanoseconds> read(const Table& table, std::string_view name,
                                             Duration kind) {
  const Pair* pair = table.find(name);
  const auto* text = pair == nullptr ? nullptr : std::get_if<std::string>(&pair->value.data);
  if (kind.or_never && text != nullptr && *text == "never") return std::chrono::nanoseconds(0);
  return table.duration(name);
}
std::optional<std::uint64_t> read(const Table& table, std::string_view name, Bytes kind) {
  return table.bytes(name, kind.max);
}
std::optional<std::string> read(const Table& table, std::string_view name, Choice kind) {
  return table.choice(name, strings(kind.words));
}
std::optional<std::vector<std::string>> read(const Table& table, std::string_view name,
                                             Choices kind) {
  return table.choices(name, strings(kind.words));
}
std::optional<std::string> read(const Table& table, std::string_view name, Text kind) {
  return table.text(name, kind.rule, kind.words);
}
std::optional<std::vector<std::string>> read(const Table& table, std::string_view name,
                                             Texts kind) {
  return table.texts(name, kind.rule, kind.words);
}

Words names_below(std::span<const Key> keys, std::string_view path) {
  Words names;
  const std::string above = path.empty() ? "" : std::string(path) + ".";
  for (const Key& key : keys) {
    if (!key.path.starts_with(above)) continue;
    std::string_view name = key.path.substr(above.size());
    name = name.substr(0, name.find('.'));
    if (std::ranges::find(names, name) == names.end()) names.emplace_back(name);
  }
  return names;
}

std::vector<KeyWords> describe_keys(std::span<const Key> keys) {
  std::vector<KeyWords> all;
  for (const Key& key : keys)
    all.push_back({.path = std::string(key.path),
                   .value = std::visit(ValueWords{}, key.kind),
                   .standard = standard_words(key),
                   .meaning = std::string(key.meaning)});
  return all;
}

std::string table_of_keys(const std::vector<KeyWords>& keys) {
  std::string text = "| key | value | meaning | default |\n|---|---|---|---|\n";
  for (const KeyWords& key : keys)
    text +=
        fmt::format("| `{}` | {} | {} | {} |\n", key.path, key.value, key.meaning, key.standard);
  return text;
}

}  // namespace stab::toml
