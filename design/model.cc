// SPDX-License-Identifier: MIT
#include "design/model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <map>
#include <set>
#include <utility>

#include "design/fractional.h"
#include "design/trial_list.h"
#include "plan/measures/names.h"

namespace stab::plan {
namespace {

// Elimination modulo this prime is exact. The rank of a 0/1 matrix modulo the prime is its rank
// over the rationals, unless the prime divides one of its minors.
constexpr std::uint64_t prime = 2147483647;
constexpr std::uint64_t max_work = 300'000'000;  // multiplications; takes less than a second

using Column = std::vector<std::uint64_t>;

std::uint64_t power(std::uint64_t base, std::uint64_t exponent) {
  std::uint64_t result = 1;
  for (; exponent > 0; exponent >>= 1) {
    if ((exponent & 1) != 0) result = result * base % prime;
    base = base * base % prime;
  }
  return result;
}

std::uint64_t inverse(std::uint64_t value) {
  return power(value, prime - 2);
}

// The vector space that the added columns span.
class Span {
 public:
  explicit Span(std::size_t rows) : basis_(rows) {}

  // Returns whether the column was outside of the space; if so, the space now contains it.
  bool add(Column column) {
    for (std::size_t i = 0; i < column.size(); ++i) {
      if (column[i] == 0) continue;
      work_ += column.size() - i;
      if (basis_[i].empty()) {
        scale(column, i, inverse(column[i]));
        basis_[i] = std::move(column);
        return true;
      }
      const std::uint64_t factor = prime - column[i];
      for (std::size_t j = i; j < column.size(); ++j)
        column[j] = (column[j] + factor * basis_[i][j]) % prime;
    }
    return false;
  }

  [[nodiscard]] std::uint64_t work() const { return work_; }

 private:
  static void scale(Column& column, std::size_t from, std::uint64_t factor) {
    for (std::size_t j = from; j < column.size(); ++j) column[j] = column[j] * factor % prime;
  }

  std::vector<Column> basis_;  // by the row of the leading 1; empty for rows without one
  std::uint64_t work_ = 0;
};

// Each cell's group. Groups are numbered in the order in which they first occur.
using Groups = std::vector<std::size_t>;

// Cells with equal levels in all factors of the term form a group.
Groups groups_of(const std::vector<std::vector<std::size_t>>& cells, std::uint32_t term) {
  std::map<std::vector<std::size_t>, std::size_t> numbers;
  Groups groups;
  for (const auto& cell : cells) {
    std::vector<std::size_t> levels;
    for (std::size_t i = 0; i < cell.size(); ++i)
      if ((term >> i & 1) != 0) levels.push_back(cell[i]);
    groups.push_back(numbers.emplace(std::move(levels), numbers.size()).first->second);
  }
  return groups;
}

std::int64_t add_term(Span& span, const Groups& groups) {
  std::vector<Column> columns;
  for (std::size_t row = 0; row < groups.size(); ++row) {
    if (groups[row] == columns.size()) columns.emplace_back(groups.size());
    columns[groups[row]][row] = 1;
  }
  std::int64_t df = 0;
  for (Column& column : columns) df += span.add(std::move(column)) ? 1 : 0;
  return df;
}

}  // namespace

SequentialDf sequential_df(const std::vector<std::vector<std::size_t>>& cells,
                           const std::vector<std::uint32_t>& terms) {
  SequentialDf result{.df = std::vector<std::int64_t>(terms.size()), .rest = 0};
  Span span(cells.size());
  std::set<Groups> seen{Groups(cells.size())};
  std::int64_t left = static_cast<std::int64_t>(cells.size()) - add_term(span, *seen.begin());
  for (std::size_t i = 0; i < terms.size() && left > 0; ++i) {
    if (span.work() > max_work) {
      result.rest = left;
      break;
    }
    Groups groups = groups_of(cells, terms[i]);
    if (seen.contains(groups)) continue;
    result.df[i] = add_term(span, groups);
    left -= result.df[i];
    seen.insert(std::move(groups));
  }
  return result;
}

namespace {

constexpr double most_work = 1e9;  // multiplications for the degrees of freedom of listed cells

struct Treatment {
  std::string name;
  std::int64_t levels = 0;
};

// The treatments and all sets of treatments, in R's order: a, b, c, a:b, a:c, b:c, a:b:c.
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
    std::ranges::sort(terms, {},
                      [](std::uint32_t term) { return std::pair(std::popcount(term), term); });
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

  // The number of cells of a complete design; 0 if it overflows.
  [[nodiscard]] std::int64_t cells() const {
    std::int64_t cells = 1;
    for (const Treatment& treatment : treatments)
      if (__builtin_mul_overflow(cells, treatment.levels, &cells)) return 0;
    return cells;
  }

  // The degrees of freedom of an effect when no cells are missing.
  [[nodiscard]] std::int64_t df(std::uint32_t term) const {
    std::int64_t df = 1;
    for (std::size_t i = 0; i < treatments.size(); ++i)
      if ((term >> i & 1) != 0) df *= treatments[i].levels - 1;
    return df;
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

// The degrees of freedom that each effect adds to all effects that do not contain it. Missing cells
// reduce them. If there are too many cells to compute that, each effect is only compared with the
// effects before it.
SequentialDf df_of_cells(const Effects& effects, const Expansion& expansion) {
  const auto cells = level_indices(expansion);
  SequentialDf result{.df = {}, .rest = 0};
  if (std::cmp_equal(cells.size(), effects.cells())) {
    for (const std::uint32_t term : effects.terms) result.df.push_back(effects.df(term));
    return result;
  }
  const double n = static_cast<double>(cells.size());
  if (n * n * n * static_cast<double>(effects.terms.size()) > most_work)
    return sequential_df(cells, effects.terms);
  for (const std::uint32_t term : effects.terms) {
    std::vector<std::uint32_t> others;
    std::ranges::copy_if(effects.terms, std::back_inserter(others),
                         [&](std::uint32_t other) { return (other & term) != term; });
    others.push_back(term);
    result.df.push_back(sequential_df(cells, others).df.back());
  }
  return result;
}

// The terms on the right of the model, without strata.
std::vector<Term> effect_terms(const Effects& effects, const Plan& plan,
                               const Expansion& expansion) {
  std::vector<Term> terms;
  if (const auto design = fraction(plan)) {
    for (const auto& chain : alias_chains(*design))
      terms.push_back({effect_name(chain.front(), design->treatments), "", 1,
                       alias_text(std::span(chain).subspan(1), design->treatments)});
    return terms;
  }
  const SequentialDf found = df_of_cells(effects, expansion);
  for (std::size_t i = 0; i < effects.terms.size(); ++i)
    if (found.df[i] > 0) terms.push_back({effects.joined(effects.terms[i], ":"), "", found.df[i]});
  if (found.rest > 0) terms.push_back({"other interactions", "", found.rest});
  return terms;
}

// The right side of the formula: "a * b", or the sum of the terms of a fractional design.
std::string right_side(const Effects& effects, const Plan& plan, const std::vector<Term>& terms) {
  if (effects.treatments.empty()) return "1";
  if (!fraction(plan)) return effects.all(" * ");
  std::vector<std::string> names;
  for (const Term& term : terms) names.push_back(term.name);
  return fmt::format("{}", fmt::join(names, " + "));
}

// Each effect is tested against its own interaction with the units, which are blocks or benchmarks.
// `within` counts the trials beyond the first one in each cell of each unit.
Model strata_model(const Plan& plan, const Expansion& expansion, std::string_view unit,
                   std::int64_t units, std::int64_t within) {
  const Effects effects(plan);
  const std::vector<Term> terms = effect_terms(effects, plan, expansion);
  const std::string right = right_side(effects, plan, terms);
  const std::size_t treatments = effects.treatments.size();
  const std::string crossed = treatments == 0   ? ""
                              : treatments == 1 ? "/" + right
                                                : fmt::format("/({})", right);
  Model model;
  model.formula = fmt::format("{} ~ {} + Error({}{})", response(plan), right, unit, crossed);
  model.terms.push_back({"Residuals", std::string(unit), units - 1});
  for (const Term& term : terms) {
    const std::string stratum = fmt::format("{}:{}", unit, term.name);
    model.terms.push_back({term.name, stratum, term.df, term.aliases});
    model.terms.push_back({"Residuals", stratum, (units - 1) * term.df});
  }
  if (within > 0) model.terms.push_back({"Residuals", "Within", within});
  return model;
}

// A model with a single stratum, in which the block is a term.
Model pooled_model(const Plan& plan, const Expansion& expansion, std::int64_t blocks) {
  const Effects effects(plan);
  const std::vector<Term> terms = effect_terms(effects, plan, expansion);
  const auto cells = static_cast<std::int64_t>(expansion.cells.size());
  Model model;
  model.formula = response(plan) + " ~ ";
  if (blocks > 1) {
    model.formula += effects.treatments.empty() ? "block" : "block + ";
    model.terms.push_back({"block", "", blocks - 1});
  }
  if (blocks <= 1 || !effects.treatments.empty()) model.formula += right_side(effects, plan, terms);
  model.terms.insert(model.terms.end(), terms.begin(), terms.end());
  model.terms.push_back({"Residuals", "", (blocks - 1) * (cells - 1)});
  return model;
}

// An effect on these programs is tested against its interaction with their blocks. An effect on
// programs like these is tested against its interaction with the benchmark, which is the subject.
std::vector<ModelFor> within_models(const Plan& plan, const Expansion& expansion) {
  std::int64_t blocks = compared_blocks(plan, plan.benchmarks.front());
  std::int64_t within = 0;
  for (const Benchmark& benchmark : plan.benchmarks) {
    const std::int64_t own = compared_blocks(plan, benchmark);
    blocks = std::min(blocks, own);
    within += static_cast<std::int64_t>(expansion.cells.size()) * (own - 1);
  }
  std::vector<ModelFor> models;
  models.push_back({"", strata_model(plan, expansion, "block", blocks, 0), "these"});
  models.push_back({"",
                    strata_model(plan, expansion, "benchmark",
                                 static_cast<std::int64_t>(plan.benchmarks.size()), within),
                    "like-these"});
  if (!plan.analysis.these_programs) std::swap(models.front(), models.back());
  return models;
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
  if (runs > 1) model.terms.push_back({"Residuals", "Within", cells * seeds * (runs - 1)});
  return model;
}

// Each seed yields one number: the change in percent between the two arms that were built with it.
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
  if (plan.design.kind == DesignKind::calibration)
    return pooled_model(plan, expansion, benchmark.repetitions / plan.design.comparisons);
  const std::int64_t blocks = compared_blocks(plan, benchmark);
  if (plan.analysis.pooled) return pooled_model(plan, expansion, blocks);
  return strata_model(plan, expansion, "block", blocks, 0);
}

}  // namespace

namespace {

// An effect on these machines is tested against its interaction with the blocks of each machine, and
// an effect on machines like these against its interaction with the machine.
std::vector<ModelFor> machine_models(const Plan& plan, const Expansion& expansion) {
  const std::int64_t machines = plan.machine_count();
  const std::int64_t blocks = compared_blocks(plan, plan.benchmarks.front());
  const auto cells = static_cast<std::int64_t>(expansion.cells.size());
  std::vector<ModelFor> models;
  models.push_back({"", strata_model(plan, expansion, "block", blocks - machines + 1, 0), "these"});
  models.push_back(
      {"", strata_model(plan, expansion, machine_column, machines, cells * (blocks - machines)),
       "like-these"});
  if (plan.machines->like_these) std::swap(models.front(), models.back());
  return models;
}

}  // namespace

std::vector<ModelFor> models(const Plan& plan, const Expansion& expansion) {
  if (tells_machines_apart(plan, plan.analysis.response)) return machine_models(plan, expansion);
  if (plan.design.kind == DesignKind::within_subjects) return within_models(plan, expansion);
  std::vector<ModelFor> all;
  if (plan.is_causal()) return all;
  for (const Benchmark& benchmark : plan.benchmarks)
    all.push_back({benchmark.name, model_of(plan, expansion, benchmark)});
  return all;
}

std::string why_machines_are_one(const Plan& plan, std::string_view response) {
  const Analysis& analysis = plan.analysis;
  if (plan.benchmarks.size() != 1) return "the plan has several benchmarks";
  if (plan.is_split(response)) return "the program reports several benchmarks";
  if (response == code_size || response == compile_time)
    return fmt::format("{} depends only on the builds, and all machines use the same builds",
                       response);
  switch (plan.design.kind) {
    case DesignKind::one_way:
    case DesignKind::full_factorial:
    case DesignKind::custom:
      break;
    default:
      return fmt::format("the design is {}", to_string(plan.design.kind));
  }
  if (std::ranges::none_of(plan.factors, &Factor::is_treatment)) return "the plan compares nothing";
  std::size_t cells = 1;
  for (const std::size_t index : treatments(plan))
    cells *= std::get<FixedLevels>(plan.factors[index].levels).levels.size();
  if (plan.design.kind == DesignKind::custom && plan.design.cells.size() != cells)
    return "the plan does not have a cell for each combination of levels";
  if (analysis.pooled) return "'analysis.error' is pooled";
  if (analysis.stabilizer) return "'analysis.method' is stabilizer";
  if (analysis.estimand != "mean")
    return fmt::format("'analysis.estimand' is {}", analysis.estimand);
  for (const Factor& factor : plan.factors) {
    if (factor.name == machine_column) return "a factor is named node";
    if (std::holds_alternative<RandomSeeds>(factor.levels))
      return fmt::format("'{}' has seeds", factor.name);
  }
  return "";
}

bool tells_machines_apart(const Plan& plan, std::string_view response) {
  return plan.machine_count() > 1 && why_machines_are_one(plan, response).empty();
}

}  // namespace stab::plan
