// SPDX-License-Identifier: MIT
// Writes functions and amounts for profiles.
#pragma once

#include <string>

namespace stab::results {

// Demangles a C++ symbol and returns any other symbol unchanged.
std::string readable(const std::string& symbol);

// Returns one symbol for all symbols of a function. A constructor or destructor has a symbol for
// complete objects (C1, D1) and one for base objects (C2, D2); compilers mostly make them aliases,
// and a profile may name either.
std::string one_symbol(const std::string& symbol);

// "12.3 ms" if the unit is "ns", otherwise a plain number.
std::string amount(double value, const std::string& unit);
// amount() with an explicit sign.
std::string change(double value, const std::string& unit);

}  // namespace stab::results
