// SPDX-License-Identifier: MIT
// Marks the files that stabctl writes with an extended attribute, so that a build in the same
// folder does not count them as its sources.
#pragma once

#include <string>

namespace stab {

// Does nothing if the file system has no extended attributes.
void mark_as_output(const std::string& path);

// Marks the files that stdout and stderr of this process are redirected to, if they are still
// empty. A file that already has content is not ours alone.
void mark_redirected_output();

// Does not follow symbolic links.
bool is_marked_as_output(const std::string& path);

}  // namespace stab
