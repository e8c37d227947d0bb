// SPDX-License-Identifier: MIT
// The report for a terminal: plain text unless colour is asked for. A short one, of at most 100
// columns where names allow it, has the answer, the changes and what a reader must know of the
// rest, and says last what a full one adds.
#pragma once

#include <string>
#include <string_view>

#include "report/model.h"

namespace stab::report {

struct TextOptions {
  bool colour = false;
  bool full = false;
};

// Ends with a newline.
std::string text(const Document& document, const TextOptions& options = {});

// An analysis that belongs to no experiment, or to several.
std::string analysis_text(std::string_view title, const stats::Analysis& analysis,
                          const TextOptions& options = {});

}  // namespace stab::report
