// SPDX-License-Identifier: MIT
// Builds a trial's environment from scratch. Its size influences the layout because it moves the
// stack. So the size is always a whole number of pages plus the bytes that a plan asks for. A
// treatment that changes a variable does not change the size, unless the sum of all variables
// crosses a page.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace stab::machine {

inline constexpr std::size_t environment_unit = 4096;
// The variable that pads the environment. Programs see it, but it has no meaning.
inline constexpr const char* padding_variable = "STABD_PADDING";

// Returns "NAME=value" strings, sorted by name. Their sizes, including the terminating zeros, add
// up to a multiple of environment_unit plus `extra_bytes`.
std::vector<std::string> make_environment(std::map<std::string, std::string> variables,
                                          std::uint64_t extra_bytes);

// The variables of every trial and build, unless the plan changes them: PATH, HOME, USER, LANG and
// TMPDIR.
std::map<std::string, std::string> base_variables(std::uint32_t uid);

}  // namespace stab::machine
