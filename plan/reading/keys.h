// SPDX-License-Identifier: MIT
// How keys are read: by their path in key_list.h, which has their bounds and defaults. A path that
// is not listed does not compile, and a key that is not listed is unknown to its table.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plan/reading/key_list.h"
#include "toml/table.h"

namespace stab::plan {

// A path as an argument of templates.
template <std::size_t size>
struct Path {
  // NOLINTNEXTLINE(google-explicit-constructor)
  consteval Path(const char (&literal)[size]) { std::ranges::copy(literal, text); }
  [[nodiscard]] constexpr std::string_view view() const { return {text, size - 1}; }
  [[nodiscard]] constexpr std::string_view name() const {
    return view().substr(view().rfind('.') + 1);
  }
  char text[size] = {};
};

template <Path path>
inline constexpr const Key& key_of = *std::ranges::find(keys, path.view(), &Key::path);

template <Path path>
inline constexpr const auto& kind_of = std::get<key_of<path>.kind.index()>(key_of<path>.kind);

template <Path path>
inline constexpr auto standard_of = kind_of<path>.standard.value();

std::optional<std::uint32_t> read(const toml::Table& table, std::string_view name, Count kind);
std::optional<std::uint64_t> read(const toml::Table& table, std::string_view name, Seed kind);
std::optional<double> read(const toml::Table& table, std::string_view name, Number kind);
std::optional<double> read(const toml::Table& table, std::string_view name, Percentage kind);
std::optional<bool> read(const toml::Table& table, std::string_view name, Flag kind);
std::optional<std::chrono::nanoseconds> read(const toml::Table& table, std::string_view name,
                                             Duration kind);
std::optional<std::uint64_t> read(const toml::Table& table, std::string_view name, Bytes kind);
std::optional<std::string> read(const toml::Table& table, std::string_view name, Choice kind);
std::optional<std::string> read(const toml::Table& table, std::string_view name, Text kind);
std::optional<std::vector<std::string>> read(const toml::Table& table, std::string_view name,
                                             Texts kind);

// What the plan says; nothing if it says nothing, or what is wrong, which then is a problem.
template <Path path>
auto given(const toml::Table& table) {
  return read(table, path.name(), kind_of<path>);
}
template <Path path>
std::optional<std::uint32_t> given(const toml::Table& table, StopRule rule) {
  constexpr Blocks kind = kind_of<path>;
  return read(
      table, path.name(),
      Count{rule == StopRule::precision ? kind.least_precise : kind.least_sequential, kind.max});
}

// The same, or the default; of a table that need not be there.
template <Path path>
auto value(const std::optional<toml::Table>& table) {
  using Value = decltype(given<path>(*table))::value_type;
  std::optional<Value> read;
  if (table) read = given<path>(*table);
  return read ? *std::move(read) : Value(standard_of<path>);
}

// The names below a path, "" for the whole plan: what a table may have.
toml::Words names_below(std::string_view path);

// A key as people see it: its path, what it must be, its default and what it means.
struct KeyWords {
  std::string path;
  std::string value;
  std::string standard;
  std::string meaning;
};
std::vector<KeyWords> describe_keys();

}  // namespace stab::plan
