// SPDX-License-Identifier: MIT
// HTML that is XML, too. M1: names of elements and attributes are written in our sources, all other
// text is escaped. M2: whatever is opened is closed.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace stab::report::html {

// For text and for values of attributes. Control characters, marks that reorder text, and bytes that
// are no UTF-8 become '?'; the end of a line in two characters becomes that in one.
std::string escaped(std::string_view text);

// Known when we are compiled, so never from a plan or a database (M1).
class Literal {
 public:
  // NOLINTNEXTLINE(google-explicit-constructor)
  consteval Literal(const char* text) : text_(text) {}
  [[nodiscard]] std::string_view text() const { return text_; }

 private:
  std::string_view text_;
};

struct Attribute {
  Literal name;
  std::string value;
};
using Attributes = std::initializer_list<Attribute>;

class Markup {
 public:
  Markup& open(Literal element, Attributes attributes = {});
  Markup& close();  // what was opened last
  Markup& text(std::string_view text);
  Markup& leaf(Literal element, std::string_view text, Attributes attributes = {});
  Markup& empty(Literal element, Attributes attributes = {});
  Markup& literal(Literal text);  // as it is
  Markup& add(const Markup& whole);

  [[nodiscard]] bool is_whole() const { return open_.empty(); }
  [[nodiscard]] const std::string& str() const { return text_; }

 private:
  void begin(Literal element, Attributes attributes);

  std::string text_;
  std::vector<Literal> open_;
};

}  // namespace stab::report::html
