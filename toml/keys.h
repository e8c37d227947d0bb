// SPDX-License-Identifier: MIT
// A list of keys with their bounds, defaults and meaning, out of which come how they are read, which
// names a table may have, and the table of a document. A path that is not listed does not compile,
// and a key that is not listed is unknown to its table.
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

#include "toml/table.h"

namespace stab::toml {

// What a key may be. `standard` is its value where the text gives none.
template <class T>
struct Whole {
  T min;
  T max;
  std::optional<T> standard = std::nullopt;
};
using Count = Whole<std::uint32_t>;
using Seed = Whole<std::uint64_t>;
// A number whose least depends on what stands beside it.
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
// Several of them, in an array.
struct Choices {
  std::span<const std::string_view> words;
};
struct Text {
  bool (*rule)(std::string_view);
  std::string_view words;
  std::optional<std::string_view> standard = std::nullopt;
};
struct Texts {
  bool (*rule)(std::string_view);  // of each
  std::string_view words;
};
// What code of its own reads: so many of them.
struct Several {
  std::size_t least;
  std::size_t most;
  std::string_view words;
};
// The same without a number.
struct Other {
  std::string_view words;
};

using Kind = std::variant<Count, Seed, CountWith, Number, Percentage, Flag, Duration, Bytes, Choice,
                          Choices, Text, Texts, Several, Other>;

struct Key {
  std::string_view path;  // names in capitals are the user's
  Kind kind;
  std::string_view meaning;
  std::string_view otherwise = "";  // what holds without it, if that is no `standard`
};

// A path as an argument of templates.
template <std::size_t size>
struct Path {
  // NOLINTNEXTLINE(google-explicit-constructor)
  consteval Path(const char (&literal)[size]) { std::ranges::copy(literal, text); }
  [[nodiscard]] constexpr std::string_view view() const { return {text, size - 1}; }
  [[nodiscard]] constexpr std::string_view name() const {
    return view().substr(view().rfind('.') + 1);
  }
  // "" if it is a key of the whole text.
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

// The names below a path, "" for the whole text: what a table may have.
Words names_below(std::span<const Key> keys, std::string_view path);

// A key as people see it: its path, what it must be, its default and what it means.
struct KeyWords {
  std::string path;
  std::string value;
  std::string standard;
  std::string meaning;
};
std::vector<KeyWords> describe_keys(std::span<const Key> keys);
// The same as the table of a document.
std::string table_of_keys(const std::vector<KeyWords>& keys);

}  // namespace stab::toml
