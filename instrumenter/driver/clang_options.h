// SPDX-License-Identifier: MIT
// The little that szc knows of clang's options; tests/driver_clang_test.sh compares it with clang.
#pragma once

#include <span>
#include <string_view>

namespace stab::driver {

// Options whose value is the next argument: what follows them is no input and no flag.
std::span<const std::string_view> options_with_next();

// After one of these clang does not link (-c, -E, --version, ...).
bool stops_before_link(std::string_view option);

}  // namespace stab::driver
