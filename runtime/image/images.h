// SPDX-License-Identifier: MIT
// The images of this process that have moved code. The list is written only while epochs are kept
// out.
//
// locate() may be called at any time, by exception handling on any thread and by signal handlers:
//   1. The memory that it reads of an image (the image itself, and where its layouts lie) is never
//      unmapped, though the next image in the same slot may be written over it.
//   2. It finds nothing in an image that was retracted meanwhile. (Nobody looks up addresses in
//      such an image: its code may be unmapped by then.)
//
// The other functions are for callers that keep images from changing: an epoch, or NoEpochs.
#pragma once

#include "runtime/image/image.h"

namespace stab::rt {

constexpr uint32_t most_images = 256;

// Returns a place for a new image, or nullptr if there are too many. Readers don't see it yet.
Image* claim_image();
void publish_image(Image* image);
// Hides the image from readers. Its place may be claimed again after drop_image.
void retract_image(Image* image);
void drop_image(Image* image);

// The image and the layout whose copies hold an address, or nullptr.
struct Location {
  const Image* image = nullptr;
  const Layout* layout = nullptr;
};
Location locate(uint64_t address);
// Returns the image and the label whose stub this address is, or nullptr.
const Image* image_of_stub(uint64_t address, uint32_t& label);
// The same for a function's stub.
const Image* image_of_function_stub(uint64_t address, uint32_t& f);
Image* image_with(const abi::Note* note);

// Calls `visit` for each visible image.
void for_each_image(void (*visit)(Image& image, void* context), void* context);

}  // namespace stab::rt
