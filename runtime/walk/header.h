// SPDX-License-Identifier: MIT
// Finds frame descriptions of an image by its sorted table (.eh_frame_hdr).
#pragma once

#include <stdint.h>

#include "runtime/walk/walk.h"

namespace stab::rt {

// Where the image is mapped, readable in full where its table and descriptions are.
struct Extent {
  uint64_t start;
  uint64_t end;
};

// Returns false if the pc is in no function, or the table is of another kind than linkers make. It
// reads nothing outside of the extent.
bool find_in_image_header(uint64_t pc, const uint8_t* eh_frame_hdr, const Extent& image,
                          FrameDescription& description);

}  // namespace stab::rt
