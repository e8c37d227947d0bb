// SPDX-License-Identifier: MIT
// Reads the line tables of objects with LLVM's DWARF reader (versions 2 to 5). A hostile object may
// crash that reader or keep it busy for long, so it runs in a process of its own.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/error.h"
#include "causal/lines/line_map.h"

namespace stab::causal {

using Scope = std::function<bool(const std::string& file)>;

// A file is in scope if its path matches a pattern (fnmatch), or "*/" followed by the pattern.
Scope scope_of(std::vector<std::string> patterns);

// Looks for the debug information of a stripped object in a separate file. Code of
// inlined functions belongs to the innermost line in scope. The map names all files that were
// looked at, including files of split debug information. Returns an error if a file can't be read
// or is not an ELF file, or if there are more than most_ranges ranges.
Result<LineMap> read_lines(const std::vector<std::string>& paths, const Scope& scope);

}  // namespace stab::causal
