// SPDX-License-Identifier: MIT
// From the analysis of a calibration to the rows that are kept with the machine, and from these to
// what other reports say of it.
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

// What rows call the response: its name, and of a measure that the plan defines a digest of how, so
// that another one of that name has another floor.
std::string calibrated_name(const plan::Plan& plan, const std::string& response);

// One row a benchmark, one for any of them and one for all together; none if the analysis is of no
// calibration, or if the experiment never ran on a machine.
std::vector<store::Calibration> calibration_rows(const stats::Analysis& analysis,
                                                 const store::Experiment& experiment,
                                                 const std::string& response);

// Analyses the experiment, if it is a calibration: the rows to keep.
store::Outcome<std::vector<store::Calibration>> calibration_of(store::Reader& store,
                                                               const store::Experiment& experiment);

// What the latest calibration of the machine says of the response, by its calibrated_name(), to this user: only their own
// calibrations and those of root and of stabd's own user count, since anybody can make one that is wrong. Nothing if
// there is none.
store::Outcome<std::optional<report::NoiseFloor>> noise_floor_of(store::Reader& store,
                                                                 store::Id machine,
                                                                 const std::string& response,
                                                                 std::uint32_t user);

// Whether the comparisons of single benchmarks have as many blocks as those of the calibration had:
// what other numbers of blocks can resolve, it does not say.
bool floor_holds(const stats::Analysis& analysis, const report::NoiseFloor& floor);

// A sentence on the comparisons of as many blocks that have a verdict although their change is
// within the floor; "" if there are none.
std::string below_the_floor(const stats::Analysis& analysis, const report::NoiseFloor& floor);

}  // namespace stab::results
