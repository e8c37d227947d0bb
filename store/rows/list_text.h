// SPDX-License-Identifier: MIT
// Lists in JSON as the text of a column: what their writers and readers have in common. What is no
// such text is refused (failure.h), whoever wrote it.
#pragma once

#include <string>
#include <string_view>

namespace stab::store {

// In quotes.
void add_text(std::string& to, const std::string& text);

// Reads a text from its beginning to its end, each byte once.
class ListScanner {
 public:
  // `column` is named by what is refused.
  ListScanner(std::string_view column, std::string_view text) : column_(column), rest_(text) {}

  [[noreturn]] void wrong() const;
  [[nodiscard]] bool is_at_end() const { return rest_.empty(); }

  bool take(char byte);
  bool take(std::string_view word);
  void expect(char byte);
  void read(std::string& text);
  double real();  // finite
  // The digits before the next comma or bracket, which are then read; nothing else is looked at.
  [[nodiscard]] std::string_view number_ahead() const;
  void skip(std::string_view ahead) { rest_.remove_prefix(ahead.size()); }

 private:
  std::string_view column_;
  std::string_view rest_;
};

}  // namespace stab::store
