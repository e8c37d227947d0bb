// SPDX-License-Identifier: MIT
// Converts records to rows and back; reader.cc reads trials. The connection sets the column `id`.
// Throws (see exceptions.h).
#pragma once

#include <string_view>

#include "store/records.h"
#include "store/rows/row.h"

namespace stab::store {

Row to_row(const Machine& machine);
Row to_row(const Experiment& experiment);
Row to_row(const Build& build);
Row to_row(const Trial& trial);
Row to_row(const Calibration& calibration);
Row to_row(const Event& event);

Machine to_machine(const Row& row);
Experiment to_experiment(const Row& row);
Build to_build(const Row& row);
Calibration to_calibration(const Row& row);
Event to_event(const Row& row);

}  // namespace stab::store
