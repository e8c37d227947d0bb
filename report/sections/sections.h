// SPDX-License-Identifier: MIT
// The sections of a report, the rows of their tables, and the tables of causal profiles. If the
// analysis has nothing for a section, the Section has no parts, or the text is "".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "report/model.h"
#include "report/sections/section.h"
#include "report/text.h"
#include "report/words/grid.h"
#include "stats/causal/analyse.h"
#include "stats/causal/arrival_loads.h"
#include "stats/causal/profile.h"
#include "stats/verdicts/analysis.h"

namespace stab::report {

inline constexpr std::size_t longest = 2000;  // the most characters of a user's text

// The facts that the report shows above its tables, in this order. Facts without text are left out.
enum class Where : std::uint8_t { everywhere, text, page };
struct KnownFact {
  std::string label{};  // facts with the same label follow each other
  std::string text{};
  Where where = Where::everywhere;
};
std::vector<KnownFact> known_facts(const Document& document);
std::string header(const Document& document, const TextOptions& options);
// The texts of these facts; "" if there is nothing to say.
std::string trials_text(const Document& document);
// `is_short`: without what is usual, and without reasons.
std::string layouts_text(const Layouts& layouts, bool is_short = false);
std::string relative_text(const Document& document);
// "environment, addresses; not: functions, stack frames (szc did not build the programs)". Reasons
// are cut to `longest_reason` characters; 0: without reasons.
std::string drawn_text(const std::vector<Drawn>& drawn, std::size_t longest_reason = longest);
// "random layouts themselves cost +1.2 % (-0.6 to +3.0 %) of CPU time ...", with a warning if that
// is much.
std::string cost_text(const Document& document);
std::string quiet_text(const Quietness& quietness);
std::string load_text(const Load& load);
std::string load_numbers(const Load& load);  // without the warning about a busy machine
// "sort prints 2 different things, by opt: ...", for the first few benchmarks.
std::string outputs_text(const std::vector<Outputs>& outputs);
std::string simulated_text();
std::string answer_text(const stats::Analysis& analysis, const TextOptions& options);
std::string answer_text(const Document& document, const TextOptions& options);
// The answer to the plan's question, with one sentence on each line.
std::string answer_of(const Document& document);
// The causal profile of each cell.
std::string causal_section(const Document& document, const TextOptions& options);

// The colour of a verdict.
Style verdict_style(stats::Verdict verdict);
Section means_section(const stats::Analysis& analysis);
// A row of the table of changes. A short report with several comparisons has fewer columns.
Row effect_row(const stats::Analysis& analysis, const stats::Effect& effect, bool full);
// If there are many comparisons of single subjects, a short report leaves some out.
std::string effects_section(const stats::Analysis& analysis, const TextOptions& options,
                            std::string_view title = "Changes");
Section padding_section(const stats::Analysis& analysis);
std::vector<Row> seed_rows(const stats::PaddingSeeds& study);
// The chains of a fractional design. A short report has only the treatments' own effects.
std::string aliases_section(const stats::Analysis& analysis, const TextOptions& options);
// The changes of further responses, and the comparisons in which a time and a count disagree.
std::string responses_section(const Document& document, const TextOptions& options);
// A sentence for each comparison in which a time and a count have opposite verdicts, one better and
// one worse.
std::vector<std::string> disagreements(const Document& document);
Section counters_section(const std::vector<Counter>& counters);
Section measures_section(const std::vector<Counter>& measures);
Section samples_section(const Document& document);
// Machine x treatment, if the analysis has machines.
Section machines_section(const stats::Analysis& analysis);
Section components_section(const stats::Analysis& analysis);
Section interactions_section(const stats::Analysis& analysis);
Section spread_section(const stats::Analysis& analysis);
Value spread_value(const std::optional<stats::Spread>& spread);
Section assumptions_section(const stats::Analysis& analysis);
// One test in JSON. The section has a row for each subject, and a column for each kind of test.
Row assumption_row(const stats::Assumption& assumption);
// Sentences about the assumptions that do not hold, and what is still valid. `with_consequences`:
// only those that a verdict needs.
enum class Rejected : std::uint8_t { all, with_consequences };
std::string rejected_assumptions(const stats::Analysis& analysis, Rejected which);
// The averages that the verdicts are not about. A short report has only the deciding comparisons.
Section typical_section(const stats::Analysis& analysis, bool full);
// The randomization test of each comparison, if the order of the trials was random.
Section randomization_section(const stats::Analysis& analysis);
// The comparisons whose assumptions fail, with tests that do not need these assumptions.
Section alternatives_section(const stats::Analysis& analysis);
Section calibration_section(const stats::Analysis& analysis);
Row floor_row(const stats::Spec& spec, std::string label, const stats::Floor& floor);
// The cost of random layouts for each benchmark, and for all of them.
Section cost_section(const Document& document);
Row cost_row(const Cost& cost, const Cost::Of& of);
// The plan's rules with the attempts that they caught, and the changes without the rules.
Section exclusions_section(const Document& document);
Section without_rules_section(const Document& document);
Row rule_row(const Exclusions::Rule& rule);
Row excluded_cell_row(const Exclusions::Cell& cell);
// "3 attempts were disturbed, 1 trial to the end. ..."
std::string dependence_text(const Exclusions& exclusions);
// "this machine's noise floor: 0.83 % ...", and what it means for this run's verdicts.
std::string noise_text(const NoiseFloor& floor, bool has_control);
std::string date_text(std::int64_t ns_since_1970);  // "2026-11-20", UTC
Section anova_section(const stats::Analysis& analysis);

// The tables of causal profiles as rows, from which their text, the page and JSON are made
// (section.h), and their text.

Row gain_row(const stats::causal::Gain& gain);

// A source line, as a progress point found it.
Row line_row(const stats::causal::Profile& profile, const stats::causal::Line& line);

// A load, with the results of all points in JSON.
Row load_row(const stats::causal::Profile& profile, const stats::causal::AtLoad& at);
// A point at a load.
Row point_row(const stats::causal::Profile& profile, const stats::causal::AtLoad& at,
              const stats::causal::PointAtLoad& point);
// A line at a point whose slopes were compared between loads. It has no columns for people, but its
// list `slopes` has.
Row change_row(const stats::causal::Profile& profile, const stats::causal::Change& change);

// For each progress point, a sentence with the answer and a row for each source line.
std::string causal_text(const stats::causal::Profile& profile,
                        const stats::causal::Analysis& analysis, double alpha);
// The loads that were reached, throughput and latency against load, and the lines whose gain
// depends on the load.
std::string loads_text(const stats::causal::Profile& profile, const stats::causal::Loads& loads);

}  // namespace stab::report
