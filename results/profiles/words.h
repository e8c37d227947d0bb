// SPDX-License-Identifier: MIT
// How profiles write functions and amounts.
#pragma once

#include <string>

namespace stab::results {

// A symbol of C++ as people write it; any other as it is.
std::string readable(const std::string& symbol);

// The one symbol that stands for all symbols of a function: a constructor or destructor has one for
// whole objects (C1, D1) and one for parts of others (C2, D2), which compilers mostly make aliases of one
// another and of which a profile names either.
std::string one_symbol(const std::string& symbol);

// "12.3 ms" where the unit is "ns", else a number.
std::string amount(double value, const std::string& unit);
// The same with its sign.
std::string change(double value, const std::string& unit);

}  // namespace stab::results
