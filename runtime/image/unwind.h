// SPDX-License-Identifier: MIT
// Writes the call frame descriptions of copies, and gives them to unwinders that ask for them.
//
// The descriptions are clones of the CIEs and FDEs with their relative fields adjusted, and a
// sorted search table as in .eh_frame_hdr. If there is one layout, the exception tables (LSDA) of
// the originals serve the copies, too: call sites and landing pads are relative to the start of the
// function, and the rest does not depend on it. If there are several, the switchboard's exception
// tables are used. The marks of the first layout and the stubs of functions have descriptions of
// their own, because none of the function's code has run there yet. The stub of a label has its
// function's description, as if the function lay such that the label is at the stub.
#pragma once

#include <dlfcn.h>

#include "runtime/base/handler_proofs.h"
#include "runtime/image/image.h"

namespace stab::rt {

// The largest number of bytes that build_unwind writes.
uint64_t unwind_bytes(const Image& image);

// Writes into the unwind part of a layout that is writable and whose places are chosen.
void build_unwind(const Image& image, Layout& layout);

// Describes the functions' stubs: none of a function's code has run there.
void describe_stubs(const Switchboard& board);

// Describes this label's stub alone, in the form of .eh_frame_hdr. Returns nullptr if nothing
// describes its function. The description is written when somebody asks for it, which few programs
// ever do. Any number of threads and handlers may call this at any time.
uint8_t* describe_label_stub(const Image& image, uint32_t label);

// An unwinder asks _dl_find_object for the descriptions. Ours answers for copies and stubs, and
// asks libc's for everything else:

// Looks up libc's _dl_find_object now: an unwinder may run in a handler, while another thread holds
// the loader's lock for a long time.
void prepare_find_object(const OutsideHandlers& proof);

// The file of the library that holds this address, or nullptr if the loader doesn't know one.
const char* file_of(const void* address);

// Asks libc's own function. This is safe in a signal handler.
int find_object_of_libc(void* pc, dl_find_object* result);

}  // namespace stab::rt
