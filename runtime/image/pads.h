// SPDX-License-Identifier: MIT
// How much larger than the original's the frames of each copy are.
//
// Invariants:
//   1. A frame is entered and left by the same copy, or by copies with the same pad: when a thread
//      is moved to another layout, a frame stays where it is if the function's pad there differs.
//   2. A function that is entered through a stub (a landing pad, a label in a table) has the same
//      pad in all layouts of a run: the stub leads to the current copy, whatever copy made the
//      frame. A function and its parts (abi::Frame::part_of) also keep their pads, and all have the
//      same one, because they jump to each other's copies in any layout. If one of them has no
//      copy, none has a pad.
//   3. Nobody reads or writes a pad whose place is known (abi::Frame::above).
//   4. With a pad, a number of 8 bits stays below 128.
#pragma once

#include "runtime/image/image.h"

namespace stab::rt {

// Bits of Image::uses.
constexpr uint8_t keeps_pad = 1;        // invariant 2
constexpr uint8_t is_active = 2;        // one of its frames was seen; determined at each epoch
constexpr uint8_t begins_in_frame = 4;  // find_parts() in unwind_tables.h

// Returns nullptr if the frames of the function have a fixed size.
const abi::Frame* frame_of(const Image& image, uint32_t f);

// Whether the image's frames have pads of any kind.
bool has_pads(const Image& image);

// Whether some frame could have had a pad if its function had been compiled in another way. A
// function that makes no calls gets no pad, nor does one without a frame description, as in the C
// library's startup code.
bool could_have_pads(const Image& image);

// Makes pads small from now on, in all images, because their code may run on a stack that is small,
// or whose size the program chose.
void keep_pads_small();

// Notes in `uses` which functions have the same pad in all layouts.
void find_kept_pads(Image& image);

// For the first layout, whose places are chosen already.
void draw_pads(Image& image, Layout& layout);
// For a new layout that is to replace the current one.
void draw_pads_again(Image& image, Layout& layout, PadChange change);

// Draws the bytes that functions read in loops or on entry. Any value is right at any time.
void draw_pad_bytes(Image& image);

// Writes the pad into a clone of the function's frame description.
void pad_description(const Image& image, uint32_t f, uint32_t pad, uint8_t* description);

}  // namespace stab::rt
