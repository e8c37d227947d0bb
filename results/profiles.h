// SPDX-License-Identifier: MIT
// Answers `stabctl profile`: lists the functions of a trial, or the functions that take longer in
// one cell of the plan than in another.
#pragma once

#include <string>

#include "base/error.h"
#include "protocol/run.h"
#include "store/reader.h"

namespace stab::results {

// Fails if the plan does not ask for profiles. For a trial without a profile, the answer states the
// reason.
Result<protocol::ProfileReply> answer_profile(store::Reader& store,
                                              const store::Experiment& experiment,
                                              const protocol::ProfileRequest& request);

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
