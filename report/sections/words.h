// SPDX-License-Identifier: MIT
// What the sections of a text report call things.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "report/text.h"
#include "report/words/grid.h"
#include "report/words/quantity.h"
#include "stats/verdicts/analysis.h"

namespace stab::report {

// A name of the user's, safe for a terminal and not too long for a table.
std::string name(const std::string& text);

// A heading with an explanation under it.
std::string heading(std::string_view title, std::string_view explanation,
                    const TextOptions& options);
// The same with a table below, and an empty line.
std::string table_section(std::string_view title, std::string_view explanation, const Grid& grid,
                          const TextOptions& options);

// "Answer: ..." as a paragraph, its label in bold.
std::string labelled(std::string_view label, const std::string& text, const TextOptions& options);

bool has_subjects(const stats::Analysis& analysis);

// More than one comparison is tested, so verdicts are corrected.
bool has_family(const stats::Analysis& analysis);

// A subject's name, or the suite's: "these 5 programs", "programs like these".
std::string label_of(const stats::Analysis& analysis, const std::string& subject,
                     stats::Scope scope);

// The same for a column that is headed by what the subjects are: "these 5", "like these".
Cell row_label(const stats::Analysis& analysis, const std::string& subject, stats::Scope scope);

// Assumptions and variances without a subject belong to the model of subjects like these.
stats::Scope model_scope(const stats::Analysis& analysis, const std::string& subject);

// The words for less and for more of the response: "faster" and "slower" of times, else "lower" and
// "higher".
std::string_view less_word(const stats::Spec& spec);
std::string_view more_word(const stats::Spec& spec);

// "less is better".
std::string_view better_words(const stats::Spec& spec);

}  // namespace stab::report
