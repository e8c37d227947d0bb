// SPDX-License-Identifier: MIT
#include "stats/numbers/decimal.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

namespace stab::stats {
namespace {

constexpr int most_digits = 36;  // 10^36 < 2^127 / 100

constexpr std::array<Int128, most_digits + 1> powers = [] {
  std::array<Int128, most_digits + 1> result{};
  result[0] = 1;
  for (std::size_t i = 1; i < result.size(); ++i) result[i] = 10 * result[i - 1];
  return result;
}();

constexpr std::array<double, powers.size()> double_powers = [] {
  std::array<double, powers.size()> result{};
  std::ranges::transform(powers, result.begin(), [](Int128 x) { return static_cast<double>(x); });
  return result;
}();

Int128 power(int exponent) {
  return powers[static_cast<std::size_t>(exponent)];
}

double double_power(int exponent) {
  return double_powers[static_cast<std::size_t>(exponent)];
}

// Most numbers have few digits, and computing with 64 bits is much faster.
bool is_short(Int128 digits) {
  return digits == static_cast<std::int64_t>(digits);
}

// The nearest double.
double rounded(Int128 digits) {
  return is_short(digits) ? static_cast<double>(static_cast<std::int64_t>(digits))
                          : static_cast<double>(digits);
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// The parts of a number in a text: digits, which may contain a point, and an exponent.
struct Parts {
  bool negative = false;
  Int128 digits = 0;
  int used = 0;      // significant digits
  int decimals = 0;  // digits after the point
  int exponent = 0;
  bool whole = true;  // all digits are in `digits`
};

std::optional<int> parse_exponent(std::string_view text) {
  if (!text.empty() && text.front() == '+') text.remove_prefix(1);
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  constexpr int beyond = 1'000'000;  // larger than for any double
  return std::clamp(value, -beyond, beyond);
}

std::optional<Parts> split(std::string_view text, char point) {
  Parts parts;
  std::size_t at = 0;
  if (at < text.size() && (text[at] == '-' || text[at] == '+')) parts.negative = text[at++] == '-';
  bool any = false;
  // A number begins with up to 18 digits in most tables; 64 bits hold them.
  constexpr std::size_t short_digits = 18;
  std::int64_t first = 0;
  const std::size_t most = std::min(text.size(), at + short_digits);
  for (; at < most && is_digit(text[at]); ++at) {
    any = true;
    if (first > 0 || text[at] != '0') ++parts.used;
    first = 10 * first + (text[at] - '0');
  }
  parts.digits = first;
  bool after = false;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (c == point && !after) {
      after = true;
    } else if (is_digit(c)) {
      any = true;
      if (after) ++parts.decimals;
      if (parts.used > 0 || c != '0') ++parts.used;
      if (parts.used <= most_digits)
        parts.digits = 10 * parts.digits + (c - '0');
      else
        parts.whole = false;
    } else {
      break;
    }
  }
  if (!any) return std::nullopt;
  if (at == text.size()) return parts;
  if (text[at] != 'e' && text[at] != 'E') return std::nullopt;
  const auto exponent = parse_exponent(text.substr(at + 1));
  if (!exponent) return std::nullopt;
  parts.exponent = *exponent;
  return parts;
}

std::optional<Decimal> to_decimal(const Parts& parts) {
  if (!parts.whole || std::abs(parts.exponent) > 2 * most_digits) return std::nullopt;
  Decimal result{.digits = parts.negative ? -parts.digits : parts.digits,
                 .scale = parts.decimals - parts.exponent};
  if (result.digits == 0) return Decimal{};
  const auto without_zeros = [&](auto digits) {
    for (; result.scale > 0 && digits % 10 == 0; --result.scale) digits /= 10;
    result.digits = digits;
  };
  if (is_short(result.digits))
    without_zeros(static_cast<std::int64_t>(result.digits));
  else
    without_zeros(result.digits);
  if (result.scale > most_digits || parts.used - result.scale > most_digits) return std::nullopt;
  if (result.scale < 0) {
    result.digits *= power(-result.scale);
    result.scale = 0;
  }
  return result;
}

std::optional<double> parse_word(std::string_view text) {
  bool negative = false;
  if (!text.empty() && (text.front() == '-' || text.front() == '+')) {
    negative = text.front() == '-';
    text.remove_prefix(1);
  }
  std::string word(text.substr(0, 9));
  std::ranges::transform(word, word.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  if (word == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (word == "inf" || word == "infinity")
    return negative ? -std::numeric_limits<double>::infinity()
                    : std::numeric_limits<double>::infinity();
  return std::nullopt;
}

// The nearest double. It is computed exactly if doubles hold the digits and the power of ten,
// otherwise by the library.
std::optional<double> to_double(const Parts& parts, std::string_view text, char point) {
  constexpr int exact_powers = 22;
  constexpr Int128 exact_digits = Int128{1} << 53;
  const int scale = parts.decimals - parts.exponent;
  if (parts.whole && parts.digits <= exact_digits && std::abs(scale) <= exact_powers) {
    const double digits = rounded(parts.digits);
    const double factor = double_power(std::abs(scale));
    const double value = scale >= 0 ? digits / factor : digits * factor;
    return parts.negative ? -value : value;
  }
  std::string copy(text.front() == '+' ? text.substr(1) : text);
  std::ranges::replace(copy, point, '.');
  double value = 0;
  const auto [end, error] = std::from_chars(copy.data(), copy.data() + copy.size(), value);
  if (error == std::errc()) return value;
  if (error != std::errc::result_out_of_range) return std::nullopt;
  const bool tiny = parts.digits == 0 || parts.used - scale < 0;
  const double size = tiny ? 0.0 : std::numeric_limits<double>::infinity();
  return parts.negative ? -size : size;
}

// digits * 10^by, or nothing if it does not fit.
std::optional<Int128> shifted(Int128 digits, int by) {
  if (by == 0) return digits;
  Int128 result = 0;
  if (__builtin_mul_overflow(digits, power(by), &result)) return std::nullopt;
  return result;
}

}  // namespace

std::optional<Number> parse_number(std::string_view text, char point) {
  const auto parts = split(text, point);
  if (!parts) {
    const auto word = parse_word(text);
    return word ? std::optional(Number{.value = *word, .exact = {}}) : std::nullopt;
  }
  const auto value = to_double(*parts, text, point);
  if (!value) return std::nullopt;
  return Number{.value = *value, .exact = to_decimal(*parts)};
}

std::optional<double> difference(const Decimal& a, const Decimal& b) {
  const int scale = std::max(a.scale, b.scale);
  const auto left = shifted(a.digits, scale - a.scale);
  const auto right = shifted(b.digits, scale - b.scale);
  Int128 result = 0;
  if (!left || !right || __builtin_sub_overflow(*left, *right, &result)) return std::nullopt;
  return rounded(result) / double_power(scale);
}

}  // namespace stab::stats
