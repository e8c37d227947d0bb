// SPDX-License-Identifier: MIT
// Shows what a stopping rule saw at its last look while the experiment runs, one line per
// comparison. The intervals are valid at every look, so watching them narrow misleads nobody.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "protocol/messages.h"

namespace stab::client {

// Makes lines for a terminal under one axis: "new   -2.1 %  -3.4 to -0.8 %    [-o-]  |   faster".
// Each fits into `width` columns, not counting colour codes. There are at most `most` lines; if not
// all comparisons fit, the last line counts the rest. Returns no lines without comparisons.
struct Room {
  std::size_t width = 80;
  std::size_t most = 20;
  bool colour = false;
};
std::vector<std::string> change_lines(const std::vector<protocol::Change>& changes,
                                      const Room& room);

// "new against old: -2.1 % (-3.4 to -0.8 %), faster": for output that is not redrawn.
std::string change_words(const protocol::Change& change);

}  // namespace stab::client
