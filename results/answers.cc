// SPDX-License-Identifier: MIT
#include "results/answers.h"

#include <fmt/format.h>

#include <cassert>
#include <utility>

#include "base/text.h"
#include "report/json.h"
#include "report/text.h"
#include "results/compare.h"

namespace stab::results {
namespace {

template <class Request>
report::TextOptions options_of(const Request& request) {
  return {.colour = request.colour,
          .full = request.full,
          .width = report::fitting(request.width.value_or(report::page_width))};
}

template <class Request>
Asked asked_of(const Request& request) {
  return {.response = request.response, .better = request.better};
}

protocol::ReportReply reply_of(std::string text, bool complete, std::uint64_t failed,
                               const stats::Findings& findings) {
  return {.text = std::move(text),
          .complete = complete,
          .failed = failed,
          .regressed = findings.regressed,
          .unsure = findings.unsure};
}

}  // namespace

protocol::ReportReply reply_with(std::string text, const store::Experiment& experiment,
                                 const report::Document& document) {
  return reply_of(std::move(text), experiment.state == "done",
                  document.trials.failed + document.trials.skipped, document.findings());
}

Result<void> check_report_format(const std::string& format) {
  if (format == "text" || format == "json" || format == "html") return {};
  return fail(fmt::format("there is no report format '{}': the formats are text, json and html",
                          one_line(format, 50)));
}

protocol::ReportReply show_report(const store::Experiment& experiment,
                                  const report::Document& document,
                                  const protocol::ReportRequest& request) {
  assert(request.format == "json" || request.format == "text");
  return reply_with(request.format == "json" ? report::json(document)
                                             : report::text(document, options_of(request)),
                    experiment, document);
}

Result<protocol::LogsReply> answer_logs(store::Reader& store, const store::Experiment& experiment,
                                        const protocol::LogPlace& after) {
  auto log =
      store.log(experiment.id, {.build = after.build, .trial = after.trial, .event = after.event});
  if (!log) return fail(log.error().message);
  protocol::LogsReply reply{
      .next = {.build = log->next.build, .trial = log->next.trial, .event = log->next.event},
      .more = log->more};
  for (store::Reader::LogRow& row : log->rows)
    reply.entries.push_back({.at_ns = row.at_ns,
                             .kind = std::move(row.kind),
                             .what = std::move(row.benchmark),
                             .position = row.position,
                             .attempt = row.attempt,
                             .text = std::move(row.text)});
  return reply;
}

Result<protocol::ReportReply> answer_compare(store::Reader& store,
                                             std::span<const store::Experiment> experiments,
                                             const protocol::CompareRequest& request) {
  const auto found = compare(store, experiments, asked_of(request));
  if (!found) return std::unexpected(found.error());
  std::string text = request.format == "json" ? report::analysis_json(found->title, found->analysis)
                                              : report::analysis_text(found->title, found->analysis,
                                                                      options_of(request));
  return reply_of(std::move(text), found->complete, found->failed, found->findings);
}

}  // namespace stab::results
