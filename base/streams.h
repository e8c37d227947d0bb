// SPDX-License-Identifier: MIT
// The standard streams of a process.
#pragma once

namespace stab {

// Opens /dev/null, read-only, for each standard stream that is closed. Otherwise another file could
// get the number of a standard stream; somebody would print into it, and libuv would never close
// it.
void open_closed_streams();

}  // namespace stab
