// SPDX-License-Identifier: MIT
// Facts about a trial's program that are known before it runs: two readings of each trial, which
// are the same in all trials of a build.
#pragma once

#include <string_view>

namespace stab::plan {

// The size of the program's code: the bytes of its loaded segments that may be executed.
inline constexpr std::string_view code_size = "code-size";
// The CPU time that the build's commands took when the program was built.
inline constexpr std::string_view compile_time = "compile-time";

constexpr bool is_of_builds(std::string_view reading) {
  return reading == code_size || reading == compile_time;
}

}  // namespace stab::plan
