// SPDX-License-Identifier: MIT
// One line of text in a fixed buffer, which cuts off text that does not fit. Usable in a signal
// handler.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace stab::rt {

class Line {
 public:
  Line& text(const char* text);
  Line& text(const char* text, size_t count);
  Line& number(uint64_t value);
  Line& hex(uint64_t value);  // with 0x
  Line& hex_digits(uint64_t value);

  // Appends a JSON member, `"key": value`, preceded by the comma or brace.
  Line& field(const char* key, uint64_t value);
  Line& field(const char* key, const char* value);
  Line& hex_field(const char* key, uint64_t value);
  // Closes the object and the line.
  Line& close();

  [[nodiscard]] const char* data() const { return buffer_; }
  [[nodiscard]] size_t size() const { return used_; }
  // Ends the text with a zero, for the kernel.
  const char* c_string();

 private:
  void put(char c) {
    if (used_ + 1 < sizeof buffer_) buffer_[used_++] = c;
  }
  void key(const char* name);

  char buffer_[1536];
  size_t used_ = 0;
  bool open_ = false;
};

}  // namespace stab::rt
