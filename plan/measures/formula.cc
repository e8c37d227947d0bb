// SPDX-License-Identifier: MIT
#include "plan/measures/formula.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "base/text.h"

namespace stab::plan {
namespace {

using counters::Number;
using counters::Reading;
using counters::Status;
using Kind = Step::Kind;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool begins_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool continues_name(char c) {
  return begins_name(c) || is_digit(c) || c == '.';
}

// The length of the number at the start of the text, which begins with a digit or a point.
std::size_t length_of_number(std::string_view text) {
  std::size_t size = 0;
  while (size < text.size() && (is_digit(text[size]) || text[size] == '.')) ++size;
  if (size == text.size() || (text[size] != 'e' && text[size] != 'E')) return size;
  std::size_t after = size + 1;
  if (after < text.size() && (text[after] == '+' || text[after] == '-')) ++after;
  if (after == text.size() || !is_digit(text[after])) return size;
  while (after < text.size() && is_digit(text[after])) ++after;
  return after;
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  std::expected<Formula, FormulaError> parse() {
    if (text_.size() > max_formula) {
      at_ = max_formula;
      fail(fmt::format("the formula has {} bytes, but at most {} are allowed", text_.size(),
                       max_formula));
    }
    sum();
    peek();
    if (at_ < text_.size()) fail(unexpected("an operator"));
    if (error_) return std::unexpected(*std::move(error_));
    return std::move(formula_);
  }

 private:
  // The next character that is not a space, or NUL at the end and after an error.
  char peek() {
    if (error_) return '\0';
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }

  // Only the first error counts.
  void fail(std::string message) {
    if (!error_) error_ = FormulaError{.at = at_ + 1, .message = std::move(message)};
  }

  // The whole character at this position, with all its bytes.
  [[nodiscard]] std::string_view character() const {
    std::size_t end = at_ + 1;
    while (end < text_.size() && (static_cast<unsigned char>(text_[end]) & 0xc0) == 0x80) ++end;
    return text_.substr(at_, end - at_);
  }

  [[nodiscard]] std::string unexpected(std::string_view wanted) const {
    if (at_ >= text_.size()) return fmt::format("{} is missing at the end", wanted);
    return fmt::format(
        "{} is expected here, not '{}'; a name that contains characters other than letters, "
        "digits, '_' and '.' must be in quotes",
        wanted, one_line(character(), 4));
  }

  void sum() {
    product();
    for (char c = peek(); c == '+' || c == '-'; c = peek()) {
      ++at_;
      product();
      formula_.push_back({.kind = c == '+' ? Kind::add : Kind::subtract});
    }
  }

  void product() {
    factor();
    for (char c = peek(); c == '*' || c == '/'; c = peek()) {
      ++at_;
      factor();
      formula_.push_back({.kind = c == '*' ? Kind::multiply : Kind::divide});
    }
  }

  void factor() {
    const char c = peek();
    if (++depth_ > max_formula_depth)
      fail(fmt::format("parentheses and signs are nested more than {} levels deep",
                       max_formula_depth));
    else if (c == '-')
      negative();
    else if (c == '(')
      parentheses();
    else if (c == '\'' || c == '"')
      quoted(c);
    else if (is_digit(c) || c == '.')
      number();
    else if (begins_name(c))
      bare();
    else
      fail(unexpected("a name or a number"));
    --depth_;
  }

  void negative() {
    ++at_;
    factor();
    formula_.push_back({.kind = Kind::negate});
  }

  void parentheses() {
    ++at_;
    sum();
    if (peek() != ')') return fail(unexpected("an operator or ')'"));
    ++at_;
  }

  void quoted(char quote) {
    const std::size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) return fail("this quote is not closed");
    add_name(text_.substr(at_ + 1, end - at_ - 1), at_ + 2);
    at_ = end + 1;
  }

  void bare() {
    std::size_t end = at_;
    while (end < text_.size() && continues_name(text_[end])) ++end;
    add_name(text_.substr(at_, end - at_), at_ + 1);
    at_ = end;
  }

  void number() {
    const std::string_view text = text_.substr(at_, length_of_number(text_.substr(at_)));
    const auto value = parse_number(text);
    if (!value) return fail(fmt::format("'{}' is not a number", text));
    formula_.push_back({.kind = Kind::number, .value = *value});
    at_ += text.size();
  }

  void add_name(std::string_view name, std::size_t at) {
    if (name.empty()) return fail("a name is missing between the quotes");
    formula_.push_back({.kind = Kind::name, .name = std::string(name), .at = at});
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t depth_ = 0;
  Formula formula_;
  std::optional<FormulaError> error_;
};

// Returns nothing if the divisor is 0.
std::optional<Number> apply(Kind kind, const Number& left, const Number& right) {
  const auto* a = std::get_if<std::int64_t>(&left);
  const auto* b = std::get_if<std::int64_t>(&right);
  std::int64_t whole = 0;
  const double x = counters::to_double(left);
  const double y = counters::to_double(right);
  switch (kind) {
    case Kind::add:
      if (a && b && !__builtin_add_overflow(*a, *b, &whole)) return whole;
      return x + y;
    case Kind::subtract:
      if (a && b && !__builtin_sub_overflow(*a, *b, &whole)) return whole;
      return x - y;
    case Kind::multiply:
      if (a && b && !__builtin_mul_overflow(*a, *b, &whole)) return whole;
      return x * y;
    default:
      if (y == 0) return std::nullopt;
      return x / y;
  }
}

Number pop(std::vector<Number>& stack) {
  const Number last = stack.back();
  stack.pop_back();
  return last;
}

// Returns nothing if a divisor is 0. `values` has the values of the formula's names, in the order
// of its steps.
std::optional<Number> compute(const Formula& formula, const std::vector<Number>& values) {
  std::vector<Number> stack;
  auto value = values.begin();
  for (const Step& step : formula) {
    if (step.kind == Kind::number) {
      stack.push_back(step.value);
    } else if (step.kind == Kind::name) {
      stack.push_back(*value++);
    } else {
      const Number right = pop(stack);
      const auto result = step.kind == Kind::negate ? apply(Kind::subtract, Number(0), right)
                                                    : apply(step.kind, pop(stack), right);
      // If an intermediate result is not finite, neither is the final one.
      if (!result || !counters::is_finite(*result)) return result;
      stack.push_back(*result);
    }
  }
  return pop(stack);
}

}  // namespace

std::expected<Formula, FormulaError> parse_formula(std::string_view text) {
  return Parser(text).parse();
}

std::vector<std::string> names_in(const Formula& formula) {
  std::vector<std::string> names;
  for (const Step& step : formula)
    if (step.kind == Kind::name && std::ranges::find(names, step.name) == names.end())
      names.push_back(step.name);
  return names;
}

std::vector<std::string> parts_of(const Plan& plan, const std::string& name) {
  const auto derived = std::ranges::find(plan.derived, name, &DerivedMeasure::name);
  if (derived == plan.derived.end()) return {name};
  const auto formula = parse_formula(derived->formula);
  return formula ? names_in(*formula) : std::vector<std::string>{};
}

Reading evaluate(const std::string& name, const Formula& formula, const FindReading& find) {
  std::vector<Number> values;
  Reading result = counters::counted(name, "", 0);
  for (const Step& step : formula) {
    if (step.kind != Kind::name) continue;
    const auto part = find(step.name);
    if (!part) return counters::absent(name, "", fmt::format("{} does not exist", step.name));
    if (part->status == Status::absent)
      return counters::absent(name, "", fmt::format("{} is absent: {}", step.name, part->reason));
    if (part->status == Status::scaled) {
      result.status = Status::scaled;
      result.coverage = std::min(result.coverage, part->coverage);
    }
    values.push_back(part->value);
  }
  const auto value = compute(formula, values);
  if (!value) return counters::absent(name, "", "a divisor is 0");
  if (!counters::is_finite(*value))
    return counters::absent(name, "", "the result is not a finite number");
  result.value = *value;
  return result;
}

std::optional<Number> parse_number(std::string_view text) {
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  // from_chars would accept "inf" and "nan".
  const std::string_view digits = text.starts_with('-') ? text.substr(1) : text;
  if (digits.empty() || !(is_digit(digits[0]) || digits[0] == '.')) return std::nullopt;
  const char* const end = text.data() + text.size();
  std::int64_t whole = 0;
  if (const auto read = std::from_chars(text.data(), end, whole);
      read.ec == std::errc() && read.ptr == end)
    return whole;
  double real = 0;
  const auto read = std::from_chars(text.data(), end, real);
  if (read.ec != std::errc() || read.ptr != end || !std::isfinite(real)) return std::nullopt;
  return real;
}

}  // namespace stab::plan
