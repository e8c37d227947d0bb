// SPDX-License-Identifier: MIT
// What is known of a trial's program before it runs: two readings of each trial, the same in all
// trials of a build.
#pragma once

#include <string_view>

namespace stab::plan {

// Bytes of the program's code: its loaded segments that may be executed.
inline constexpr std::string_view code_size = "code-size";
// CPU time of the build's commands when the program was built.
inline constexpr std::string_view compile_time = "compile-time";

constexpr bool is_of_builds(std::string_view reading) {
  return reading == code_size || reading == compile_time;
}

}  // namespace stab::plan
