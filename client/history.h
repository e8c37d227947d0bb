// SPDX-License-Identifier: MIT
// 'stabctl history': collects the history of one benchmark (results/history.h), and shows it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/error.h"
#include "client/verbs.h"
#include "report/words/quantity.h"
#include "results/history.h"

namespace stab::client::history {

using results::history::Change;
using results::history::Experiment;
using results::history::History;
using results::history::Levels;
using results::history::Series;

// A history as text and a page for people, and as JSON for programs.

// "opt=O2 heap=on"; "" if the benchmark has no treatments.
std::string cell_name(const Levels& levels);
// One unit for all means of the series.
report::Scale scale_of(const History& history, const Series& series);
// "5.12 % more from experiment 17 on, worse (p = 0.001)"
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

namespace stab::client {

struct HistoryOptions {
  std::string benchmark;
  std::string experiment;  // only experiments with this name; "": all
  std::string html;        // file for the history as a page; "": no page
  std::size_t last = 200;  // how many of the latest experiments are examined
  double alpha = 0.05;
  std::uint64_t seed = 1;
  bool pool = false;  // as in results::history::Options
};

// Shows one benchmark over the experiments of a daemon or a folder. Requests their reports as any
// client may, so it shows only experiments that the caller has access to.
Result<int> show_history(const Common& common, const HistoryOptions& options);

}  // namespace stab::client
