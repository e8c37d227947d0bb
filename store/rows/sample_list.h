// SPDX-License-Identifier: MIT
// All samples of a trial as the text of one column (doc/store.md, "Samples"), and back:
//   [["time","BM_insert/8","ns",[12.5,13]],["time","BM_erase/8","ns",null,"it ran out of keys"]]
// An element is measure, subject, unit and the list of values, which is null where a reason stands
// behind it.
//
// What is written is read back equal; what is no such text is refused (failure.h), whoever wrote
// it. Values that are not finite have no text: their samples are written as absent.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "counters/samples.h"

namespace stab::store {

std::string sample_list(const std::vector<counters::Samples>& samples);

// Uses what is in `samples` again: of many trials with the same names it allocates nothing.
void read_sample_list(std::string_view text, std::vector<counters::Samples>& samples);

}  // namespace stab::store
