// SPDX-License-Identifier: MIT
// Samples within trials: whether more of them would help, or more trials.
#include <fmt/format.h>

#include <cmath>

#include "report/sections/sections.h"
#include "report/sections/words.h"
#include "report/words/grid.h"
#include "report/words/quantity.h"

namespace stab::report {

std::string samples_section(const Document& document, const TextOptions& options) {
  if (document.samples.empty()) return "";
  const stats::Spec& spec = document.analysis.spec;
  Grid grid;
  grid.column(name(spec.subject), Align::left);
  grid.column("samples a trial", Align::right);
  grid.column("sd between trials", Align::right);
  grid.column("sd within a trial", Align::right);
  grid.column("share from within", Align::right);
  const auto sd = [&](double variance) {
    return spec.log_scale ? fmt::format("{:.3g} %", 100 * std::sqrt(variance))
                          : short_number(std::sqrt(variance));
  };
  for (const WithinTrials& each : document.samples)
    grid.row({{name(each.subject), Style::bold},
              {fmt::format("{:.3g}", each.samples)},
              {fmt::format("{} ({} to {})", sd(each.between), sd(each.between_low),
                           sd(each.between_high))},
              {sd(each.within)},
              {each.share ? fmt::format("{:.0f} %", 100 * *each.share) : "-"}});
  return table_section(
      "Samples within trials",
      fmt::format(
          "Samples of {}. A trial counts as one value (the mean of its samples), no matter how "
          "many samples it has. More samples per trial reduce the variance of a trial's value by "
          "at most the share in the last column; only more trials reduce the rest of the variance.",
          name(spec.response)),
      grid, options);
}

}  // namespace stab::report
