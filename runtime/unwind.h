// SPDX-License-Identifier: MIT
// Call frame descriptions for copies: clones of the CIEs and FDEs with their relative fields
// adjusted, and a sorted search table as in .eh_frame_hdr. The exception tables (LSDA) of the
// originals serve the copies too: call sites and landing pads count from the start of the function,
// and the rest does not depend on it.
#pragma once

#include "runtime/image.h"

namespace stab::rt {

// Bytes that build_unwind writes.
uint64_t unwind_bytes(const Image& image);

// Into the unwind part of the heap; sets image.unwind_header. image.order is final.
void build_unwind(Image& image);

}  // namespace stab::rt
