// SPDX-License-Identifier: MIT
// What the seeds of a padding study say one by one.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/sections/sections.h"
#include "report/sections/words.h"
#include "report/words/grid.h"
#include "stats/numbers/summary.h"

namespace stab::report {
namespace {

std::string change(double percent) {
  return fmt::format("{:+.2f} %", percent);
}

}  // namespace

std::string padding_section(const stats::Analysis& analysis, const TextOptions& options) {
  if (analysis.padding.empty()) return "";
  const bool subjects = has_subjects(analysis);
  Grid grid;
  if (subjects) grid.column(name(analysis.spec.subject), Align::left);
  grid.column("from -> to", Align::left);
  for (const char* title : {"seeds", "mean change", "sd of the seeds", "smallest", "largest"})
    grid.column(title, Align::right);
  for (const stats::PaddingSeeds& study : analysis.padding) {
    const stats::Moments percent = stats::moments(study.percent);
    std::vector<Cell> row;
    if (subjects) row.push_back({name(study.subject), Style::bold});
    row.push_back({name(study.baseline) + " -> " + name(study.level)});
    row.push_back({fmt::format("{}", study.percent.size())});
    row.push_back({change(percent.mean), Style::bold});
    row.push_back({fmt::format("{:.2f} %", std::sqrt(percent.variance().value_or(0)))});
    row.push_back({change(std::ranges::min(study.percent))});
    row.push_back({change(std::ranges::max(study.percent))});
    grid.row(std::move(row));
  }
  return table_section(
      "Padding study",
      fmt::format("The table shows how much the mean changes under each seed of {}, in percent; "
                  "both levels use the same seeds. Each seed counts as one value, no matter how "
                  "many runs it has. With a single seed, you could have measured the smallest or "
                  "the largest of these changes.",
                  name(analysis.spec.seed)),
      grid, options);
}

}  // namespace stab::report
