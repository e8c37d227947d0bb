// SPDX-License-Identifier: MIT
// The report as one HTML file without scripts, fonts or requests. Invariants:
// P1: a page refers to nothing outside itself, and its policy forbids the browser to load anything.
// P2: the names of plans, programs and machines are shown as text, whatever they contain.
// P3: each picture has a table of its numbers.
// P4: a kind of picture has at most `most_dots` dots, and a table has at most `most_rows` rows.
#pragma once

#include <cstddef>
#include <string>

#include "report/html/background.h"
#include "report/model.h"

namespace stab::report::html {

std::string page(const Document& document, const Background& background);

}  // namespace stab::report::html
