// SPDX-License-Identifier: MIT
// The words that the sections of a text report share.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "report/sections/section.h"
#include "report/text.h"
#include "report/words/grid.h"
#include "report/words/quantity.h"
#include "stats/verdicts/analysis.h"

namespace stab::report {

// Makes a user's name safe for a terminal and short enough for a table.
inline constexpr std::size_t longest_name = 40;
std::string name(const std::string& text);

// A heading with an explanation below it.
std::string heading(std::string_view title, std::string_view explanation,
                    const TextOptions& options);
// "Answer: ..." as a paragraph with the label in bold.
std::string labelled(std::string_view label, const std::string& text, const TextOptions& options);

bool has_subjects(const stats::Analysis& analysis);

// Whether more than one comparison is tested, so that verdicts are corrected.
bool has_family(const stats::Analysis& analysis);

// The name of a subject or of the suite: "these 5 programs", "programs like these".
std::string label_of(const stats::Analysis& analysis, const std::string& subject,
                     stats::Scope scope);

// The same for a table whose heading says what the subjects are: "these 5", "like these".
std::string row_label(const stats::Analysis& analysis, const std::string& subject,
                      stats::Scope scope);
// The column with these labels. If the data has no subjects, only JSON has the column.
Field subject_column(const stats::Analysis& analysis, const std::string& subject,
                     stats::Scope scope);

// The name of a scope in JSON; "" for a single subject.
std::string_view scope_word(stats::Scope scope);

// Assumptions and variances without a subject belong to the model of subjects like these.
stats::Scope model_scope(const stats::Analysis& analysis, const std::string& subject);

// The words for less and for more of the response: "faster" and "slower" for times, else "lower"
// and "higher".
std::string_view less_word(const stats::Spec& spec);
std::string_view more_word(const stats::Spec& spec);

// "less is better".
std::string_view better_words(const stats::Spec& spec);

}  // namespace stab::report
