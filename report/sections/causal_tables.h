// SPDX-License-Identifier: MIT
// The tables of causal profiles as rows, from which their text, the page and JSON are made
// (section.h), and their text.
#pragma once

#include <string>

#include "report/sections/section.h"
#include "stats/causal/analyse.h"
#include "stats/causal/arrival_loads.h"
#include "stats/causal/profile.h"

namespace stab::report {

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
