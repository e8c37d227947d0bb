// SPDX-License-Identifier: MIT
#include "report/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>

#include "base/text.h"
#include "report/sections/sections.h"
#include "report/sections/shared_words.h"
#include "report/words/grid.h"

namespace stab::report {
namespace {

using stats::Analysis;

constexpr std::size_t most_means = 16;  // a short report leaves the means out if there are more

std::string list(std::string_view title, const std::vector<std::string>& items,
                 const TextOptions& options) {
  if (items.empty()) return "";
  std::string text = styled(title, Style::bold, options.colour) + "\n";
  for (const std::string& item : items)
    text += paragraph("  - ", one_line(item, longest), options.width);
  return text + "\n";
}

std::string full_sections(const Analysis& analysis, const TextOptions& options) {
  std::string text =
      section_text(calibration_section(analysis), options) + effects_section(analysis, options) +
      section_text(typical_section(analysis, true), options) + aliases_section(analysis, options) +
      section_text(machines_section(analysis), options);
  for (const Section& each :
       {means_section(analysis), interactions_section(analysis), spread_section(analysis),
        components_section(analysis), padding_section(analysis), anova_section(analysis),
        randomization_section(analysis), assumptions_section(analysis),
        alternatives_section(analysis)})
    text += section_text(each, options);
  return text;
}

bool shows_means(const Analysis& analysis) {
  return analysis.means.size() <= most_means || (analysis.effects.empty() && !analysis.calibration);
}

std::string short_sections(const Analysis& analysis, const TextOptions& options) {
  std::string text =
      section_text(calibration_section(analysis), options) + effects_section(analysis, options) +
      section_text(typical_section(analysis, false), options) + aliases_section(analysis, options) +
      section_text(padding_section(analysis), options) +
      section_text(machines_section(analysis), options);
  if (shows_means(analysis)) text += section_text(means_section(analysis), options);
  if (const std::string rejected = rejected_assumptions(analysis); !rejected.empty())
    text += labelled("Assumptions: ", rejected, options) + "\n";
  return text;
}

// Names the sections that a short report leaves out.
std::string more(const Analysis& analysis, const TextOptions& options) {
  static constexpr std::array<std::pair<const char*, Section (*)(const Analysis&)>, 7> sections{
      {{"interactions", interactions_section},
       {"changes of the variance", spread_section},
       {"where the variance comes from", components_section},
       {"analysis of variance", anova_section},
       {"the randomization test", randomization_section},
       {"tests of assumptions", assumptions_section},
       {"comparisons by other tests", alternatives_section}}};
  std::string text;
  if (!shows_means(analysis)) text = fmt::format("means of {} cells", analysis.means.size());
  if (std::ranges::any_of(analysis.spec.chains,
                          [](const auto& chain) { return !std::has_single_bit(chain.effect); }))
    text += std::string(text.empty() ? "" : ", ") + "aliases of interactions";
  for (const auto& [title, section] : sections)
    if (!section(analysis).parts.empty()) text += (text.empty() ? "" : ", ") + std::string(title);
  return text.empty() ? "" : labelled("With --full: ", text + ".", options);
}

// Everything below the header. `tables` has the tables about trials, such as counters.
std::string body(const Analysis& analysis, const std::string& tables,
                 const std::vector<std::string>& failures, const TextOptions& options) {
  const std::string lists =
      tables + list("Notes", analysis.notes, options) + list("Failures", failures, options);
  if (options.full)
    return full_sections(analysis, options) + lists + answer_text(analysis, options);
  return short_sections(analysis, options) + lists + more(analysis, options);
}

// Whether the short report has a form of its own, which may be longer than a screen.
bool has_own_form(const Document& document) {
  const Analysis& analysis = document.analysis;
  return document.causal || analysis.calibration ||
         (analysis.effects.empty() && !analysis.means.empty() &&
          (document.causes.empty() || !document.compares));
}

}  // namespace

std::string text(const Document& document, const TextOptions& options) {
  std::vector<std::string> failures = document.failures;
  if (!failures.empty())
    failures.push_back(fmt::format(
        "'stabctl logs {}' shows what failed builds and trials printed; after 'stabctl run', add "
        "--folder FOLDER",
        document.id));
  if (!options.full && !has_own_form(document)) return shown(screen_of(document), options);
  std::string tables = causal_section(document, options) + responses_section(document, options);
  for (const Section& each : {exclusions_section(document), without_rules_section(document),
                              counters_section(document.counters),
                              measures_section(document.measures), samples_section(document)})
    tables += section_text(each, options);
  return header(document, options) + body(document.analysis, tables, failures, options);
}

std::string analysis_text(std::string_view title, const Analysis& analysis,
                          const TextOptions& options) {
  return styled(one_line(title, page_width), Style::bold, options.colour) + "\n\n" +
         answer_text(analysis, options) + "\n" + body(analysis, "", {}, options);
}

}  // namespace stab::report
