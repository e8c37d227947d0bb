// SPDX-License-Identifier: MIT
// A history as text and a page for people, and as JSON for programs.
#pragma once

#include <string>

#include "client/history_series.h"
#include "report/words/quantity.h"

namespace stab::client::history {

// "opt=O2 heap=on"; "" if the benchmark has no treatments.
std::string cell_name(const Levels& levels);
// One unit for all means of the series.
report::Scale scale_of(const History& history, const Series& series);
// "5.12 % more from experiment 17 on, worse (p = 0.00100)"
std::string change_words(const Change& change, const Series& series, const History& history,
                         const report::Scale& scale);

// "main 3f2a91c1"; "" if no commit is known.
std::string source_of(const Experiment& experiment);

// One line for each experiment, with a drawing of its interval, and a line for each change.
std::string as_text(const History& history);

// One object; doc/history.md describes it.
std::string as_json(const History& history);

// A self-contained HTML file, like that of a report (report/html/page.h). One picture for each
// series, up to the limits `most_pictures` and `most_dots` of report/html/parts.h.
std::string as_page(const History& history);

}  // namespace stab::client::history
