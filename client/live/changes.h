// SPDX-License-Identifier: MIT
// What a stopping rule saw last, a line a comparison, while the experiment runs. Its intervals hold
// at every look, so that nobody is misled who watches them narrow.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "protocol/messages.h"

namespace stab::client {

// Below each other on a terminal, under one axis: "new   -2.1 %  -3.4 to -0.8 %    [-o-]  |   faster".
// Each fits into `width` columns, but for colours; `most` lines at most, the last of which counts
// those that have no room. Empty without comparisons.
struct Room {
  std::size_t width = 80;
  std::size_t most = 20;
  bool colour = false;
};
std::vector<std::string> change_lines(const std::vector<protocol::Change>& changes,
                                      const Room& room);

// "new against old: -2.1 % (-3.4 to -0.8 %), faster", where lines stay.
std::string change_words(const protocol::Change& change);

}  // namespace stab::client
