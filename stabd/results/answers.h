// SPDX-License-Identifier: MIT
// What `report`, `compare` and `export` answer, for whoever has the database open.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/error.h"
#include "stats/verdicts/decide.h"
#include "store/store.h"

namespace stab::results {

struct Format {
  std::string name = "text";
  bool colour = false;  // of text
  bool full = false;    // text: all tables
};

// The text, and what an exit code is made of.
struct Answer {
  std::string text{};
  bool complete = true;      // not cancelled, not failed as a whole; of a report: done
  std::uint64_t failed = 0;  // measured trials that failed or were skipped
  stats::Findings findings{};
};

// Text or JSON. `database` is shown to the reader. Fails with a sentence for another format.
Result<Answer> answer_report(store::Store& store, const store::Experiment& experiment,
                             const std::string& database, const Format& format);
// One experiment or two, as JSON or else as text; see compare.h.
Result<Answer> answer_compare(store::Store& store, std::span<const store::Experiment> experiments,
                              const Format& format);
// CSV or JSON. Fails with a sentence for another format.
Result<std::string> answer_export(store::Store& store, const store::Experiment& experiment,
                                  const std::string& format);

}  // namespace stab::results
