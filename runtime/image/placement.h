// SPDX-License-Identifier: MIT
// Where the copies of a layout lie: which functions take part, the memory that all of them fit in,
// and a place for each. One placement at a time: its arrays are the image's scratch.
#pragma once

#include <stdint.h>

#include "runtime/image/image.h"
#include "runtime/image/place.h"

namespace stab::rt {

constexpr uint64_t scratch_numbers = 6;  // of each function

// Arrays over the functions that take part.
struct Placement {
  uint32_t* functions;
  uint32_t* sizes;
  uint32_t* order;
  uint32_t* positions;
  uint32_t* scratch;
  uint32_t count = 0;
  uint64_t total = 0;

  explicit Placement(const Image& image)
      : functions(image.scratch),
        sizes(functions + image.count()),
        order(sizes + image.count()),
        positions(order + image.count()),
        scratch(positions + image.count()) {}

  void add(uint32_t f, uint32_t bytes) {
    functions[count] = f;
    sizes[count++] = bytes / unit;
    total += bytes / unit;
  }
};

// For the first layout: all whose code is as it was linked. Code that is not (a debugger's
// breakpoint, say) stays in place.
void choose_functions(Image& image, Placement& placement);
// For a later layout: all functions that may move again, or those of them that were called.
void choose_all(const Image& image, Placement& placement);
void choose_called(const Image& image, Placement& placement);

// Memory that any placement of these functions fits in. nullptr, or why there is none.
const char* reserve(Image& image, Layout& layout, Placement& placement);

// Draws a place for each, or takes them in the order of the originals.
void choose_places(Image& image, Placement& placement);

// The layout holds the placement's copies.
void adopt_places(const Image& image, Layout& layout, const Placement& placement);

}  // namespace stab::rt
