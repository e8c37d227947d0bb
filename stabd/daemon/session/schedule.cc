// SPDX-License-Identifier: MIT

#include "stabd/daemon/session/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <map>
#include <utility>

#include "design/resolve.h"
#include "plan/options.h"
#include "results/heap_layer.h"
#include "results/identical.h"

namespace stab::daemon {
Builds collect_builds(const plan::Plan& plan, const plan::Expansion& expansion) {
  Builds builds;
  if (std::ranges::none_of(plan.benchmarks,
                           [](const plan::Benchmark& each) { return each.build.has_value(); })) {
    builds.of_trial.assign(expansion.trials.size(), -1);
    return builds;
  }
  std::map<std::pair<std::uint32_t, std::string>, std::size_t> known;
  for (const plan::Trial& trial : expansion.trials) {
    plan::Task task = plan::resolve(plan, trial);
    std::string& command = task.build;
    if (command.empty()) {
      builds.of_trial.push_back(-1);
      continue;
    }
    const auto [entry, fresh] = known.try_emplace({trial.benchmark, command}, builds.slots.size());
    if (fresh)
      builds.slots.push_back({.benchmark = trial.benchmark,
                              .command = std::move(command),
                              .revision = std::move(task.revision),
                              .levels = results::build_levels(plan, trial),
                              .key = "",
                              .out = "",
                              .directory = "",
                              .binary_sha256 = ""});
    builds.of_trial.push_back(static_cast<std::int64_t>(entry->second));
  }
  return builds;
}

std::optional<std::string> find_identical(const plan::Plan& plan, const Builds& builds) {
  std::vector<results::Binary> binaries;
  for (const BuildSlot& slot : builds.slots)
    if (slot.usable && !slot.binary_sha256.empty())
      binaries.push_back(
          {.benchmark = slot.benchmark, .levels = slot.levels, .sha256 = slot.binary_sha256});
  return results::find_identical(plan, binaries);
}

std::optional<std::string> find_in_place(const plan::Plan& plan, const plan::Expansion& expansion,
                                         const Builds& builds) {
  if (!plan::sets_options(plan) ||
      std::ranges::all_of(builds.slots, &std::string::empty, &BuildSlot::in_place))
    return std::nullopt;
  for (std::size_t i = 0; i < expansion.trials.size() && i < builds.of_trial.size(); ++i) {
    if (builds.of_trial[i] < 0) continue;
    const BuildSlot& slot = builds.slots[static_cast<std::size_t>(builds.of_trial[i])];
    const plan::Benchmark& benchmark = plan.benchmarks[slot.benchmark];
    if (!slot.usable || slot.in_place.empty() || benchmark.run.front() != "${OUT}") continue;
    if (plan::resolve(plan, expansion.trials[i]).needs == plan::Needs::nothing) continue;
    return fmt::format(
        "the plan asks for a random layout, but the program built for '{}' can't have one: {}. "
        "Change the build, or take the random layout out of the plan",
        benchmark.name, slot.in_place);
  }
  return std::nullopt;
}

namespace {

// Whether szc builds all programs of the benchmark.
bool is_built_by_szc(const plan::Plan& plan, const Builds& builds, std::uint32_t benchmark) {
  return plan.benchmarks[benchmark].build &&
         std::ranges::all_of(builds.slots, [&](const BuildSlot& slot) {
           return slot.benchmark != benchmark || plan::names_szc(slot.command);
         });
}

// The number of all runs of the benchmark, those of warm-up blocks included.
std::size_t trials_of(const plan::Plan& plan, std::uint32_t benchmark) {
  plan::Plan only = plan;
  only.benchmarks = {plan.benchmarks[benchmark]};
  return plan::count_trials(only);
}

}  // namespace

std::vector<HeapTest> heap_tests(const plan::Plan& plan, const plan::Expansion& expansion,
                                 const Builds& builds) {
  struct Found {
    std::vector<std::size_t> factors{};  // treatments that make versions
    std::map<std::vector<std::string>, std::size_t> known{};
    std::vector<std::string> versions{};
    std::vector<std::vector<std::uint32_t>> positions{};  // of each version
  };
  std::vector<Found> all(plan.benchmarks.size());
  for (std::size_t i = 0; i < all.size(); ++i)
    for (const std::size_t factor : plan::treatments(plan))
      if (plan::acts_on_build(plan.benchmarks[i], plan.factors[factor]) ||
          plan::acts_on_run(plan.benchmarks[i], plan.factors[factor]))
        all[i].factors.push_back(factor);
  // Each block has a trial of each version.
  for (const plan::Trial& trial : expansion.trials) {
    if ((trial.warmup ? trial.block : plan.warmup + trial.block) >= results::most_heap_pairs) break;
    if (trial.plain) continue;  // it never has the layer
    Found& found = all[trial.benchmark];
    std::vector<std::string> levels;
    for (const std::size_t factor : found.factors) levels.push_back(trial.levels[factor].name);
    const auto [version, is_new] = found.known.try_emplace(levels, found.versions.size());
    if (is_new) {
      std::string name = plan.benchmarks[trial.benchmark].name;
      for (const std::string& level : levels) name += " " + level;
      found.versions.push_back(std::move(name));
      found.positions.emplace_back();
    }
    found.positions[version->second].push_back(trial.position);
  }
  std::vector<HeapTest> tests;
  for (std::uint32_t i = 0; i < all.size(); ++i) {
    const auto is_lost = [&](const BuildSlot& slot) { return slot.benchmark == i && !slot.usable; };
    if (std::ranges::any_of(builds.slots, is_lost)) continue;
    HeapTest& test = tests.emplace_back();
    test.benchmark = i;
    test.versions = std::move(all[i].versions);
    if (!is_built_by_szc(plan, builds, i)) {
      test.why_none = "szc does not build all versions of the program";
      continue;
    }
    assert(!test.versions.empty());  // each benchmark is in the first block
    const std::size_t in_pair = 2 * test.versions.size();
    std::size_t count = std::min<std::size_t>(
        results::most_heap_pairs,
        trials_of(plan, i) / (std::size_t{results::heap_tests_one_in} * in_pair));
    for (const auto& positions : all[i].positions) count = std::min(count, positions.size());
    if (count == 0) test.why_none = "the plan has too few trials for test runs";
    for (std::size_t pair = 0; pair < count; ++pair) {
      std::vector<std::uint32_t>& of_pair = test.pairs.emplace_back();
      for (const auto& positions : all[i].positions) of_pair.push_back(positions[pair]);
    }
  }
  return tests;
}

using store::TrialStatus;

Schedule::Schedule(const plan::Plan& plan, const plan::Expansion& expansion,
                   const std::vector<store::Store::Progress>& progress, const Share& share)
    : plan_(plan), expansion_(expansion), finished_(expansion.trials.size(), 0) {
  if (share.machine_of)
    for (std::size_t i = 0; i < finished_.size(); ++i)
      if ((*share.machine_of)[i] != share.machine) finished_[i] = others;
  counts_.total =
      finished_.size() - static_cast<std::size_t>(std::ranges::count(finished_, others));
  skip_taken();
  remember(progress);
  loaded();
}

void Schedule::remember(const std::vector<store::Store::Progress>& progress) {
  for (const auto& entry : progress) {
    if (entry.position >= finished_.size() || finished_[entry.position] == others) continue;
    if (entry.done) {
      if (!remembered_.empty() &&
          block_of(remembered_.front().position) != block_of(entry.position))
        settle();
      finish(entry.position, entry.status);
      const bool to_the_end = entry.status == TrialStatus::disturbed && entry.disturbed > 0;
      remembered_.push_back({.round = entry.disturbed - (to_the_end ? 1U : 0U),
                             .position = entry.position,
                             .status = entry.status});
    } else
      begin(entry.position, {.attempts = entry.attempts, .disturbed = entry.disturbed});
  }
}

std::uint32_t Schedule::block_of(std::uint32_t position) const {
  const plan::Trial trial = expansion_.trials[position];
  return trial.warmup ? trial.block : plan_.warmup + trial.block;
}

std::optional<Schedule::Postponed> Schedule::postponed(std::uint32_t position) const {
  const auto begun = begun_.find(position);
  if (begun == begun_.end() || begun->second.disturbed == 0) return std::nullopt;
  return Postponed{
      .block = block_of(position), .disturbed = begun->second.disturbed, .position = position};
}

// C1. If no position is open, returns the number of positions.
std::uint32_t Schedule::next_position() const {
  if (postponed_.empty()) return first_open_;
  const Postponed& first = *postponed_.begin();
  const bool has_others = first_open_ < finished_.size() && block_of(first_open_) <= first.block;
  return has_others ? first_open_ : first.position;
}

std::optional<Schedule::Step> Schedule::next() const {
  const std::uint32_t position = next_position();
  if (position >= finished_.size()) return std::nullopt;
  const auto stored = begun_.find(position);
  const Begun begun = stored == begun_.end() ? Begun{} : stored->second;
  Step step{.position = position, .attempt = begun.attempts, .disturbed = begun.disturbed};
  const std::uint32_t benchmark = expansion_.trials[position].benchmark;
  if (const auto build = failed_builds_.find(benchmark); build != failed_builds_.end()) {
    step.without_running = TrialStatus::build_failed;
    step.reason = build->second;
    return step;
  }
  const auto row = failures_in_a_row_.find(benchmark);
  if (plan_.give_up_after > 0 && row != failures_in_a_row_.end() &&
      row->second >= plan_.give_up_after) {
    step.without_running = TrialStatus::skipped;
    step.reason = fmt::format("not run, because {} trials of this benchmark have failed in a row",
                              row->second);
  }
  return step;
}

bool Schedule::is_last(const Step& step, TrialStatus status) const {
  if (status == TrialStatus::disturbed) return step.disturbed >= plan_.exclude_repeats;
  const bool never_repeated = status == TrialStatus::ok || status == TrialStatus::skipped ||
                              status == TrialStatus::build_failed;
  return never_repeated || step.attempt - step.disturbed >= plan_.retries;
}

bool Schedule::has_begun(std::uint32_t from, std::uint32_t end) const {
  const auto begun = begun_.lower_bound(from);
  return (begun != begun_.end() && begun->first < end) ||
         std::find(finished_.begin() + from, finished_.begin() + end, 1) != finished_.begin() + end;
}

void Schedule::record(const Step& step, TrialStatus status) {
  if (is_last(step, status)) {
    finish(step.position, status);
    return count_row(step.position, status);
  }
  begin(step.position,
        {.attempts = step.attempt + 1,
         .disturbed = step.disturbed + (status == TrialStatus::disturbed ? 1U : 0U)});
}

void Schedule::begin(std::uint32_t position, Begun begun) {
  if (const auto before = postponed(position)) postponed_.erase(*before);
  begun_[position] = begun;
  if (const auto now = postponed(position)) postponed_.insert(*now);
  skip_taken();
}

void Schedule::skip_taken() {
  while (first_open_ < finished_.size() &&
         (finished_[first_open_] != 0 || (!postponed_.empty() && postponed(first_open_))))
    ++first_open_;
}

void Schedule::finish(std::uint32_t position, TrialStatus status) {
  if (const auto before = postponed(position)) postponed_.erase(*before);
  begun_.erase(position);
  finished_[position] = 1;
  end_ = std::max(end_, position + 1);
  skip_taken();
  switch (status) {
    case TrialStatus::ok:
      ++counts_.ok;
      break;
    case TrialStatus::disturbed:
      ++counts_.disturbed;
      break;
    case TrialStatus::skipped:
    case TrialStatus::build_failed:
      ++counts_.skipped;
      break;
    default:
      ++counts_.failed;
  }
}

void Schedule::count_row(std::uint32_t position, TrialStatus status) {
  if (status == TrialStatus::skipped || status == TrialStatus::build_failed) return;
  const plan::Trial trial = expansion_.trials[position];
  if (trial.plain) return;  // it may succeed although all trials with random layouts fail
  std::uint32_t& row = failures_in_a_row_[trial.benchmark];
  const bool failed = status != TrialStatus::ok && status != TrialStatus::disturbed;
  row = failed ? row + 1 : 0;
}

void Schedule::settle() {
  std::ranges::sort(remembered_);
  for (const Ended& each : remembered_) count_row(each.position, each.status);
  remembered_.clear();
}

void Schedule::fail_benchmark(std::uint32_t benchmark, const std::string& reason) {
  failed_builds_.try_emplace(benchmark, reason);
}

}  // namespace stab::daemon
