// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "report/sections/sections.h"
#include "report/sections/words.h"
#include "report/words/changes.h"
#include "report/words/quantity.h"

namespace stab::report {

Section interactions_section(const stats::Analysis& analysis) {
  if (analysis.interactions.empty()) return {};
  const bool log_scale = analysis.spec.log_scale;
  const bool family = analysis.interactions.size() > 1;
  const auto p = [](std::optional<double> value) { return value ? p_text(*value) : "-"; };
  Part part;
  for (const stats::Interaction& each : analysis.interactions) {
    const Scale scale = difference_scale(analysis, each.subject, each.low, each.high);
    const std::string change = log_scale ? change_text(each.ratio, each.low, each.high)
                                         : difference_text(each.difference, scale);
    const std::string interval =
        log_scale ? interval_text(each.low, each.high) : range_text(each.low, each.high, scale);
    part.rows.push_back({
        subject_column(analysis, each.subject, each.scope),
        json_only("programs", known(scope_word(each.scope))),
        column("term", each.term, "interaction", each.term).named(60),
        json_only("aliases", known(each.aliases)),
        json_only("ratio", known(each.ratio)),
        json_only("difference", known(each.difference)),
        shown_only(log_scale ? "change" : "difference", change).in(Style::bold),
        shown_only(level_text(analysis.spec.alpha) + " interval", interval),
        json_only("low", known(each.low)),
        json_only("high", known(each.high)),
        column("p", known(each.p), "p", p(each.p)),
        column("p_adjusted", known(each.p_adjusted), "adjusted p", family ? p(each.p_adjusted) : "")
            .rare(),
        json_only("loss_low", known(each.loss_low)),
        json_only("loss_high", known(each.loss_high)),
        json_only("reason", known(each.reason)),
        json_only("variance", spread_value(each.spread)),
    });
  }
  std::string words =
      log_scale ? "An interaction is how much one treatment's change depends on the level of the "
                  "other treatment; 0 % means no interaction."
                : "An interaction is how much the effect of one treatment depends on the level of "
                  "the other treatment; 0 means no interaction.";
  if (family)
    words += fmt::format(
        " The p-values of all interactions are adjusted together: the probability that any "
        "adjusted p is wrongly below {0:.4g} is at most {1:.4g} %.",
        analysis.spec.alpha, 100 * analysis.spec.alpha);
  return {.title = "Interactions", .words = words, .parts = {std::move(part)}};
}

}  // namespace stab::report
