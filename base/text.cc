// SPDX-License-Identifier: MIT
#include "base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

namespace stab {
namespace {

// The length of the valid UTF-8 sequence at the start of text, or 0. Surrogates and overlong forms
// are invalid.
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const auto continues = [&](std::size_t i) { return i < text.size() && (byte(i) & 0xc0) == 0x80; };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first < 0xe0) return continues(1) ? 2 : 0;
  if (first >= 0xe0 && first < 0xf0) {
    if (!continues(1) || !continues(2)) return 0;
    const bool overlong = first == 0xe0 && byte(1) < 0xa0;
    const bool surrogate = first == 0xed && byte(1) >= 0xa0;
    return overlong || surrogate ? 0 : 3;
  }
  if (first >= 0xf0 && first < 0xf5) {
    if (!continues(1) || !continues(2) || !continues(3)) return 0;
    const bool overlong = first == 0xf0 && byte(1) < 0x90;
    const bool beyond = first == 0xf4 && byte(1) >= 0x90;
    return overlong || beyond ? 0 : 4;
  }
  return 0;
}

std::string valid_utf8(std::string_view text) {
  std::string valid;
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    if (length == 0)
      valid += '?';
    else
      valid += text.substr(0, length);
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return valid;
}

}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row[b.size()];
}

std::string nearest(std::string_view word, std::span<const std::string> candidates) {
  if (word.size() > 64) return "";
  std::string best;
  std::size_t best_distance = std::max<std::size_t>(2, word.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

std::string one_line(std::string_view text, std::size_t limit) {
  std::string line = valid_utf8(text.substr(0, limit));
  for (std::size_t i = 0; i < line.size(); ++i) {
    const auto byte = static_cast<unsigned char>(line[i]);
    if (byte < 0x20 || byte == 0x7f) line[i] = ' ';
    // U+0080 to U+009F are control characters, too: terminals treat U+009B like ESC [.
    if (byte == 0xc2 && static_cast<unsigned char>(line[i + 1]) < 0xa0) line[i] = line[i + 1] = ' ';
  }
  if (text.size() > limit) line += "...";
  return line;
}

std::string without_middle(std::string_view text, std::size_t limit) {
  constexpr std::string_view dots = "...";
  if (text.size() <= limit) return one_line(text, limit);
  const std::size_t kept = limit - std::min(limit, dots.size());
  const std::size_t end = kept / 2;
  std::size_t from = text.size() - end;
  const auto is_inside_character = [](char byte) {
    return (static_cast<unsigned char>(byte) & 0xc0) == 0x80;
  };
  while (from < text.size() && is_inside_character(text[from])) ++from;
  std::size_t first = kept - end;
  while (first > 0 && is_inside_character(text[first])) --first;
  return fmt::format("{}{}{}", one_line(text.substr(0, first), limit), dots,
                     one_line(text.substr(from), limit));
}

namespace {

// Calls use() with each line that is not blank, until use() returns true.
template <typename Use>
void each_line(std::string_view text, Use use) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    if (line.find_first_not_of(" \t\r") != std::string_view::npos && use(line)) return;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

}  // namespace

std::string last_line(std::string_view text, std::size_t limit) {
  std::string_view last;
  each_line(text, [&](std::string_view line) {
    last = line;
    return false;
  });
  return one_line(last, limit);
}

std::string first_error(std::string_view text, std::size_t limit) {
  // The messages of compilers, linkers and make come first. The messages of shells are only a
  // second choice, because the output of configure contains them, too.
  constexpr std::array<std::string_view, 4> surely{"error:", "Error: ", "undefined reference",
                                                   "*** "};
  constexpr std::array<std::string_view, 2> perhaps{": not found", ": No such file or"};
  const auto first_of = [&](const auto& signs) {
    std::string_view first;
    each_line(text, [&](std::string_view line) {
      const bool has_sign =
          std::ranges::any_of(signs, [&](std::string_view sign) { return line.contains(sign); });
      if (has_sign) first = line;
      return has_sign;
    });
    return first;
  };
  std::string_view first = first_of(surely);
  if (first.empty()) first = first_of(perhaps);
  return first.empty() ? last_line(text, limit) : one_line(first, limit);
}

std::string tail(std::string_view text, std::size_t limit) {
  if (text.size() <= limit) return valid_utf8(text);
  const std::size_t cut = text.size() - limit;
  return fmt::format("[the first {} bytes are not kept]\n{}", cut, valid_utf8(text.substr(cut)));
}

std::string format_bytes(std::uint64_t bytes) {
  for (const auto& [shift, unit] : {std::pair(30, "GiB"), {20, "MiB"}, {10, "KiB"}})
    if (bytes != 0 && bytes % (std::uint64_t{1} << shift) == 0)
      return fmt::format("{} {}", bytes >> shift, unit);
  return fmt::format("{} bytes", bytes);
}

std::string about_bytes(std::uint64_t bytes) {
  for (const auto& [shift, unit] : {std::pair(30, "GiB"), {20, "MiB"}, {10, "KiB"}})
    if (const auto one = std::uint64_t{1} << shift; bytes >= one)
      return fmt::format("{:.1f} {}", static_cast<double>(bytes) / static_cast<double>(one), unit);
  return fmt::format("{} bytes", bytes);
}

std::string rounded(double value, int digits) {
  constexpr double million = 1e6;
  const double size = std::abs(value);
  return size >= std::pow(10, digits) - 0.5 && size < million - 0.5
             ? fmt::format("{:.0f}", value)
             : fmt::format("{:.{}g}", value, digits);
}

std::pair<std::string, std::string> rounded_ends(double low, double high, int digits, bool sign) {
  constexpr double tiny = 1e-4;
  constexpr double million = 1e6;
  const auto signed_text = [&](double value, const std::string& text) {
    return (sign && value > 0 ? "+" : "") + text;
  };
  const double larger = std::max(std::abs(low), std::abs(high));
  if (!(larger >= tiny && larger < million))
    return {signed_text(low, rounded(low, digits)), signed_text(high, rounded(high, digits))};
  // The larger end may have one digit more than it needs.
  const int most = std::max(digits - static_cast<int>(std::floor(std::log10(larger))), 0);
  const auto needed = [&](double value) {
    const std::string text = rounded(value, digits);
    if (text.contains('e')) return most;
    const std::size_t dot = text.find('.');
    return dot == std::string::npos ? 0 : static_cast<int>(text.size() - dot - 1);
  };
  const int decimals = std::min(std::max(needed(low), needed(high)), most);
  std::string first = fmt::format("{:.{}f}", low, decimals);
  std::string second = fmt::format("{:.{}f}", high, decimals);
  const auto is_lost = [](double value, const std::string& text) {
    return value != 0 && text.find_first_of("123456789") == std::string::npos;
  };
  if (is_lost(low, first) || is_lost(high, second)) {
    first = rounded(low, digits);
    second = rounded(high, digits);
  }
  return {signed_text(low, first), signed_text(high, second)};
}

std::string shell_quote(std::string_view word) {
  std::string quoted = "'";
  for (const char c : word) {
    if (c == '\'')
      quoted += "'\\''";
    else
      quoted += c;
  }
  return quoted + "'";
}

}  // namespace stab
