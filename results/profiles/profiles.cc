// SPDX-License-Identifier: MIT
#include "results/profiles/profiles.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/text.h"
#include "plan/reading/reader.h"
#include "report/words/grid.h"
#include "results/profiles/difference.h"
#include "results/profiles/words.h"
#include "results/replay.h"
#include "results/trials.h"
#include "toml/problems.h"

namespace stab::results {
namespace {

using counters::Profile;
using counters::ProfiledFunction;

std::uint64_t samples_in(const Profile& profile) {
  std::uint64_t samples = 0;
  for (const ProfiledFunction& each : profile.functions) samples += each.samples;
  return samples;
}

double weight_in(const Profile& profile) {
  double weight = 0;
  for (const ProfiledFunction& each : profile.functions) weight += static_cast<double>(each.weight);
  return weight;
}

double share_of(const ProfiledFunction& function, double all) {
  return all > 0 ? static_cast<double>(function.weight) / all : 0;
}

// Why the trial has no profile; "" if it has one.
std::string reason_of(const Profile& profile) {
  return profile.is_wanted() ? profile.reason : "its program did not run";
}

std::string text_of(const store::Trial& trial, const std::string& cell, bool colour) {
  const Profile& profile = trial.profile;
  const double all = weight_in(profile);
  const std::string reason = reason_of(profile);
  std::string text =
      fmt::format("Trial {} of experiment {}: {}, block {}, {}\n", trial.position, trial.experiment,
                  cell, trial.block, store::to_string(trial.status));
  if (!reason.empty()) return text + fmt::format("It has no profile: {}\n", one_line(reason, 500));
  text += fmt::format("{} samples of {}, {} per second requested: {}\n", samples_in(profile),
                      profile.event, profile.hz, amount(all, profile.unit));
  if (profile.lost > 0)
    text += fmt::format(
        "The kernel had no room for {} records: samples after the first of these count as {}.\n",
        profile.lost, counters::unknown_function);
  report::Grid grid;
  grid.column("share", report::Align::right);
  grid.column("samples", report::Align::right);
  grid.column(profile.unit == "ns" ? "time" : profile.event, report::Align::right);
  grid.column("function", report::Align::left);
  grid.column("in", report::Align::left);
  for (const ProfiledFunction& each : profile.functions)
    grid.row({{.text = fmt::format("{:.1f} %", 100 * share_of(each, all))},
              {.text = fmt::format("{}", each.samples)},
              {.text = amount(static_cast<double>(each.weight), profile.unit)},
              {.text = one_line(readable(each.name), 200)},
              {.text = one_line(each.object, 100)}});
  return text + "\n" + grid.render(colour);
}

std::string json_of(const store::Trial& trial, const std::string& cell) {
  using Json = nlohmann::ordered_json;
  const Profile& profile = trial.profile;
  const double all = weight_in(profile);
  Json functions = Json::array();
  for (const ProfiledFunction& each : profile.functions)
    functions.push_back({{"function", readable(each.name)},
                         {"symbol", each.name},
                         {"object", each.object},
                         {"samples", each.samples},
                         {"weight", each.weight},
                         {"share", share_of(each, all)}});
  const Json whole{{"experiment", trial.experiment},
                   {"position", trial.position},
                   {"attempt", trial.attempt},
                   {"block", trial.block},
                   {"cell", cell},
                   {"status", store::to_string(trial.status)},
                   {"event", profile.event},
                   {"unit", profile.unit},
                   {"hz", profile.hz},
                   {"reason", reason_of(profile)},
                   {"lost", profile.lost},
                   {"samples", samples_in(profile)},
                   {"functions", functions}};
  return json_text(whole, 2) + "\n";
}

Result<std::string> of_trial(store::Reader& store, const store::Experiment& experiment,
                             const plan::Plan& plan, const protocol::ProfileRequest& request) {
  const auto trial = find_trial(
      store, experiment, {.position = request.position.value_or(0), .attempt = request.attempt});
  if (!trial) return std::unexpected(trial.error());
  const std::string cell = cell_text(plan, *trial);
  return request.format == "json" ? json_of(*trial, cell) : text_of(*trial, cell, request.colour);
}

}  // namespace

Result<protocol::ProfileReply> answer_profile(store::Reader& store,
                                              const store::Experiment& experiment,
                                              const protocol::ProfileRequest& request) {
  const auto plan = plan::read_plan(experiment.plan);
  if (!plan) return fail(toml::describe(plan.error(), experiment.name));
  if (plan->profile.empty())
    return fail(fmt::format(
        "experiment {} has no profiles: its plan has no 'measure.profile', as in profile = "
        "\"task-clock:u\"",
        experiment.id));
  if (request.position.has_value() != request.cells.empty() ||
      (!request.cells.empty() && request.cells.size() != 2))
    return fail("which profile? Give the position of a trial, or two cells (--cells A B)");
  auto text = request.cells.empty() ? of_trial(store, experiment, *plan, request)
                                    : difference_of_cells(store, experiment, *plan, request);
  if (!text) return std::unexpected(text.error());
  return protocol::ProfileReply{.text = std::move(*text)};
}

}  // namespace stab::results
