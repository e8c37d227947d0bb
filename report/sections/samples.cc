// SPDX-License-Identifier: MIT
// Samples within trials: says whether more samples or more trials would help.
#include <fmt/format.h>

#include <cmath>

#include "report/sections/sections.h"
#include "report/sections/words.h"
#include "report/words/quantity.h"

namespace stab::report {

Section samples_section(const Document& document) {
  if (document.samples.empty()) return {};
  const stats::Spec& spec = document.analysis.spec;
  const auto sd = [&](double variance) {
    return spec.log_scale ? fmt::format("{:.3g} %", 100 * std::sqrt(variance))
                          : short_number(std::sqrt(variance));
  };
  Part part;
  for (const WithinTrials& each : document.samples)
    part.rows.push_back({
        column("benchmark", each.subject, name(spec.subject), each.subject)
            .named(longest_name)
            .in(Style::bold),
        column("samples_per_trial", each.samples, "samples a trial",
               fmt::format("{:.3g}", each.samples)),
        column("between", each.between, "sd between trials",
               fmt::format("{} ({} to {})", sd(each.between), sd(each.between_low),
                           sd(each.between_high))),
        json_only("between_low", each.between_low),
        json_only("between_high", each.between_high),
        column("within", each.within, "sd within a trial", sd(each.within)),
        json_only("within_low", each.within_low),
        json_only("within_high", each.within_high),
        column("share_within", known(each.share), "share from within",
               each.share ? fmt::format("{:.0f} %", 100 * *each.share) : "-"),
    });
  return {
      .title = "Samples within trials",
      .words = fmt::format(
          "Samples of {}. A trial counts as one value (the mean of its samples), no matter how "
          "many samples it has. More samples per trial reduce the variance of a trial's value by "
          "at most the share in the last column; only more trials reduce the rest of the variance.",
          name(spec.response)),
      .parts = {std::move(part)}};
}

}  // namespace stab::report
