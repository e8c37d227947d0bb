// SPDX-License-Identifier: MIT
#include "results/trials.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "base/text.h"
#include "counters/readings.h"
#include "design/resolve.h"
#include "design/trial_list.h"
#include "plan/measures/formula.h"
#include "plan/measures/names.h"
#include "plan/plan.h"
#include "plan/reading/key_list.h"
#include "plan/reading/read_plan.h"
#include "results/sums.h"

namespace stab::results {
namespace {

bool ran_to_its_end(const store::Experiment& experiment) {
  return experiment.state == "done" && !experiment.stopped_by;
}

// In other states, a gap does not mean damage: 'stabctl recover' may have saved only some of the
// rows.
bool gap_is_damage(const store::Experiment& experiment) {
  if (experiment.state == "done" || experiment.state == "analysing") return true;
  if (experiment.state != "running") return false;
  // Several machines finish their blocks in any order.
  const auto plan = plan::read_plan(experiment.plan);
  return !plan || plan->machine_count() == 1;
}

constexpr std::size_t most_shown = 60;

const plan::OtherResponse* further(const plan::Plan& plan, const std::string& name) {
  const auto& others = plan.analysis.others;
  const auto found = std::ranges::find(others, name, &plan::OtherResponse::name);
  return found == others.end() ? nullptr : &*found;
}

Result<void> must_be_there(store::Reader& store, const store::Experiment& experiment,
                           const plan::Plan& plan, const std::string& name) {
  if (plan.simulated && plan::is_of_real_runs(name))
    return fail(fmt::format("the trials of experiment {} ran under a simulator, so they have no {}",
                            experiment.id, name));
  const auto stored = store.names(experiment.id);
  if (!stored) return fail(stored.error().message);
  std::vector<std::string> names(plan::words::responses.begin(), plan::words::responses.end());
  names.insert(names.end(), stored->readings.begin(), stored->readings.end());
  // Adds names from the plan, because samples are not readings, and maybe no trial has run yet.
  std::vector<std::string> planned = plan::counter_names(plan);
  planned.push_back(plan.analysis.response);
  if (plan.simulated)
    planned.insert(planned.end(), plan::simulated_names.begin(), plan::simulated_names.end());
  for (const plan::OtherResponse& each : plan.analysis.others) planned.push_back(each.name);
  for (const plan::OutputMeasure& each : plan.outputs) planned.push_back(each.name);
  for (const plan::DerivedMeasure& each : plan.derived) planned.push_back(each.name);
  for (std::string& each : planned)
    if (std::ranges::find(names, each) == names.end()) names.push_back(std::move(each));
  if (std::ranges::find(names, name) != names.end()) return {};
  const std::string near = nearest(name, names);
  const auto shown = std::span(names).first(std::min(names.size(), most_shown));
  return fail(one_line(
      fmt::format("no trial of experiment {} has the response '{}'{}; the responses are {}{}",
                  experiment.id, one_line(name, 80),
                  near.empty() ? "" : fmt::format(" (did you mean '{}'?)", near),
                  fmt::join(shown, ", "), shown.size() < names.size() ? ", and others" : ""),
      4000));
}

bool is_higher_better(const plan::Plan& plan, const Asked& asked) {
  if (!asked.better.empty()) return asked.better == "higher";
  const plan::OtherResponse* other = further(plan, asked.response);
  if (other != nullptr) return other->higher_is_better;
  return asked.response == plan.analysis.response && plan.analysis.higher_is_better;
}

std::optional<counters::Number> mean_of(const counters::Samples& samples, bool geometric) {
  if (samples.values.empty()) return std::nullopt;
  if (samples.values.size() == 1) return samples.values.front();
  double sum = 0;
  for (const double value : samples.values) sum += geometric ? std::log(value) : value;
  const double mean = sum / static_cast<double>(samples.values.size());
  const counters::Number number = geometric ? std::exp(mean) : mean;
  // The geometric mean does not exist if a sample is 0 or less.
  return counters::is_finite(number) ? std::optional(number) : std::nullopt;
}

}  // namespace

store::Outcome<void> for_each_trial(store::Reader& store, const store::Experiment& experiment,
                                    const std::function<bool(const store::Trial&)>& row) {
  if (!gap_is_damage(experiment)) return store.for_each_trial(experiment.id, row);
  std::uint64_t positions = 0;  // positions that have an attempt so far
  std::uint64_t attempts = 0;   // attempts at the last position
  bool whole = true;
  bool wants_more = true;
  const auto read = store.for_each_trial(experiment.id, [&](const store::Trial& trial) {
    const bool next = trial.position == positions && trial.attempt == 0;
    whole = next || (trial.position + std::uint64_t{1} == positions && trial.attempt == attempts);
    if (!whole) return false;
    positions += next ? 1 : 0;
    attempts = trial.attempt + std::uint64_t{1};
    wants_more = row(trial);
    return wants_more;
  });
  if (!read) return read;
  if (whole && wants_more && ran_to_its_end(experiment)) whole = positions == experiment.trials;
  if (whole) return {};
  return std::unexpected(store::StoreError{
      .message = fmt::format(
          "the file is damaged: a trial of experiment {} is missing at position {} or later, so "
          "the experiment's trials cannot be read; 'stabctl recover' saves all that can be read",
          experiment.id, positions)});
}

std::optional<counters::Number> response_of(const store::Trial& trial, const std::string& name) {
  const auto number = store::number_of(trial, name);
  return number ? counters::comparable(*number) : std::nullopt;
}

std::vector<SubjectNumber> numbers_of(const store::Trial& trial, const plan::Plan& plan,
                                      const std::string& name) {
  std::vector<SubjectNumber> numbers;
  for (const counters::Samples& each : trial.samples)
    if (each.measure == name)
      numbers.push_back(
          {.subject = subject_of(trial, each), .value = mean_of(each, plan.analysis.log_scale)});
  if (numbers.empty() && !plan.is_split(name))
    numbers.push_back({.subject = trial.benchmark, .value = response_of(trial, name)});
  return numbers;
}

stats::Unit unit_of(const store::Trial& trial, const std::string& name) {
  const auto samples = std::ranges::find(trial.samples, name, &counters::Samples::measure);
  const auto number = store::number_of(trial, name);
  if (samples == trial.samples.end() && !number) return stats::Unit::nanoseconds;
  const std::string& unit = samples == trial.samples.end() ? number->unit : samples->unit;
  if (unit == "ns") return stats::Unit::nanoseconds;
  return unit == "bytes" ? stats::Unit::bytes : stats::Unit::number;
}

stats::Lost lost_trial(const store::Trial& trial, const plan::Plan& plan, const std::string& name) {
  stats::Lost lost;
  lost.excluded = trial.status == store::TrialStatus::disturbed;
  if (lost.excluded || name != "wall") return lost;
  const auto benchmark =
      std::ranges::find(plan.benchmarks, trial.benchmark, &plan::Benchmark::name);
  const double limit = benchmark == plan.benchmarks.end()
                           ? std::numeric_limits<double>::infinity()
                           : static_cast<double>(benchmark->timeout.count());
  if (trial.status == store::TrialStatus::timeout)
    lost.at_least = trial.wall_ns ? static_cast<double>(*trial.wall_ns) : limit;
  else
    lost.at_most = limit;
  return lost;
}

stats::Origin origin_of(std::string_view name) {
  if (name == plan::code_size) return stats::Origin::build;
  return name == plan::compile_time ? stats::Origin::building : stats::Origin::trial;
}

void describe_response(stats::Spec& spec) {
  spec.origin = origin_of(spec.response);
  spec.ratio_of_times = spec.number_is_measured = spec.response == counters::relative_cpu;
}

bool draws_builds(const plan::Plan& plan, const plan::Benchmark& benchmark) {
  return std::ranges::any_of(plan.factors, [&](const plan::Factor& factor) {
    return !std::holds_alternative<plan::FixedLevels>(factor.levels) &&
           plan::acts_on_build(benchmark, factor);
  });
}

std::vector<stats::DrawnBuilds> drawn_builds(const plan::Plan& plan) {
  std::vector<stats::DrawnBuilds> result;
  for (const plan::Benchmark& benchmark : plan.benchmarks) {
    if (!draws_builds(plan, benchmark)) continue;
    for (const plan::Factor& factor : plan.factors)
      if (factor.is_treatment() && plan::acts_on_build(benchmark, factor))
        result.push_back({.subject = benchmark.name, .treatment = factor.name});
  }
  return result;
}

std::string definition_of(const plan::Plan& plan, const std::string& name) {
  // If a simulated program measures itself, its numbers come from the simulator's clock.
  std::string text = plan.simulated ? "simulated " : "";
  // It is relative to these commands.
  if (name == counters::relative_cpu)
    for (const plan::Benchmark& each : plan.benchmarks)
      text += fmt::format("{}: {}; ", each.name, fmt::join(each.beside, " "));
  for (const plan::OutputMeasure& each : plan.outputs)
    if (each.name == name)
      text +=
          fmt::format("{} {} {} {} {} {}", each.unit, each.regex, each.json.value_or("-"),
                      each.google_benchmark.value_or("-"), to_string(each.pick), each.from_stderr);
  for (const plan::DerivedMeasure& each : plan.derived) {
    if (each.name != name) continue;
    text += each.formula;
    for (const std::string& part : plan::parts_of(plan, name))
      if (part != name) text += "; " + definition_of(plan, part);
  }
  return text;
}

void Response::leave_centre() {
  for (double& value : data_.response) value += data_.centre;
  data_.centre = 0;
  centred_ = false;
}

void Response::append(std::optional<counters::Number> value) {
  if (!value) {
    data_.response.push_back(std::numeric_limits<double>::quiet_NaN());
    return;
  }
  const auto* whole = std::get_if<std::int64_t>(&*value);
  if (centred_ && whole != nullptr) {
    if (!centre_) {
      centre_ = *whole;
      data_.centre = static_cast<double>(*whole);
    }
    // The difference of two numbers with different signs may not fit in 64 bits.
    std::int64_t distance = 0;
    if (!__builtin_sub_overflow(*whole, *centre_, &distance) &&
        std::abs(static_cast<double>(distance)) <= std::abs(data_.centre) / 2) {
      data_.response.push_back(static_cast<double>(distance));
      return;
    }
  }
  if (centred_) leave_centre();
  data_.response.push_back(counters::to_double(*value));
}

std::map<std::string, std::string> stored_levels(const plan::Plan& plan, const plan::Trial& trial) {
  std::map<std::string, std::string> levels;
  for (std::size_t i = 0; i < plan.factors.size(); ++i)
    if (!trial.plain || !plan.factors[i].is_treatment())
      levels[plan.factors[i].name] = trial.levels[i].name;
  if (trial.plain) levels[plan::plain_column] = plan::plain_level;
  return levels;
}

bool is_plain(const store::Trial& trial) {
  return trial.levels.contains(plan::plain_column);
}

std::string cell_text(const plan::Plan& plan, const store::Trial& trial) {
  return cell_text(plan, trial, trial.benchmark);
}

std::string cell_text(const plan::Plan& plan, const store::Trial& trial, std::string text) {
  for (const std::size_t index : plan::treatments(plan)) {
    const auto level = trial.levels.find(plan.factors[index].name);
    if (level != trial.levels.end()) text += fmt::format(" {}={}", level->first, level->second);
  }
  if (is_plain(trial)) text += fmt::format(" {}={}", plan::plain_column, plan::plain_level);
  return text;
}

Result<plan::Plan> plan_about(store::Reader& store, const store::Experiment& experiment,
                              plan::Plan plan, const Asked& asked) {
  if (!asked.better.empty() && asked.better != "lower" && asked.better != "higher")
    return fail(fmt::format("--better {}: use lower or higher", one_line(asked.better, 50)));
  if (asked.response.empty()) {
    if (asked.better.empty()) return plan;
    return fail("--better needs --metric, which names the response");
  }
  if (plan.is_causal())
    return fail(
        fmt::format("experiment {} is a causal profile, so its times include virtual pauses and "
                    "cannot be compared",
                    experiment.id));
  if (auto there = must_be_there(store, experiment, plan, asked.response); !there)
    return std::unexpected(there.error());
  const auto parts = plan::parts_of(plan, asked.response);
  if (const plan::Exclusion* rule = plan::rule_on(plan, parts))
    return fail(fmt::format(
        "the plan's exclusion rule '{}' measures the same quantity as the response '{}', so a "
        "comparison of the remaining trials would be meaningless: use another response",
        plan::describe(*rule), one_line(asked.response, 80)));
  if (const auto why = plan::why_not_by_turns(plan);
      !why.empty() && plan::BlocksWithNumber(plan, asked.response).takes_turns())
    return fail(fmt::format(
        "'{}' cannot be compared, because 'measure.rotate' counts it only in some blocks, and {}",
        one_line(asked.response, 80), why));
  if (plan.answers_over_all() && plan.is_split(asked.response))
    return fail(
        fmt::format("'{}' is measured for many benchmarks in one trial, but in a {} design each "
                    "benchmark needs trials of its own",
                    one_line(asked.response, 80), to_string(plan.design.kind)));
  plan.analysis.higher_is_better = is_higher_better(plan, asked);
  plan.analysis.response = asked.response;
  plan.analysis.others.clear();
  return plan;
}

std::string asked_note(const plan::Plan& plan, const Asked& asked) {
  if (asked.response.empty() || asked.response == plan.analysis.response ||
      further(plan, asked.response) != nullptr)
    return "";
  return fmt::format(
      "This report compares {}, but the plan compares {}. If you look at many responses, some "
      "show a change by chance.",
      asked.response, plan.analysis.response);
}

}  // namespace stab::results
