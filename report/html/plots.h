// SPDX-License-Identifier: MIT
// The pictures; each kind has its own file. The result is empty if there is nothing to show.
#pragma once

#include <vector>

#include "report/html/background.h"
#include "report/html/groups.h"
#include "report/html/markup.h"
#include "report/model.h"

namespace stab::report::html {

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
