// SPDX-License-Identifier: MIT
#include "plan/substitute.h"

#include <algorithm>
#include <set>
#include <string>

namespace stab::plan {
namespace {

bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// Returns the NAME if the text starts with ${NAME}, or else "". Other uses of ${ belong to the
// shell.
std::string_view leading_name(std::string_view text) {
  if (!text.starts_with("${")) return {};
  const auto* const end = std::ranges::find_if_not(text.substr(2), is_name_char);
  const std::string_view name(text.data() + 2, end);
  const bool is_closed = end != text.data() + text.size() && *end == '}';
  return is_closed && !name.empty() && !(name[0] >= '0' && name[0] <= '9') ? name
                                                                           : std::string_view{};
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
