// SPDX-License-Identifier: MIT
// Assigns samples to functions by replaying all records in the order of time.
//
// Invariants:
//   1. A function's name is right or missing: code is "[unknown]" from the moment on at which
//      records may be missing, and in files that have changed since they were mapped.
//   2. The samples of all functions add up to the samples that were taken.
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

// A file's symbols, and the state of the file when they were read.
struct KnownFile {
  std::uint64_t inode = 0;
  std::int64_t changed_ns = 0;
  std::shared_ptr<const Symbols> symbols{};
};
using KnownFiles = std::map<std::string, KnownFile>;

// Returns the functions with the most weight first. `known` is a cache, which is used and updated.
std::vector<ProfiledFunction> name_samples(Taken taken, const PlaceList& places, KnownFiles& known);

// Sorts the functions in that order. Functions that do not fit into a profile are merged into one.
std::vector<ProfiledFunction> bounded(std::vector<ProfiledFunction> all);

}  // namespace stab::counters
