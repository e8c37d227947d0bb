// SPDX-License-Identifier: MIT
// Nested designs: the variance between seeds and the variance between the runs of a seed.
#include <fmt/format.h>

#include <cmath>

#include "report/sections/sections.h"
#include "report/sections/words.h"
#include "report/words/quantity.h"

namespace stab::report {

Section components_section(const stats::Analysis& analysis) {
  const auto sd = [&](std::optional<double> variance) {
    if (!variance) return std::string("-");
    return analysis.spec.log_scale ? fmt::format("{:.3g} %", 100 * std::sqrt(*variance))
                                   : short_number(std::sqrt(*variance));
  };
  const auto with_range = [&](std::optional<double> variance, std::optional<double> low,
                              std::optional<double> high) {
    return sd(variance) + (low && high ? fmt::format(" ({} to {})", sd(low), sd(high)) : "");
  };
  Part part;
  for (const stats::VarianceComponents& c : analysis.components) {
    const bool has_share = c.between && c.within && *c.between + *c.within > 0;
    part.rows.push_back({
        subject_column(analysis, c.subject, stats::Scope::subject),
        json_only("factor", c.seed),
        column("between", known(c.between), "sd between seeds",
               with_range(c.between, c.between_low, c.between_high)),
        json_only("between_low", known(c.between_low)),
        json_only("between_high", known(c.between_high)),
        column("within", known(c.within), "sd between runs of a seed",
               with_range(c.within, c.within_low, c.within_high)),
        json_only("within_low", known(c.within_low)),
        json_only("within_high", known(c.within_high)),
        shown_only(
            "seeds' share of the variance",
            has_share ? fmt::format("{:.0f} %", 100 * *c.between / (*c.between + *c.within)) : "-"),
        column("p", known(c.p), "p", c.p ? p_text(*c.p) : "-"),
    });
  }
  if (part.rows.empty()) return {};
  return {
      .title = "Sources of variance",
      .words = fmt::format(
          "The table shows how much of the variance the random factor {} explains within one level "
          "of the treatments. The p-value tests the hypothesis that the seed makes no difference.",
          name(analysis.spec.seed)),
      .parts = {std::move(part)}};
}

}  // namespace stab::report
