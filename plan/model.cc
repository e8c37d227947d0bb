// SPDX-License-Identifier: MIT
#include "plan/model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <map>
#include <utility>

#include "plan/fractional.h"
#include "plan/rank.h"

namespace stab::plan {
namespace {

struct Treatment {
  std::string name;
  std::int64_t levels = 0;
};

// The treatments, and all sets of them: main effects first, then interactions by their order.
struct Effects {
  std::vector<Treatment> treatments;
  std::vector<std::uint32_t> terms;  // bit i for treatment i

  explicit Effects(const Plan& plan) {
    for (const std::size_t index : plan::treatments(plan)) {
      const auto& levels = std::get<FixedLevels>(plan.factors[index].levels).levels;
      treatments.push_back({plan.factors[index].name, static_cast<std::int64_t>(levels.size())});
    }
    for (std::uint32_t term = 1; term < std::uint32_t{1} << treatments.size(); ++term)
      terms.push_back(term);
    std::ranges::sort(terms, {}, [](std::uint32_t term) {
      return std::pair(std::popcount(term), ~reversed(term));
    });
  }

  [[nodiscard]] std::string joined(std::uint32_t term, std::string_view separator) const {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < treatments.size(); ++i)
      if ((term >> i & 1) != 0) names.push_back(treatments[i].name);
    return fmt::format("{}", fmt::join(names, separator));
  }
  [[nodiscard]] std::string all(std::string_view separator) const {
    return joined(~std::uint32_t{0}, separator);
  }

  // Of the effect where all cells are there.
  [[nodiscard]] std::int64_t df(std::uint32_t term) const {
    std::int64_t df = 1;
    for (std::size_t i = 0; i < treatments.size(); ++i)
      if ((term >> i & 1) != 0) df *= treatments[i].levels - 1;
    return df;
  }

 private:
  // The first treatment in the highest bit, so that sets compare by their first members.
  static std::uint32_t reversed(std::uint32_t term) {
    std::uint32_t result = 0;
    for (int i = 0; i < 32; ++i) result |= (term >> i & 1) << (31 - i);
    return result;
  }
};

std::string response(const Plan& plan) {
  const std::string& name = plan.analysis.response;
  return plan.analysis.log_scale ? fmt::format("log({})", name) : name;
}

std::vector<std::vector<std::size_t>> level_indices(const Expansion& expansion) {
  std::vector<std::vector<std::size_t>> cells;
  std::vector<std::map<std::string, std::size_t>> seen(expansion.cells.front().size());
  for (const auto& levels : expansion.cells) {
    std::vector<std::size_t> cell;
    for (std::size_t i = 0; i < levels.size(); ++i)
      cell.push_back(seen[i].emplace(levels[i].name, seen[i].size()).first->second);
    cells.push_back(std::move(cell));
  }
  return cells;
}

void add_effects(const Effects& effects, const Plan& plan, const Expansion& expansion,
                 Model& model) {
  if (plan.design.kind != DesignKind::custom) {
    for (const std::uint32_t term : effects.terms)
      model.terms.push_back({effects.joined(term, ":"), "", effects.df(term)});
    return;
  }
  const SequentialDf found = sequential_df(level_indices(expansion), effects.terms);
  for (std::size_t i = 0; i < effects.terms.size(); ++i)
    if (found.df[i] > 0)
      model.terms.push_back({effects.joined(effects.terms[i], ":"), "", found.df[i]});
  if (found.rest > 0) model.terms.push_back({"other interactions", "", found.rest});
}

// One term for each chain of effects that the design cannot tell apart.
void add_chains(const FractionalDesign& design, Model& model) {
  for (const auto& chain : alias_chains(design))
    model.terms.push_back({effect_name(chain.front(), design.treatments), "", 1,
                           alias_text(std::span(chain).subspan(1), design.treatments)});
}

std::int64_t blocks_of_model(const Plan& plan, const Benchmark& benchmark) {
  return plan.design.kind == DesignKind::calibration
             ? benchmark.repetitions / plan.design.comparisons
             : benchmark.repetitions;
}

// Fixed effects in one stratum, with the block as a term; a one-way design is the textbook's,
// without it.
Model block_model(const Plan& plan, const Expansion& expansion, const Benchmark& benchmark) {
  const Effects effects(plan);
  const auto cells = static_cast<std::int64_t>(expansion.cells.size());
  const std::int64_t blocks = blocks_of_model(plan, benchmark);
  // With one cell, a block is one trial and its term would take all there is.
  const bool has_block = blocks > 1 && cells > 1 && plan.design.kind != DesignKind::one_way;
  std::vector<std::string> right;
  Model model;
  if (has_block) {
    right.emplace_back("block");
    model.terms.push_back({"block", "", blocks - 1});
  }
  const auto design = fraction(plan);
  if (!design && !effects.treatments.empty()) right.push_back(effects.all(" * "));
  const std::size_t first = model.terms.size();
  if (design)
    add_chains(*design, model);
  else
    add_effects(effects, plan, expansion, model);
  for (std::size_t i = first; design && i < model.terms.size(); ++i)
    right.push_back(model.terms[i].name);
  if (right.empty()) right.emplace_back("1");
  model.formula = fmt::format("{} ~ {}", response(plan), fmt::join(right, " + "));
  const std::int64_t residual = (cells * blocks - 1) - (cells - 1) - (has_block ? blocks - 1 : 0);
  model.terms.push_back({"Residuals", "", residual});
  return model;
}

// Each effect is tested against its interaction with the benchmark, the subject.
Model within_model(const Plan& plan, const Expansion& expansion) {
  const Effects effects(plan);
  const auto cells = static_cast<std::int64_t>(expansion.cells.size());
  const auto subjects = static_cast<std::int64_t>(plan.benchmarks.size());
  std::int64_t within = 0;
  for (const Benchmark& benchmark : plan.benchmarks)
    within += cells * (static_cast<std::int64_t>(benchmark.repetitions) - 1);
  const std::string right = effects.all(" * ");
  const bool is_one = effects.treatments.size() == 1;
  Model model;
  model.formula = fmt::format("{} ~ {} + Error(benchmark/{})", response(plan), right,
                              is_one ? right : "(" + right + ")");
  model.terms.push_back({"Residuals", "benchmark", subjects - 1});
  for (const std::uint32_t term : effects.terms) {
    const std::string name = effects.joined(term, ":");
    const std::string stratum = "benchmark:" + name;
    model.terms.push_back({name, stratum, effects.df(term)});
    model.terms.push_back({"Residuals", stratum, (subjects - 1) * effects.df(term)});
  }
  model.terms.push_back({"Residuals", "Within", within});
  return model;
}

// The treatment is tested against the seeds inside its cells.
Model nested_model(const Plan& plan, const Expansion& expansion) {
  const Effects effects(plan);
  const auto cells = static_cast<std::int64_t>(expansion.cells.size());
  const auto nested = std::ranges::find_if(plan.factors, [](const Factor& factor) {
    return std::holds_alternative<RandomSeeds>(factor.levels);
  });
  const auto& random = std::get<RandomSeeds>(nested->levels);
  const std::int64_t seeds = random.seeds;
  const std::int64_t runs = random.runs;
  const std::string treatment = effects.all(":");
  const std::string stratum = treatment.empty() ? nested->name : treatment + ":" + nested->name;
  Model model;
  model.formula = fmt::format("{} ~ {} + Error({})", response(plan),
                              treatment.empty() ? "1" : treatment, stratum);
  if (!treatment.empty()) model.terms.push_back({treatment, stratum, cells - 1});
  model.terms.push_back({"Residuals", stratum, cells * (seeds - 1)});
  model.terms.push_back({"Residuals", "Within", cells * seeds * (runs - 1)});
  return model;
}

// One number a seed: the change in percent between the two arms that were built with it.
Model padding_model(const Plan& plan) {
  Model model;
  const auto factor = std::ranges::find_if(plan.factors, [](const Factor& each) {
    return std::holds_alternative<RandomSeeds>(each.levels);
  });
  const auto& seeds = std::get<RandomSeeds>(factor->levels);
  const std::size_t treatment = plan::treatments(plan).front();
  const auto& levels = std::get<FixedLevels>(plan.factors[treatment].levels).levels;
  const std::string stratum = fmt::format("{}:{}", factor->name, plan.factors[treatment].name);
  model.formula = fmt::format("100 * (mean({0}[{1}]) / mean({0}[{2}]) - 1) ~ 1",
                              plan.analysis.response, levels[1].name, levels[0].name);
  model.terms.push_back({plan.factors[treatment].name, stratum, 1});
  model.terms.push_back({"Residuals", stratum, std::int64_t{seeds.seeds} - 1});
  return model;
}

Model model_of(const Plan& plan, const Expansion& expansion, const Benchmark& benchmark) {
  if (plan.design.kind == DesignKind::nested) return nested_model(plan, expansion);
  if (plan.design.kind == DesignKind::padding_study) return padding_model(plan);
  return block_model(plan, expansion, benchmark);
}

}  // namespace

std::vector<ModelFor> models(const Plan& plan, const Expansion& expansion) {
  if (plan.design.kind == DesignKind::within_subjects) return {{"", within_model(plan, expansion)}};
  std::vector<ModelFor> all;
  for (const Benchmark& benchmark : plan.benchmarks)
    all.push_back({benchmark.name, model_of(plan, expansion, benchmark)});
  return all;
}

}  // namespace stab::plan
