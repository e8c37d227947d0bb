// SPDX-License-Identifier: MIT
// Computes and writes the answers to `report`, `compare` and `logs`. The caller has the database
// open and has checked that the user may see the experiments.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/error.h"
#include "protocol/messages.h"
#include "report/model.h"
#include "results/trials.h"
#include "stats/verdicts/analysis.h"
#include "stats/verdicts/decide.h"
#include "store/reader.h"

namespace stab::results {

// The verdicts of one experiment, or the comparison of one with an earlier one.
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

// Wraps a report's text in a reply, with the findings for the exit code.
protocol::ReportReply reply_with(std::string text, const store::Experiment& experiment,
                                 const report::Document& document);

// Fails if there is no such format; the error lists the formats.
Result<void> check_report_format(const std::string& format);

// Renders the document as text or JSON; report_page.h renders HTML.
protocol::ReportReply show_report(const store::Experiment& experiment,
                                  const report::Document& document,
                                  const protocol::ReportRequest& request);
// Compares one experiment or two.
Result<protocol::ReportReply> answer_compare(store::Reader& store,
                                             std::span<const store::Experiment> experiments,
                                             const protocol::CompareRequest& request);
// The experiment's output and events that come after the given place in its log.
Result<protocol::LogsReply> answer_logs(store::Reader& store, const store::Experiment& experiment,
                                        const protocol::LogPlace& after);

}  // namespace stab::results
