// SPDX-License-Identifier: MIT
// Parts of models and tables that all designs share.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "stats/data/notes.h"
#include "stats/data/prepare_data.h"
#include "stats/models/strata.h"
#include "stats/verdicts/analysis.h"

namespace stab::stats {

// Names and sizes of the treatments, for terms.h.
struct Layout {
  std::vector<std::size_t> shape{};
  std::vector<std::string> names{};
};
Layout layout(const Prepared& data);

// "log(wall)"
std::string response_term(const Spec& spec);

// The aliases of a term of a fractional design; "" in other designs.
std::string aliases_of(const Spec& spec, std::uint32_t term);

// A row with its mean square, and F and p if there is an error with degrees of freedom and a sum of
// squares above 0.
AnovaRow tested_row(std::string stratum, std::string term, double df, double ss, double error_df,
                    double error_ss);
AnovaRow plain_row(std::string stratum, std::string term, double df, double ss);

// The right side of the formula: "a * b", or all terms of a fractional design.
std::string right_side(const Spec& spec, const Layout& names);
// The terms of the model.
std::vector<std::uint32_t> model_terms(const Spec& spec, const Layout& names);

// Makes the table of units that have all cells; `unit` is the word for them. A term with more
// degrees of freedom than its units have is shown without a test.
AnovaTable strata_table(const Prepared& data, const Strata& strata, const std::string& unit);

// Adds partial eta squared and omega squared of the tested terms, with the interval
// (variances.h).
void add_shares(AnovaTable& table, double alpha);

}  // namespace stab::stats
