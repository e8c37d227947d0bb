// SPDX-License-Identifier: MIT
// Reasons why a comparison has no verdict although it has numbers: the numbers can't distinguish
// some explanations, whatever their interval says. Each reason is in the effect, and a note says
// what would help.
//  1. No block (or pair of cells) has both levels.
//  2. One level was measured before the other, so time may have caused the change.
//  3. A mean over programs of different size, without logarithms, is that of the largest program.
//  4. Trials were lost, and their numbers may reverse the sign (refuse_lost() in refusals.cc).
//  5. Neighbouring blocks are so alike that too few independent ones remain, unless the adjusted p
//     is below 0.001.
//  6. The order was drawn, and the randomization test does not agree.
//  7. The verdict should be about a typical run or the median, and the data have only a mean.
//  8. One of the machines lacks a side of the comparison, or has a single block and so no error.
#pragma once

#include <cstdint>

#include "stats/data/notes.h"
#include "stats/data/prepare_data.h"
#include "stats/verdicts/analysis.h"

namespace stab::stats {

// Sets the number of lost trials in the mean of the subject's cell, the range of means that they
// leave possible, and that range with the error of its ends. If losses are random, range and
// interval are those of the mean itself.
void bound_mean(const Prepared& data, const Subject& subject, std::uint32_t cell, CellMean& mean);

// Notes the cells on which a comparison rests if the design has other cells without trials.
void note_empty_cells(const Prepared& data, const Analysis& analysis, Notes& notes);

// Sets the bounds that lost trials leave of interactions, and the reason of an interaction that they
// may have made: the answer only says that it is possible. An interaction that has no size has no
// bounds, so it counts as one that they may have made. Too few independent blocks (5.) are another
// reason. Call it before anything is said about interactions.
void refuse_interactions(const Prepared& data, Analysis& analysis, Notes& notes);

// Takes back the verdicts of effects that have one of these reasons. Sets the bounds that lost
// trials leave, for all effects that lost some, and is_allowed_for of rejected normality if the
// randomization test holds the verdicts.
void refuse(const Prepared& data, Analysis& analysis, Notes& notes);

}  // namespace stab::stats
