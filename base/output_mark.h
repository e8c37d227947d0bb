// SPDX-License-Identifier: MIT
// Files that stabctl writes say so in an attribute, so that they are no sources of a build beside
// which they lie.
#pragma once

#include <string>

namespace stab {

// Where the file system has no such attributes it stays unmarked.
void mark_as_output(const std::string& path);

// Links are not followed.
bool is_marked_as_output(const std::string& path);

}  // namespace stab
