// SPDX-License-Identifier: MIT
// The report of a run: JSON lines, each written at once, appended to the file of the option
// report=. The first line is written before main, so that it is known what was randomized, whatever
// ends the process. Later lines: one for each shared library, one for a fatal signal, one for each
// region with a name, and one at exit. A forked process writes a line at its exit if an epoch came
// due in it.
#pragma once

#include <stdint.h>

#include "runtime/base/options.h"
#include "runtime/base/output_files.h"
#include "runtime/epoch/epoch.h"
#include "runtime/image/image.h"
#include "runtime/start/region_clock.h"

namespace stab::rt {

// Returns the reason why no frame of the image has a pad although the options ask for pads, or
// nullptr.
const char* why_no_pads(const Options& options, const Image& image);

// `why_once`: the reason why functions can't move repeatedly, although the options ask for it.
// Returns false if the line could not be written.
bool report_start(const Options& options, uint64_t seed, const Image* image, const char* problem,
                  const char* why_once, const char* small_stack);
void report_image(const Image& image, const char* problem);
void report_signal(int number, uint64_t pc, const Location& location);
// Writes the last line, because a sandbox may forbid writing later ones. (If the kernel refuses the
// sandbox, later lines are written.) A program may ask for sandboxes again and again, so a new line
// is written only when there were twice as many epochs as at the last one.
void report_sandbox(const EpochCounts& epochs);
void report_child(const EpochCounts& epochs);
// Writes one line for each region with a name, and the last line.
void report_exit(uint64_t run_ns, const RegionClock& plain, const NamedRegions& named,
                 const EpochCounts& epochs);

}  // namespace stab::rt
