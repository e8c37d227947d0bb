// SPDX-License-Identifier: MIT
// The images of this process that have moved code. Written while epochs are kept out.
//
// locate() is called at any time, by exception handling on any thread and by signal handlers:
//   1. What it reads of an image (the image itself, and where its layouts lie) is never unmapped,
//      though the next image of the same slot may be written over it.
//   2. It finds nothing in an image that was retracted meanwhile. (Nobody looks for what is in such
//      a one: its code may be unmapped by then.)
// All else is for those who keep images from changing: an epoch, or NoEpochs.
#pragma once

#include "runtime/image/image.h"

namespace stab::rt {

constexpr uint32_t most_images = 256;

// A place for a new image, or nullptr if there are too many. It is not visible to readers yet.
Image* claim_image();
void publish_image(Image* image);
// Takes the image from the readers; the place may be claimed again after drop_image.
void retract_image(Image* image);
void drop_image(Image* image);

// The image and the layout whose copies hold an address; nullptr: none.
struct Location {
  const Image* image = nullptr;
  const Layout* layout = nullptr;
};
Location locate(uint64_t address);
// The image and the label that this address is the stub of; nullptr: none.
const Image* image_of_stub(uint64_t address, uint32_t& label);
// The same of a function.
const Image* image_of_function_stub(uint64_t address, uint32_t& f);
Image* image_with(const abi::Note* note);

// Calls `visit` for each visible image.
void for_each_image(void (*visit)(Image& image, void* context), void* context);

}  // namespace stab::rt
