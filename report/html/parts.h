// SPDX-License-Identifier: MIT
// The parts of the page, its pictures among them, and the single trials of each subject and cell
// that pictures show. A part without content is empty.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "report/html/markup.h"
#include "report/html/page.h"
#include "report/model.h"
#include "report/sections/section.h"
#include "report/words/quantity.h"

namespace stab::report::html {

// Single trials by subject and cell.

struct CellShots {
  std::size_t number = 0;        // an index into Shots::cells
  std::size_t colour = 0;        // starts from 0 in each subject
  std::vector<double> values{};  // of the trials that are ok, ascending
};

struct SubjectShots {
  std::string subject{};
  std::vector<CellShots> cells{};    // in the order of the means
  std::vector<const Shot*> shots{};  // the shots of these cells, by position
  std::uint64_t ok = 0;              // all of them; `shots` may have only a sample
  std::uint64_t others = 0;          // disturbed and failed
  Scale scale{};                     // for the subject's numbers
};

// Subjects and cells in the order of the means; cells without a mean come last. The result refers
// to `shots`.
std::vector<SubjectShots> by_subject(const Shots& shots, const stats::Analysis& analysis);

// The title of an axis: "wall time, ms"; only the response's name if the response has no unit.
std::string axis_title(const stats::Spec& spec, const Scale& scale);
// The same for this name of the response. A power of ten is part of it: "score, x 1e-09".
std::string axis_title(std::string response, const Scale& scale);

// "trial 57, block 3, sort opt=O2: 12.3 ms".
std::string tip(const Shots& shots, const Shot& shot, const Scale& scale);

// Says how many numbers were kept or have no cell; "" if the page has all of them.
std::string kept_words(const Shots& shots);

// "Only the first 12 of 14 pictures are shown. "; "" if all are shown.
std::string pictured_words(std::size_t pictures, std::size_t all);

// Chooses `count` of `all` indices in equal steps, including the first one and the last one.
std::vector<std::size_t> spread_out(std::size_t all, std::size_t count);

// Dots in all pictures of one kind together (P4).
inline constexpr std::size_t most_dots = 4000;
// Pictures of one kind, if each subject has its own picture.
inline constexpr std::size_t most_pictures = 12;
// Rows of a picture.
inline constexpr std::size_t most_lines = 40;

// P1: forbids the browser to load anything. The policy is part of the page, so it holds wherever
// the file is opened.
inline constexpr Literal page_policy = "default-src 'none'; style-src 'unsafe-inline'";
Markup policy_part(Literal policy);
// `first` contains the policy, so it comes before everything that could load something.
Markup head_part(const std::string& title, const Markup& first);

// The page's only style sheet: light or dark as the reader's browser prefers, and light on paper.
Literal style();

// The rule of colours: a verdict is green for better, red for worse and blue for the same, and grey
// means no verdict. Nothing else is green or red; groups have the other colours (colour_class()).
inline constexpr const char* no_verdict = "c7";
inline constexpr const char* colour_words =
    "Green means better, red means worse, blue means the same, and gray means no verdict.";
std::string colour_of(const stats::Analysis& analysis, const stats::Effect& effect);

// The question, the answer and how much to trust it.
Markup summary_part(const Document& document);

// A section of the report with its tables, at most `most_lines` of them.
Markup section_part(Literal id, const Section& section);
Table page_table(const Part& part);

// The origin of the results.
Markup machine_part(const Document& document, const Background& background);
Markup chance_part(const Background& background);
Markup plan_part(const Document& document, const Background& background);
// The whole text report, which also has the tables that have no part of their own on the page.
Markup text_part(const Document& document);

// The head of each page: its policy (P1 of page.h), its title and its style.
void add_head(Markup& markup, const std::string& title);

// The pictures of each kind. The result is empty if there is nothing to show.

// Changes with their intervals, sorted by size: one picture for changes in percent, and one for
// differences.
std::vector<Figure> forest(const stats::Analysis& analysis);
// Each cell's trials with its mean: a dot for each trial, or bands if there are many trials.
std::vector<Figure> distributions(const stats::Analysis& analysis, const Shots& shots,
                                  const std::vector<SubjectShots>& subjects);
// Trials in the order in which they ran.
std::vector<Figure> sequences(const stats::Analysis& analysis, const Shots& shots,
                              const std::vector<SubjectShots>& subjects);
// The residuals of a model of cells and blocks, against a normal distribution. There are no
// pictures if the page has only a sample of the trials, or if the model includes seeds.
std::vector<Figure> residuals(const stats::Analysis& analysis, const Shots& shots,
                              const std::vector<SubjectShots>& subjects);
// The section with these pictures, or with the reason why there are no pictures.
Markup residual_part(const stats::Analysis& analysis, const Shots& shots,
                     const std::vector<SubjectShots>& subjects);
// The levels of each treatment, and of each pair of treatments, relative to the mean of all cells.
// Only subjects with all combinations of the planned levels are used; otherwise the means of two
// levels would be about different cells.
std::vector<Figure> factors(const stats::Analysis& analysis, const PlannedLevels& levels);
// Each cell relative to the cell in which all treatments have their first planned level.
std::vector<Figure> overheads(const stats::Analysis& analysis, const PlannedLevels& levels);
// Causal plans: the gains from speedups of lines, with a picture for each progress point of a cell,
// and the progress points against load.
std::vector<Figure> causal_curves(const Document& document);
std::vector<Figure> causal_loads(const Document& document);
// Padding studies: the change under each padding.
std::vector<Figure> seeds(const stats::Analysis& analysis);
// Calibrations: the noise floors.
std::vector<Figure> floors(const stats::Analysis& analysis);

}  // namespace stab::report::html
