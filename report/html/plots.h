// SPDX-License-Identifier: MIT
// The pictures, a kind a file; none where there is nothing to show.
#pragma once

#include <vector>

#include "report/drawing/figure.h"
#include "report/html/background.h"
#include "report/html/groups.h"
#include "report/model.h"

namespace stab::report::html {

// Changes with their intervals, sorted: those in percent, and those that are differences.
std::vector<Figure> forest(const stats::Analysis& analysis);
// Each cell's trials with its mean: single ones, or bands if they are many.
std::vector<Figure> distributions(const stats::Analysis& analysis, const Shots& shots,
                                  const std::vector<SubjectShots>& subjects);
// Trials in their order.
std::vector<Figure> sequences(const stats::Analysis& analysis, const Shots& shots,
                              const std::vector<SubjectShots>& subjects);
// What a model of cells and blocks leaves over, against a normal distribution; none of a sample, or
// where the model has seeds, too.
std::vector<Figure> residuals(const stats::Analysis& analysis, const Shots& shots,
                              const std::vector<SubjectShots>& subjects);
// The section of them, or why there are none.
Markup residual_part(const stats::Analysis& analysis, const Shots& shots,
                     const std::vector<SubjectShots>& subjects);
// Levels of each treatment, and of each two of them, against the mean of all cells; of subjects
// that have all combinations of the planned levels, else a level's mean has other company.
std::vector<Figure> factors(const stats::Analysis& analysis, const PlannedLevels& levels);
// Each cell against the one in which all treatments have their first planned level.
std::vector<Figure> overheads(const stats::Analysis& analysis, const PlannedLevels& levels);
// Causal plans: what the speedups of lines give, a picture for each progress point of a cell, and
// progress points against load.
std::vector<Figure> causal_curves(const Document& document);
std::vector<Figure> causal_loads(const Document& document);
// Padding studies: the change under each padding.
std::vector<Figure> seeds(const stats::Analysis& analysis);
// Calibrations: what no comparison can resolve.
std::vector<Figure> floors(const stats::Analysis& analysis);

}  // namespace stab::report::html
