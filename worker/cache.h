// SPDX-License-Identifier: MIT
// Who uses what in the cache of builds, and what has to go when it is too large.
//
// Beside each entry (KEY, sources-DIGEST) is a lock, ENTRY.lock: who uses the entry holds it
// shared, who makes or removes it holds it alone. The kernel takes it back from whoever ends. When
// the lock's file was changed last is when the entry was used last.
//
// Invariants
//  B1  An entry that somebody uses is not removed, whichever daemon they belong to.
//  B2  An entry is there as a whole or not at all: it is renamed before it is taken apart.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "base/fd.h"

namespace stab::worker {

enum class Hold { shared, alone };

struct LockWait {
  int stop_fd = -1;  // no longer than until it becomes readable
  std::chrono::steady_clock::time_point until;
};

// The lock of the entry, which counts as used now. Nothing if it cannot be had.
std::optional<Fd> lock_entry(const std::string& entry, Hold hold, const LockWait& wait);
// Others may use it, too, from now on. False: it may have been removed meanwhile.
bool share(const Fd& lock, const std::string& entry);

// False if somebody uses it.
bool remove_entry(const std::string& cache, const std::string& entry);

// Removes those entries that were not used for the longest time until the cache has at most `limit`
// bytes, and what killed workers left. Whatever else lies there counts and goes like an entry. Follows no links. What there is no time for is left to the
// next call. Returns what it did in words, "" for nothing.
std::string cut_cache(const std::string& cache, std::uint64_t limit, const LockWait& wait);

}  // namespace stab::worker
