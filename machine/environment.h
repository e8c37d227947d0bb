// SPDX-License-Identifier: MIT
// A trial's environment, built from scratch. Its size is itself a layout factor (it moves the
// stack), so it is always a whole number of pages plus the bytes that a plan asks for: a treatment
// that changes a variable does not change it, unless the sum of all variables passes a page.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace stab::machine {

inline constexpr std::size_t environment_unit = 4096;
// Fills the environment up. Programs see it; it means nothing.
inline constexpr const char* padding_variable = "STABD_PADDING";

// "NAME=value" strings in the order of names whose bytes, the terminating zeros included, add up to
// a multiple of environment_unit plus `extra_bytes`.
std::vector<std::string> make_environment(std::map<std::string, std::string> variables,
                                          std::uint64_t extra_bytes);

// What every trial and build gets unless the plan says otherwise: PATH, HOME, USER, LANG, TMPDIR.
std::map<std::string, std::string> base_variables(std::uint32_t uid);

}  // namespace stab::machine
