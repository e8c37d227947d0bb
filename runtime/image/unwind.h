// SPDX-License-Identifier: MIT
// Answers unwinders. They ask _dl_find_object for the frame descriptions of an address. Ours
// answers for copies and stubs (unwind_tables.h), and asks libc's for everything else.
#pragma once

#include <dlfcn.h>

#include "runtime/base/handler_proofs.h"

namespace stab::rt {

// Looks up libc's _dl_find_object now: an unwinder may run in a handler, while another thread holds
// the loader's lock for a long time.
void prepare_find_object(const OutsideHandlers& proof);

// The file of the library that holds this address, or nullptr if the loader doesn't know one.
const char* file_of(const void* address);

// Asks libc's own function. This is safe in a signal handler.
int find_object_of_libc(void* pc, dl_find_object* result);

}  // namespace stab::rt
