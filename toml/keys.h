// SPDX-License-Identifier: MIT
// Reads the keys of a table, each with its type and bounds: by hand, with class Table, or by a list
// of keys, with read().
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "toml/value.h"

namespace stab::toml {

using Words = std::vector<std::string>;

// Limits a table or an array whose length the user chooses.
inline constexpr std::size_t max_length = 1000;

inline constexpr std::chrono::hours longest_duration{24};

// Typed access with bounds to one table of the text. A wrong value adds a problem and reads as
// absent.
class Table {
 public:
  // A table in which only these keys are allowed; the constructor adds a problem for every other
  // key. `value` must be a table and outlive this object.
  Table(Problems& problems, const Value& value, std::string path, const Words& known);
  // A table whose keys are names that the user chose.
  Table(Problems& problems, const Value& value, std::string path);

  [[nodiscard]] Position at() const { return value_.at; }
  [[nodiscard]] const Pairs& pairs() const { return std::get<Pairs>(value_.data); }
  [[nodiscard]] const Pair* find(std::string_view key) const;
  // The key as the user would write it from the top: "benchmark.check.exit".
  [[nodiscard]] std::string path(std::string_view key) const;
  // The path of the table itself, in the same form.
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] Problems& problems() const { return problems_; }

  using Rule = bool (*)(std::string_view);
  // The functions below return the value, or nullopt if it is absent or wrong. They add a problem
  // if it is wrong.
  [[nodiscard]] std::optional<std::string> text(std::string_view key, Rule rule,
                                                std::string_view words) const;
  [[nodiscard]] std::optional<std::uint64_t> integer(std::string_view key, std::uint64_t min,
                                                     std::uint64_t max) const;
  [[nodiscard]] std::optional<double> number(std::string_view key, double min, double max) const;
  [[nodiscard]] std::optional<bool> boolean(std::string_view key) const;
  [[nodiscard]] std::optional<std::chrono::nanoseconds> duration(
      std::string_view key) const;  // up to longest_duration
  [[nodiscard]] std::optional<std::uint64_t> bytes(std::string_view key, std::uint64_t max) const;
  [[nodiscard]] std::optional<double> percentage(std::string_view key) const;  // "1%" is 0.01
  [[nodiscard]] std::optional<std::string> choice(std::string_view key, const Words& choices) const;
  [[nodiscard]] std::optional<std::vector<std::string>> choices(std::string_view key,
                                                                const Words& choices) const;
  [[nodiscard]] std::optional<std::vector<std::string>> texts(std::string_view key, Rule rule,
                                                              std::string_view words) const;
  [[nodiscard]] std::optional<Table> table(std::string_view key, const Words& known) const;
  [[nodiscard]] std::optional<Table> open_table(std::string_view key) const;
  [[nodiscard]] const Items* items(std::string_view key, std::string_view words) const;

  // Adds the problem "'machine.cpus' must be WORDS, not 0" at the key.
  void refuse(const Pair& pair, std::string_view words) const;
  // The same for an item of an array, at the item.
  void refuse_item(const Pair& pair, const Value& item, std::string_view words) const;
  void require(std::string_view key, std::string_view words) const;

 private:
  void refuse_unknown(const Pair& pair, const Words& known) const;

  Problems& problems_;
  const Value& value_;
  std::string path_;
};

// ", did you mean 'x'?" or "".
std::string did_you_mean(std::string_view word, const Words& candidates);
// A key or other text from the user, shortened and cleaned for a message.
std::string shown(std::string_view text);

// A list of keys with their bounds, defaults and meanings. It determines how keys are read, which
// names a table may have, and the table of keys in the documents. Code that reads a path that is
// not listed does not compile, and a key in a text that is not listed is reported as unknown.

// The kinds of keys. `standard` is the value of a key that the text does not set.
template <class T>
struct Whole {
  T min;
  T max;
  std::optional<T> standard = std::nullopt;
};
using Count = Whole<std::uint32_t>;
using Seed = Whole<std::uint64_t>;
// A number whose minimum depends on the value of another key: `least` with `with`, and
// `other_least` with `other`.
struct CountWith {
  std::uint32_t least;
  std::string_view with;
  std::uint32_t other_least;
  std::string_view other;
  std::uint32_t max;
  std::optional<std::uint32_t> standard = std::nullopt;
};
struct Number {
  double min;
  double max;
  std::optional<double> standard;
};
struct Percentage {};
struct Flag {
  std::optional<bool> standard;
};
struct Duration {
  std::optional<std::chrono::nanoseconds> standard = std::nullopt;
  bool or_never = false;  // "never" is 0
};
struct Bytes {
  std::uint64_t max;
  std::optional<std::uint64_t> standard = std::nullopt;
};
struct Choice {
  std::span<const std::string_view> words;
  std::optional<std::string_view> standard = std::nullopt;
};
// An array of words.
struct Choices {
  std::span<const std::string_view> words;
};
struct Text {
  bool (*rule)(std::string_view);
  std::string_view words;
  std::optional<std::string_view> standard = std::nullopt;
};
struct Texts {
  bool (*rule)(std::string_view);  // for each text
  std::string_view words;
};
// An array of `least` to `most` items, which is read by code of its own.
struct Several {
  std::size_t least;
  std::size_t most;
  std::string_view words;
};
// A value of any other form, which is read by code of its own.
struct Other {
  std::string_view words;
};

using Kind = std::variant<Count, Seed, CountWith, Number, Percentage, Flag, Duration, Bytes, Choice,
                          Choices, Text, Texts, Several, Other>;

struct Key {
  std::string_view path;  // parts in capitals stand for names that the user chooses
  Kind kind;
  std::string_view meaning;
  std::string_view otherwise = "";  // describes the default if the kind has no `standard`
};

// A path as a template argument.
template <std::size_t size>
struct Path {
  // NOLINTNEXTLINE(google-explicit-constructor)
  consteval Path(const char (&literal)[size]) { std::ranges::copy(literal, text); }
  [[nodiscard]] constexpr std::string_view view() const { return {text, size - 1}; }
  [[nodiscard]] constexpr std::string_view name() const {
    return view().substr(view().rfind('.') + 1);
  }
  // "" if the key is at the top level.
  [[nodiscard]] constexpr std::string_view table() const {
    const std::size_t dot = view().rfind('.');
    return dot == std::string_view::npos ? std::string_view() : view().substr(0, dot);
  }
  char text[size] = {};
};

template <const auto& keys, Path path>
inline constexpr const Key& key_of = *std::ranges::find(keys, path.view(), &Key::path);

template <const auto& keys, Path path>
inline constexpr const auto& kind_of =
    std::get<key_of<keys, path>.kind.index()>(key_of<keys, path>.kind);

std::optional<std::uint32_t> read(const Table& table, std::string_view name, Count kind);
std::optional<std::uint64_t> read(const Table& table, std::string_view name, Seed kind);
std::optional<double> read(const Table& table, std::string_view name, Number kind);
std::optional<double> read(const Table& table, std::string_view name, Percentage kind);
std::optional<bool> read(const Table& table, std::string_view name, Flag kind);
std::optional<std::chrono::nanoseconds> read(const Table& table, std::string_view name,
                                             Duration kind);
std::optional<std::uint64_t> read(const Table& table, std::string_view name, Bytes kind);
std::optional<std::string> read(const Table& table, std::string_view name, Choice kind);
std::optional<std::vector<std::string>> read(const Table& table, std::string_view name,
                                             Choices kind);
std::optional<std::string> read(const Table& table, std::string_view name, Text kind);
std::optional<std::vector<std::string>> read(const Table& table, std::string_view name, Texts kind);

// The names that the table at a path may contain; "" is the top level.
Words names_below(std::span<const Key> keys, std::string_view path);

// A key as text for people: its path, allowed values, default and meaning.
struct KeyWords {
  std::string path;
  std::string value;
  std::string standard;
  std::string meaning;
};
std::vector<KeyWords> describe_keys(std::span<const Key> keys);
// The keys as a Markdown table for a document.
std::string table_of_keys(const std::vector<KeyWords>& keys);

}  // namespace stab::toml
