// SPDX-License-Identifier: MIT
// Writes and links copies in a layout that is writable and whose places are chosen.
#pragma once

#include "runtime/image/image.h"

namespace stab::rt {

class OwnText;

// In the first layout: the bytes of the original (the entry as it was linked), padding, and jump
// tables.
void write_copy(const Image& image, const Layout& layout, uint32_t f);

// Before a copy of the first layout: code that notes the first call and runs into the copy.
void write_mark(const Image& image, const Layout& layout, uint32_t f);

// Gives every field of a copy of the first layout that depends on places its value.
void link_copy(const Image& image, const Layout& layout, uint32_t f);

// In a later layout: the first one's copy, linked for this place. The original is not read: it may
// have been changed since (a probe, say), and lies in no cache.
void copy_again(const Image& image, const Layout& layout, uint32_t f);

// Lets the stubs of functions and labels lead to the layout, as far as it has them.
void lead_to(const Image& image, const Layout& layout, StubsDraft& stubs);

// Makes the originals jump to the copies of the first layout, or to their stubs, and sets
// the slots in data. Returns false if the text could not be made writable; then nothing was
// changed. If it cannot be made executable again, the process ends: it has nothing left to run.
// `untouched` has seen the text as it was.
bool patch_originals(const Image& image, const OwnText& untouched);

// Makes vtables refer to the copies themselves where there is one layout, else to the stubs:
// programs carry what they read from a vtable to places that the runtime cannot find (the frame of
// a coroutine), and a stub is right for ever. The originals are patched: where the kernel refuses,
// vtables go on to lead there.
void set_pointers(const Image& image);

}  // namespace stab::rt
