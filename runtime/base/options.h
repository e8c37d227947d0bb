// SPDX-License-Identifier: MIT
// The options of a run and its seed, which one environment variable sets. options.inc is the table
// of options.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "runtime/base/allocators.h"
#include "runtime/base/line.h"

namespace stab::rt {

// A piece of the environment, which does not end with a zero byte.
struct Text {
  const char* start = nullptr;
  size_t size = 0;
};

enum class When : uint8_t { once, repeated };
// The allocator that serves the program's blocks if heap=1.
#define STAB_ITEM(name, ...) name,
enum class Base : uint8_t { STAB_EACH_ALLOCATOR(STAB_ITEM) };
#undef STAB_ITEM
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

// The limits of heap_bag.
constexpr uint64_t least_bag = 8;
constexpr uint64_t largest_bag = 4096;

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

// Values may be quoted ('a:b'). An option that is not understood keeps its default, and is added to
// `complaints` as "unknown option x, bad value of y, wrong quotes around the value of z". Nothing is
// added if all options are understood. If a quote is not closed, the value ends at the next colon,
// so that the options behind it count.
Options parse_options(const char* text, Line& complaints);

// Prints one line for each option.
void describe_options(void (*print)(const char* line, size_t size));

// Returns the value of STABILIZER_OPTIONS, or nullptr if the variable is not set or the kernel does
// not confirm that the program has the same rights as its caller (AT_SECURE). Programs that such a
// program starts read the variable if it is passed on to them.
const char* options_text(char** environment);

// The environment that the kernel passed to the program, also before libc has set environ.
char** initial_environment();

// Returns the seed that the options give, or a fresh one. Every call returns the same seed.
uint64_t run_seed(const Options& options);

}  // namespace stab::rt
