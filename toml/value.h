// SPDX-License-Identifier: MIT
// TOML text as a tree of values that know their places. A table keeps its keys in the order of the
// text. The only door to toml++, which is slow to compile and sorts its keys.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace stab::toml {

// Starts at 1; 0:0 is the text as a whole.
struct Position {
  std::uint32_t line = 0;
  std::uint32_t column = 0;
  auto operator<=>(const Position&) const = default;
};

struct Value;
struct Pair;
struct DateOrTime {};  // no key of a plan takes one
using Items = std::vector<Value>;
using Pairs = std::vector<Pair>;

struct Value {
  Position at;
  std::variant<DateOrTime, bool, std::int64_t, double, std::string, Items, Pairs> data;
};

struct Pair {
  std::string key;
  Position at;  // of the key
  Value value;
};

struct SyntaxError {
  Position at;
  std::string message;
};

// Brackets inside brackets, and the parts of one dotted key. Deeper text is a syntax error, so that
// no walk of the tree can overflow the stack.
inline constexpr std::size_t max_depth = 16;

// The root table, or the first mistake. Never throws; `text` may be any bytes.
std::expected<Value, SyntaxError> parse_toml(std::string_view text);

}  // namespace stab::toml
