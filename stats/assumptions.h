// SPDX-License-Identifier: MIT
// What the models assume, tested on the data that they were fitted to.
//
// Blocks make residuals depend on each other: those of one block sum to 0. Where every block has
// each cell once, independence is therefore tested on orthonormal contrasts of the cells within
// blocks (Helmert), in the order of blocks; with two cells these are the differences within blocks,
// and normality is tested on them too. Elsewhere residuals are taken in the order of trials, and
// blocks that are too small for that leave independence untested, with a note.
#pragma once

#include <span>

#include "stats/analysis.h"
#include "stats/notes.h"
#include "stats/prepare.h"

namespace stab::stats {

// What is tested, taken from one subject.
struct Residuals {
  std::vector<double> all{};      // for normality
  std::vector<double> ordered{};  // for independence; empty: not to be had
  std::size_t series = 1;         // `ordered` holds so many series of one length, one by one
  std::string kind{};             // what `all` holds
  std::string ordered_kind{};
};

// `fitted`: what the model expects of each of the subject's groups.
Residuals residuals_of(const Prepared& data, const Subject& subject,
                       std::span<const double> fitted);

// Normality by Shapiro-Wilk, above 5000 numbers by Anderson-Darling; equal variances of the cells
// by Brown-Forsythe; independence by the lag-1 autocorrelation and by runs.
void test_assumptions(const Prepared& data, const Subject& subject, std::span<const double> fitted,
                      Analysis& analysis, Notes& notes);

// Of the model of all subjects: that the subjects' own effects (one number a subject) are normal.
void test_subject_effects(const Prepared& data, std::span<const double> effects,
                          const std::string& term, Analysis& analysis);

// For tests of other numbers.
void add_normality(std::span<const double> values, std::string subject, std::string of,
                   std::string instead, Analysis& analysis, Notes& notes);

}  // namespace stab::stats
