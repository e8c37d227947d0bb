// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "stats/verdicts/analysis.h"

namespace stab::report {

// What the verdicts in the table of changes mean, and why some seem to disagree with an interval
// beside them. `full`: each comparison's own interval stands there, too.
std::string changes_legend(const stats::Analysis& analysis, bool full);

}  // namespace stab::report
