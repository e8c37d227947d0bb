// SPDX-License-Identifier: MIT
// Makes a stopped thread continue in the current layouts by rewriting the references to old layouts
// on its stack and in its registers. All copies of a function have the same inner layout, so an
// address in one copy has its counterpart in every other.
//
// The following words are rewritten:
//   1. return addresses and interrupted program counters: found exactly, by walking the frames;
//   2. registers that hold the address of a jump table of the frame's own function;
//   3. in a frame that was interrupted, registers that hold a place in the function itself.
//
// No other word is written, because it may be left over from an earlier frame and partly
// overwritten. A frame stays in its layout if frames of its function have another size in the
// current one. The program doesn't use the words of a pad, if the place of the pad is known
// (abi::Frame::above). Every other word that looks like an address in an old layout stays as it is
// (a handler may have taken it from a ucontext_t, an unwinder may be at work), and the layout is
// kept for it.
#pragma once

#include <stdint.h>
#include <ucontext.h>

#include "runtime/base/handler_proofs.h"

namespace stab::rt {

struct Migration {
  uint64_t moved = 0;            // addresses that were rewritten
  bool complete = true;          // false: some references may not have been seen at all
  uint64_t oldest = UINT64_MAX;  // when the oldest of the layouts that are referred to was retired
};

// Notes in Image::uses which functions have frames on the stack.
struct ActiveFrames {
  bool complete = true;  // false: there may be more
};
void mark_active_functions(const InHandler& proof, ucontext_t& context, uint32_t most_frames,
                           ActiveFrames& frames);

// `most_frames` is the number of frames that are walked exactly.
void migrate(const InHandler& proof, ucontext_t& context, uint32_t most_frames,
             Migration& migration);

}  // namespace stab::rt
