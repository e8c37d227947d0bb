// SPDX-License-Identifier: MIT
// The verdicts of one experiment, or of one experiment against an earlier one.
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

// One: its own analysis. Two: each benchmark in each cell that both have, the second experiment
// against the first, as its plan says (response, scale, alpha, margin). Nested designs compare the
// means of seeds. Each experiment is one session of the machine, so nothing says how much sessions
// differ by themselves: change, interval and p are those within the sessions, and every verdict is
// `unsure` with that reason.
Result<Comparison> compare(store::Reader& store, std::span<const store::Experiment> experiments,
                           const Asked& asked = {});

}  // namespace stab::results
