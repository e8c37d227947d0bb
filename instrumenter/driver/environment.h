// SPDX-License-Identifier: MIT
// szc speaks to ld.stab through clang by environment variables.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"

namespace stab::driver {

// Users may set all of these except the last four, for builds that lose flags on the way.
namespace variable {
inline constexpr const char* compiler = "STAB_CC";  // clang or gcc; wins over the next one
inline constexpr const char* clang = "STAB_CLANG";
inline constexpr const char* off = "STAB_OFF";
inline constexpr const char* strict = "STAB_STRICT";
inline constexpr const char* quiet = "STAB_QUIET";
inline constexpr const char* link_order = "STAB_LINK_ORDER";
inline constexpr const char* link_padding = "STAB_LINK_PADDING";
inline constexpr const char* stack = "STAB_STACK";
inline constexpr const char* linker = "STAB_LD_LINKER";       // the linker that the user chose
inline constexpr const char* used_clang = "STAB_LD_CLANG";    // the clang that calls ld.stab
inline constexpr const char* pass_phase = "STAB_PASS_PHASE";  // in which stab-pass.so works
inline constexpr const char* started =
    "STAB_STARTED";  // the compilers that szc started, outermost first
}  // namespace variable

// Returns "" if the variable is not set.
std::string environment(const char* name);

// Whether the variable is neither empty nor 0.
bool is_set(const char* name);

// `name` is the flag or variable that an error message names.
Result<std::uint64_t> parse_seed(std::string_view name, std::string_view text);

}  // namespace stab::driver
