// SPDX-License-Identifier: MIT
#pragma once

#include <dlfcn.h>

namespace stab::rt {

// Looks up libc's _dl_find_object now, so that an exception need not.
void prepare_find_object();

// What libc itself knows. Safe in a signal handler.
int find_object_of_libc(void* pc, dl_find_object* result);

}  // namespace stab::rt
