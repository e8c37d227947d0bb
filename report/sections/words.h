// SPDX-License-Identifier: MIT
// What the sections of a text report call things.
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

// A name of the user's, safe for a terminal and not too long for a table.
inline constexpr std::size_t longest_name = 40;
std::string name(const std::string& text);

// A heading with an explanation under it.
std::string heading(std::string_view title, std::string_view explanation,
                    const TextOptions& options);
// "Answer: ..." as a paragraph, its label in bold.
std::string labelled(std::string_view label, const std::string& text, const TextOptions& options);

bool has_subjects(const stats::Analysis& analysis);

// More than one comparison is tested, so verdicts are corrected.
bool has_family(const stats::Analysis& analysis);

// A subject's name, or the suite's: "these 5 programs", "programs like these".
std::string label_of(const stats::Analysis& analysis, const std::string& subject,
                     stats::Scope scope);

// The same below a heading that says what the subjects are: "these 5", "like these".
std::string row_label(const stats::Analysis& analysis, const std::string& subject,
                      stats::Scope scope);
// The column with these labels. Only JSON has it if the data has no subjects.
Field subject_column(const stats::Analysis& analysis, const std::string& subject,
                     stats::Scope scope);

// What JSON calls a scope; "" for a single subject.
std::string_view scope_word(stats::Scope scope);

// Assumptions and variances without a subject belong to the model of subjects like these.
stats::Scope model_scope(const stats::Analysis& analysis, const std::string& subject);

// The words for less and for more of the response: "faster" and "slower" of times, else "lower" and
// "higher".
std::string_view less_word(const stats::Spec& spec);
std::string_view more_word(const stats::Spec& spec);

// "less is better".
std::string_view better_words(const stats::Spec& spec);

}  // namespace stab::report
