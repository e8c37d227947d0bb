// SPDX-License-Identifier: MIT
// Computes the result of a dataset and a spec: the design's models, the effects and the verdicts.
#pragma once

#include "stats/data/dataset.h"
#include "stats/data/spec.h"
#include "stats/verdicts/analysis.h"

namespace stab::stats {

// Any dataset and any spec give a result. If nothing can be computed, a note says why.
Analysis analyse(const Dataset& data, const Spec& spec);

}  // namespace stab::stats
