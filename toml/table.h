// SPDX-License-Identifier: MIT
// Typed access with bounds to one table of the text. A wrong value adds a problem and reads as
// absent.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "toml/problems.h"
#include "toml/value.h"

namespace stab::toml {

using Words = std::vector<std::string>;

inline constexpr std::size_t max_length =
    1000;  // of a table or an array whose length the user chooses

inline constexpr std::chrono::hours longest_duration{24};

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

}  // namespace stab::toml
