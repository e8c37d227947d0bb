// SPDX-License-Identifier: MIT
// The options of a run, from one environment variable. The table is options.inc.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "runtime/base/line.h"

namespace stab::rt {

// A piece of the environment, not zero-terminated.
struct Text {
  const char* start = nullptr;
  size_t size = 0;
};

enum class When : uint8_t { once, repeated };
// What serves the program's blocks while heap=1.
enum class Base : uint8_t { shuffled, power2, bitmap, tlsf, system, stretched, layer };
const char* name_of(Base base);

constexpr uint64_t operator""_K(unsigned long long value) {
  return value << 10;
}
constexpr uint64_t operator""_ms(unsigned long long value) {
  return value * 1000000;
}

constexpr uint64_t operator""_percent(unsigned long long value) {
  return value;
}

struct Options {
  using flag = bool;
  using number = uint64_t;
  using text = Text;
  using when = When;
  using duration = uint64_t;  // nanoseconds
  using size = uint64_t;      // bytes; UINT64_MAX: never
  using share = uint64_t;     // percent; 0: off
  using base = Base;
  static constexpr Base shuffled = Base::shuffled;
  static constexpr When once = When::once;
  static constexpr When repeated = When::repeated;
  static constexpr Text none{};
#define STAB_OPTION(kind, name, initial, help) kind name = initial;
#include "runtime/base/options.inc"
#undef STAB_OPTION
  bool seed_given = false;
  bool heap_given = false;

  [[nodiscard]] bool again() const { return rerandomize == When::repeated; }
};

// Values may be quoted ('a:b'). What is not understood is left at its default and added to
// `complaints`, as "unknown option x, bad value of y"; nothing is added if all is well.
Options parse_options(const char* text, Line& complaints);

// One line for each option.
void describe_options(void (*print)(const char* line, size_t size));

}  // namespace stab::rt
