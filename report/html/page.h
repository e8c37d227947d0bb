// SPDX-License-Identifier: MIT
// The report as one HTML file that needs nothing else: no script, no font, no request. Invariants:
// P1: a page refers to nothing outside itself, and its policy forbids a browser to load anything.
// P2: what plans, programs and machines are called is text, whatever it holds.
// P3: behind each picture stands the table of its numbers.
// P4: it has at most `most_dots` dots and most_rows rows of a table, however many trials there are.
#pragma once

#include <cstddef>
#include <string>

#include "report/html/background.h"
#include "report/model.h"

namespace stab::report::html {

std::string page(const Document& document, const Background& background);

}  // namespace stab::report::html
