// SPDX-License-Identifier: MIT
// Reads [design] and [causal] and checks them: the listed cells, the size of the experiment, the
// stopping rule, and what only calibrations, padding studies, fractional or causal designs have.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "base/time.h"
#include "design/fractional.h"
#include "design/trial_list.h"
#include "plan/reading/draft.h"
#include "plan/texts.h"

namespace stab::plan {
namespace {

constexpr std::array kinds{
    DesignKind::one_way,     DesignKind::within_subjects, DesignKind::full_factorial,
    DesignKind::nested,      DesignKind::custom,          DesignKind::fractional,
    DesignKind::calibration, DesignKind::padding_study,   DesignKind::causal};

DesignKind kind_called(std::string_view name) {
  const auto* const found = std::ranges::find(words::kinds, name);
  return kinds[found - words::kinds.begin()];
}

void read_kind(const Table& table, Draft& draft) {
  const auto name = given<"design.kind">(table);
  if (!name) {
    draft.kind_is_good = table.find("kind") == nullptr;
    return;
  }
  draft.design_at = table.find("kind")->at;
  draft.plan.design.kind = kind_called(*name);
}

// Levels are named by text, but true and 4096 are as clear as "true" and "4096".
std::optional<std::string> level_name(const Value& value) {
  if (const auto* text = std::get_if<std::string>(&value.data)) return *text;
  if (const auto* flag = std::get_if<bool>(&value.data)) return *flag ? "true" : "false";
  if (const auto* number = std::get_if<std::int64_t>(&value.data))
    return fmt::format("{}", *number);
  return std::nullopt;
}

DraftCell read_cell(const Value& item, const Table& design) {
  DraftCell cell{.at = item.at, .value = {}};
  const Table table(design.problems(), item, design.path("cells"));
  for (const Pair& pair : table.pairs()) {
    if (const auto name = level_name(pair.value))
      cell.value[pair.key] = *name;
    else
      table.refuse(pair, "the name of a level");
  }
  return cell;
}

void read_cells(const Table& table, Draft& draft) {
  const Items* items =
      table.items("cells", R"(an array of cells, for example [ { opt = "O2" }, ... ])");
  if (items == nullptr) return;
  const Pair& pair = *table.find("cells");
  constexpr Several allowed = kind_of<"design.cells">;
  if (items->size() < allowed.least || items->size() > allowed.most) {
    draft.problems.add(pair.at, fmt::format("'design.cells' must list {} to {} cells, not {}",
                                            allowed.least, allowed.most, items->size()));
    return;
  }
  for (const Value& item : *items) {
    if (std::holds_alternative<Pairs>(item.data))
      draft.cells.push_back(read_cell(item, table));
    else
      table.refuse_item(pair, item, R"(a table, for example { opt = "O2", aslr = "true" })");
  }
}

}  // namespace

void read_design(const Table& root, Draft& draft) {
  draft.plan.design.kind = kind_called(standard_of<"design.kind">);
  const auto table = root.table("design", names_below("design"));
  if (!table) return;
  draft.design_at = root.find("design")->at;
  read_kind(*table, draft);
  draft.plan.design.has_idle_order = given<"design.order">(*table).has_value();
  read_stop(*table, draft);
  const Pair* cells = table->find("cells");
  const std::size_t before = draft.problems.count();
  read_cells(*table, draft);
  draft.cells_are_good = draft.problems.count() == before;
  if (!draft.kind_is_good) return;
  read_studies(*table, draft);
  const bool is_custom = draft.plan.design.kind == DesignKind::custom;
  if (cells != nullptr && !is_custom)
    draft.problems.add(
        cells->at,
        R"('design.cells' belongs to kind = "custom": set this kind, or remove the cells)");
  if (cells == nullptr && is_custom)
    draft.problems.add(draft.design_at,
                       R"('design.cells' is missing: a "custom" design lists its cells)");
}

// Checks that the kind of design fits the factors and the benchmarks, and that listed cells name
// existing levels.

namespace {

// The treatments and their levels.
using Treatments = std::map<std::string, Words>;

Treatments treatments_of(const Draft& draft) {
  Treatments treatments;
  for (const DraftFactor& factor : draft.factors)
    if (factor.value.is_treatment())
      for (const Level& level : std::get<FixedLevels>(factor.value.levels).levels)
        treatments[factor.value.name].push_back(level.name);
  return treatments;
}

Words names_of(const Treatments& treatments) {
  Words names;
  for (const auto& [name, levels] : treatments) names.push_back(name);
  return names;
}

void refuse_kind(Draft& draft, std::string_view needs, const Treatments& treatments) {
  const std::string rule = fmt::format("a {} design {}", to_string(draft.plan.design.kind), needs);
  const std::string own = treatments.empty() ? "0"
                                             : fmt::format("{}: {}", treatments.size(),
                                                           fmt::join(names_of(treatments), ", "));
  draft.problems.add(draft.design_at, fmt::format("{}, but this plan has {}", rule, own));
}

void check_treatments(Draft& draft, const Treatments& treatments) {
  const DesignKind kind = draft.plan.design.kind;
  if (kind == DesignKind::one_way && treatments.size() != 1)
    refuse_kind(draft, "needs exactly one treatment (a factor with two or more fixed levels)",
                treatments);
  if (kind == DesignKind::within_subjects && treatments.empty())
    refuse_kind(draft, "needs at least one treatment (a factor with two or more fixed levels)",
                treatments);
  if (kind == DesignKind::nested && treatments.size() > 1)
    refuse_kind(draft, "can have at most one treatment (a factor with two or more fixed levels)",
                treatments);
  if (kind == DesignKind::custom && treatments.empty())
    refuse_kind(draft, "needs at least one treatment (a factor with two or more fixed levels)",
                treatments);
  if (kind == DesignKind::padding_study && treatments.size() != 1)
    refuse_kind(draft, "needs exactly one treatment (a factor with two or more fixed levels)",
                treatments);
  if (kind == DesignKind::calibration && !treatments.empty())
    refuse_kind(draft, "compares programs with themselves and must not have treatments",
                treatments);
  if (kind == DesignKind::within_subjects && draft.benchmarks.size() == 1)
    draft.problems.add(draft.design_at,
                       "a within-subjects design compares levels across benchmarks and needs at "
                       "least two benchmarks, but this plan has 1");
}

bool has_seeds(DesignKind kind) {
  return kind == DesignKind::nested || kind == DesignKind::padding_study;
}

void check_seeds(Draft& draft) {
  const DraftFactor* nested = nullptr;
  for (const DraftFactor& factor : draft.factors) {
    const auto* seeds = std::get_if<RandomSeeds>(&factor.value.levels);
    if (seeds == nullptr) continue;
    if (nested != nullptr)
      draft.problems.add(
          factor.at,
          fmt::format(
              "only one factor can have random = {{ seeds, runs }}, and '{}' already has it",
              nested->value.name));
    else if (!has_seeds(draft.plan.design.kind))
      draft.problems.add(factor.at,
                         fmt::format("the factor '{}' with random = {{ seeds, runs }} needs "
                                     "design.kind = \"nested\" or \"padding-study\"",
                                     factor.value.name));
    nested = &factor;
  }
  if (nested == nullptr) {
    if (has_seeds(draft.plan.design.kind))
      draft.problems.add(
          draft.design_at,
          fmt::format(
              "a {} design needs a factor with random = {{ seeds, runs }}, such as link_order",
              to_string(draft.plan.design.kind)));
    return;
  }
  for (const Position at : draft.repetitions_at)
    draft.problems.add(at, fmt::format("leave out 'repetitions': the value of 'runs' in the factor "
                                       "'{}' is the number of repetitions",
                                       nested->value.name));
}

void check_cell(const DraftCell& cell, const Treatments& treatments, Problems& problems) {
  const auto hint = [&](std::string_view word, const Words& candidates) {
    return problems.is_crowded() ? "" : did_you_mean(word, candidates);
  };
  for (const auto& [factor, level] : cell.value) {
    const auto found = treatments.find(factor);
    if (found == treatments.end())
      problems.add(cell.at,
                   fmt::format("this cell contains '{}', which is not a treatment of this plan{}",
                               shown(factor), hint(factor, names_of(treatments))));
    else if (std::ranges::find(found->second, level) == found->second.end())
      problems.add(
          cell.at,
          fmt::format("this cell contains the level '{}', which the factor '{}' does not have{}",
                      shown(level), factor, hint(level, found->second)));
  }
  for (const auto& [factor, levels] : treatments)
    if (!cell.value.contains(factor))
      problems.add(cell.at,
                   fmt::format("this cell leaves out '{}', but a cell must contain every treatment",
                               factor));
}

void check_levels_are_used(Draft& draft, const Treatments& treatments) {
  std::map<std::string, std::set<std::string>> used;
  for (const DraftCell& cell : draft.cells)
    for (const auto& [factor, level] : cell.value) used[factor].insert(level);
  for (const DraftFactor& factor : draft.factors) {
    const auto levels = treatments.find(factor.value.name);
    if (levels == treatments.end()) continue;
    for (const std::string& level : levels->second)
      if (!used[factor.value.name].contains(level))
        draft.problems.add(factor.at, fmt::format("no cell of the design has the level '{}' of the "
                                                  "factor '{}': use or remove the level",
                                                  level, factor.value.name));
  }
}

// Gives the levels in the cells the names that the factors' levels have.
void rename_levels(Draft& draft) {
  for (DraftCell& cell : draft.cells)
    for (const DraftFactor& factor : draft.factors)
      if (const auto named = cell.value.find(factor.value.name); named != cell.value.end())
        named->second = normal_level(factor.value, named->second);
}

void check_cells(Draft& draft, const Treatments& treatments) {
  const std::size_t before = draft.problems.count();
  rename_levels(draft);
  std::set<Cell> seen;
  for (const DraftCell& cell : draft.cells) {
    check_cell(cell, treatments, draft.problems);
    if (!seen.insert(cell.value).second)
      draft.problems.add(cell.at, "this cell is listed twice: remove one");
  }
  if (draft.problems.count() == before) check_levels_are_used(draft, treatments);
}

}  // namespace

void check_design(Draft& draft) {
  if (!draft.factors_are_good || !draft.kind_is_good) return;
  const std::size_t before = draft.problems.count();
  const Treatments treatments = treatments_of(draft);
  check_treatments(draft, treatments);
  check_seeds(draft);
  if (draft.plan.design.kind == DesignKind::custom && draft.cells_are_good && !draft.cells.empty())
    check_cells(draft, treatments);
  draft.kind_is_good = draft.problems.count() == before;
}

// Computes how large the experiment becomes, before anything is allocated.

namespace {

constexpr std::uint64_t saturated = std::numeric_limits<std::uint64_t>::max();

std::uint64_t times(std::uint64_t a, std::uint64_t b) {
  std::uint64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? saturated : product;
}

std::string number(std::uint64_t count) {
  return count == saturated ? "more than 10^19" : fmt::format("{}", count);
}

// The number of cells of a factorial design. Too many cells are a problem at the last treatment.
std::uint64_t factorial_cells(Draft& draft) {
  std::uint64_t cells = 1;
  std::vector<std::size_t> levels;
  Position at;
  for (const DraftFactor& factor : draft.factors) {
    if (!factor.value.is_treatment()) continue;
    levels.push_back(std::get<FixedLevels>(factor.value.levels).levels.size());
    cells = times(cells, levels.back());
    at = factor.at;
  }
  if (cells > max_cells)
    draft.problems.add(at,
                       fmt::format("the design has {} = {} cells, but at most {} are allowed: "
                                   "remove levels or factors, or list the cells in a custom design",
                                   fmt::join(levels, " x "), number(cells), max_cells));
  return cells;
}

const RandomSeeds* seeds_of(const Draft& draft) {
  for (const DraftFactor& factor : draft.factors)
    if (const auto* seeds = std::get_if<RandomSeeds>(&factor.value.levels)) return seeds;
  return nullptr;
}

}  // namespace

void check_size(Draft& draft) {
  if (!draft.factors_are_good || !draft.kind_is_good || !draft.cells_are_good) return;
  const bool is_listed = lists_cells(draft.plan.design.kind);
  const std::uint64_t cells = is_listed ? draft.cells.size() : factorial_cells(draft);
  if (cells > max_cells) return;
  const RandomSeeds* nested = seeds_of(draft);
  const std::uint64_t per_block = cells * (nested != nullptr ? nested->seeds : 1);
  std::uint64_t trials = 0;
  for (const DraftBenchmark& benchmark : draft.benchmarks) {
    const std::uint64_t blocks = nested != nullptr        ? nested->runs
                                 : draft.plan.design.stop ? draft.plan.design.stop->max
                                                          : benchmark.value.repetitions;
    const std::uint64_t plain = draft.plan.analysis.cost ? blocks / blocks_for_plain : 0;
    trials += (per_block * (blocks + draft.plan.warmup) + plain) * draft.plan.machine_count();
  }
  if (trials <= max_trials) return;
  const Position at = draft.plan.design.stop          ? draft.stop_at
                      : !draft.repetitions_at.empty() ? draft.repetitions_at.front()
                                                      : Position{};
  draft.problems.add(
      at,
      fmt::format("the plan has {} trials ({} benchmarks, each with {} trials in a block), but at "
                  "most {} are allowed: lower the repetitions, or remove levels or benchmarks",
                  trials, draft.benchmarks.size(), per_block, max_trials));
}

// Reads design.stop, the stopping rule, and refuses designs that the rule doesn't fit.

namespace {

constexpr std::uint32_t most_precise_looks = 100;  // each look reads all trials so far

// Returns `count` evenly spaced numbers of blocks from min on, and then max, the end of the
// experiment.
std::vector<std::uint32_t> looks(std::uint32_t min, std::uint32_t max, std::uint32_t count) {
  std::vector<std::uint32_t> result;
  for (std::uint64_t i = 0; i < count; ++i)
    result.push_back(min + static_cast<std::uint32_t>((max - min) * i / count));
  return result;
}

void refuse_key(const Table& table, const char* key, const char* rule) {
  if (const Pair* pair = table.find(key))
    table.problems().add(pair->at,
                         fmt::format("'{}' needs rule = \"{}\": set this rule, or remove the key",
                                     table.path(key), rule));
}

struct Bounds {
  std::uint32_t min = 0;
  std::uint32_t max = 0;
};

std::optional<Bounds> read_bounds(const Table& table, StopRule rule) {
  table.require("max", "the largest number of blocks");
  const auto min = given<"design.stop.min">(table, rule);
  const auto max = given<"design.stop.max">(table, rule);
  if (!max || (!min && table.find("min") != nullptr)) return std::nullopt;
  const Bounds bounds{.min = min.value_or(standard_of<"design.stop.min">), .max = *max};
  if (bounds.min < bounds.max) return bounds;
  table.refuse(*table.find("max"),
               fmt::format("larger than '{}', which is {}", table.path("min"), bounds.min));
  return std::nullopt;
}

std::optional<Stop> read_precision(const Table& table) {
  refuse_key(table, "looks", "sequential");
  table.require("half_width",
                R"(the largest half-width that an interval may have, for example "0.5%")");
  const auto half_width = given<"design.stop.half_width">(table);
  const auto bounds = read_bounds(table, StopRule::precision);
  if (!half_width || !bounds) return std::nullopt;
  const auto [min, max] = *bounds;
  return Stop{.rule = StopRule::precision,
              .half_width = *half_width,
              .max = max,
              .looks = looks(min, max, std::min(max - min, most_precise_looks))};
}

std::optional<Stop> read_sequential(const Table& table) {
  refuse_key(table, "half_width", "precision");
  const auto count = given<"design.stop.looks">(table);
  const auto bounds = read_bounds(table, StopRule::sequential);
  if (!bounds || (!count && table.find("looks") != nullptr)) return std::nullopt;
  const auto [min, max] = *bounds;
  const std::uint32_t most = max - min + 1;
  if (count && *count > most) {
    table.refuse(*table.find("looks"),
                 fmt::format("at most {} (one look after each block, from block {} to block {})",
                             most, min, max));
    return std::nullopt;
  }
  const std::uint32_t wanted = count.value_or(std::min(most, standard_of<"design.stop.looks">));
  // The last look is at the end.
  return Stop{.rule = StopRule::sequential,
              .half_width = 0,
              .max = max,
              .looks = looks(min, max, wanted - 1)};
}

std::string_view why_not(DesignKind kind) {
  switch (kind) {
    case DesignKind::within_subjects:
      return "the answer is about programs like the benchmarks, and more blocks do not add "
             "programs";
    case DesignKind::causal:
      return "a causal design does not compare anything, and 'design.time' already limits its "
             "duration";
    case DesignKind::nested:
      return "treatments are tested against the differences between seeds, and more blocks "
             "do not add seeds";
    default:
      return "the error rate of an experiment that may end early is unknown for this design";
  }
}

}  // namespace

void read_stop(const Table& design, Draft& draft) {
  draft.plan.design.time = given<"design.time">(design);
  if (const Pair* time = design.find("time")) draft.time_at = time->at;
  const auto table = design.table("stop", names_below("design.stop"));
  if (!table) return;
  draft.stop_at = design.find("stop")->at;
  table->require("rule", R"("precision" or "sequential")");
  const auto rule = given<"design.stop.rule">(*table);
  if (rule)
    draft.plan.design.stop =
        *rule == "precision" ? read_precision(*table) : read_sequential(*table);
}

void check_stop(Draft& draft) {
  const Design& design = draft.plan.design;
  if ((!design.stop && !design.time) || !draft.kind_is_good || !draft.factors_are_good) return;
  const char* name = design.stop ? "stop" : "time";
  const Position place = design.stop ? draft.stop_at : draft.time_at;
  const DesignKind kind = design.kind;
  if (kind == DesignKind::causal && !design.stop) return;
  if (kind != DesignKind::full_factorial && kind != DesignKind::one_way &&
      kind != DesignKind::custom)
    return draft.problems.add(
        place, fmt::format("'design.{}' does not apply to a {} design: {}; remove this key, or "
                           "choose a full-factorial, one-way or custom design",
                           name, to_string(kind), why_not(kind)));
  if (!design.stop) return;
  if (std::ranges::none_of(draft.factors, &Factor::is_treatment, &DraftFactor::value))
    draft.problems.add(draft.stop_at,
                       "'design.stop' compares levels, but this plan has no treatment (a factor "
                       "with two or more fixed levels)");
  for (const Position at : draft.repetitions_at)
    draft.problems.add(
        at,
        "leave out 'repetitions', because 'design.stop.max' already limits the number of blocks");
}

// Reads the keys of calibrations, padding studies, fractional and causal designs in [design] and
// [causal], and checks them.

namespace {

bool belongs(const Table& table, std::string_view key, DesignKind kind, Draft& draft) {
  const Pair* pair = table.find(key);
  if (pair == nullptr) return false;
  if (draft.plan.design.kind == kind) return true;
  draft.problems.add(
      pair->at, fmt::format("'design.{0}' needs kind = \"{1}\": set this kind, or remove '{0}'",
                            key, to_string(kind)));
  return false;
}

void read_generators(const Table& table, Draft& draft) {
  const auto texts =
      table.texts("generators", is_filled_word, R"(texts, for example ["d = a:b:c"])");
  if (!texts) return;
  const Pair& pair = *table.find("generators");
  draft.study.at = pair.at;
  constexpr Several allowed = kind_of<"design.generators">;
  if (texts->size() < allowed.least || texts->size() > allowed.most)
    draft.problems.add(pair.at, fmt::format("'design.generators' must list {} to {} generators, "
                                            "not {}",
                                            allowed.least, allowed.most, texts->size()));
  for (const std::string& text : *texts)
    draft.study.generators.push_back({pair.at, "design.generators", text});
}

using std::chrono::nanoseconds;

// The limits are the same as in `stabctl causal`.
void check_time(const Table& table, const char* key, nanoseconds value, nanoseconds least,
                nanoseconds most) {
  const Pair* pair = table.find(key);
  if (pair != nullptr && (value < least || value > most))
    table.refuse(
        *pair, fmt::format("a time from {} to {}", format_duration(least), format_duration(most)));
}

}  // namespace

void read_studies(const Table& design, Draft& draft) {
  if (belongs(design, "comparisons", DesignKind::calibration, draft))
    draft.study.comparisons = value<"design.comparisons">(design);
  const bool generators = belongs(design, "generators", DesignKind::fractional, draft);
  const bool resolution = belongs(design, "resolution", DesignKind::fractional, draft);
  if (generators && resolution)
    draft.problems.add(design.find("resolution")->at,
                       "'design.resolution' and 'design.generators' both choose the fraction of "
                       "the cells: remove one");
  if (generators) read_generators(design, draft);
  if (resolution) {
    draft.study.at = design.find("resolution")->at;
    draft.study.resolution = given<"design.resolution">(design);
  }
  if (draft.plan.design.kind == DesignKind::fractional && !generators && !resolution)
    draft.problems.add(draft.design_at,
                       "a fractional design needs 'design.resolution', such as 4, or "
                       "'design.generators', such as [\"d = a:b:c\"]");
}

void read_causal(const Table& root, Draft& draft) {
  using namespace std::chrono_literals;
  const auto table = root.table("causal", names_below("causal"));
  Causal& causal = draft.plan.causal;
  causal.experiment = value<"causal.experiment">(table);
  causal.sample_period = value<"causal.sample_period">(table);
  causal.end_to_end = value<"causal.end_to_end">(table);
  if (!table) return;
  if (draft.kind_is_good && !draft.plan.is_causal())
    draft.problems.add(
        root.find("causal")->at,
        "'causal' needs design.kind = \"causal\": set this kind, or remove the table");
  causal.scope = given<"causal.scope">(*table).value_or(Words());
  causal.binaries = given<"causal.binary">(*table).value_or(Words());
  causal.progress = given<"causal.progress">(*table).value_or(Words());
  causal.line = given<"causal.line">(*table).value_or("");
  causal.speedup = given<"causal.speedup">(*table);
  causal.arrival_speedup = given<"causal.arrival_speedup">(*table).value_or(0ns);
  check_time(*table, "experiment", causal.experiment, 10ms, 10min);
  check_time(*table, "sample_period", causal.sample_period, 100us, 1s);
  check_time(*table, "arrival_speedup", causal.arrival_speedup, 1ns, max_arrival_speedup);
  if (causal.speedup && (!causal.end_to_end || causal.line.empty()))
    draft.problems.add(table->find("speedup")->at,
                       "'causal.speedup' needs 'causal.end_to_end' and 'causal.line': without "
                       "them, each performance experiment has a random speedup, which may be 0");
}

// Checks the further requirements of these designs. A few keys determine their arms and cells.

namespace {

void refuse_setting(Draft& draft, const std::string& key, std::string_view why) {
  if (const auto at = draft.study.analysis.find(key); at != draft.study.analysis.end())
    draft.problems.add(at->second, fmt::format("'analysis.{}' {}: remove it", key, why));
}

void check_repetitions(Draft& draft) {
  const std::uint32_t blocks = draft.benchmarks.front().value.repetitions;
  for (const DraftBenchmark& benchmark : draft.benchmarks)
    if (benchmark.value.repetitions != blocks)
      draft.problems.add(
          benchmark.at,
          fmt::format("all comparisons of a calibration must have the same number of repetitions, "
                      "but '{}' has {} and '{}' has {}: set only defaults.repetitions",
                      benchmark.value.name, benchmark.value.repetitions,
                      draft.benchmarks.front().value.name, blocks));
  if (blocks < 2)
    draft.problems.add(
        draft.repetitions_at.empty() ? draft.design_at : draft.repetitions_at.front(),
        "a calibration needs at least 2 repetitions, because each repetition is one block of a "
        "comparison");
}

void check_calibration(Draft& draft) {
  const std::size_t before = draft.problems.count();
  check_repetitions(draft);
  if (!draft.plan.analysis.log_scale)
    refuse_setting(draft, "log",
                   "must be true in a calibration, which reports differences as ratios");
  for (const char* key : {"equivalence", "sums_of_squares"})
    refuse_setting(draft, key, "has no effect in a calibration");
  if (draft.problems.count() != before) return;
  const std::uint32_t comparisons =
      draft.study.comparisons.value_or(standard_of<"design.comparisons">);
  draft.plan.design.comparisons = comparisons;
  for (DraftBenchmark& benchmark : draft.benchmarks) benchmark.value.repetitions *= comparisons;
  draft.factors.push_back(
      {draft.design_at,
       {.name = "arm",
        .kind = FactorKind::arm,
        .levels = FixedLevels{{{.name = "A", .variables = {}}, {.name = "B", .variables = {}}}}}});
}

void check_padding_study(Draft& draft) {
  for (const DraftFactor& factor : draft.factors)
    if (factor.value.is_treatment())
      if (const auto levels = std::get<FixedLevels>(factor.value.levels).levels.size(); levels != 2)
        draft.problems.add(factor.at,
                           fmt::format("a padding study has two arms, so its treatment must have "
                                       "two levels, but '{}' has {}: remove {} of them",
                                       factor.value.name, levels, levels - 2));
  if (draft.plan.analysis.log_scale)
    refuse_setting(draft, "log", "must be false in a padding study, which compares plain means");
  refuse_setting(draft, "sums_of_squares", "has no effect in a padding study");
  draft.plan.analysis.log_scale = false;
}

// The treatments by name. Each treatment must have two levels.
std::vector<const DraftFactor*> two_level_treatments(Draft& draft) {
  std::vector<const DraftFactor*> treatments;
  for (const DraftFactor& factor : draft.factors) {
    if (!factor.value.is_treatment()) continue;
    const auto levels = std::get<FixedLevels>(factor.value.levels).levels.size();
    if (levels != 2)
      draft.problems.add(
          factor.at, fmt::format("a fractional design needs treatments with two levels, but '{}' "
                                 "has {}: remove levels, or list the cells in a custom design",
                                 factor.value.name, levels));
    treatments.push_back(&factor);
  }
  return treatments;
}

Result<FractionalDesign> design_of(const DraftStudy& study, const Words& names) {
  if (study.resolution) return fractional_of_resolution(names, *study.resolution);
  std::vector<Generator> generators;
  for (const Template& text : study.generators) {
    const auto generator = read_generator(text.text, names);
    if (!generator)
      return fail(
          fmt::format("'{}' in 'design.generators': {}", text.text, generator.error().message));
    generators.push_back(*generator);
  }
  return fractional_design(names, generators);
}

void check_fractional(Draft& draft) {
  const std::size_t before = draft.problems.count();
  const auto treatments = two_level_treatments(draft);
  if (treatments.size() < 3 || treatments.size() > max_fractional_treatments)
    draft.problems.add(
        draft.design_at,
        fmt::format("a fractional design needs 3 to {} treatments, but this plan has {}",
                    max_fractional_treatments, treatments.size()));
  if (draft.problems.count() != before) return;
  Words names;
  for (const DraftFactor* factor : treatments) names.push_back(factor->value.name);
  const auto design = design_of(draft.study, names);
  if (!design) return draft.problems.add(draft.study.at, design.error().message);
  draft.plan.design.generators = design->generators;
  for (const auto& levels : design->cells) {
    DraftCell cell{.at = draft.study.at, .value = {}};
    for (std::size_t i = 0; i < levels.size(); ++i)
      cell.value[names[i]] =
          std::get<FixedLevels>(treatments[i]->value.levels).levels[levels[i]].name;
    draft.cells.push_back(std::move(cell));
  }
}

void check_arrivals(const DraftFactor& factor, Draft& draft) {
  if (!draft.plan.is_causal())
    draft.problems.add(factor.at,
                       "'factor.arrival_speedup' needs design.kind = \"causal\": set this kind, or "
                       "remove the factor");
  else if (draft.plan.causal.arrival_speedup.count() != 0)
    draft.problems.add(factor.at,
                       "'factor.arrival_speedup' and 'causal.arrival_speedup' set the same thing: "
                       "remove one of them");
}

}  // namespace

void check_studies(Draft& draft) {
  if (!draft.factors_are_good || !draft.kind_is_good || draft.benchmarks.empty()) return;
  const std::size_t before = draft.problems.count();
  if (draft.plan.design.kind == DesignKind::calibration) check_calibration(draft);
  if (draft.plan.design.kind == DesignKind::padding_study) check_padding_study(draft);
  if (draft.plan.design.kind == DesignKind::fractional) check_fractional(draft);
  if (draft.problems.count() != before) draft.kind_is_good = false;
}

// Refuses keys that a causal design can't have, such as measures that virtual pauses would change.
void check_causal(Draft& draft) {
  for (const DraftFactor& factor : draft.factors)
    if (factor.value.kind == FactorKind::arrival_speedup) check_arrivals(factor, draft);
  if (!draft.plan.is_causal()) return;
  if (draft.measure_at)
    draft.problems.add(*draft.measure_at,
                       "'measure' cannot be used in a causal design, because virtual pauses "
                       "distort everything that its trials measure: leave out 'measure'");
  for (const auto& [key, at] : draft.study.analysis)
    if (key != "alpha")
      draft.problems.add(
          at,
          fmt::format(
              "'analysis.{}' has no effect in a causal design, which compares nothing: remove it",
              shown(key)));
}

}  // namespace stab::plan
