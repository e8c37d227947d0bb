// SPDX-License-Identifier: MIT
// What `report`, `compare` and `logs` answer, for whoever has the database open and has looked who may see
// the experiments.
#pragma once

#include <span>
#include <string>

#include "base/error.h"
#include "protocol/messages.h"
#include "report/model.h"
#include "store/reader.h"

namespace stab::results {

// What is said beside the text of a report.
protocol::ReportReply reply_with(std::string text, const store::Experiment& experiment,
                                 const report::Document& document);

// An error that names those there are, unless it is one of them.
Result<void> check_report_format(const std::string& format);

// The document in text or JSON; pages/pages.h has the other format.
protocol::ReportReply show_report(const store::Experiment& experiment,
                                  const report::Document& document,
                                  const protocol::ReportRequest& request);
// Of one experiment or two; see compare.h.
Result<protocol::ReportReply> answer_compare(store::Reader& store,
                                             std::span<const store::Experiment> experiments,
                                             const protocol::CompareRequest& request);
// What it printed and what happened, from there on.
Result<protocol::LogsReply> answer_logs(store::Reader& store, const store::Experiment& experiment,
                                        const protocol::LogPlace& after);

}  // namespace stab::results
