// SPDX-License-Identifier: MIT
// Turns the analysis of a calibration into rows that are stored with the machine, and those rows
// into the noise floor that other reports state.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "plan/plan.h"
#include "report/model.h"
#include "stats/verdicts/analysis.h"
#include "store/reader.h"

namespace stab::results {

// The response's name in the rows. For a measure that the plan defines, the name includes a digest
// of its definition, so that another measure with the same name does not share its noise floor.
std::string calibrated_name(const plan::Plan& plan, const std::string& response);

// One row for each benchmark, one for any benchmark and one for all together. There are no rows if
// the analysis is not a calibration's, or if the experiment never ran on a machine.
std::vector<store::Calibration> calibration_rows(const stats::Analysis& analysis,
                                                 const store::Experiment& experiment,
                                                 const std::string& response);

// If the experiment is a calibration, analyses it and returns its rows.
store::Outcome<std::vector<store::Calibration>> calibration_of(store::Reader& store,
                                                               const store::Experiment& experiment);

// The noise floor from the machine's latest calibration of the response, which `response` names as
// calibrated_name() does. Only calibrations of this user, of root and of stabd's own user count,
// because any other user could store a wrong one. Returns nothing if no calibration counts.
store::Outcome<std::optional<report::NoiseFloor>> noise_floor_of(store::Reader& store,
                                                                 store::Id machine,
                                                                 const std::string& response,
                                                                 std::uint32_t user);

// Whether the comparisons of single benchmarks have as many blocks as the calibration had. The
// floor says nothing about comparisons with another number of blocks.
bool floor_holds(const stats::Analysis& analysis, const report::NoiseFloor& floor);

// A sentence about the comparisons with the calibration's number of blocks that are faster or
// slower although their change is within the floor; "" if there are no such comparisons.
std::string below_the_floor(const stats::Analysis& analysis, const report::NoiseFloor& floor);

}  // namespace stab::results
