// SPDX-License-Identifier: MIT
#include "report/drawing/markup.h"

#include <cassert>
#include <cstddef>
#include <cstdint>

namespace stab::report::html {
namespace {

// The length in bytes of the first character. 0 if it is not valid UTF-8 or not allowed in XML.
std::size_t character_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return first >= 0x20 ? (first == 0x7f ? 0 : 1) : 0;
  const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < length) return 0;
  std::uint32_t code = first & (0x7fU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0U) != 0x80) return 0;
    code = code << 6 | (byte(i) & 0x3fU);
  }
  const bool too_long = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
  const bool surrogate = code >= 0xd800 && code < 0xe000;
  // C1 controls, marks that reorder the text around them, and noncharacters.
  const bool control = code < 0xa0 || code == 0x061c || code == 0x200e || code == 0x200f ||
                       (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069) ||
                       (code & 0xfffeU) == 0xfffe;
  return too_long || surrogate || control || code > 0x10ffff ? 0 : length;
}

std::string_view entity(char c) {
  switch (c) {
    case '&':
      return "&amp;";
    case '<':
      return "&lt;";
    case '>':
      return "&gt;";
    case '"':
      return "&quot;";
    case '\'':
      return "&#39;";
    default:
      return "";
  }
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    if (text.starts_with("\r\n")) text.remove_prefix(1);
    const char c = text.front();
    const std::size_t length = c == '\n' || c == '\t' ? 1 : character_length(text);
    if (const std::string_view name = entity(c); !name.empty())
      result += name;
    else if (length == 0)
      result += '?';
    else
      result += text.substr(0, length);
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return result;
}

void Markup::begin(Literal element, Attributes attributes) {
  text_ += '<';
  text_ += element.text();
  for (const Attribute& each : attributes) {
    text_ += ' ';
    text_ += each.name.text();
    text_ += "=\"" + escaped(each.value) + '"';
  }
}

Markup& Markup::open(Literal element, Attributes attributes) {
  begin(element, attributes);
  text_ += '>';
  open_.push_back(element);
  return *this;
}

Markup& Markup::close() {
  assert(!open_.empty());  // M2
  text_ += "</";
  text_ += open_.back().text();
  text_ += ">\n";
  open_.pop_back();
  return *this;
}

Markup& Markup::text(std::string_view text) {
  text_ += escaped(text);
  return *this;
}

Markup& Markup::leaf(Literal element, std::string_view text, Attributes attributes) {
  return open(element, attributes).text(text).close();
}

Markup& Markup::empty(Literal element, Attributes attributes) {
  begin(element, attributes);
  text_ += "/>\n";
  return *this;
}

Markup& Markup::literal(Literal text) {
  text_ += text.text();
  return *this;
}

Markup& Markup::add(const Markup& whole) {
  assert(whole.is_whole());  // M2
  text_ += whole.text_;
  return *this;
}

}  // namespace stab::report::html
