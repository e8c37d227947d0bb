// SPDX-License-Identifier: MIT
// Sorts rows into groups, in one pass.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "stats/data/views.h"

namespace stab::stats {

// The number of keys; nothing if 64 bits cannot number them.
std::optional<std::uint64_t> key_space(const Views& views);

struct Collected {
  std::vector<Group> groups;
  std::vector<Trial> trials;  // with the places of their groups in `groups`
};

// `keys` is what key_space() returned. Sets the noise too.
Collected collect(const Dataset& data, std::span<const Row> rows, const Views& views,
                  std::uint64_t keys, Prepared& out);

// Moves groups and trials to their subjects. `names` are the names of the subjects, or empty.
void distribute(Collected collected, const std::vector<std::string>& names, Prepared& out);

}  // namespace stab::stats
