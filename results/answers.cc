// SPDX-License-Identifier: MIT
#include "results/answers.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <iterator>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "base/text.h"
#include "design/trial_list.h"
#include "plan/measures/formula.h"
#include "plan/reading/read_plan.h"
#include "report/json.h"
#include "report/text.h"
#include "report/words/answer.h"
#include "results/document.h"
#include "results/trials.h"
#include "stats/analyse/analyse.h"
#include "stats/verdicts/decide.h"
#include "toml/value.h"

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

namespace {

constexpr const char* subject_column = "benchmark";
constexpr const char* experiment_column = "experiment";
constexpr const char* seed_column = "seed";
constexpr const char* one_session =
    "each experiment was one session, so a difference between the experiments may come from "
    "changes on the machine between the sessions";

// One number of a measured trial that is ok.
struct Row {
  std::string subject;  // benchmark and cell
  std::string seed;     // for nested designs; otherwise ""
  std::optional<counters::Number> response;
};

// A trial without a result.
struct LostRow {
  std::string subject;
  std::string seed;
  stats::Lost trial{};  // without codes
};

struct Side {
  store::Experiment experiment;
  plan::Plan plan;
  std::string seed_factor;  // "" if the design is not nested
  std::vector<Row> rows;
  std::vector<LostRow> lost{};
  std::uint64_t failed = 0;
  std::uint64_t disturbed = 0;
  std::uint64_t used = 0;                       // trials that gave the rows
  stats::Unit unit = stats::Unit::nanoseconds;  // the response's unit
};

bool ended_badly(const store::Experiment& experiment) {
  return experiment.state == "failed" || experiment.state == "cancelled";
}

// A trial without a result, as far as its rows need it. The whole trial, with its samples and its
// profile, may have megabytes.
struct WithoutResult {
  store::Trial place{};  // only the benchmark and the levels
  stats::Lost limits{};
  std::map<std::string, double> numbers{};  // by subject, if the trial was excluded
};

WithoutResult missing_of(const store::Trial& trial, const plan::Plan& plan) {
  const std::string& name = plan.analysis.response;
  WithoutResult missing{.limits = lost_trial(trial, plan, name)};
  missing.place.benchmark = trial.benchmark;
  missing.place.levels = trial.levels;
  if (missing.limits.excluded)
    for (const SubjectNumber& each : numbers_of(trial, plan, name))
      if (each.value) missing.numbers[each.subject] = counters::to_double(*each.value);
  return missing;
}

// `subjects` are the names under which the benchmark's numbers are compared.
void add_lost(const WithoutResult& missing, const std::set<std::string>& subjects, Side& side) {
  for (const std::string& subject : subjects) {
    LostRow row{.subject = cell_text(side.plan, missing.place, subject),
                .seed = side.seed_factor.empty() ? "" : missing.place.levels.at(side.seed_factor),
                .trial = missing.limits};
    if (const auto number = missing.numbers.find(subject); number != missing.numbers.end())
      row.trial.at_least = row.trial.at_most = number->second;
    side.lost.push_back(std::move(row));
  }
}

Result<Side> read_side(store::Reader& store, const store::Experiment& experiment,
                       const Asked& asked) {
  auto stored = plan::read_plan(experiment.plan);
  if (!stored)
    return fail(fmt::format("this version of stabd does not accept the plan of experiment {}: {}",
                            experiment.id, toml::describe(stored.error(), "plan")));
  auto plan = plan_about(store, experiment, *std::move(stored), asked);
  if (!plan) return std::unexpected(plan.error());
  Side side{.experiment = experiment, .plan = std::move(*plan), .seed_factor = {}, .rows = {}};
  for (const plan::Factor& factor : side.plan.factors)
    if (std::holds_alternative<plan::RandomSeeds>(factor.levels)) side.seed_factor = factor.name;
  const plan::BlocksWithNumber measured(side.plan, side.plan.analysis.response);
  bool knows_unit = false;
  std::vector<WithoutResult> without_result;
  std::map<std::string, std::set<std::string>> subjects;  // of each benchmark
  const auto read = for_each_trial(store, experiment, [&](const store::Trial& trial) {
    if (!trial.last || trial.warmup || is_plain(trial) || !measured.in_block(trial.block))
      return true;
    if (trial.status != store::TrialStatus::ok) {
      ++(trial.status == store::TrialStatus::disturbed ? side.disturbed : side.failed);
      if (trial.levels.empty() && !side.plan.factors.empty()) return true;
      without_result.push_back(missing_of(trial, side.plan));
      return true;
    }
    ++side.used;
    auto numbers = numbers_of(trial, side.plan, side.plan.analysis.response);
    const auto has_value = [](const SubjectNumber& each) { return each.value.has_value(); };
    if (!knows_unit && std::ranges::any_of(numbers, has_value)) {
      side.unit = unit_of(trial, side.plan.analysis.response);
      knows_unit = true;
    }
    for (const SubjectNumber& each : numbers) subjects[trial.benchmark].insert(each.subject);
    for (SubjectNumber& each : numbers)
      side.rows.push_back(
          {.subject = cell_text(side.plan, trial, std::move(each.subject)),
           .seed = side.seed_factor.empty() ? "" : trial.levels.at(side.seed_factor),
           .response = each.value});
    return true;
  });
  if (!read) return fail(read.error().message);
  for (const WithoutResult& each : without_result)
    add_lost(each, subjects[each.place.benchmark], side);
  return side;
}

Result<void> require_comparable(const Side& before, const Side& after) {
  if (before.experiment.id == after.experiment.id)
    return fail(
        "an experiment cannot be compared with itself: name one experiment, or two different ones");
  for (const Side* side : {&before, &after})
    if (side->plan.is_causal())
      return fail(
          fmt::format("experiment {} is a causal profile, so its times include virtual pauses and "
                      "cannot be compared: see 'stabctl report'",
                      side->experiment.id));
  if (before.plan.simulated != after.plan.simulated)
    return fail(
        fmt::format("the trials of experiment {} ran under a simulator, but the trials of "
                    "experiment {} did not. So these experiments have no response in common",
                    before.plan.simulated ? before.experiment.id : after.experiment.id,
                    before.plan.simulated ? after.experiment.id : before.experiment.id));
  const std::string& response = after.plan.analysis.response;
  if (before.plan.analysis.response != response)
    return fail(fmt::format(
        "the response of experiment {} is {}, but the response of experiment {} is {}: nothing can "
        "be compared",
        before.experiment.id, before.plan.analysis.response, after.experiment.id, response));
  if (definition_of(before.plan, response) != definition_of(after.plan, response))
    return fail(fmt::format(
        "experiments {} and {} define {} differently, so they have no response in common",
        before.experiment.id, after.experiment.id, response));
  const auto has_samples = [&](const Side& side) {
    const auto parts = plan::parts_of(side.plan, response);
    return std::ranges::any_of(side.plan.outputs, [&](const plan::OutputMeasure& each) {
      return each.has_samples() && std::ranges::find(parts, each.name) != parts.end();
    });
  };
  if (before.plan.analysis.log_scale != after.plan.analysis.log_scale &&
      (has_samples(before) || has_samples(after)))
    return fail(fmt::format(
        "the experiments cannot be compared: their 'analysis.log' differs, so a trial's {} is the "
        "geometric mean of its samples in one experiment and the arithmetic mean in the other",
        response));
  if (before.seed_factor.empty() != after.seed_factor.empty())
    return fail(
        "the experiments cannot be compared: only one of them has a nested design, so their trials "
        "vary for different reasons");
  return {};
}

// Gives names codes in the order of their first use.
class Names {
 public:
  std::uint32_t operator()(stats::Column& column, const std::string& name) {
    const auto [entry, fresh] =
        codes_.try_emplace(name, static_cast<std::uint32_t>(column.levels.size()));
    if (fresh) column.levels.push_back(name);
    return entry->second;
  }

 private:
  std::map<std::string, std::uint32_t> codes_;
};

stats::Dataset dataset_of(const Side& before, const Side& after,
                          const std::set<std::string>& common) {
  stats::Dataset data;
  for (const char* name : {subject_column, experiment_column, seed_column})
    data.columns.push_back({.name = name, .levels = {}, .codes = {}});
  data.lists_lost = true;
  Response response(data);
  std::array<Names, 3> names;
  for (const Side* side : {&before, &after})
    for (const Row& row : side->rows) {
      if (!common.contains(row.subject)) continue;
      response.append(row.response);
      const std::array<std::string, 3> levels{row.subject, std::to_string(side->experiment.id),
                                              row.seed};
      for (std::size_t i = 0; i < levels.size(); ++i)
        data.columns[i].codes.push_back(names[i](data.columns[i], levels[i]));
    }
  for (const Side* side : {&before, &after})
    for (const LostRow& row : side->lost) {
      if (!common.contains(row.subject)) continue;
      const std::array<std::string, 3> levels{row.subject, std::to_string(side->experiment.id),
                                              row.seed};
      stats::Lost lost = row.trial;
      for (std::size_t i = 0; i < levels.size(); ++i)
        lost.codes.push_back(names[i](data.columns[i], levels[i]));
      data.lost.push_back(std::move(lost));
    }
  return data;
}

stats::Spec spec_of(const Side& before, const Side& after) {
  const plan::Analysis& analysis = after.plan.analysis;
  stats::Spec spec;
  spec.response = analysis.response;
  describe_response(spec);
  spec.unit = after.unit;
  spec.subject = subject_column;
  spec.treatments = {experiment_column};
  spec.log_scale = analysis.log_scale;
  spec.higher_is_better = analysis.higher_is_better;
  spec.alpha = analysis.alpha;
  spec.equivalence = analysis.equivalence;
  spec.random_seed = after.plan.seed;
  spec.losses = stats::losses_named(analysis.losses);
  if (!after.seed_factor.empty()) {
    spec.design = stats::Design::nested;
    spec.seed = seed_column;
  }
  for (const Side* side : {&before, &after})
    for (const plan::Benchmark& benchmark : side->plan.benchmarks)
      if (spec.drawn.empty() && draws_builds(side->plan, benchmark))
        spec.drawn.push_back({.treatment = experiment_column});
  for (const Side* side : {&before, &after})
    if (side->plan.design.stop && side->plan.design.stop->rule == plan::StopRule::precision)
      spec.alpha = stats::precision_alpha(analysis.alpha);
  return spec;
}

std::set<std::string> subjects_of(const Side& side) {
  std::set<std::string> result;
  for (const Row& row : side.rows) result.insert(row.subject);
  return result;
}

void add_notes(const Side& before, const Side& after, const std::set<std::string>& common,
               stats::Analysis& analysis) {
  std::vector<std::string>& notes = analysis.notes;
  if (!analysis.withheld.empty())
    notes.push_back(
        "The experiments ran one after the other, so anything that changed on the machine in "
        "between looks like a difference between the experiments. Intervals and p reflect the "
        "variation within each "
        "experiment, but not between the experiments. To get a verdict, run both versions as "
        "levels of one experiment.");
  if (before.experiment.machine != after.experiment.machine)
    notes.push_back(
        "The experiments ran on different machines, or on a machine that was changed in between.");
  if (before.disturbed + after.disturbed > 0)
    notes.push_back(
        fmt::format("Disturbed trials are left out: {} of {} trials of experiment {}, and {} of {} "
                    "trials of experiment {}.",
                    before.disturbed, before.disturbed + before.used, before.experiment.id,
                    after.disturbed, after.disturbed + after.used, after.experiment.id));
  for (const Side* side : {&before, &after}) {
    for (const std::string& subject : subjects_of(*side))
      if (!common.contains(subject))
        notes.push_back(fmt::format("{} is left out because only experiment {} has it.", subject,
                                    side->experiment.id));
    if (side->experiment.state != "done")
      notes.push_back(
          fmt::format("Experiment {} is {}.", side->experiment.id, side->experiment.state));
    if (side->plan.design.stop)
      notes.push_back(
          fmt::format("The stopping rule of experiment {} could end the experiment early, but "
                      "does not take this comparison into account.",
                      side->experiment.id));
  }
}

// A verdict would need the variation between sessions, and each arm has only one session. Exact
// effects are facts about builds, which do not vary between sessions.
void withhold_verdicts(stats::Analysis& analysis) {
  for (stats::Effect& effect : analysis.effects) {
    if (effect.exact) continue;
    effect.method = "within sessions: " + effect.method;
    stats::withhold(effect, one_session);
  }
  if (analysis.effects.empty() || !std::ranges::all_of(analysis.effects, &stats::Effect::exact))
    analysis.withheld = one_session;
}

Result<Comparison> compare_two(store::Reader& store, const store::Experiment& first,
                               const store::Experiment& second, const Asked& asked) {
  const auto before = read_side(store, first, asked);
  if (!before) return std::unexpected(before.error());
  const auto after = read_side(store, second, asked);
  if (!after) return std::unexpected(after.error());
  if (auto fit = require_comparable(*before, *after); !fit) return std::unexpected(fit.error());
  std::set<std::string> common;
  std::ranges::set_intersection(subjects_of(*before), subjects_of(*after),
                                std::inserter(common, common.end()));
  if (common.empty())
    return fail(fmt::format(
        "no benchmark has successful trials at the same levels in both experiments, {} and {}",
        first.id, second.id));
  Comparison result{.title = fmt::format("{} (experiment {}) against {} (experiment {})",
                                         second.name, second.id, first.name, first.id)};
  result.analysis = stats::analyse(dataset_of(*before, *after, common), spec_of(*before, *after));
  withhold_verdicts(result.analysis);
  add_notes(*before, *after, common, result.analysis);
  result.findings = stats::findings(result.analysis);
  result.failed = before->failed + after->failed;
  result.complete = !ended_badly(first) && !ended_badly(second);
  return result;
}

}  // namespace

Result<Comparison> compare(store::Reader& store, std::span<const store::Experiment> experiments,
                           const Asked& asked) {
  if (experiments.size() == 2) return compare_two(store, experiments[0], experiments[1], asked);
  if (experiments.size() != 1)
    return fail("'compare' takes one or two experiments, for example 'stabctl compare 1 2'");
  const store::Experiment& only = experiments.front();
  auto document = make_document(store, only, "", asked);
  if (!document) return std::unexpected(document.error());
  if (document->causal)
    return fail(
        fmt::format("experiment {} is a causal profile, which compares nothing: see "
                    "'stabctl report'",
                    only.id));
  const stats::Findings findings = document->findings();
  return Comparison{.title = fmt::format("{} (experiment {}, {})", only.name, only.id, only.state),
                    .analysis = std::move(document->analysis),
                    .findings = findings,
                    .failed = document->trials.failed + document->trials.skipped,
                    .complete = !ended_badly(only)};
}

}  // namespace stab::results
