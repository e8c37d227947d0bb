// SPDX-License-Identifier: MIT
// Reads the keys of calibrations, padding studies, fractional and causal designs in [design] and
// [causal], and checks them.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/duration.h"
#include "design/fractional.h"
#include "plan/reading/draft.h"
#include "plan/rules.h"

namespace stab::plan {

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
  const auto texts = table.texts("generators", is_filled_word, R"(texts, as in ["d = a:b:c"])");
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
    draft.problems.add(
        design.find("resolution")->at,
        "'design.resolution' and 'design.generators' both set the fraction: remove one");
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
                       "'causal.speedup' needs 'causal.end_to_end' and 'causal.line': otherwise, "
                       "performance experiments choose their speedups, including 0, at random");
}

// These designs have further requirements, and a few keys determine their arms and cells.

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
                       "distort everything that its trials measure: leave it out");
  for (const auto& [key, at] : draft.study.analysis)
    if (key != "alpha")
      draft.problems.add(
          at,
          fmt::format(
              "'analysis.{}' has no effect in a causal design, which compares nothing: remove it",
              shown(key)));
}

}  // namespace stab::plan
