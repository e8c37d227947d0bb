// SPDX-License-Identifier: MIT
// Puts samples down to functions: goes through all that was told in the order of time.
//
// Invariants:
//   1. A function's name is right, or there is none: from the moment on at which what was told may be
//      incomplete, and in files that have changed since they were mapped, code is "[unknown]".
//   2. The samples of all functions together are those that were taken.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "counters/profile.h"
#include "counters/profiles/place_list.h"
#include "counters/profiles/sampler.h"
#include "counters/profiles/symbols.h"

namespace stab::counters {

// By path, as they were when they were read.
struct KnownFile {
  std::uint64_t inode = 0;
  std::int64_t changed_ns = 0;
  std::shared_ptr<const Symbols> symbols{};
};
using KnownFiles = std::map<std::string, KnownFile>;

// Most weight first. `known` is asked, and learns.
std::vector<ProfiledFunction> name_samples(Taken taken, const PlaceList& places, KnownFiles& known);

// In that order; those for which a profile has no room are taken together.
std::vector<ProfiledFunction> bounded(std::vector<ProfiledFunction> all);

}  // namespace stab::counters
