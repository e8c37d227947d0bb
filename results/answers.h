// SPDX-License-Identifier: MIT
// Answers `report`, `compare` and `logs`. The caller has the database open and has checked that the
// user may see the experiments.
#pragma once

#include <span>
#include <string>

#include "base/error.h"
#include "protocol/messages.h"
#include "report/model.h"
#include "store/reader.h"

namespace stab::results {

// Wraps a report's text in a reply, with the findings for the exit code.
protocol::ReportReply reply_with(std::string text, const store::Experiment& experiment,
                                 const report::Document& document);

// Fails if there is no such format; the error lists the formats.
Result<void> check_report_format(const std::string& format);

// Renders the document as text or JSON; report_page.h renders HTML.
protocol::ReportReply show_report(const store::Experiment& experiment,
                                  const report::Document& document,
                                  const protocol::ReportRequest& request);
// Compares one experiment or two; see compare.h.
Result<protocol::ReportReply> answer_compare(store::Reader& store,
                                             std::span<const store::Experiment> experiments,
                                             const protocol::CompareRequest& request);
// The experiment's output and events that come after the given place in its log.
Result<protocol::LogsReply> answer_logs(store::Reader& store, const store::Experiment& experiment,
                                        const protocol::LogPlace& after);

}  // namespace stab::results
