// SPDX-License-Identifier: MIT
// What the step writes.
#pragma once

#include "instrumenter/postlink/program/program.h"

namespace stab::instrumenter {

// The table, ready to be loaded `table_address`-independently.
Result<std::string> build_table(const Program& program);

// The file with the table in a segment of its own and the patches, without emitted relocations.
Result<std::string> add_table(const ElfFile& file, std::string_view table,
                              std::span<const Patch> patches, bool strip_all, bool strip_debug);

}  // namespace stab::instrumenter
