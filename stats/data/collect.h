// SPDX-License-Identifier: MIT
// Rows -> groups, in one pass.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "stats/data/views.h"

namespace stab::stats {

// How many keys there are, or nothing if they cannot be numbered.
std::optional<std::uint64_t> key_space(const Views& views);

struct Collected {
  std::vector<Group> groups;
  std::vector<Trial> trials;  // with the places of their groups in `groups`
};

// `keys`: key_space(). Sets the noise too.
Collected collect(const Dataset& data, std::span<const Row> rows, const Views& views,
                  std::uint64_t keys, Prepared& out);

// Groups and trials go to their subjects; `names` are the subjects', or none.
void distribute(Collected collected, const std::vector<std::string>& names, Prepared& out);

}  // namespace stab::stats
