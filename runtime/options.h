// SPDX-License-Identifier: MIT
// The options of a run, from one environment variable. The table is options.inc.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "runtime/line.h"

namespace stab::rt {

// A piece of the environment, not zero-terminated.
struct Text {
  const char* start = nullptr;
  size_t size = 0;
};

struct Options {
  using flag = bool;
  using number = uint64_t;
  using text = Text;
  using when = bool;
  static constexpr bool once = true;
  static constexpr Text none{};
#define STAB_OPTION(kind, name, initial, help) kind name = initial;
#include "runtime/options.inc"
#undef STAB_OPTION
  bool seed_given = false;
};

// Values may be quoted ('a:b'). What is not understood is left at its default and added to
// `complaints`, as "unknown option x, bad value of y"; nothing is added if all is well.
Options parse_options(const char* text, Line& complaints);

// One line for each option.
void describe_options(void (*print)(const char* line, size_t size));

}  // namespace stab::rt
