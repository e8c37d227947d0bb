// SPDX-License-Identifier: MIT
// How much larger the frames of each copy are.
//
// Invariants:
//   1. A frame is entered and left by the same copy, or by copies with the same pad: what moves a
//      thread to another layout leaves a function alone whose pad there differs.
//   2. A function that is entered through a stub (a landing pad, a label in a table) has one pad in
//      all layouts of a run: the stub leads to the present one, whatever copy made the frame.
//   3. Nobody reads or writes a pad whose place is known (abi::Frame::above).
#pragma once

#include "runtime/image/image.h"

namespace stab::rt {

// Bits of Image::uses.
constexpr uint8_t has_stub = 1;
constexpr uint8_t is_active = 2;  // a frame of it was seen: asked anew at each epoch

// nullptr: the frames of the function have one size.
const abi::Frame* frame_of(const Image& image, uint32_t f);

// Makes pads small from now on, in all images: their code may run on a stack whose size the program
// chose.
void keep_pads_small();

// Notes in `uses` which functions are entered through stubs.
void find_stubs(Image& image);

// For the first layout, whose places are chosen.
void draw_pads(Image& image, Layout& layout);
// For a new one that is to replace the one in use.
void draw_pads_again(Image& image, Layout& layout, PadChange change);

// The bytes that functions read in loops or on entry: any value is right at any time.
void draw_pad_bytes(Image& image);

// Writes the pad into a clone of the function's frame description.
void pad_description(const Image& image, uint32_t f, uint32_t pad, uint8_t* description);

}  // namespace stab::rt
