// SPDX-License-Identifier: MIT
// Stored rows of an experiment -> the document that a report shows.
#pragma once

#include <string>

#include "base/error.h"
#include "plan/plan.h"
#include "report/model.h"
#include "stabd/results/stopping.h"
#include "store/reader.h"

namespace stab::results {

// Works at any time of an experiment's life, on what there is. `database` is shown to the reader;
// "" is not.
Result<report::Document> make_document(store::Reader& store, const store::Experiment& experiment,
                                       const std::string& database);

// What the plan's stopping rule says of the first `blocks` measured blocks; the plan has one.
store::Outcome<Look> look_at_trials(store::Reader& store, const store::Experiment& experiment,
                                    const plan::Plan& plan, std::uint32_t blocks);

}  // namespace stab::results
