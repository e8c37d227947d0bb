// SPDX-License-Identifier: MIT
// Reads keys by their paths in key_list.h, which has their bounds and defaults.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "plan/reading/key_list.h"
#include "toml/keys.h"

namespace stab::plan {

using toml::KeyWords;
using toml::Path;

template <Path path>
inline constexpr const auto& kind_of = toml::kind_of<keys, path>;

template <Path path>
inline constexpr auto standard_of = kind_of<path>.standard.value();

// The value in the plan. It is nothing if the key is missing, or if the value is wrong; a wrong
// value becomes a problem.
template <Path path>
auto given(const toml::Table& table) {
  return toml::read(table, path.name(), kind_of<path>);
}
// With fewer blocks than `least`, the stopping rule's conclusion would not be justified.
template <Path path>
std::optional<std::uint32_t> given(const toml::Table& table, StopRule rule) {
  constexpr CountWith kind = kind_of<path>;
  return toml::read(table, path.name(),
                    Count{to_string(rule) == kind.with ? kind.least : kind.other_least, kind.max});
}

// The same for a table that may be missing, or the default.
template <Path path>
auto value(const std::optional<toml::Table>& table) {
  using Value = decltype(given<path>(*table))::value_type;
  std::optional<Value> read;
  if (table) read = given<path>(*table);
  return read ? *std::move(read) : Value(standard_of<path>);
}

// The names below a path, which are the keys that a table may have; "" stands for the whole plan.
inline toml::Words names_below(std::string_view path) {
  return toml::names_below(keys, path);
}

inline std::vector<KeyWords> describe_keys() {
  return toml::describe_keys(keys);
}

}  // namespace stab::plan
