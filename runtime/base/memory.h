// SPDX-License-Identifier: MIT
// Replacements for libc functions that the runtime must not call: the program's pages, the PLT
// among them, may be out of reach, and a program may replace these functions.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace stab::rt {

static inline void copy_bytes(void* to, const void* from, size_t count) {
  __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(count) : : "memory");
}

static inline void fill_bytes(void* to, unsigned char value, size_t count) {
  __asm__ volatile("rep stosb" : "+D"(to), "+c"(count) : "a"(value) : "memory");
}

static inline size_t length_of(const char* text) {
  size_t n = 0;
  while (text[n] != '\0') ++n;
  return n;
}

static inline bool equal(const char* a, const char* b, size_t count) {
  for (size_t i = 0; i < count; ++i)
    if (a[i] != b[i]) return false;
  return true;
}

// Returns whether `word` is exactly the `count` bytes at `text`.
static inline bool spells(const char* word, const char* text, size_t count) {
  return length_of(word) == count && equal(word, text, count);
}

// Reads the number that follows any blanks, and moves `at` behind it. Returns false if there is no
// number.
static inline bool read_decimal(const char*& at, uint64_t& value) {
  while (*at == ' ') ++at;
  const char* begin = at;
  for (value = 0; *at >= '0' && *at <= '9'; ++at)
    value = value * 10 + static_cast<uint64_t>(*at - '0');
  return at != begin;
}

static inline uint32_t load32(const uint8_t* at) {
  uint32_t value = 0;
  __builtin_memcpy(&value, at, sizeof value);
  return value;
}

static inline void store32(uint8_t* at, uint32_t value) {
  __builtin_memcpy(at, &value, sizeof value);
}

static inline uint64_t address_of(const void* pointer) {
  return reinterpret_cast<uint64_t>(pointer);
}

static inline uint64_t align_up(uint64_t value, uint64_t align) {
  return (value + align - 1) / align * align;
}

}  // namespace stab::rt
