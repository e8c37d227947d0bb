// SPDX-License-Identifier: MIT
// Line tables of objects, by LLVM's reader of DWARF 2 to 5. Objects are anybody's bytes, and that
// reader may end the process or take long over hostile ones: it is called in a process of its own.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/error.h"
#include "causal/lines/line_map.h"

namespace stab::causal {

using Scope = std::function<bool(const std::string& file)>;

// A file is in scope if a pattern of the shell matches its path, or "*/" before the pattern does.
Scope scope_of(std::vector<std::string> patterns);

// The debug information of a stripped object is looked for by its build id and its debug link, below
// /usr/lib/debug and beside it (debug_file.h). Code of functions that were inlined belongs to the innermost line in
// scope. The map names all files that were looked at, those of split debug information, too. An error
// if a file cannot be read or is not an ELF file.
Result<LineMap> read_lines(const std::vector<std::string>& paths, const Scope& scope);

}  // namespace stab::causal
