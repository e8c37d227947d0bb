// SPDX-License-Identifier: MIT
// Lines of source as progress points: breakpoints of the processor count how often their code
// begins, in all threads of the process that coordinates and in those that it begins.
#pragma once

namespace stab::causal {

// In the thread that coordinates, before the program has other threads. It keeps no descriptor of the
// program's, and the program sees none of its own. What cannot be watched becomes a sampled point,
// and Head::unwatched says why.
void begin_watching();

// In that thread: the counts as they are now.
void read_watched();

// Nobody coordinates that could watch: all of them become sampled points.
void watch_nothing();

}  // namespace stab::causal
