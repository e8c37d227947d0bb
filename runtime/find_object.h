// SPDX-License-Identifier: MIT
#pragma once

namespace stab::rt {

// Looks up libc's _dl_find_object now, so that an exception need not.
void prepare_find_object();

}  // namespace stab::rt
