// SPDX-License-Identifier: MIT
#include "stabd/results/answers.h"

#include <fmt/format.h>

#include "base/text.h"
#include "report/json.h"
#include "report/text.h"
#include "stabd/results/compare.h"
#include "stabd/results/document.h"
#include "stabd/results/export.h"

namespace stab::results {
namespace {

report::TextOptions options_of(const Format& format) {
  return {.colour = format.colour, .full = format.full};
}

}  // namespace

Result<Answer> answer_report(store::Store& store, const store::Experiment& experiment,
                             const std::string& database, const Format& format) {
  const bool json = format.name == "json";
  if (!json && format.name != "text")
    return fail(fmt::format("there is no report format '{}': text and json are there",
                            one_line(format.name, 50)));
  const auto document = make_document(store, experiment, database);
  if (!document) return std::unexpected(document.error());
  return Answer{
      .text = json ? report::json(*document) : report::text(*document, options_of(format)),
      .complete = experiment.state == "done",
      .failed = document->trials.failed + document->trials.skipped,
      .findings = document->findings()};
}

Result<Answer> answer_compare(store::Store& store, std::span<const store::Experiment> experiments,
                              const Format& format) {
  const auto comparison = compare(store, experiments);
  if (!comparison) return std::unexpected(comparison.error());
  const std::string& title = comparison->title;
  return Answer{.text = format.name == "json" ? report::analysis_json(title, comparison->analysis)
                                              : report::analysis_text(title, comparison->analysis,
                                                                      options_of(format)),
                .complete = comparison->complete,
                .failed = comparison->failed,
                .findings = comparison->findings};
}

Result<std::string> answer_export(store::Store& store, const store::Experiment& experiment,
                                  const std::string& format) {
  if (format == "csv") return export_csv(store, experiment);
  if (format == "json") return export_json(store, experiment);
  return fail(
      fmt::format("there is no export format '{}': csv and json are there", one_line(format, 50)));
}

}  // namespace stab::results
