// SPDX-License-Identifier: MIT
// Locks the entries of the build cache, and removes entries when the cache is too large.
//
// Each entry (KEY, sources-DIGEST) has a lock beside it, ENTRY.lock. A process that uses the entry
// holds the lock shared; a process that makes or removes the entry holds it alone. The kernel
// releases the locks of a process that ends. The lock file's modification time is the time of the
// entry's last use.
//
// Invariants
//  B1  An entry in use is not removed, whichever daemon its user belongs to.
//  B2  An entry exists completely or not at all: it is renamed before it is taken apart.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/fd.h"

namespace stab::worker {

enum class Hold { shared, alone };

struct LockWait {
  int stop_fd = -1;  // wait only until it becomes readable
  std::chrono::steady_clock::time_point until;
};

// Locks the entry and marks it as used now. Returns nullopt if the lock can't be had in time.
std::optional<Fd> lock_entry(const std::string& entry, Hold hold, const LockWait& wait);
// Lets others use the entry, too. Returns false if the entry may have been removed meanwhile.
bool share(const Fd& lock, const std::string& entry);

// Removes a folder with everything in it. First makes all folders writable, because builds can
// leave folders in which nothing can be removed. Does not follow links. Returns false if something
// is left.
bool remove_tree(const std::string& folder);

// Returns false if the entry is in use or can't be removed.
bool remove_entry(const std::string& cache, const std::string& entry);

// A folder in the cache in which this process makes an entry, until the entry is renamed. Its lock
// is held as long as this object exists. Then it is removed with what is left in it; if the process
// is killed, cut_cache() removes it.
class Draft {
 public:
  static Result<Draft> make(const std::string& cache);
  Draft(Draft&&) noexcept = default;
  Draft(const Draft&) = delete;
  Draft& operator=(const Draft&) = delete;
  ~Draft();
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  Draft(std::string path, Fd lock) : path_(std::move(path)), lock_(std::move(lock)) {}

  std::string path_;
  Fd lock_;
};

// Removes the entries that were unused for the longest time until the cache has at most `limit`
// bytes. Also removes drafts that nobody holds, however old they are, and everything whose size
// can't be found out: folders that can't be read, paths that are too long, and the least recently
// used entries if half of the time is over before all are counted. Other files in the cache are
// counted and removed like entries. Does not follow links. Stops when the time is over; the next
// call continues. Describes in words what it did; "" if it did nothing.
std::string cut_cache(const std::string& cache, std::uint64_t limit, const LockWait& wait);

}  // namespace stab::worker
