// SPDX-License-Identifier: MIT
#include "store/rows/list_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "store/exceptions.h"

namespace stab::store {

void add_text(std::string& to, const std::string& text) {
  // The names that our own code uses need no escapes.
  constexpr auto is_plain = [](unsigned char byte) {
    return byte >= 0x20 && byte < 0x7f && byte != '"' && byte != '\\';
  };
  if (std::ranges::all_of(text, is_plain))
    fmt::format_to(std::back_inserter(to), "\"{}\"", text);
  else
    to += json_string(text);
}

void ListScanner::wrong() const {
  refuse(fmt::format("the column {} is not a list in stabd's format", column_));
}

bool ListScanner::take(char byte) {
  if (rest_.empty() || rest_.front() != byte) return false;
  rest_.remove_prefix(1);
  return true;
}

bool ListScanner::take(std::string_view word) {
  if (!rest_.starts_with(word)) return false;
  rest_.remove_prefix(word.size());
  return true;
}

void ListScanner::expect(char byte) {
  if (!take(byte)) wrong();
}

void ListScanner::read(std::string& text) {
  expect('"');
  const auto end = rest_.find_first_of("\"\\");
  if (end == std::string_view::npos) wrong();
  if (rest_[end] == '"') {
    text.assign(rest_.substr(0, end));
    rest_.remove_prefix(end + 1);
    return;
  }
  std::size_t quote = end;
  while (quote < rest_.size() && rest_[quote] != '"') quote += rest_[quote] == '\\' ? 2 : 1;
  if (quote >= rest_.size()) wrong();
  const auto escaped =
      nlohmann::json::parse(fmt::format("\"{}\"", rest_.substr(0, quote)), nullptr, false);
  if (!escaped.is_string()) wrong();
  text = escaped.get<std::string>();
  rest_.remove_prefix(quote + 1);
}

double ListScanner::real() {
  double value = 0;
  const auto [stop, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
  if (error != std::errc() || !std::isfinite(value)) wrong();
  rest_.remove_prefix(static_cast<std::size_t>(stop - rest_.data()));
  return value;
}

std::string_view ListScanner::number_ahead() const {
  return rest_.substr(0, rest_.find_first_of(",]"));
}

}  // namespace stab::store
