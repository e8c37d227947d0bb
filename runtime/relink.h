// SPDX-License-Identifier: MIT
// The steps of an epoch on memory that is writable. Each may be repeated with other places in
// `image.copies`.
#pragma once

#include "runtime/image.h"

namespace stab::rt {

// The bytes of the original (the entry as it was linked), padding, and jump tables.
void write_copy(const Image& image, uint32_t f);

// Gives every field of the copy that depends on places the value for the present ones.
void link_copy(const Image& image, uint32_t f);

// A jump to the present copy for each label. Without image.label_stubs nothing leads there.
void write_stubs(const Image& image);

// Jumps from the originals to the copies, and the slots in data. False: the text could not be made
// writable, and nothing was changed. If it cannot be made executable again, the process ends: there
// is nothing left to run.
bool patch_originals(const Image& image);

}  // namespace stab::rt
