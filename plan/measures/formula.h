// SPDX-License-Identifier: MIT
// Formulas of derived measures: numbers, names, + - * / and parentheses. A name of letters, digits,
// '_' and '.' that does not begin with a digit stands as it is; every other one stands in single or
// double quotes.
#pragma once

#include <cstddef>
#include <expected>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "counters/reading.h"
#include "plan/plan.h"

namespace stab::plan {

inline constexpr std::size_t max_formula = 1000;      // bytes
inline constexpr std::size_t max_formula_depth = 50;  // of parentheses and signs in each other

// What a formula does, in the order in which it is done: operators take the last results.
struct Step {
  enum class Kind { number, name, negate, add, subtract, multiply, divide };
  Kind kind = Kind::number;
  counters::Number value = 0;  // of a number
  std::string name{};
  std::size_t at = 0;  // of a name: its first byte in the text, from 1
};

using Formula = std::vector<Step>;

struct FormulaError {
  std::size_t at = 0;  // the byte in the text, from 1
  std::string message;
};

std::expected<Formula, FormulaError> parse_formula(std::string_view text);

// The formula's names, each once, in the order of coming.
std::vector<std::string> names_in(const Formula& formula);

// The numbers that this one is computed of: itself, unless it is a derived measure of the plan.
std::vector<std::string> parts_of(const Plan& plan, const std::string& name);

// Nothing: there is no number of that name.
using FindReading = std::function<std::optional<counters::Reading>(std::string_view name)>;

// A reading without a unit. It is scaled with the least coverage if a part is; it is absent, with
// the reason, if a part is, if a divisor is 0, or if the result is no finite number. Sums, differences
// and products of integers are integers, as long as 64 bits hold them.
counters::Reading evaluate(const std::string& name, const Formula& formula,
                           const FindReading& find);

// A decimal number, whole or with a fraction or an exponent, and nothing else: a whole one that
// 64 bits hold stays exact. Nothing if it is no such number, or is beyond the range of doubles.
std::optional<counters::Number> parse_number(std::string_view text);

}  // namespace stab::plan
