// SPDX-License-Identifier: MIT
#include "stabd/results/rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "base/text.h"
#include "stabd/results/document.h"

namespace stab::results {
namespace {

using store::TrialStatus;

// The plan's factors that the model knows, and the order of their levels.
class Columns {
 public:
  Columns(const plan::Plan& plan, stats::Dataset& data) : data_(data) {
    std::vector<std::string> benchmarks;
    for (const plan::Benchmark& benchmark : plan.benchmarks) benchmarks.push_back(benchmark.name);
    add(subject_column, std::move(benchmarks));
    add(block_column, {});
    if (plan.design.kind == plan::DesignKind::calibration) {
      add(comparison_column, {});
      comparison_blocks_ = plan.benchmarks.front().repetitions / plan.design.comparisons;
    }
    for (const plan::Factor& factor : plan.factors) {
      std::vector<std::string> levels;
      if (const auto* fixed = std::get_if<plan::FixedLevels>(&factor.levels))
        for (const plan::Level& level : fixed->levels) levels.push_back(level.name);
      if (!std::holds_alternative<plan::RandomPerBlock>(factor.levels))
        add(factor.name, std::move(levels));
    }
  }

  void append(const store::Trial& trial) {
    for (std::size_t i = 0; i < data_.columns.size(); ++i) {
      const std::string& name = data_.columns[i].name;
      if (name == subject_column)
        data_.columns[i].codes.push_back(code(i, trial.benchmark));
      else if (name == block_column)
        data_.columns[i].codes.push_back(code(i, std::to_string(trial.block)));
      else if (comparison_blocks_ > 0 && name == comparison_column)
        data_.columns[i].codes.push_back(code(i, std::to_string(trial.block / comparison_blocks_)));
      else
        data_.columns[i].codes.push_back(code(i, trial.levels.at(name)));
    }
  }

 private:
  void add(std::string name, std::vector<std::string> levels) {
    auto& known = codes_.emplace_back();
    for (std::size_t i = 0; i < levels.size(); ++i)
      known[levels[i]] = static_cast<std::uint32_t>(i);
    data_.columns.push_back({.name = std::move(name), .levels = std::move(levels), .codes = {}});
  }

  std::uint32_t code(std::size_t column, const std::string& level) {
    auto& levels = data_.columns[column].levels;
    const auto [entry, fresh] =
        codes_[column].try_emplace(level, static_cast<std::uint32_t>(levels.size()));
    if (fresh) levels.push_back(level);
    return entry->second;
  }

  stats::Dataset& data_;
  std::vector<std::map<std::string, std::uint32_t>> codes_;
  std::uint32_t comparison_blocks_ = 0;  // of a calibration
};

}  // namespace

void Waits::add(const std::vector<counters::Reading>& readings) {
  for (const counters::Reading& reading : readings) {
    const auto* value = std::get_if<std::int64_t>(&reading.value);
    if (value == nullptr || reading.status == counters::Status::absent) continue;
    if (reading.name == wait_reading) {
      ++times;
      // A forged number ends nothing.
      if (__builtin_add_overflow(ns, *value, &ns)) ns = std::numeric_limits<std::int64_t>::max();
    }
    if (reading.name == wait_in_vain_reading) in_vain += *value == 0 ? 0 : 1;
  }
}

Rows::Rows(const plan::Plan& plan)
    : counters(counter_names(plan), Missing::absent),
      measures(measure_names(plan), Missing::not_meant) {}

store::Outcome<Rows> read_rows(store::Reader& store, const store::Experiment& experiment,
                               const plan::Plan& plan, For whom, std::uint32_t most) {
  Rows rows(plan);
  Columns columns(plan, rows.data);
  Response response(rows.data);
  Columns all_columns(plan, rows.without_rules);
  Response all_responses(rows.without_rules);
  if (whom == For::report && !plan.exclude.empty()) rows.tally.emplace(plan);
  if (whom == For::report) rows.others.resize(plan.analysis.others.size());
  const auto read = for_each_trial(store, experiment, [&](const store::Trial& trial) {
    if (!trial.warmup && trial.block >= most) return false;
    if (rows.first_ns == 0) rows.first_ns = trial.started_ns;
    rows.last_ns = std::max(rows.last_ns, trial.started_ns + trial.wall_ns.value_or(0));
    if (plan.wait_for_quiet) rows.waits.add(trial.readings);
    if (trial.warmup) return true;
    if (rows.tally && rows.tally->add(trial, cell_text(plan, trial))) {
      all_responses.append(response_of(trial, plan.analysis.response));
      all_columns.append(trial);
    }
    if (!trial.last) return true;
    rows.blocks = std::max(rows.blocks, trial.block + 1);
    if (trial.status == TrialStatus::ok) {
      if (++rows.counts.ok == 1) rows.unit = unit_of(trial, plan.analysis.response);
      response.append(response_of(trial, plan.analysis.response));
      columns.append(trial);
      for (std::size_t i = 0; i < rows.others.size(); ++i) {
        const std::string& name = plan.analysis.others[i].name;
        if (rows.counts.ok == 1) rows.others[i].unit = unit_of(trial, name);
        rows.others[i].response.append(response_of(trial, name));
      }
      rows.layouts.add(trial.layout);
      rows.counters.add(trial.readings);
      rows.measures.add(trial.readings);
      return true;
    }
    if (trial.status == TrialStatus::disturbed) {
      ++rows.counts.disturbed;
      return true;
    }
    const bool skipped =
        trial.status == TrialStatus::skipped || trial.status == TrialStatus::build_failed;
    ++(skipped ? rows.counts.skipped : rows.counts.failed);
    ++rows.failures[fmt::format("{}: {}", cell_text(plan, trial), one_line(trial.reason, 300))];
    return true;
  });
  if (!read) return std::unexpected(read.error());
  return rows;
}

}  // namespace stab::results
