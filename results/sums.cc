// SPDX-License-Identifier: MIT
#include "results/sums.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>

#include "design/trial_list.h"
#include "plan/measures/names.h"
#include "report/words/causal_words.h"
#include "results/trials.h"
#include "stats/causal/analyse.h"
#include "stats/causal/arrival_loads.h"
#include "stats/causal/run_text.h"
#include "stats/numbers/summary.h"
#include "stats/tests/variances.h"

namespace stab::results {
namespace {

using stats::causal::Profile;

// The factor that makes arrivals faster; nullptr if the plan does not have it.
const plan::Factor* arrivals_of(const plan::Plan& plan) {
  const auto found =
      std::ranges::find(plan.factors, plan::FactorKind::arrival_speedup, &plan::Factor::kind);
  return found == plan.factors.end() ? nullptr : &*found;
}

// In ascending order, which the analysis requires.
std::vector<plan::Level> levels_of(const plan::Factor& arrivals) {
  std::vector<plan::Level> levels = std::get<plan::FixedLevels>(arrivals.levels).levels;
  std::ranges::sort(levels, {}, &plan::Level::number);
  return levels;
}

template <class Cell>
Cell cell_of(const plan::Plan& plan, const store::Trial& trial, const plan::Factor* without) {
  Cell cell{.name = trial.benchmark, .benchmark = trial.benchmark};
  for (const std::size_t index : plan::treatments(plan)) {
    const plan::Factor& factor = plan.factors[index];
    const auto level = trial.levels.find(factor.name);
    if (&factor == without || level == trial.levels.end()) continue;
    cell.levels.insert(*level);
    cell.name += fmt::format(" {}={}", level->first, level->second);
  }
  return cell;
}

Result<void> add_run(const store::Trial& trial, Profile& profile) {
  if (auto read = stats::causal::read_run(trial.causal, profile); !read)
    return fail(fmt::format("trial {}, attempt {}: {}", trial.position, trial.attempt,
                            read.error().message));
  return {};
}

}  // namespace

Result<void> CausalCells::add(const plan::Plan& plan, const store::Trial& trial) {
  auto cell = cell_of<report::CausalCell>(plan, trial, nullptr);
  const auto [place, is_new] = places_.try_emplace(cell.name, cells_.size());
  if (is_new) cells_.push_back(std::move(cell));
  if (auto added = add_run(trial, cells_[place->second].profile); !added) return added;
  const plan::Factor* arrivals = arrivals_of(plan);
  return arrivals == nullptr ? Result<void>() : add_to_loads(plan, trial, *arrivals);
}

Result<void> CausalCells::add_to_loads(const plan::Plan& plan, const store::Trial& trial,
                                       const plan::Factor& arrivals) {
  const std::vector<plan::Level> levels = levels_of(arrivals);
  auto cell = cell_of<report::CausalLoads>(plan, trial, &arrivals);
  const auto [place, is_new] = places_with_loads_.try_emplace(cell.name, loads_.size());
  if (is_new) {
    for (const plan::Level& level : levels)
      cell.profile.loads.push_back({.asked = 0, .speedup_ns = level.number});
    loads_.push_back(std::move(cell));
  }
  Profile& profile = loads_[place->second].profile;
  if (auto added = add_run(trial, profile); !added) return added;
  const auto level = trial.levels.find(arrivals.name);
  const auto load = std::ranges::find(levels, level == trial.levels.end() ? "" : level->second,
                                      &plan::Level::name);
  if (load == levels.end())
    return fail(fmt::format("trial {}, attempt {}: the trial's level of {} is not in the plan",
                            trial.position, trial.attempt, arrivals.name));
  profile.runs.back().load = static_cast<std::size_t>(load - levels.begin());
  profile.runs.back().block = trial.block;
  return {};
}

std::vector<report::CausalCell> CausalCells::result(const plan::Plan& plan) {
  for (report::CausalCell& cell : cells_) {
    auto made =
        stats::causal::analyse(cell.profile, {.alpha = plan.analysis.alpha, .seed = plan.seed});
    if (made)
      cell.analysis = *std::move(made);
    else
      cell.reason = made.error().message;
  }
  return std::move(cells_);
}

std::vector<report::CausalLoads> CausalCells::loads(const plan::Plan& plan) {
  for (report::CausalLoads& each : loads_) {
    auto made = stats::causal::analyse_loads(each.profile,
                                             {.alpha = plan.analysis.alpha, .seed = plan.seed});
    if (made)
      each.loads = *std::move(made);
    else
      each.reason = made.error().message;
  }
  return std::move(loads_);
}

void CausalCells::finish(const plan::Plan& plan, report::Document& document) {
  std::vector<std::string>& notes = document.analysis.notes;
  notes.emplace_back(
      "The times of trials include virtual pauses, so times are stored, but not compared between "
      "cells.");
  document.causal = result(plan);
  document.causal_loads = loads(plan);
  for (const report::CausalCell& cell : *document.causal)
    for (const std::string& each : report::sampling_remarks(
             cell.profile, plan.causal.sample_period,
             {.scope = "'causal.scope' and 'causal.binary'", .experiment = "'causal.experiment'"}))
      notes.push_back(cell.name + ": " + each);
}

using counters::Reading;
using counters::Status;

static_assert(counters::least_coverage == 0.5,
              "the report describes this limit as 'less than half the time'");

std::vector<std::string> measure_names(const plan::Plan& plan) {
  std::vector<std::string> names;
  if (plan.simulated)
    names.insert(names.end(), plan::simulated_names.begin(), plan::simulated_names.end());
  for (const plan::OutputMeasure& each : plan.outputs) names.push_back(each.name);
  for (const plan::DerivedMeasure& each : plan.derived) names.push_back(each.name);
  return names;
}

CounterCounter::CounterCounter(const std::vector<std::string>& names, Missing missing)
    : missing_(missing) {
  for (const std::string& name : names) counters_.push_back({.name = name});
  values_.resize(counters_.size());
}

void CounterCounter::look_for_regions(const std::vector<Reading>& readings) {
  for (const Reading& reading : readings) {
    if (!plan::region_of(reading.name) || regions_ == most_regions ||
        std::ranges::find(counters_, reading.name, &report::Counter::name) != counters_.end())
      continue;
    counters_.push_back({.name = reading.name});
    values_.emplace_back();
    ++regions_;
  }
}

void CounterCounter::add(const std::vector<Reading>& readings) {
  for (std::size_t i = 0; i < counters_.size(); ++i) {
    report::Counter& counter = counters_[i];
    const auto reading = std::ranges::find(readings, counter.name, &Reading::name);
    if (reading == readings.end() && missing_ == Missing::not_meant) continue;
    if (reading == readings.end() || reading->status == Status::absent) {
      ++counter.absent;
      if (counter.reason.empty())
        counter.reason =
            reading == readings.end() ? "the reading was not recorded" : reading->reason;
      continue;
    }
    counter.unit = reading->unit;
    if (reading->status == Status::scaled) {
      ++counter.scaled;
      counter.least_coverage = std::min(counter.least_coverage, reading->coverage);
    } else {
      ++counter.counted;
    }
    if (const auto value = counters::comparable(*reading))
      values_[i].push_back(counters::to_double(*value));
    else if (reading->coverage < counters::least_coverage)
      ++counter.left_out;
  }
}

std::vector<report::Counter> CounterCounter::result() const {
  std::vector<report::Counter> counters = counters_;
  for (std::size_t i = 0; i < counters.size(); ++i)
    if (!values_[i].empty()) counters[i].median = stats::median(values_[i]);
  return counters;
}

namespace {

std::optional<std::int64_t> count_of(const store::Trial& trial, std::string_view name) {
  const auto found = std::ranges::find(trial.readings, name, &counters::Reading::name);
  if (found == trial.readings.end() || found->status == counters::Status::absent)
    return std::nullopt;
  const auto* value = std::get_if<std::int64_t>(&found->value);
  return value == nullptr ? std::nullopt : std::optional(*value);
}

// A program that sleeps or waits for a file gives up its CPU itself, so its wall time can't tell
// whether others kept it waiting.
std::optional<bool> was_kept_waiting(const store::Trial& trial) {
  // The command beside the trial takes turns with it.
  if (count_of(trial, counters::beside_cpu)) return std::nullopt;
  constexpr std::int64_t few = 10;
  constexpr double much = 0.05;
  constexpr double start_and_end_ns = 2e6;
  const auto own = count_of(trial, "context-switches-voluntary");
  if (!own || *own > few || !trial.wall_ns || !trial.user_ns || !trial.system_ns)
    return std::nullopt;
  const double cpu = static_cast<double>(*trial.user_ns) + static_cast<double>(*trial.system_ns);
  return static_cast<double>(*trial.wall_ns) > (1 + much) * cpu + start_and_end_ns;
}

}  // namespace

void LoadCounter::add(const store::Trial& trial) {
  if (!trial.wall_ns || *trial.wall_ns <= 0) return;
  // The kernel charges whole ticks, and reading the counts before and after a trial takes time,
  // too. Without this tick, a short trial could seem to share the machine with more CPUs than there
  // are.
  constexpr double tick_ns = 1e7;
  constexpr double many_ticks = 10;
  auto wall = static_cast<double>(*trial.wall_ns);
  if (wall < many_ticks * tick_ns) wall += tick_ns;
  const auto add_share = [&](Share& share, std::string_view name) {
    const auto part = count_of(trial, name);
    if (!part) return;
    share.part_ns += static_cast<double>(*part);
    share.wall_ns += wall;
  };
  add_share(others_, "other-cpus-busy-ns");
  add_share(stolen_, "steal-ns");
  if (const auto waiting = was_kept_waiting(trial)) {
    ++load_.known;
    load_.kept_waiting += *waiting ? 1 : 0;
  }
}

report::Load LoadCounter::result() const {
  report::Load load = load_;
  if (others_.wall_ns > 0) load.others = others_.part_ns / others_.wall_ns;
  if (stolen_.wall_ns > 0) load.stolen = stolen_.part_ns / stolen_.wall_ns;
  return load;
}

namespace {

// With more distinct outputs than this, their exact number does not matter.
constexpr std::size_t most_digests = 10'000;

}  // namespace

void OutputCounter::Group::add(const std::string& digest) {
  if (trials++ == 0) first = digest;
  differs = differs || digest != first;
}

OutputCounter::OutputCounter(const plan::Plan& plan) : are_measured_(!plan.outputs.empty()) {
  for (const plan::Factor& factor : plan.factors) factors_.push_back(factor.name);
}

void OutputCounter::add(const store::Trial& trial, const std::string& cell) {
  const std::string& digest = trial.stdout_sha256;
  if (digest.empty()) return;
  auto found = std::ranges::find(benchmarks_, trial.benchmark, &Benchmark::name);
  if (found == benchmarks_.end())
    found = benchmarks_.insert(found, Benchmark{.name = trial.benchmark});
  found->all.add(digest);
  if (found->digests.size() < most_digests) found->digests.insert(std::hash<std::string>()(digest));
  found->cells[cell].add(digest);
  for (const std::string& factor : factors_)
    if (const auto level = trial.levels.find(factor); level != trial.levels.end())
      found->factors[factor][level->second].add(digest);
}

// Whether the levels decide what is printed: all trials of a level print the same. This means
// nothing unless some level has two trials.
bool OutputCounter::decides(const Groups& levels) {
  bool repeated = false;
  for (const auto& [level, group] : levels) {
    if (group.differs) return false;
    repeated = repeated || group.trials > 1;
  }
  return repeated && levels.size() > 1;
}

report::Outputs OutputCounter::outputs_of(const Benchmark& benchmark) const {
  report::Outputs outputs{.benchmark = benchmark.name,
                          .trials = benchmark.all.trials,
                          .different = benchmark.digests.size(),
                          .cells = benchmark.cells.size()};
  for (const auto& [cell, group] : benchmark.cells) outputs.varying_cells += group.differs ? 1 : 0;
  for (const std::string& factor : factors_)
    if (const auto levels = benchmark.factors.find(factor);
        levels != benchmark.factors.end() && decides(levels->second))
      outputs.factors.push_back(factor);
  return outputs;
}

std::vector<report::Outputs> OutputCounter::result() const {
  std::vector<report::Outputs> all;
  for (const Benchmark& benchmark : benchmarks_) {
    if (!benchmark.all.differs) continue;
    report::Outputs outputs = outputs_of(benchmark);
    // A program that prints its own measurements prints different numbers in every trial.
    if (are_measured_ && outputs.factors.empty() && outputs.varying_cells > 0) continue;
    all.push_back(std::move(outputs));
  }
  return all;
}

namespace {

std::optional<double> median(const std::vector<double>& values) {
  return values.empty() ? std::nullopt : std::optional(stats::median(values));
}

constexpr std::size_t most_reasons = 2;

// The parts of a note that come from the program's runtime.
std::vector<std::string> runtime_notes(std::string_view note) {
  constexpr std::string_view between = "; ";
  std::vector<std::string> parts;
  while (!note.empty()) {
    const std::size_t end = std::min(note.find(between), note.size());
    const std::string_view part = note.substr(0, end);
    if (!part.empty() && !part.starts_with(store::own_part)) parts.emplace_back(part);
    note.remove_prefix(std::min(end + between.size(), note.size()));
  }
  return parts;
}

// The same note has other numbers in other trials.
std::string without_numbers(std::string_view text) {
  std::string result;
  bool in_number = false;
  for (const char c : text) {
    const bool digit = c >= '0' && c <= '9';
    if (!digit || !in_number) result += digit ? 'N' : c;
    in_number = digit;
  }
  return result;
}

}  // namespace

void LayoutCounter::add_notes(const store::Layout& layout) {
  constexpr std::size_t most_notes = 100;
  std::set<std::string> seen;
  const std::vector<std::string> parts = runtime_notes(layout.note);
  // The reason why frames have no pads is the first part.
  if (layout.random_code == true && layout.random_stack == false && !parts.empty() &&
      unpadded_.size() < most_reasons)
    unpadded_.insert(parts.front());
  for (const std::string& part : parts) {
    const std::string key = without_numbers(part);
    if (!seen.insert(key).second || (notes_.size() >= most_notes && !notes_.contains(key)))
      continue;
    ++notes_.try_emplace(key, report::LayoutNote{.text = part}).first->second.trials;
  }
}

void LayoutCounter::add(const store::Layout& layout) {
  if (!layout.randomized) {
    ++counts_.without_runtime;
    if (layout.note.empty()) return;
    ++counts_.in_place;
    if (in_place_.size() < most_reasons) in_place_.insert(layout.note);
    return;
  }
  if (!*layout.randomized) {
    ++counts_.unrandomized;
    return;
  }
  ++counts_.randomized;
  counts_.random_code += layout.random_code.value_or(false) ? 1 : 0;
  counts_.random_stack += layout.random_stack.value_or(false) ? 1 : 0;
  counts_.random_heap += layout.random_heap.value_or(false) ? 1 : 0;
  kinds_.insert(layout.kind);
  add_notes(layout);
  if (layout.moved_bytes && layout.text_bytes.value_or(0) > 0)
    shares_.push_back(static_cast<double>(*layout.moved_bytes) /
                      static_cast<double>(*layout.text_bytes));
  if (layout.heap_fixed_bytes && layout.heap_bytes.value_or(0) > 0) {
    fixed_.push_back(static_cast<double>(*layout.heap_fixed_bytes) /
                     static_cast<double>(*layout.heap_bytes));
    if (fixed_.back() > 0.5) ++counts_.fixed_heaps;
  }
  if (!layout.epochs) return;
  epochs_.push_back(static_cast<double>(*layout.epochs));
  if (layout.repeated.value_or(false) && *layout.epochs < report::enough_epochs)
    ++counts_.few_epochs;
}

report::Layouts LayoutCounter::result() const {
  report::Layouts layouts = counts_;
  layouts.kinds = fmt::format("{}", fmt::join(kinds_, ", "));
  layouts.why_in_place = fmt::format("{}", fmt::join(in_place_, "; "));
  layouts.why_no_pads = fmt::format("{}", fmt::join(unpadded_, "; "));
  for (const auto& [key, note] : notes_) layouts.notes.push_back(note);
  std::ranges::sort(layouts.notes, [](const auto& a, const auto& b) {
    return a.trials != b.trials ? a.trials > b.trials : a.text < b.text;
  });
  layouts.median_share = median(shares_);
  if (!shares_.empty()) layouts.least_share = std::ranges::min(shares_);
  layouts.median_epochs = median(epochs_);
  layouts.median_fixed = median(fixed_);
  return layouts;
}

namespace {

constexpr std::size_t most_shown_subjects = 10 * most_subjects;

}  // namespace

std::string subject_of(const store::Trial& trial, const counters::Samples& samples) {
  return samples.subject.empty() ? trial.benchmark : trial.benchmark + "/" + samples.subject;
}

SampleSums::SampleSums(const plan::Plan& plan)
    : response_(plan.analysis.response),
      log_scale_(plan.analysis.log_scale),
      alpha_(plan.analysis.alpha) {}

void SampleSums::add(const store::Trial& trial, const std::string& cell) {
  for (const counters::Samples& each : trial.samples) {
    if (each.measure != response_ || each.values.empty()) continue;
    stats::Moments moments;
    for (const double value : each.values) moments.add(log_scale_ ? std::log(value) : value);
    if (!std::isfinite(moments.mean) || !std::isfinite(moments.ss)) continue;
    const std::string subject = subject_of(trial, each);
    auto place = places_.find(subject);
    if (place == places_.end()) {
      if (subjects_.size() == most_shown_subjects) continue;
      place = places_.emplace(subject, subjects_.size()).first;
      subjects_.emplace_back(subject, std::map<std::string, Trials>());
    }
    subjects_[place->second].second[cell].push_back(moments);
  }
}

std::vector<report::WithinTrials> SampleSums::result() const {
  std::vector<report::WithinTrials> result;
  for (const auto& [subject, by_cell] : subjects_) {
    std::vector<Trials> cells;
    double trials = 0;
    double samples = 0;
    for (const auto& [cell, groups] : by_cell) {
      cells.push_back(groups);
      for (const stats::Moments& each : groups) samples += static_cast<double>(each.n);
      trials += static_cast<double>(groups.size());
    }
    const auto known = stats::variance_components(cells, alpha_);
    if (!known) continue;
    const double per_trial = samples / trials;
    const double of_mean = known->within / per_trial;
    report::WithinTrials within{.subject = subject,
                                .samples = per_trial,
                                .between = known->between,
                                .between_low = known->between_interval.low,
                                .between_high = known->between_interval.high,
                                .within = known->within,
                                .within_low = known->within_interval.low,
                                .within_high = known->within_interval.high};
    if (known->between + of_mean > 0) within.share = of_mean / (known->between + of_mean);
    result.push_back(std::move(within));
  }
  return result;
}

}  // namespace stab::results
