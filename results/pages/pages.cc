// SPDX-License-Identifier: MIT
#include "results/pages/pages.h"

#include <utility>
#include <variant>

#include "design/expand.h"
#include "machine/facts.h"
#include "plan/reading/reader.h"
#include "report/html/page.h"
#include "results/answers.h"
#include "results/pages/random_conditions.h"
#include "results/pages/shots.h"
#include "results/trials.h"
#include "toml/problems.h"

namespace stab::results {
namespace {

using report::html::Background;
using report::html::Fact;

report::html::PlannedLevels levels_of(const plan::Plan& plan) {
  report::html::PlannedLevels levels;
  for (const std::size_t index : plan::treatments(plan))
    for (auto& names = levels.emplace_back();
         const plan::Level& level : std::get<plan::FixedLevels>(plan.factors[index].levels).levels)
      names.push_back(level.name);
  return levels;
}

// Returns no facts if they can't be read, because a report can do without them.
std::vector<Fact> facts_of(store::Reader& store, store::Id id) {
  std::vector<Fact> facts;
  if (id == 0) return facts;
  const auto machine = store.machine(id);
  if (!machine || !*machine) return facts;
  machine::StoredFacts stored = machine::stored_facts((*machine)->facts);
  for (machine::Fact& each : stored.all)
    facts.push_back({.name = std::move(each.name), .value = std::move(each.value)});
  return facts;
}

Asked asked_of(const protocol::ReportRequest& request) {
  return {.response = request.response, .better = request.better};
}

}  // namespace

Result<Background> background_of(store::Reader& store, const store::Experiment& experiment,
                                 const report::Document& document, const Asked& asked) {
  const auto stored = plan::read_plan(experiment.plan);
  if (!stored) return fail(toml::describe(stored.error(), "plan"));
  const auto plan = plan_about(store, experiment, *stored, asked);
  if (!plan) return std::unexpected(plan.error());
  // All times of a causal plan's trials include virtual pauses, so the page must not show them.
  auto shots = document.causal ? store::Outcome<report::html::Shots>()
                               : read_shots(store, experiment, *plan);
  if (!shots) return fail(shots.error().message);
  const auto builds = store.builds(experiment.id);
  if (!builds) return fail(builds.error().message);
  Background background{.shots = std::move(*shots),
                        .levels = levels_of(*plan),
                        .chances = chances_of(*plan, document),
                        .machine = facts_of(store, experiment.machine),
                        .plan = experiment.plan,
                        .directory = experiment.directory};
  for (const store::Build& each : *builds)
    background.builds.push_back({.benchmark = each.benchmark,
                                 .command = each.command,
                                 .status = std::string(to_string(each.status)),
                                 .binary_sha256 = each.binary_sha256});
  return background;
}

Result<protocol::ReportReply> show_any_report(store::Reader& store,
                                              const store::Experiment& experiment,
                                              const report::Document& document,
                                              const protocol::ReportRequest& request) {
  if (auto known = check_report_format(request.format); !known)
    return std::unexpected(known.error());
  if (request.format != "html") return show_report(experiment, document, request);
  const auto background = background_of(store, experiment, document, asked_of(request));
  if (!background) return std::unexpected(background.error());
  return reply_with(report::html::page(document, *background), experiment, document);
}

Result<protocol::ReportReply> answer_any_report(store::Reader& store,
                                                const store::Experiment& experiment,
                                                const std::string& database,
                                                const protocol::ReportRequest& request) {
  // Check the format before the analysis, which may take long.
  if (auto known = check_report_format(request.format); !known)
    return std::unexpected(known.error());
  const auto document = make_document(store, experiment, database, asked_of(request));
  if (!document) return std::unexpected(document.error());
  return show_any_report(store, experiment, *document, request);
}

}  // namespace stab::results
