// SPDX-License-Identifier: MIT
// Call frame descriptions for copies: clones of the CIEs and FDEs with their relative fields
// adjusted, and a sorted search table as in .eh_frame_hdr. With one layout the exception tables
// (LSDA) of the originals serve the copies too: call sites and landing pads count from the start of
// the function, and the rest does not depend on it. With more, those of the switchboard do. The
// marks of the first layout and the stubs of functions have descriptions of their own: nothing of
// the function has run there yet. The stub of a label has its function's, as if the function lay
// such that the label is at the stub.
#pragma once

#include "runtime/image/image.h"

namespace stab::rt {

// Bytes that build_unwind writes at most.
uint64_t unwind_bytes(const Image& image);

// Into the unwind part of a layout that is writable and whose places are chosen.
void build_unwind(const Image& image, Layout& layout);

// Of the functions' stubs: nothing of a function has run there.
void describe_stubs(const Switchboard& board);

// Of this label's stub alone, in the form of .eh_frame_hdr; nullptr: nothing describes its
// function. It is written when somebody asks for it, which few programs ever do. At any time, by
// any number of threads and handlers.
uint8_t* describe_label_stub(const Image& image, uint32_t label);

}  // namespace stab::rt
