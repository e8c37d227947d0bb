// SPDX-License-Identifier: MIT
// Writes the results of the post-link step.
#pragma once

#include "instrumenter/postlink/program/program.h"

namespace stab::instrumenter {

// Returns the table. It does not depend on the address at which it will be loaded.
Result<std::string> build_table(const Program& program);

// Returns the file with the patches applied and the table in a segment of its own, without the
// emitted relocations.
Result<std::string> add_table(const ElfFile& file, std::string_view table,
                              std::span<const Patch> patches, bool strip_all, bool strip_debug);

}  // namespace stab::instrumenter
