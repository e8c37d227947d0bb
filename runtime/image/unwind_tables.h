// SPDX-License-Identifier: MIT
// Writes the call frame descriptions of copies and stubs, in the form of .eh_frame and
// .eh_frame_hdr.
//
// The descriptions are clones of the CIEs and FDEs with their relative fields adjusted, and a
// sorted search table as in .eh_frame_hdr. If there is one layout, the exception tables (LSDA) of
// the originals serve the copies, too: call sites and landing pads are relative to the start of the
// function, and the rest does not depend on it. If there are several, the switchboard's exception
// tables are used.
//
// The marks of the first layout and the stubs of functions have descriptions of their own, because
// none of the function's code has run there yet: the state is as at the function's first
// instruction. For most functions that is the state after a call, and one description serves many
// stubs. A part that other code jumps to from inside a frame, such as gcc's .cold parts, begins
// with that frame. Its mark and its stub have the part's description, as if the part began there.
// Likewise, the stub of a label has its function's description, as if the function lay such that
// the label is at the stub.
#pragma once

#include "runtime/image/image.h"

namespace stab::rt {

// Notes in `uses` which functions begin in a frame. Must precede all that follows.
void find_parts(Image& image);

// The largest number of bytes that build_unwind writes.
uint64_t unwind_bytes(const Image& image);

// Writes into the unwind part of a layout that is writable and whose places are chosen.
void build_unwind(const Image& image, Layout& layout);

// The largest number of bytes that describe_stubs writes.
uint64_t stub_description_bytes(const Image& image);

// Describes the stubs of functions, in a switchboard that isn't sealed yet. The first layout's pads
// must be drawn.
void describe_stubs(const Image& image);

// Describes this label's stub alone. Returns nullptr if nothing describes its function. The
// description is written when somebody asks for it, which few programs ever do. Any number of
// threads and handlers may call this at any time.
uint8_t* describe_label_stub(const Image& image, uint32_t label);

}  // namespace stab::rt
