// SPDX-License-Identifier: MIT
// The standard streams of a process.
#pragma once

namespace stab {

// Those that are closed are /dev/null afterwards, where writing fails: no other descriptor gets
// their number, to which somebody would print, and which libuv never closes.
void open_closed_streams();

}  // namespace stab
