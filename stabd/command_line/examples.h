// SPDX-License-Identifier: MIT
// Command lines that --help of each verb and the manual page end with. A test gives each to the real
// parser.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace stab::command_line {

struct Example {
  std::string_view verb;  // "quiesce apply" of a verb in a verb
  std::string_view line;
};

// Those of one verb stand together.
std::span<const Example> examples();

// "Examples:" and a line each; "" if the verb has none.
std::string examples_text(std::string_view verb);

}  // namespace stab::command_line
