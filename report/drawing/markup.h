// SPDX-License-Identifier: MIT
// HTML that is also well-formed XML. M1: the names of elements and attributes are literals in our
// sources; all other text is escaped. M2: every element that is opened is closed.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace stab::report::html {

// Escapes text and the values of attributes. Control characters, marks that reorder text, and bytes
// that are not UTF-8 become '?'. CR LF becomes LF.
std::string escaped(std::string_view text);

// A string that is known at compile time, so it never comes from a plan or a database (M1).
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
  Markup& close();  // the element that was opened last
  Markup& text(std::string_view text);
  Markup& leaf(Literal element, std::string_view text, Attributes attributes = {});
  Markup& empty(Literal element, Attributes attributes = {});
  Markup& literal(Literal text);  // without escaping
  Markup& add(const Markup& whole);

  [[nodiscard]] bool is_whole() const { return open_.empty(); }
  [[nodiscard]] const std::string& str() const { return text_; }

 private:
  void begin(Literal element, Attributes attributes);

  std::string text_;
  std::vector<Literal> open_;
};

}  // namespace stab::report::html
