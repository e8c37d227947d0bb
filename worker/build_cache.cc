// SPDX-License-Identifier: MIT
#include "worker/build_cache.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <ranges>
#include <string_view>
#include <tuple>
#include <vector>

namespace stab::worker {
namespace {

namespace fs = std::filesystem;
using std::chrono::steady_clock;

constexpr int lock_poll_ms = 50;
constexpr std::uint64_t block_bytes = 512;
constexpr std::string_view lock_ending = ".lock";

struct Entry {
  std::string path;
  timespec used{};
  std::uint64_t own_bytes = 0;  // of a file or folder that is no entry
  std::uint64_t bytes = 0;      // as far as they are counted
  bool is_counted = false;
  bool is_foreign = false;  // neither an entry nor a draft, so nobody locks it
  bool is_in_use = false;
  bool goes = false;
};

std::string lock_of(const std::string& entry) {
  return entry + std::string(lock_ending);
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

// The entry's lock, or nullopt if another process holds it.
std::optional<Fd> lock_now(const std::string& entry) {
  Fd lock(open(lock_of(entry).c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644));
  if (!lock || flock(lock.get(), LOCK_EX | LOCK_NB) != 0 || !is_current(lock)) return std::nullopt;
  return lock;
}

bool is_in_use(const std::string& entry) {
  const Fd lock(open(lock_of(entry).c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  return lock && flock(lock.get(), LOCK_EX | LOCK_NB) != 0;
}

// The names of entries have no dots.
bool is_entry(const std::string& path, const struct stat& status) {
  return S_ISDIR(status.st_mode) && !fs::path(path).filename().string().contains('.');
}

bool is_draft(const Entry& entry) {
  return fs::path(entry.path).filename().string().starts_with("draft-");
}

// Adds the size of everything in a folder. Returns false if something can't be looked at, or if
// `wait` ends before.
bool count_in(const std::string& folder, const LockWait& wait, std::uint64_t& bytes) {
  std::error_code error;
  for (auto it = fs::recursive_directory_iterator(folder, error); !error && it != fs::end(it);
       it.increment(error)) {
    if (is_over(wait, 0)) return false;
    const auto status = status_of(it->path());
    if (!status) return false;
    bytes += static_cast<std::uint64_t>(status->st_blocks) * block_bytes;
  }
  return !error;
}

void count(Entry& entry, const LockWait& wait) {
  const auto status = status_of(entry.path);
  if (!status || is_over(wait, 0)) return;
  entry.bytes = entry.own_bytes;
  entry.is_counted = !S_ISDIR(status->st_mode) || count_in(entry.path, wait, entry.bytes);
}

void empty_lock(const std::string& path) {
  const Fd lock(open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat status{};
  if (lock && fstat(lock.get(), &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0)
    static_cast<void>(ftruncate(lock.get(), 0));
}

// An entry's lock is an empty file that its owner can open. Anything else would keep the entry in
// the cache, or would hide bytes. A lock without an entry goes, too, unless somebody holds it.
void check_lock(const std::string& path, const struct stat& status) {
  constexpr mode_t needed = S_IRUSR | S_IWUSR;
  if (!S_ISREG(status.st_mode) || (status.st_mode & needed) != needed) {
    unlink(path.c_str());
    return;
  }
  const std::string entry = path.substr(0, path.size() - lock_ending.size());
  if (const auto lock = lock_now(entry); lock && !status_of(entry))
    unlink(path.c_str());
  else
    empty_lock(path);
}

bool remove_foreign(const std::string& path) {
  if (unlink(path.c_str()) != 0) remove_tree(path);
  return !status_of(path);
}

// If the disk has no room for a lock, nobody has one.
bool remove_draft(const std::string& path) {
  const auto lock = lock_now(path);
  if (!lock && status_of(lock_of(path))) return false;
  const bool removed = remove_tree(path);
  unlink(lock_of(path).c_str());
  return removed;
}

// The entries in use come first, then the others, the most recently used ones first.
std::vector<Entry> entries_in(const std::string& cache) {
  std::vector<Entry> entries;
  std::error_code error;
  for (auto it = fs::directory_iterator(cache, error); !error && it != fs::end(it);
       it.increment(error)) {
    const std::string path = it->path().string();
    const auto own = status_of(path);
    if (!own) continue;
    if (path.ends_with(lock_ending)) {
      if (S_ISDIR(own->st_mode))
        remove_tree(path);
      else
        check_lock(path, *own);
      continue;
    }
    const bool foreign = !is_entry(path, *own);
    const auto lock = foreign ? std::nullopt : status_of(lock_of(path));
    entries.push_back(
        {.path = path,
         .used = lock ? lock->st_mtim : own->st_mtim,
         .own_bytes = foreign ? static_cast<std::uint64_t>(own->st_blocks) * block_bytes : 0,
         .is_foreign = foreign,
         .is_in_use = !foreign && is_in_use(path)});
  }
  std::ranges::sort(entries, std::greater(), [](const Entry& entry) {
    return std::tuple(entry.is_in_use, entry.used.tv_sec, entry.used.tv_nsec);
  });
  return entries;
}

// Decides which entries go, so that the rest has at most `limit` bytes.
void choose(std::vector<Entry>& entries, std::uint64_t limit) {
  std::uint64_t bytes = 0;
  bool is_full = false;
  for (Entry& entry : entries) {
    if (entry.is_in_use) {
      bytes += entry.bytes;
    } else if (!entry.is_counted || is_draft(entry)) {
      entry.goes = true;
    } else {
      is_full = is_full || bytes + entry.bytes > limit;
      entry.goes = is_full && (!entry.is_foreign || entry.bytes > 0);
      if (!is_full) bytes += entry.bytes;
    }
  }
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
  const auto left = status_of(folder);
  if (!left) return true;
  // It may have folders whose paths are too long. A link's target is not ours.
  return S_ISDIR(left->st_mode) && empty_folder(folder) && rmdir(folder.c_str()) == 0;
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
  const auto lock = lock_now(entry);
  if (!lock) return false;  // B1: there may be another lock by now
  // Nobody needs to lock this folder, because whoever removes it does what we want.
  std::string away = cache + "/draft-XXXXXX";
  if (mkdtemp(away.data()) == nullptr) return false;
  std::error_code error;
  fs::rename(entry, away, error);
  unlink(lock_of(entry).c_str());
  remove_tree(away);
  return !error;
}

Result<Draft> Draft::make(const std::string& cache) {
  constexpr int most_tries = 5;
  for (int i = 0; i < most_tries; ++i) {
    std::string path = cache + "/draft-XXXXXX";
    if (mkdtemp(path.data()) == nullptr) return fail_errno("cannot create " + path);
    auto lock =
        lock_entry(path, Hold::alone, {.until = steady_clock::now() + std::chrono::seconds(1)});
    if (!lock) {
      const int why = errno;
      rmdir(path.c_str());
      return fail_errno("cannot lock " + path, why);
    }
    // Somebody who cuts the cache may have removed the folder before it was locked.
    if (status_of(path)) return Draft(std::move(path), std::move(*lock));
    unlink(lock_of(path).c_str());
  }
  return fail("something keeps removing new folders from " + cache);
}

Draft::~Draft() {
  if (!lock_) return;
  remove_tree(path_);
  unlink(lock_of(path_).c_str());
}

std::string cut_cache(const std::string& cache, std::uint64_t limit, const LockWait& wait) {
  std::vector<Entry> entries = entries_in(cache);
  const auto now = steady_clock::now();
  const LockWait counting{.stop_fd = wait.stop_fd, .until = now + (wait.until - now) / 2};
  for (Entry& entry : entries) count(entry, counting);
  choose(entries, limit);
  std::uint64_t removed = 0;
  std::uint64_t freed = 0;
  bool knows_all = true;
  for (const Entry& entry : std::views::reverse(entries)) {
    if (!entry.goes) continue;
    if (is_over(wait, 0)) break;
    if (!(is_draft(entry)    ? remove_draft(entry.path)
          : entry.is_foreign ? remove_foreign(entry.path)
                             : remove_entry(cache, entry.path)))
      continue;
    ++removed;
    freed += entry.bytes;
    knows_all = knows_all && entry.is_counted;
  }
  if (removed == 0) return "";
  return fmt::format(
      "{} of {} entries were removed from the cache, which freed {}{:.1f} MiB. Entries are builds, "
      "copies of sources, and other files; the least recently used are removed first",
      removed, entries.size(), knows_all ? "" : "at least ",
      static_cast<double>(freed) / (1 << 20));
}

}  // namespace stab::worker
