// SPDX-License-Identifier: MIT
#include "plan/rules.h"

#include <algorithm>

#include "plan/plan.h"

namespace stab::plan {
namespace {

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_identifier_char(char c) {
  return is_letter(c) || is_digit(c) || c == '_';
}

// The text is known to be valid UTF-8. U+0080 to U+009F are control characters, too: C2 80 to C2
// 9F.
bool has_control(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c < 0x20 || c == 0x7f) return true;
    if (c == 0xc2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xa0)
      return true;
  }
  return false;
}

std::size_t characters(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

bool is_printable(std::string_view text, std::size_t limit) {
  return !has_control(text) && characters(text) <= limit;
}

}  // namespace

bool is_word(std::string_view text) {
  return text.size() <= max_word && !text.contains('\0');
}
bool is_filled_word(std::string_view text) {
  return !text.empty() && is_word(text);
}
bool is_title(std::string_view text) {
  return !text.empty() && is_printable(text, 100);
}
bool is_event(std::string_view text) {
  return !text.empty() && is_printable(text, 200);
}
bool is_question(std::string_view text) {
  return is_printable(text, 500);
}

bool is_node(std::string_view text) {
  constexpr std::size_t most = 64;
  if (text.empty() || text.size() > most || !(is_letter(text[0]) || is_digit(text[0])))
    return false;
  return std::ranges::all_of(text,
                             [](char c) { return is_identifier_char(c) || c == '.' || c == '-'; });
}
bool is_cluster_word(std::string_view text) {
  constexpr std::size_t most = 200;
  return !text.empty() && text.size() <= most &&
         std::ranges::all_of(text, [](char c) { return c > ' ' && c < 0x7f; });
}

bool is_unit(std::string_view text) {
  return is_printable(text, 20);
}
bool is_pattern(std::string_view text) {
  return is_filled_word(text) && text.size() <= 1000;
}
bool is_formula(std::string_view text) {
  return is_pattern(text);
}

bool is_name(std::string_view text) {
  const auto fits = [](char c) {
    return is_identifier_char(c) || c == '.' || c == '+' || c == '-';
  };
  return !text.empty() && text.size() <= 64 && text != "." && text != ".." &&
         std::ranges::all_of(text, fits);
}

bool is_identifier(std::string_view text) {
  return !text.empty() && text.size() <= 64 && !is_digit(text[0]) &&
         std::ranges::all_of(text, is_identifier_char);
}

bool is_relative_path(std::string_view text) {
  return is_filled_word(text) && text[0] != '/';
}

bool is_revision(std::string_view text) {
  return !text.empty() && text[0] != '-' && is_printable(text, 200);
}

bool is_commit(std::string_view text) {
  return is_resolved(text) && text != working_tree;
}

bool is_sha256(std::string_view text) {
  const auto is_hex = [](char c) {
    return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
  };
  return text.size() == 64 && std::ranges::all_of(text, is_hex);
}

}  // namespace stab::plan
