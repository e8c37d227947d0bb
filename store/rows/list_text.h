// SPDX-License-Identifier: MIT
// Shared code for columns whose text is a list in JSON. Readers refuse any other text (exceptions.h),
// whoever wrote it.
#pragma once

#include <string>
#include <string_view>

namespace stab::store {

// Appends the text in quotes.
void add_text(std::string& to, const std::string& text);

// Reads a text from its beginning to its end, each byte once.
class ListScanner {
 public:
  // Errors name `column`.
  ListScanner(std::string_view column, std::string_view text) : column_(column), rest_(text) {}

  [[noreturn]] void wrong() const;
  [[nodiscard]] bool is_at_end() const { return rest_.empty(); }

  bool take(char byte);
  bool take(std::string_view word);
  void expect(char byte);
  void read(std::string& text);
  double real();  // must be finite
  // The characters before the next comma or bracket, unchecked and not yet skipped.
  [[nodiscard]] std::string_view number_ahead() const;
  void skip(std::string_view ahead) { rest_.remove_prefix(ahead.size()); }

 private:
  std::string_view column_;
  std::string_view rest_;
};

}  // namespace stab::store
