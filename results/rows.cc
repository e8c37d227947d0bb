// SPDX-License-Identifier: MIT
#include "results/rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <ranges>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "base/text.h"
#include "design/model.h"
#include "design/trial_list.h"
#include "results/document.h"

namespace stab::results {

namespace {

// The cells whose trials did not run because of one failed build, with the keys of their own builds.
struct Unbuilt {
  std::set<std::string> keys{};
  std::uint64_t trials = 0;
};
using UnbuiltCells = std::map<std::string, Unbuilt>;

// A failed build takes the trials of all cells of its benchmark, but only the cells with that build
// are to blame.
void blame(const std::string& why, const UnbuiltCells& cells,
           const std::vector<store::Build>& builds, Rows& rows) {
  const auto failed = [&](const Unbuilt& cell) {
    return std::ranges::any_of(builds, [&](const store::Build& build) {
      return build.status == store::BuildStatus::failed && cell.keys.contains(build.key);
    });
  };
  report::FailureCause& cause = rows.causes[why];
  const bool are_known =
      std::ranges::any_of(cells, [&](const auto& each) { return failed(each.second); });
  for (const auto& [cell, unbuilt] : cells) {
    const bool is_own = !are_known || failed(unbuilt);
    const std::string text =
        is_own ? why : "not run, because another build of the benchmark failed";
    rows.failures[fmt::format("{}: {}", cell, text)].trials += unbuilt.trials;
    if (is_own) cause.cells.insert(cell);
  }
  if (cause.cells.size() < cells.size())
    cause.why += "; therefore, the benchmark's other programs did not run either";
}

using store::TrialStatus;

// A trial's levels, as one code for each column.
using Codes = std::vector<std::uint32_t>;

// The columns for the plan's factors that the model uses, and the order of their levels.
class Columns {
 public:
  Columns(const plan::Plan& plan, stats::Dataset& data, std::vector<std::string> subjects,
          bool has_machines)
      : data_(data), has_machines_(has_machines) {
    add(subject_column, std::move(subjects));
    if (has_machines) add(plan::machine_column, {});
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

  // The codes of all columns except the first one, which is the subject.
  Codes codes_of(const store::Trial& trial) {
    Codes codes;
    for (std::size_t i = 1; i < data_.columns.size(); ++i) {
      const std::string& name = data_.columns[i].name;
      if (name == block_column)
        codes.push_back(code(i, std::to_string(trial.block)));
      else if (has_machines_ && name == plan::machine_column)
        codes.push_back(code(i, trial.node));
      else if (comparison_blocks_ > 0 && name == comparison_column)
        codes.push_back(code(i, std::to_string(trial.block / comparison_blocks_)));
      else
        codes.push_back(code(i, trial.levels.at(name)));
    }
    return codes;
  }

  std::uint32_t subject_code(const std::string& subject) { return code(0, subject); }

  void append(const std::string& subject, const Codes& codes) {
    data_.columns.front().codes.push_back(code(0, subject));
    for (std::size_t i = 0; i < codes.size(); ++i) data_.columns[i + 1].codes.push_back(codes[i]);
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
  bool has_machines_;
  std::vector<std::map<std::string, std::uint32_t>> codes_;
  std::uint32_t comparison_blocks_ = 0;  // of a calibration
};

enum class Turn { each_block, some_blocks };
std::vector<std::string> names_of(const plan::Plan& plan, Turn turn) {
  std::vector<std::string> names = plan::counter_names(plan);
  std::erase_if(names, [&](const std::string& name) {
    return plan::BlocksWithNumber(plan, name).takes_turns() != (turn == Turn::some_blocks);
  });
  return names;
}

// The plan's benchmarks have the plan's order in reports. Benchmarks that programs name have the
// order in which they first came.
std::vector<std::string> subjects_of(const plan::Plan& plan, const std::string& response) {
  std::vector<std::string> names;
  if (plan.is_split(response)) return names;
  for (const plan::Benchmark& benchmark : plan.benchmarks) names.push_back(benchmark.name);
  return names;
}

// Collects the rows of one response from the blocks that measured it.
class Collector {
 public:
  Collector(const plan::Plan& plan, std::string name)
      : plan_(plan),
        name_(std::move(name)),
        measured_(plan, name_),
        columns_(plan, data_, subjects_of(plan, name_), plan::tells_machines_apart(plan, name_)) {}
  Collector(const Collector&) = delete;
  Collector& operator=(const Collector&) = delete;

  void append(const store::Trial& trial) {
    if (!measured_.in_block(trial.block)) return;
    const std::vector<SubjectNumber> numbers = numbers_of(trial, plan_, name_);
    if (!unit_ && std::ranges::any_of(numbers, has_value)) unit_ = unit_of(trial, name_);
    if (plan_.is_split(name_)) return append_split(trial, numbers);
    add(numbers.front().subject, columns_.codes_of(trial), numbers.front().value);
  }

  // Adds a trial without a result, with the bounds of its number.
  void lose(const store::Trial& trial) {
    if (!measured_.in_block(trial.block)) return;
    if (trial.levels.empty() && !plan_.factors.empty()) return;
    LostOf lost;
    lost.benchmark = trial.benchmark;
    lost.trial = lost_trial(trial, plan_, name_);
    lost.trial.codes = columns_.codes_of(trial);
    if (lost.trial.excluded)
      for (const SubjectNumber& each : numbers_of(trial, plan_, name_))
        if (each.value) lost.numbers[each.subject] = counters::to_double(*each.value);
    lost_.push_back(std::move(lost));
  }

  // The result also has the benchmarks without a number in any trial, as rows that lack the number.
  stats::Dataset finish() {
    for (const auto& [benchmark, split] : splits_)
      if (split.places.empty())
        for (const Codes& codes : split.trials) add(benchmark, codes, std::nullopt);
    data_.lists_lost = true;
    for (const LostOf& each : lost_) {
      const auto split = splits_.find(each.benchmark);
      if (!plan_.is_split(name_))
        add_lost(each.benchmark, each);
      else if (split != splits_.end())
        for (const std::string& subject : split->second.subjects) add_lost(subject, each);
    }
    return std::move(data_);
  }
  [[nodiscard]] stats::Unit unit() const { return unit_.value_or(stats::Unit::nanoseconds); }

  [[nodiscard]] std::vector<std::string> notes() const {
    std::vector<std::string> notes;
    for (const auto& [benchmark, split] : splits_)
      if (split.left_out)
        notes.push_back(
            fmt::format("The programs report more than {0} benchmarks in total, but the analysis "
                        "uses only the first {0}. The last benchmarks of {1} "
                        "are left out.",
                        most_subjects, benchmark));
    return notes;
  }

 private:
  static bool has_value(const SubjectNumber& number) { return number.value.has_value(); }

  // The subjects that a benchmark's program measures.
  struct Split {
    std::map<std::string, std::size_t> places;  // of its subjects, in `subjects`
    std::vector<std::string> subjects;
    std::vector<Codes> trials;
    bool left_out = false;
  };

  // Every trial has a row for each subject. If only some trials have a subject, the rows of the
  // other trials lack the number.
  void append_split(const store::Trial& trial, const std::vector<SubjectNumber>& numbers) {
    Split& split = splits_[trial.benchmark];
    for (const SubjectNumber& each : numbers) {
      if (split.places.contains(each.subject)) continue;
      if (subjects_ == most_subjects) {
        split.left_out = true;
        continue;
      }
      ++subjects_;
      split.places.emplace(each.subject, split.subjects.size());
      split.subjects.push_back(each.subject);
      for (const Codes& codes : split.trials) add(each.subject, codes, std::nullopt);
    }
    std::vector<std::optional<counters::Number>> values(split.subjects.size());
    for (const SubjectNumber& each : numbers)
      if (const auto place = split.places.find(each.subject); place != split.places.end())
        values[place->second] = each.value;
    split.trials.push_back(columns_.codes_of(trial));
    for (std::size_t i = 0; i < values.size(); ++i)
      add(split.subjects[i], split.trials.back(), values[i]);
  }

  struct LostOf {
    std::string benchmark;
    stats::Lost trial;                      // without the code of its subject
    std::map<std::string, double> numbers;  // by subject, if the trial was excluded
  };

  void add_lost(const std::string& subject, const LostOf& each) {
    stats::Lost lost = each.trial;
    lost.codes.insert(lost.codes.begin(), columns_.subject_code(subject));
    if (const auto number = each.numbers.find(subject); number != each.numbers.end())
      lost.at_least = lost.at_most = number->second;
    data_.lost.push_back(std::move(lost));
  }

  void add(const std::string& subject, const Codes& codes, std::optional<counters::Number> value) {
    columns_.append(subject, codes);
    response_.append(value);
  }

  const plan::Plan& plan_;
  std::string name_;
  plan::BlocksWithNumber measured_;
  stats::Dataset data_;
  Columns columns_;
  Response response_{data_};
  std::map<std::string, Split> splits_;  // by benchmark
  std::vector<LostOf> lost_;
  std::size_t subjects_ = 0;         // of all benchmarks
  std::optional<stats::Unit> unit_;  // of the first number
};

}  // namespace

namespace {

// The last lines of a stderr that are not blank.
std::vector<std::string> last_lines_of(std::string_view text) {
  constexpr std::size_t most_lines = 3;
  constexpr std::size_t longest = 100;
  std::deque<std::string> lines;
  for (const auto part : std::views::split(text, '\n')) {
    std::string line = one_line(std::string_view(part), longest);
    if (line.find_first_not_of(' ') == std::string::npos) continue;
    lines.push_back(std::move(line));
    if (lines.size() > most_lines) lines.pop_front();
  }
  return {lines.begin(), lines.end()};
}

}  // namespace

std::vector<report::FailureCause> sorted(std::map<std::string, report::FailureCause> causes) {
  std::vector<report::FailureCause> list;
  for (auto& [why, cause] : causes) list.push_back(std::move(cause));
  std::ranges::sort(list, std::ranges::greater{}, [](const report::FailureCause& each) {
    return std::tie(each.trials, each.why);
  });
  return list;
}

void Waits::add(const std::vector<counters::Reading>& readings) {
  for (const counters::Reading& reading : readings) {
    const auto* value = std::get_if<std::int64_t>(&reading.value);
    if (value == nullptr || reading.status == counters::Status::absent) continue;
    if (reading.name == wait_reading) {
      ++times;
      // Even a forged number in the store must not overflow the sum.
      if (__builtin_add_overflow(ns, *value, &ns)) ns = std::numeric_limits<std::int64_t>::max();
    }
    if (reading.name == wait_in_vain_reading) in_vain += *value == 0 ? 0 : 1;
  }
}

Rows::Rows(const plan::Plan& plan)
    : counters(names_of(plan, Turn::each_block), Missing::absent),
      rotated(names_of(plan, Turn::some_blocks), Missing::not_meant),
      measures(measure_names(plan), Missing::not_meant),
      cost(plan),
      samples(plan),
      outputs(plan) {}

store::Outcome<Rows> read_rows(store::Reader& store, const store::Experiment& experiment,
                               const plan::Plan& plan, For whom, std::uint32_t most) {
  Rows rows(plan);
  Collector response(plan, plan.analysis.response);
  Collector without_rules(plan, plan.analysis.response);
  std::set<std::uint32_t> counted;  // positions that have a number without the rules
  std::deque<Collector> others;
  if (whom == For::report && !plan.exclude.empty()) rows.tally.emplace(plan);
  if (whom == For::report)
    for (const plan::OtherResponse& each : plan.analysis.others)
      others.emplace_back(plan, each.name);
  Result<void> profiled;
  std::map<std::string, store::Build>
      failed_builds;  // by cause: the key and the benchmark of the first such build
  std::map<std::string, UnbuiltCells> unbuilt;  // by cause
  const auto read = for_each_trial(store, experiment, [&](const store::Trial& trial) {
    if (!trial.warmup && trial.block >= most) return false;
    if (rows.first_ns == 0) rows.first_ns = trial.started_ns;
    rows.last_ns = std::max(rows.last_ns, trial.started_ns + trial.wall_ns.value_or(0));
    if (plan.wait_for_quiet) rows.waits.add(trial.readings);
    if (trial.warmup) return true;
    const bool plain = is_plain(trial);
    if (!plain && rows.tally && rows.tally->add(trial, cell_text(plan, trial))) {
      without_rules.append(trial);
      counted.insert(trial.position);
    } else if (!plain && rows.tally && trial.last && !counted.contains(trial.position)) {
      without_rules.lose(trial);
    }
    if (!trial.last) return true;
    rows.blocks = std::max(rows.blocks, trial.block + 1);
    if (trial.status == TrialStatus::ok) {
      ++rows.counts.ok;
      rows.cost.add(trial);
      if (plain) return true;
      if (plan.is_causal()) profiled = rows.causal.add(plan, trial);
      if (!profiled) return false;
      response.append(trial);
      for (Collector& other : others) other.append(trial);
      if (whom == For::report) {
        const std::string cell = cell_text(plan, trial);
        rows.samples.add(trial, cell);
        rows.outputs.add(trial, cell);
      }
      rows.layouts.add(trial.layout);
      rows.load.add(trial);
      rows.counters.add(trial.readings);
      rows.rotated.add(trial.readings);
      rows.measures.look_for_regions(trial.readings);
      rows.measures.add(trial.readings);
      return true;
    }
    if (!plain) {
      response.lose(trial);
      for (Collector& other : others) other.lose(trial);
    }
    if (trial.status == TrialStatus::disturbed) {
      ++rows.counts.disturbed;
      return true;
    }
    const bool skipped =
        trial.status == TrialStatus::skipped || trial.status == TrialStatus::build_failed;
    ++(skipped ? rows.counts.skipped : rows.counts.failed);
    const std::string why = one_line(trial.reason, 300);
    const std::string cell = cell_text(plan, trial);
    const bool is_unbuilt = trial.status == TrialStatus::build_failed;
    if (is_unbuilt) {
      Unbuilt& of = unbuilt[why][cell];
      of.keys.insert(trial.build);
      ++of.trials;
    } else {
      Failure& failure = rows.failures[fmt::format("{}: {}", cell, why)];
      if (failure.trials++ == 0) failure.said = last_line(trial.stderr_tail, 200);
    }
    report::FailureCause& cause = rows.causes[why];
    if (cause.trials++ == 0) {
      cause.why = why;
      cause.said = last_line(trial.stderr_tail, 200);
      cause.last_lines = last_lines_of(trial.stderr_tail);
      if (skipped) failed_builds[why] = {.key = trial.build, .benchmark = trial.benchmark};
    }
    if (!is_unbuilt) cause.cells.insert(cell);
    return true;
  });
  if (!read) return std::unexpected(read.error());
  if (!profiled) return std::unexpected(store::StoreError{.message = profiled.error().message});
  if (!failed_builds.empty()) {
    const auto builds = store.builds(experiment.id);
    if (!builds) return std::unexpected(builds.error());
    for (const auto& [why, wanted] : failed_builds) {
      const store::Build* failed = nullptr;
      for (const store::Build& each : *builds)
        if (each.status == store::BuildStatus::failed && each.benchmark == wanted.benchmark &&
            (failed == nullptr || each.key == wanted.key))
          failed = &each;
      if (failed != nullptr) rows.causes[why].last_lines = last_lines_of(failed->output);
    }
    for (const auto& [why, cells] : unbuilt) blame(why, cells, *builds, rows);
  }
  rows.data = response.finish();
  rows.unit = response.unit();
  rows.notes = response.notes();
  rows.without_rules = without_rules.finish();
  for (Collector& other : others) {
    for (std::string& note : other.notes())
      if (std::ranges::find(rows.notes, note) == rows.notes.end())
        rows.notes.push_back(std::move(note));
    rows.others.push_back({.data = other.finish(), .unit = other.unit()});
  }
  return rows;
}

}  // namespace stab::results
