// SPDX-License-Identifier: MIT
// Parses TOML text into a tree of values with their positions, and collects the problems of a
// text. A table keeps its keys in the order of the text. value.cc is the only user of toml++, which
// is slow to compile and sorts the keys.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace stab::toml {

// toml++ 3.3 builds one nested table for each part of a dotted key, without a limit, and overflows
// the stack when it frees half a million of them. So the depth of a text is checked before it is
// parsed: this is the offset where brackets nest deeper than `limit`, or where a dotted key has
// more than `limit` dots. The answer is right up to the text's first syntax error, where the parser
// stops, too.
std::optional<std::size_t> too_deep(std::string_view text, std::size_t limit);

// Lines and columns start at 1; 0:0 means the text as a whole.
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
  Position at;  // position of the key
  Value value;
};

struct SyntaxError {
  Position at;
  std::string message;
};

// Limits how deep brackets may nest and how many dots a key may have. Deeper text is a syntax
// error, so that no walk of the tree can overflow the stack.
inline constexpr std::size_t max_depth = 16;

// Returns the root table, or the first syntax error. Never throws; `text` may be any bytes.
std::expected<Value, SyntaxError> parse_toml(std::string_view text);

inline constexpr std::size_t max_problems = 50;  // further ones are only counted

// A mistake in the text. `line` and `column` start at 1; 0 means the text as a whole.
struct Problem {
  std::uint32_t line = 0;
  std::uint32_t column = 0;
  std::string message;  // names the key and says what to change
};

// Collects all problems of a text, so that the user sees them at once.
class Problems {
 public:
  void add(Position at, std::string message);
  [[nodiscard]] bool empty() const { return problems_.empty(); }
  [[nodiscard]] std::size_t count() const { return problems_.size(); }
  // Whether there are so many problems that hints, which are slow to find, no longer help.
  [[nodiscard]] bool is_crowded() const { return problems_.size() >= 2 * max_problems; }

  // Returns at most max_problems, ordered by position, and then one more that counts the rest.
  std::vector<Problem> take() &&;

 private:
  std::vector<Problem> problems_;
};

// "plan.toml:12:3: unknown key 'repetition', did you mean 'repetitions'?", one line per problem.
std::string describe(const std::vector<Problem>& problems, std::string_view file);

}  // namespace stab::toml
