// SPDX-License-Identifier: MIT
// Opens the standard streams of a process, and marks the files that stabctl writes, so that a build
// in the same folder does not count them as its sources. The mark is an extended attribute.
#pragma once

#include <string>

namespace stab {

// Opens /dev/null, read-only, for each standard stream that is closed. Otherwise another file could
// get the number of a standard stream; somebody would print into it, and libuv would never close
// it.
void open_closed_streams();

// Marks a file that stabctl writes. Does nothing if the file system has no extended attributes.
void mark_as_output(const std::string& path);

// Marks the files that stdout and stderr of this process are redirected to, if they are still
// empty. A file that already has content is not ours alone.
void mark_redirected_output();

// Does not follow symbolic links.
bool is_marked_as_output(const std::string& path);

}  // namespace stab
