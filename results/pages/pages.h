// SPDX-License-Identifier: MIT
// Reports in any form. A page in HTML has more of an experiment than its document: single trials,
// the plan, the builds.
#pragma once

#include <string>

#include "base/error.h"
#include "protocol/messages.h"
#include "report/html/background.h"
#include "results/document.h"
#include "store/reader.h"

namespace stab::results {

// Of the number that the document is about.
Result<report::html::Background> background_of(store::Reader& store,
                                               const store::Experiment& experiment,
                                               const report::Document& document,
                                               const Asked& asked = {});

// The document in the request's format, which is not analysed again.
Result<protocol::ReportReply> show_any_report(store::Reader& store,
                                              const store::Experiment& experiment,
                                              const report::Document& document,
                                              const protocol::ReportRequest& request);

// The same of an experiment. `database` is shown to the reader.
Result<protocol::ReportReply> answer_any_report(store::Reader& store,
                                                const store::Experiment& experiment,
                                                const std::string& database,
                                                const protocol::ReportRequest& request);

}  // namespace stab::results
