// SPDX-License-Identifier: MIT
// Converts the readings of a trial to the text of one column (doc/store.md, "Readings") and back:
//   [["page-faults","",12],["ratio","",0.5],["cycles","",9,0.25],["steal","ns",null,"no /proc"]]
// An element has name, unit and value. A scaled reading also has its coverage, and an absent one
// its reason and, unless it is 1, its coverage. A real number has a point or an exponent.
//
// Reading returns what was written, and refuses any other text (exceptions.h), whoever wrote it. A
// value that is not finite is written as absent.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "counters/reading.h"

namespace stab::store {

std::string reading_list(const std::vector<counters::Reading>& readings);

// Reuses the memory of `readings`: for many trials with the same names it allocates nothing.
void read_reading_list(std::string_view text, std::vector<counters::Reading>& readings);

}  // namespace stab::store
