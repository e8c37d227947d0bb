// SPDX-License-Identifier: MIT
// Of benchmarks that do not always print the same: what is compared may not be the same work.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "report/sections/sections.h"

namespace stab::report {
namespace {

std::string words_of(const Outputs& outputs) {
  const std::string counts =
      fmt::format("{} different outputs in {} trials", outputs.different, outputs.trials);
  if (!outputs.factors.empty())
    return fmt::format("{} prints different output at different levels of {} ({})",
                       outputs.benchmark, fmt::join(outputs.factors, ", "), counts);
  if (outputs.varying_cells == 0)
    return fmt::format("{} prints different output in different cells ({})", outputs.benchmark,
                       counts);
  return fmt::format(
      "{} prints different output in trials of the same cell ({}, in {} of {} cell{})",
      outputs.benchmark, counts, outputs.varying_cells, outputs.cells,
      outputs.cells == 1 ? "" : "s");
}

bool depends_on_level(const Outputs& outputs) {
  return !outputs.factors.empty() || outputs.varying_cells == 0;
}

}  // namespace

std::string outputs_text(const std::vector<Outputs>& outputs) {
  if (outputs.empty()) return "";
  constexpr std::size_t most = 3;
  // Those that depend on what is compared are the worse ones.
  std::vector<const Outputs*> sorted;
  for (const bool depends : {true, false})
    for (const Outputs& each : outputs)
      if (depends_on_level(each) == depends) sorted.push_back(&each);
  std::string text;
  for (std::size_t i = 0; i < std::min(most, sorted.size()); ++i)
    text += (i == 0 ? "" : "; ") + words_of(*sorted[i]);
  if (sorted.size() > most) text += fmt::format("; and {} more", sorted.size() - most);
  if (depends_on_level(*sorted.front()))
    text += "; warning: levels may not do the same work: see the plan key 'check'";
  if (!depends_on_level(*sorted[std::min(most, sorted.size()) - 1]))
    text += "; if trials of the same cell differ, a difference between levels cannot be seen";
  return text;
}

}  // namespace stab::report
