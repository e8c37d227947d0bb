// SPDX-License-Identifier: MIT
// How profiles write functions and amounts.
#pragma once

#include <string>

namespace stab::results {

// A symbol of C++ as people write it; any other as it is.
std::string readable(const std::string& symbol);

// "12.3 ms" where the unit is "ns", else a number.
std::string amount(double value, const std::string& unit);
// The same with its sign.
std::string change(double value, const std::string& unit);

}  // namespace stab::results
