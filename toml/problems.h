// SPDX-License-Identifier: MIT
// Collects all problems of a text, so that the user sees them at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "toml/value.h"

namespace stab::toml {

inline constexpr std::size_t max_problems = 50;  // further ones are only counted

// A mistake in the text. `line` and `column` start at 1; 0 means the text as a whole.
struct Problem {
  std::uint32_t line = 0;
  std::uint32_t column = 0;
  std::string message;  // names the key and says what to change
};

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
