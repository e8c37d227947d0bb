// SPDX-License-Identifier: MIT
// Computes the verdicts of one experiment, or compares one experiment with an earlier one.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/error.h"
#include "results/trials.h"
#include "stats/verdicts/analysis.h"
#include "stats/verdicts/decide.h"
#include "store/reader.h"

namespace stab::results {

struct Comparison {
  std::string title{};
  stats::Analysis analysis{};
  stats::Findings findings{};
  std::uint64_t failed = 0;  // measured trials that failed or were skipped
  bool complete = true;      // no experiment was cancelled or failed as a whole
};

// With one experiment, returns its own analysis. With two, compares the second with the first, for
// each benchmark in each cell that both have, with the second plan's response, scale, alpha and
// margin. Nested designs compare the means of seeds. Each experiment is one session of the machine,
// so the data can't tell how much sessions differ by themselves: change, interval and p reflect
// only the variation within the sessions, and every verdict is `unsure` with that reason, except
// for exact effects.
Result<Comparison> compare(store::Reader& store, std::span<const store::Experiment> experiments,
                           const Asked& asked = {});

}  // namespace stab::results
