// SPDX-License-Identifier: MIT
// Lines of source as progress points.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "causal/lines/line_map.h"
#include "causal/run/session_file.h"

namespace stab::causal {

// Makes progress points of these lines, of which the map knows where their code begins: breakpoints
// count them while the processor has some left, then samples do, and `notes` says so.
Result<void> add_progress(const LineMap& map, const std::vector<std::string>& names,
                          Settings& settings, std::vector<std::string>& notes);

// Why a run counted samples of lines after all; "": it did not. `unwatched` is of a session.
std::string why_unwatched(std::uint32_t unwatched);

}  // namespace stab::causal
