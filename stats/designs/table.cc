// SPDX-License-Identifier: MIT
#include "stats/designs/table.h"

#include <fmt/format.h>

#include <algorithm>

#include "stats/data/notes.h"
#include "stats/data/terms.h"
#include "stats/numbers/distribution.h"
#include "stats/tests/variances.h"

namespace stab::stats {

Layout layout(const Prepared& data) {
  Layout result;
  for (const Treatment& treatment : data.treatments) {
    result.shape.push_back(treatment.levels.size());
    result.names.push_back(treatment.name);
  }
  return result;
}

std::string response_term(const Spec& spec) {
  return spec.log_scale ? fmt::format("log({})", spec.response) : spec.response;
}

AnovaRow plain_row(std::string stratum, std::string term, double df, double ss) {
  AnovaRow row{.stratum = std::move(stratum), .term = std::move(term), .df = df, .ss = ss};
  if (df > 0) row.ms = ss / df;
  return row;
}

AnovaRow tested_row(std::string stratum, std::string term, double df, double ss, double error_df,
                    double error_ss) {
  AnovaRow row = plain_row(std::move(stratum), std::move(term), df, ss);
  if (!row.ms || !(error_df > 0) || !(error_ss > 0)) return row;
  row.f = *row.ms / (error_ss / error_df);
  row.p = f_tail(*row.f, df, error_df);
  if (!row.p) row.f.reset();
  return row;
}

std::string right_side(const Spec& spec, const Layout& names) {
  if (spec.chains.empty()) return crossing(names.shape, names.names);
  std::string text;
  for (const AliasChain& chain : spec.chains)
    text += (text.empty() ? "" : " + ") + term_name(chain.effect, names.names);
  return text;
}

std::vector<std::uint32_t> model_terms(const Spec& spec, const Layout& names) {
  if (spec.chains.empty()) return all_terms(names.shape, names.shape.size());
  std::vector<std::uint32_t> terms;
  for (const AliasChain& chain : spec.chains) terms.push_back(chain.effect);
  return terms;
}

AnovaTable strata_table(const Prepared& data, const Strata& strata, const std::string& unit) {
  const Layout names = layout(data);
  const std::string right = right_side(data.spec, names);
  const bool several = active_treatments(names.shape) > 1;
  AnovaTable table;
  table.formula = fmt::format("{} ~ {} + Error({}{})", response_term(data.spec), right, unit,
                              right == "1" ? ""
                              : several    ? fmt::format("/({})", right)
                                           : "/" + right);
  table.rows.push_back(plain_row(unit, "Residuals", strata.unit_df, strata.unit_ss));
  for (const StratumTerm& term : strata.terms) {
    const std::string name = term_name(term.treatments, names.names);
    const std::string stratum = fmt::format("{}:{}", unit, name);
    AnovaRow row = plain_row(stratum, name, term.df, term.ss);
    if (strata.unit_df >= term.df)
      row = tested_row(stratum, name, term.df, term.ss, term.error_df, term.error_ss);
    if (row.f && term.epsilon) {
      row.epsilon = term.epsilon;
      row.p = f_tail(*row.f, *term.epsilon * term.df, *term.epsilon * term.error_df);
    }
    row.aliases = aliases_of(data.spec, term.treatments);
    table.rows.push_back(std::move(row));
    table.rows.push_back(plain_row(stratum, "Residuals", term.error_df, term.error_ss));
  }
  if (strata.within_df > 0)
    table.rows.push_back(plain_row("Within", "Residuals", strata.within_df, strata.within_ss));
  return table;
}

void add_shares(AnovaTable& table, double alpha) {
  for (AnovaRow& row : table.rows) {
    if (!row.f) continue;
    const auto error = std::ranges::find_if(table.rows, [&](const AnovaRow& other) {
      return other.stratum == row.stratum && other.term == "Residuals";
    });
    if (error == table.rows.end()) continue;
    const auto share = shares(*row.f, row.df, error->df, alpha);
    if (!share) continue;
    row.eta2 = share->eta2;
    row.omega2 = share->omega2;
    if (!share->interval) continue;
    row.eta2_low = share->interval->low;
    row.eta2_high = share->interval->high;
  }
}

std::string aliases_of(const Spec& spec, std::uint32_t term) {
  const auto chain = std::ranges::find(spec.chains, term, &AliasChain::effect);
  return chain == spec.chains.end() ? "" : chain->aliases;
}

}  // namespace stab::stats
