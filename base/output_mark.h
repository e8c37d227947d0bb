// SPDX-License-Identifier: MIT
// Files that stabctl writes say so in an attribute, so that they are no sources of a build beside
// which they lie.
#pragma once

#include <string>

namespace stab {

// Where the file system has no such attributes it stays unmarked.
void mark_as_output(const std::string& path);

// What stdout and stderr of this process go to, if it is a file in which nothing stands yet: then
// all of it is written here. One that is appended to may be anybody's.
void mark_redirected_output();

// Links are not followed.
bool is_marked_as_output(const std::string& path);

}  // namespace stab
