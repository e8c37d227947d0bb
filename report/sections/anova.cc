// SPDX-License-Identifier: MIT
// The tables of the model: variance by factors, their interactions, what a fractional design cannot
// tell apart, and the components of variance.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/text.h"
#include "report/sections/section.h"
#include "report/sections/sections.h"
#include "report/words/answer.h"
#include "report/words/grid.h"
#include "report/words/quantity.h"

namespace stab::report {
namespace {

constexpr std::size_t longest_term = 60;

std::string share_text(const stats::AnovaRow& row) {
  if (!row.omega2) return "";
  if (!row.eta2_low) return fmt::format("{:.3f}", *row.omega2);
  return fmt::format("{:.3f} ({:.2f} to {:.2f})", *row.omega2, *row.eta2_low, *row.eta2_high);
}

std::string df_text(double df) {
  return df == std::floor(df) ? fmt::format("{:.0f}", df) : fmt::format("{:.6g}", df);
}

Row anova_row(const stats::AnovaTable& table, const stats::AnovaRow& row) {
  const auto number = [](std::optional<double> x) { return x ? short_number(*x) : ""; };
  return {
      json_only("benchmark", known(table.subject)),
      json_only("programs", known(scope_word(table.scope))),
      column("stratum", known(row.stratum), "stratum", row.stratum)
          .named(longest_term)
          .once()
          .rare(),
      column("term", row.term, "term", row.term)
          .named(longest_term)
          .in(row.f ? Style::bold : Style::plain)
          .on_page_as(row.aliases.empty() ? "" : row.term + " (or " + row.aliases + ")"),
      json_only("aliases", known(row.aliases)),
      column("df", row.df, "df", df_text(row.df)),
      column("ss", row.ss, "sum of squares", short_number(row.ss)),
      column("ms", known(row.ms), "mean square", number(row.ms)),
      column("F", known(row.f), "F", number(row.f)),
      // People see epsilon beside the F whose degrees of freedom it corrects. JSON has it below.
      shown_only("epsilon", row.epsilon ? fmt::format("{:.3f}", *row.epsilon) : "").rare(),
      column("p", known(row.p), "p", row.p ? p_text(*row.p) : ""),
      json_only("p_adjusted", known(row.p_adjusted)),
      json_only("reason", known(row.reason)),
      json_only("epsilon", known(row.epsilon)),
      json_only("partial_eta2", known(row.eta2)),
      column("partial_omega2", known(row.omega2), "partial omega2", share_text(row)),
      json_only("partial_eta2_low", known(row.eta2_low)),
      json_only("partial_eta2_high", known(row.eta2_high)),
  };
}

// Explains why terms with more degrees of freedom than the units allow have no F; "" if there are
// no such terms.
std::string untested_words(const stats::AnovaTable& table) {
  const stats::AnovaRow& units = table.rows.front();
  if (units.stratum.empty() || units.term != "Residuals") return "";
  std::string terms;
  for (const stats::AnovaRow& row : table.rows)
    if (!row.f && row.df > units.df && row.stratum == units.stratum + ":" + row.term)
      terms += (terms.empty() ? "" : ", ") + one_line(row.term, longest_term);
  if (terms.empty()) return "";
  return fmt::format(
      "There is no F for {0}: {2:.0f} levels of {1} are too few for the F test of {0}. "
      "The table of changes compares the levels of treatments one by one.",
      terms, one_line(units.stratum, longest_term), units.df + 1);
}

Part anova_part(const stats::Analysis& analysis, const stats::AnovaTable& table) {
  Part part{.owner = label_of(analysis, table.subject, table.scope), .title = table.formula};
  for (const stats::AnovaRow& row : table.rows) part.rows.push_back(anova_row(table, row));
  const std::string untested = table.rows.empty() ? "" : untested_words(table);
  if (!untested.empty()) part.below.push_back(untested);
  return part;
}

bool has_epsilon(const stats::AnovaTable& table) {
  return std::ranges::any_of(table.rows, [](const auto& row) { return row.epsilon.has_value(); });
}

}  // namespace

Section anova_section(const stats::Analysis& analysis) {
  Section section{
      .title = "Analysis of variance",
      .words =
          "F is the ratio of a term's mean square to the mean square of the residuals in the same "
          "stratum. A small p means that the term matters. Partial omega2 estimates a term's share "
          "of the sum of two variances: the variance due to the term and the variance due to the "
          "error. The interval of partial omega2 excludes 0 if p is below alpha."};
  if (std::ranges::any_of(analysis.tables, has_epsilon))
    section.words +=
        " Epsilon (Greenhouse and Geisser) is 1 if a term's contrasts vary equally between units. "
        "To compute p, the degrees of freedom of F are multiplied by epsilon.";
  if (!analysis.interactions.empty())
    section.words +=
        " The answer does not use the F of interactions: it tests interactions in the same way as "
        "changes.";
  for (const stats::AnovaTable& table : analysis.tables)
    section.parts.push_back(anova_part(analysis, table));
  return section;
}

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
      log_scale ? "An interaction is how much the change due to one treatment depends on the level "
                  "of the other treatment; 0 % means no interaction."
                : "An interaction is how much the effect of one treatment depends on the level of "
                  "the other treatment; 0 means no interaction.";
  if (!std::ranges::all_of(analysis.interactions, &stats::Interaction::has_size))
    words +=
        " If a treatment has three or more levels, or a combination of levels has no trials, the "
        "interaction has no single size. Its p is then the smallest p of several such differences, "
        "multiplied by their number (Bonferroni).";
  if (family)
    words += fmt::format(
        " The p-values of all interactions are adjusted together: the probability that any "
        "adjusted p is wrongly below {0:.4g} is at most {1:.4g} %.",
        analysis.spec.alpha, 100 * analysis.spec.alpha);
  return {.title = "Interactions", .words = words, .parts = {std::move(part)}};
}

// The effects that a fractional design cannot tell apart.

namespace {

std::string effect_name(const stats::Spec& spec, std::uint32_t effect) {
  std::string text;
  for (std::size_t i = 0; i < spec.treatments.size(); ++i)
    if ((effect >> i & 1U) != 0) text += (text.empty() ? "" : ":") + spec.treatments[i];
  return text;
}

}  // namespace

std::string aliases_section(const stats::Analysis& analysis, const TextOptions& options) {
  const stats::Spec& spec = analysis.spec;
  if (std::ranges::all_of(spec.chains, [](const auto& chain) { return chain.aliases.empty(); }))
    return "";
  std::string text =
      heading("Aliases",
              fmt::format("Each row lists effects that the design cannot tell apart, because the "
                          "design runs only {} of {} cells. A change that looks like the first "
                          "effect in a row may come from the other effects in this row.",
                          spec.chains.size() + 1, std::size_t{1} << spec.treatments.size()),
              options);
  for (const stats::AliasChain& chain : spec.chains)
    if (options.full || std::has_single_bit(chain.effect))
      text += paragraph(fmt::format("  {} = ", one_line(effect_name(spec, chain.effect), 60)),
                        one_line(chain.aliases, 500), options.width);
  return text + "\n";
}

// Machine x treatment.

Section machines_section(const stats::Analysis& analysis) {
  if (analysis.machine_changes.empty()) return {};
  const std::string kind = name(analysis.spec.subject);
  const auto sd = [&](std::optional<double> variance) {
    if (!variance) return std::string("-");
    return analysis.spec.log_scale ? fmt::format("{:.3g} %", 100 * std::sqrt(*variance))
                                   : short_number(std::sqrt(*variance));
  };
  Part part;
  for (const stats::MachineChange& each : analysis.machine_changes) {
    std::vector<Row> machines;
    for (std::size_t i = 0; i < each.machines.size(); ++i)
      machines.push_back({json_only("machine", each.machines[i]),
                          json_only(each.ratios ? "ratio" : "difference", each.changes[i])});
    part.rows.push_back({
        json_only("treatment", each.treatment),
        json_only("baseline", each.baseline),
        json_only("level", each.level),
        shown_only("comparison",
                   fmt::format("{}: {} -> {}", each.treatment, each.baseline, each.level))
            .named(60),
        json_only("machines", std::move(machines)),
        column("words", machines_words(each, analysis.spec), "change",
               machines_words(each, analysis.spec))
            .in(Style::bold),
        column("between_changes", known(each.between_changes),
               fmt::format("between-{} sd of the change", kind), sd(each.between_changes)),
        column("between_machines", known(each.between_machines),
               fmt::format("sd between {}s", kind), sd(each.between_machines)),
        column("f", known(each.f), "F", each.f ? fmt::format("{:.3g}", *each.f) : "-"),
        json_only("df", known(each.df)),
        json_only("error_df", known(each.error_df)),
        column("p", known(each.p), "p", each.p ? p_text(*each.p) : "-"),
        json_only("p_adjusted", known(each.p_adjusted)),
    });
  }
  return {
      .title = "Machines",
      .words = fmt::format(
          "The table shows how a change differs between {0}s ({0} x treatment). A small p means "
          "that the change is not the same on all {0}s. The standard deviations "
          "describe the variation between {0}s; the variation within {0}s is subtracted.",
          kind),
      .parts = {std::move(part)}};
}

// Nested designs: the variance between seeds and the variance between the runs of a seed.

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
  return {.title = "Sources of variance",
          .words = fmt::format("For fixed levels of the treatments, the table shows how much of "
                               "the variance comes from the random factor {}. The p-value tests "
                               "the hypothesis that the seed makes no difference.",
                               name(analysis.spec.seed)),
          .parts = {std::move(part)}};
}

}  // namespace stab::report
