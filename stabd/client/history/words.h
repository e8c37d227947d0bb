// SPDX-License-Identifier: MIT
// A history for people and for programs.
#pragma once

#include <string>

#include "stabd/client/history/series.h"

namespace stab::client::history {

// A line an experiment, its interval drawn, and a line where a series changes.
std::string as_text(const History& history);

// One object, as doc/history.md describes it.
std::string as_json(const History& history);

}  // namespace stab::client::history
