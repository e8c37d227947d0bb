// SPDX-License-Identifier: MIT
// Converts the samples of a trial to the text of one column (doc/store.md, "Samples") and back:
//   [["time","BM_insert/8","ns",[12.5,13]],["time","BM_erase/8","ns",null,"it ran out of keys"]]
// An element has measure, subject, unit and the list of values, or null and a reason instead of the
// list.
//
// Reading returns what was written, and refuses any other text (exceptions.h), whoever wrote it.
// Samples with a value that is not finite are written as absent.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "counters/samples.h"

namespace stab::store {

std::string sample_list(const std::vector<counters::Samples>& samples);

// Reuses the memory of `samples`: for many trials with the same names it allocates nothing.
void read_sample_list(std::string_view text, std::vector<counters::Samples>& samples);

}  // namespace stab::store
