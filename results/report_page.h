// SPDX-License-Identifier: MIT
// Writes reports in every format. An HTML page shows more of an experiment than its document does:
// single trials, the plan and the builds.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "plan/plan.h"
#include "protocol/messages.h"
#include "report/html/page.h"
#include "report/model.h"
#include "results/document.h"
#include "store/reader.h"

namespace stab::results {

// `asked` must be the one that the document was made with.
Result<report::html::Background> background_of(store::Reader& store,
                                               const store::Experiment& experiment,
                                               const report::Document& document,
                                               const Asked& asked = {});

// Renders the document in the request's format, without a new analysis.
Result<protocol::ReportReply> show_any_report(store::Reader& store,
                                              const store::Experiment& experiment,
                                              const report::Document& document,
                                              const protocol::ReportRequest& request);

// Analyses the experiment and renders its document. `database` is a path that the report shows.
Result<protocol::ReportReply> answer_any_report(store::Reader& store,
                                                const store::Experiment& experiment,
                                                const std::string& database,
                                                const protocol::ReportRequest& request);

// Lists everything that may differ between trials. Conditions that no factor randomizes are listed
// as not random.
std::vector<report::html::Chance> chances_of(const plan::Plan& plan,
                                             const report::Document& document);

// Reads from the stored trials the single numbers that a page shows. Reads the trials in one pass,
// and in bounded memory whatever is stored. The same experiment always gives the same shots.
store::Outcome<report::html::Shots> read_shots(store::Reader& store,
                                               const store::Experiment& experiment,
                                               const plan::Plan& plan);

}  // namespace stab::results
