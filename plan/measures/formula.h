// SPDX-License-Identifier: MIT
// Formulas of derived measures: numbers, names, + - * / and parentheses. A name that consists of
// letters, digits, '_' and '.' and does not begin with a digit needs no quotes; every other name
// stands in single or double quotes.
#pragma once

#include <cstddef>
#include <expected>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "counters/readings.h"
#include "plan/plan.h"

namespace stab::plan {

inline constexpr std::size_t max_formula = 1000;      // bytes
inline constexpr std::size_t max_formula_depth = 50;  // of parentheses and signs inside each other

// A step of a formula. Steps are listed in the order of evaluation: operators take the last
// results.
struct Step {
  enum class Kind { number, name, negate, add, subtract, multiply, divide };
  Kind kind = Kind::number;
  counters::Number value = 0;  // the value of a number
  std::string name{};
  std::size_t at = 0;  // the position of a name in the text, in bytes, from 1
};

using Formula = std::vector<Step>;

struct FormulaError {
  std::size_t at = 0;  // the position in the text, in bytes, from 1
  std::string message;
};

std::expected<Formula, FormulaError> parse_formula(std::string_view text);

// The formula's names, each once, in the order in which they first appear.
std::vector<std::string> names_in(const Formula& formula);

// The numbers from which this one is computed. That is the number itself, unless it is a derived
// measure of the plan.
std::vector<std::string> parts_of(const Plan& plan, const std::string& name);

// Returns nothing if there is no number with that name.
using FindReading = std::function<std::optional<counters::Reading>(std::string_view name)>;

// Computes a reading without a unit. It is scaled, with the least coverage, if a part is scaled. It
// is absent, with the reason, if a part is absent, if a divisor is 0, or if the result is not a
// finite number. Sums, differences and products of integers are integers, as long as they fit into
// 64 bits.
counters::Reading evaluate(const std::string& name, const Formula& formula,
                           const FindReading& find);

// Reads a text that is only a decimal number, whole or with a fraction or an exponent. A whole
// number that fits into 64 bits stays exact. Returns nothing for any other text, and for a number
// beyond the range of doubles.
std::optional<counters::Number> parse_number(std::string_view text);

}  // namespace stab::plan
