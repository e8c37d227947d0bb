// SPDX-License-Identifier: MIT
// The command lines at the end of each verb's --help and of the manual page. A test gives each of
// them to the real parser.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace stab::command_line {

struct Example {
  std::string_view verb;  // "quiesce apply" for a verb of a verb
  std::string_view line;
};

// The examples of one verb follow each other.
std::span<const Example> examples();

// "Examples:", and a line for each example; "" if the verb has no examples.
std::string examples_text(std::string_view verb);

}  // namespace stab::command_line
