// SPDX-License-Identifier: MIT
// All readings of a trial as the text of one column (doc/store.md, "Readings"), and back:
//   [["page-faults","",12],["ratio","",0.5],["cycles","",9,0.25],["steal","ns",null,"no /proc"]]
// An element is name, unit, value; then of a scaled one the coverage, of an absent one the reason
// and, where it is not 1, the coverage. A real number has a point or an exponent.
//
// What is written is read back equal; what is no such text is refused (failure.h), whoever wrote
// it. A value that is not finite has no text and is written as absent.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "counters/reading.h"

namespace stab::store {

std::string reading_list(const std::vector<counters::Reading>& readings);

// Uses what is in `readings` again: of many trials with the same names it allocates nothing.
void read_reading_list(std::string_view text, std::vector<counters::Reading>& readings);

}  // namespace stab::store
