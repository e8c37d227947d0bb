// SPDX-License-Identifier: MIT

#include "plan/texts.h"

#include <algorithm>
#include <charconv>
#include <variant>

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
std::optional<NodeRange> node_range(std::string_view text) {
  NodeRange range;
  const char* const end = text.data() + text.size();
  const auto [middle, no_least] = std::from_chars(text.data(), end, range.least);
  if (no_least != std::errc() || middle == end || *middle != '-') return std::nullopt;
  const auto [rest, no_most] = std::from_chars(middle + 1, end, range.most);
  const bool is_good = no_most == std::errc() && rest == end && range.least >= 1 &&
                       range.least < range.most && range.most <= max_machines;
  return is_good ? std::optional(range) : std::nullopt;
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

namespace {

// Returns the NAME if the text starts with ${NAME}, or else "". Other uses of ${ belong to the
// shell.
std::string_view leading_name(std::string_view text) {
  if (!text.starts_with("${")) return {};
  const auto* const end = std::ranges::find_if_not(text.substr(2), is_identifier_char);
  const std::string_view name(text.data() + 2, end);
  const bool is_closed = end != text.data() + text.size() && *end == '}';
  return is_closed && !name.empty() && !is_digit(name[0]) ? name : std::string_view{};
}

// Calls plain(text), name(NAME) and escape() for the pieces of the text from left to right.
template <class Plain, class Name, class Escape>
void scan(std::string_view text, Plain plain, Name name, Escape escape) {
  while (!text.empty()) {
    const std::size_t dollar = std::min(text.find('$'), text.size());
    plain(text.substr(0, dollar));
    text.remove_prefix(dollar);
    if (text.empty()) return;
    if (const std::string_view found = leading_name(text); !found.empty()) {
      name(found);
      text.remove_prefix(found.size() + 3);
    } else if (text.starts_with("$$")) {
      escape();
      text.remove_prefix(2);
    } else {
      plain(text.substr(0, 1));
      text.remove_prefix(1);
    }
  }
}

std::string replace(std::string_view text, const Variables& variables, std::string_view dollar) {
  std::string result;
  scan(
      text, [&](std::string_view plain) { result += plain; },
      [&](std::string_view name) {
        const auto found = variables.find(std::string(name));
        if (found != variables.end())
          result += found->second;
        else
          result.append("${").append(name).append("}");
      },
      [&] { result += dollar; });
  return result;
}

}  // namespace

std::string substitute(std::string_view text, const Variables& variables) {
  return replace(text, variables, "$");
}

std::string fill(std::string_view text, const Variables& variables) {
  return replace(text, variables, "$$");
}

std::vector<std::string> names_in(std::string_view text) {
  std::vector<std::string> names;
  scan(
      text, [](std::string_view) {}, [&](std::string_view name) { names.emplace_back(name); },
      [] {});
  return names;
}

std::set<std::string> changing_names(const Variables& variables,
                                     const std::vector<const Factor*>& factors) {
  std::set<std::string> changing{"OUT", "DIR", "LDFLAGS"};
  for (const auto& [name, value] : variables)
    for (const std::string& used : names_in(value))
      if (used == "OUT" || used == "DIR") changing.insert(name);
  for (const Factor* factor : factors)
    if (const auto* fixed = std::get_if<FixedLevels>(&factor->levels))
      for (const Level& level : fixed->levels)
        for (const auto& [name, value] : level.variables) changing.insert(name);
  return changing;
}

}  // namespace stab::plan
