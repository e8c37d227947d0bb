// SPDX-License-Identifier: MIT
#include "runtime/base/line.h"

#include "runtime/base/memory.h"

namespace stab::rt {

Line& Line::text(const char* text) {
  return this->text(text, length_of(text));
}

Line& Line::text(const char* text, size_t count) {
  for (size_t i = 0; i < count; ++i) put(text[i]);
  return *this;
}

Line& Line::number(uint64_t value) {
  char digits[20];
  size_t n = 0;
  do digits[n++] = static_cast<char>('0' + value % 10);
  while ((value /= 10) != 0);
  while (n > 0) put(digits[--n]);
  return *this;
}

Line& Line::hex(uint64_t value) {
  return text("0x").hex_digits(value);
}

Line& Line::hex_digits(uint64_t value) {
  int shift = 60;
  while (shift > 0 && (value >> shift) == 0) shift -= 4;
  for (; shift >= 0; shift -= 4) put("0123456789abcdef"[(value >> shift) & 15]);
  return *this;
}

void Line::key(const char* name) {
  text(open_ ? ", \"" : "{\"").text(name).text("\": ");
  open_ = true;
}

Line& Line::field(const char* name, uint64_t value) {
  key(name);
  return number(value);
}

Line& Line::hex_field(const char* name, uint64_t value) {
  key(name);
  put('"');
  hex(value);
  put('"');
  return *this;
}

// Control characters and bytes beyond ASCII become '?', so the line stays valid JSON.
Line& Line::field(const char* name, const char* value) {
  key(name);
  put('"');
  for (size_t i = 0; value[i] != '\0'; ++i) {
    if (value[i] == '"' || value[i] == '\\') put('\\');
    put(value[i] >= ' ' && value[i] < 0x7f ? value[i] : '?');
  }
  put('"');
  return *this;
}

Line& Line::close() {
  text(open_ ? "}\n" : "{}\n");
  return *this;
}

const char* Line::c_string() {
  buffer_[used_] = '\0';
  return buffer_;
}

}  // namespace stab::rt
