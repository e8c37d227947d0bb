// SPDX-License-Identifier: MIT
#include "worker/build_cache.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <vector>

namespace stab::worker {
namespace {

namespace fs = std::filesystem;
using std::chrono::steady_clock;

constexpr int lock_poll_ms = 50;
constexpr std::int64_t draft_seconds = 24L * 3600;  // copying sources never takes that long
constexpr std::uint64_t block_bytes = 512;

struct Entry {
  std::string path;
  std::uint64_t bytes = 0;
  timespec used{};
  bool foreign = false;  // neither an entry nor a draft, so nobody locks it
};

std::string lock_of(const std::string& entry) {
  return entry + ".lock";
}

std::optional<struct stat> status_of(const std::string& path) {
  struct stat status{};
  if (lstat(path.c_str(), &status) != 0) return std::nullopt;
  return status;
}

// Whether the lock's file still has its name.
bool is_current(const Fd& lock) {
  struct stat status{};
  return fstat(lock.get(), &status) == 0 && status.st_nlink > 0;
}

bool is_over(const LockWait& wait, int after_ms) {
  pollfd stop{wait.stop_fd, POLLIN, 0};
  return poll(&stop, 1, after_ms) > 0 || steady_clock::now() > wait.until;
}

// The names of entries have no dots.
bool is_entry(const fs::directory_entry& found) {
  std::error_code error;
  return !found.path().filename().string().contains('.') &&
         found.symlink_status(error).type() == fs::file_type::directory;
}

// Returns nullopt if `wait` ends, by its time or by a stop, before all files have been looked at.
std::optional<std::uint64_t> bytes_in(const std::string& folder, const LockWait& wait) {
  std::uint64_t bytes = 0;
  std::error_code error;
  for (auto it = fs::recursive_directory_iterator(
           folder, fs::directory_options::skip_permission_denied, error);
       !error && it != fs::end(it); it.increment(error)) {
    if (is_over(wait, 0)) return std::nullopt;
    if (const auto status = status_of(it->path()))
      bytes += static_cast<std::uint64_t>(status->st_blocks) * block_bytes;
  }
  return bytes;
}

bool is_draft(const Entry& entry) {
  return fs::path(entry.path).filename().string().starts_with("draft-");
}

// An entry's lock is an empty file. Emptying it keeps others from storing something there.
void empty_lock(const std::string& path) {
  const Fd lock(open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat status{};
  if (lock && fstat(lock.get(), &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0)
    static_cast<void>(ftruncate(lock.get(), 0));
}

void remove_foreign(const std::string& path) {
  if (unlink(path.c_str()) != 0) remove_tree(path);
}

// Returns an empty list if the time is over before it has looked at all entries.
std::vector<Entry> entries_in(const std::string& cache, const LockWait& wait) {
  std::vector<Entry> entries;
  std::error_code error;
  for (auto it = fs::directory_iterator(cache, error); !error && it != fs::end(it);
       it.increment(error)) {
    const std::string path = it->path().string();
    const auto own = status_of(path);
    if (!own) continue;
    const bool folder = S_ISDIR(own->st_mode);
    if (!folder && path.ends_with(".lock")) {
      empty_lock(path);
      continue;
    }
    const bool foreign = !is_entry(*it);
    const auto lock = foreign ? std::nullopt : status_of(lock_of(path));
    const auto below = folder ? bytes_in(path, wait) : std::optional<std::uint64_t>(0);
    if (!below) return {};
    entries.push_back(
        {.path = path,
         .bytes = *below + (foreign ? static_cast<std::uint64_t>(own->st_blocks) * block_bytes : 0),
         .used = lock ? lock->st_mtim : own->st_mtim,
         .foreign = foreign});
  }
  std::ranges::sort(entries, {}, [](const Entry& entry) {
    return std::pair(entry.used.tv_sec, entry.used.tv_nsec);
  });
  return entries;
}

}  // namespace

bool remove_tree(const std::string& folder) {
  std::error_code error;
  if (fs::is_directory(fs::symlink_status(folder, error))) {
    fs::permissions(folder, fs::perms::owner_all, fs::perm_options::add, error);
    for (auto it = fs::recursive_directory_iterator(
             folder, fs::directory_options::skip_permission_denied, error);
         !error && it != fs::end(it); it.increment(error))
      if (it->symlink_status(error).type() == fs::file_type::directory)
        fs::permissions(it->path(), fs::perms::owner_all, fs::perm_options::add, error);
  }
  fs::remove_all(folder, error);
  return !status_of(folder).has_value();
}

std::optional<Fd> lock_entry(const std::string& entry, Hold hold, const LockWait& wait) {
  const std::string path = lock_of(entry);
  const int how = (hold == Hold::shared ? LOCK_SH : LOCK_EX) | LOCK_NB;
  for (;;) {
    Fd lock(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644));
    if (!lock) return std::nullopt;
    if (flock(lock.get(), how) != 0) {
      if (errno != EWOULDBLOCK || is_over(wait, lock_poll_ms)) return std::nullopt;
    } else if (is_current(lock)) {
      futimens(lock.get(), nullptr);
      return lock;
    }
  }
}

bool share(const Fd& lock, const std::string& entry) {
  // flock() may release the lock for a moment, and another process may remove the entry then.
  return flock(lock.get(), LOCK_SH) == 0 && is_current(lock) && status_of(entry).has_value();
}

// B2
bool remove_entry(const std::string& cache, const std::string& entry) {
  const std::string lock_path = lock_of(entry);
  const Fd lock(open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644));
  if (!lock || flock(lock.get(), LOCK_EX | LOCK_NB) != 0 || !is_current(lock))
    return false;  // B1: there may be another lock by now
  std::string away = cache + "/draft-XXXXXX";
  if (mkdtemp(away.data()) == nullptr) return false;
  std::error_code error;
  fs::rename(entry, away, error);
  unlink(lock_path.c_str());
  remove_tree(away);
  return !error;
}

std::string cut_cache(const std::string& cache, std::uint64_t limit, const LockWait& wait) {
  const std::vector<Entry> entries = entries_in(cache, wait);
  std::uint64_t bytes = 0;
  for (const Entry& entry : entries) bytes += entry.bytes;
  const std::int64_t now = std::chrono::duration_cast<std::chrono::seconds>(
                               std::chrono::system_clock::now().time_since_epoch())
                               .count();
  std::uint64_t removed = 0;
  std::uint64_t freed = 0;
  for (const Entry& entry : entries) {
    if (is_over(wait, 0)) break;
    if (is_draft(entry)) {
      if (entry.used.tv_sec + draft_seconds > now) continue;
      remove_tree(entry.path);
    } else if (entry.foreign) {
      if (bytes <= limit || entry.bytes == 0) continue;
      remove_foreign(entry.path);
      if (status_of(entry.path)) continue;
    } else if (bytes <= limit || !remove_entry(cache, entry.path)) {
      continue;
    }
    ++removed;
    freed += entry.bytes;
    bytes -= entry.bytes;
  }
  if (removed == 0) return "";
  return fmt::format(
      "{} of {} entries were removed from the cache, which freed {:.1f} MiB. Entries are builds, "
      "copies of sources, and other files; the least recently used are removed first",
      removed, entries.size(), static_cast<double>(freed) / (1 << 20));
}

}  // namespace stab::worker
