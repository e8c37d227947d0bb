// SPDX-License-Identifier: MIT
#include "toml/depth.h"

#include <algorithm>

namespace stab::toml {
namespace {

std::size_t end_of_line(std::string_view text, std::size_t i) {
  return std::min(text.find('\n', i), text.size());
}

// Returns the offset after the one-line string that starts at i. An unclosed string ends with its
// line.
std::size_t after_short_string(std::string_view text, std::size_t i) {
  const char quote = text[i];
  for (++i; i < text.size() && text[i] != '\n'; ++i) {
    if (text[i] == quote) return i + 1;
    if (text[i] == '\\' && quote == '"') ++i;
  }
  return std::min(i, text.size());
}

// Returns the offset after the string in triple quotes that starts at i. Its last characters may be
// up to two quotes, before the closing three.
std::size_t after_long_string(std::string_view text, std::size_t i) {
  const char quote = text[i];
  std::size_t quotes = 0;
  for (i += 3; i < text.size(); ++i) {
    quotes = text[i] == quote ? quotes + 1 : 0;
    if (quotes == 5 || (quotes >= 3 && text.substr(i + 1, 1) != std::string_view(&quote, 1)))
      return i + 1;
    if (text[i] == '\\' && quote == '"') ++i;
  }
  return text.size();
}

std::size_t after_string(std::string_view text, std::size_t i) {
  const bool is_long = text.size() - i >= 3 && text[i + 1] == text[i] && text[i + 2] == text[i];
  return is_long ? after_long_string(text, i) : after_short_string(text, i);
}

}  // namespace

std::optional<std::size_t> too_deep(std::string_view text, std::size_t limit) {
  std::size_t brackets = 0;
  std::size_t dots = 0;
  for (std::size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (c == '"' || c == '\'') {
      i = after_string(text, i);
      continue;
    }
    if (c == '#') {
      i = end_of_line(text, i);
      continue;
    }
    if (c == '[' || c == '{') ++brackets;
    if ((c == ']' || c == '}') && brackets > 0) --brackets;
    if (c == '.') ++dots;
    if (std::string_view("\n=,[]{}").contains(c)) dots = 0;
    if (brackets > limit || dots > limit) return i;
    ++i;
  }
  return std::nullopt;
}

}  // namespace stab::toml
