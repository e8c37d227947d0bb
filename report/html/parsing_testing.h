// SPDX-License-Identifier: MIT
// For tests: parses pages by XML rules, which are stricter than the rules of browsers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace stab::report::html {

struct Element {
  std::string name{};
  std::map<std::string, std::string> attributes{};
  std::string text{};  // including the text of the elements in it
  std::size_t depth = 0;
};

inline std::string unescaped(std::string_view text) {
  static const std::map<std::string, char, std::less<>> names{
      {"amp", '&'}, {"lt", '<'}, {"gt", '>'}, {"quot", '"'}, {"#39", '\''}};
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::size_t end = text[i] == '&' ? text.find(';', i) : i;
    const auto name = names.find(std::string(text.substr(i + 1, end - i - (end > i ? 1 : 0))));
    if (end == i || end == std::string_view::npos || name == names.end()) {
      result += text[i];
      continue;
    }
    result += name->second;
    i = end;
  }
  return result;
}

// All elements in the order of their start tags. `problem` is "" if the page is well-formed.
struct Parsed {
  std::vector<Element> elements{};
  std::string problem{};
};

inline Parsed parse(std::string_view page) {
  Parsed parsed;
  std::vector<std::size_t> open;
  const auto fail = [&](const std::string& why, std::size_t place) {
    parsed.problem = why + " at: " + std::string(page.substr(place, 80));
    return parsed;
  };
  std::size_t i = page.starts_with("<!DOCTYPE html>") ? 15 : 0;
  while (i < page.size()) {
    if (page[i] != '<') {
      const std::size_t end = std::min(page.find('<', i), page.size());
      const std::string_view raw = page.substr(i, end - i);
      if (raw.contains('>')) return fail("a bare >", i);
      for (const std::size_t each : open) parsed.elements[each].text += unescaped(raw);
      i = end;
      continue;
    }
    const std::size_t end = page.find('>', i);
    if (end == std::string_view::npos) return fail("a tag without its end", i);
    std::string_view tag = page.substr(i + 1, end - i - 1);
    if (tag.starts_with('/')) {
      if (open.empty() || parsed.elements[open.back()].name != tag.substr(1))
        return fail("an end that nothing began", i);
      open.pop_back();
      i = end + 1;
      continue;
    }
    const bool empty = tag.ends_with('/');
    if (empty) tag.remove_suffix(1);
    Element element{.name = std::string(tag.substr(0, tag.find(' '))), .depth = open.size()};
    for (std::size_t at = tag.find(' '); at != std::string_view::npos;) {
      const std::size_t equal = tag.find("=\"", at);
      const std::size_t quote = equal == std::string_view::npos ? equal : tag.find('"', equal + 2);
      if (quote == std::string_view::npos) return fail("an attribute without its value", i);
      const auto [entry, fresh] =
          element.attributes.emplace(std::string(tag.substr(at + 1, equal - at - 1)),
                                     unescaped(tag.substr(equal + 2, quote - equal - 2)));
      if (!fresh) return fail("an attribute that is there twice", i);
      at = quote + 1 < tag.size() ? quote + 1 : std::string_view::npos;
    }
    parsed.elements.push_back(std::move(element));
    if (!empty) open.push_back(parsed.elements.size() - 1);
    i = end + 1;
  }
  if (!open.empty()) return fail("not closed: " + parsed.elements[open.back()].name, page.size());
  return parsed;
}

inline std::vector<Element> elements_named(const Parsed& parsed, const std::string& name) {
  std::vector<Element> found;
  std::ranges::copy_if(parsed.elements, std::back_inserter(found),
                       [&](const Element& element) { return element.name == name; });
  return found;
}

}  // namespace stab::report::html
