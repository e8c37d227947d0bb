// SPDX-License-Identifier: MIT
#include "store/copy.h"

#include <SQLiteCpp/Backup.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "base/fd.h"
#include "store/connection.h"
#include "store/exceptions.h"
#include "store/verify.h"

namespace stab::store {
namespace {

constexpr int copy_timeout_ms = 2000;

[[noreturn]] void refuse_errno(const std::string& what) {
  refuse(fmt::format("{}: {}", what, std::strerror(errno)));
}

constexpr std::string_view partial = ".partial";
constexpr std::string_view partial_folder = ".partial-folder";

// NAME.PID.partial, NAME.PID.partial-folder
bool is_unfinished(std::string_view found, const std::string& name) {
  if (!found.starts_with(name + ".")) return false;
  found.remove_prefix(name.size() + 1);
  const auto digits = found.find_first_not_of("0123456789");
  if (digits == 0 || digits == std::string_view::npos) return false;
  found.remove_prefix(digits);
  return found == partial || found == partial_folder;
}

void sync_path(const std::string& path, int flags) {
  const Fd fd(open(path.c_str(), flags | O_CLOEXEC));
  if (!fd || fsync(fd.get()) != 0) refuse_errno(fmt::format("cannot write {}", path));
}

std::string folder_of(const std::string& name) {
  const std::string folder = std::filesystem::path(name).parent_path().string();
  return folder.empty() ? "." : folder;
}

// Writes a file without a name and links it, so that nothing is left if we are killed. Returns
// false if the file system doesn't support this.
bool keep_at_once(std::string_view bytes, const std::string& to) {
  const Fd file(open(folder_of(to).c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600));
  if (!file) return false;
  if (!write_all(file.get(), bytes) || fsync(file.get()) != 0) refuse_errno("cannot write it");
  const std::string itself = fmt::format("/proc/self/fd/{}", file.get());
  if (linkat(AT_FDCWD, itself.c_str(), AT_FDCWD, to.c_str(), AT_SYMLINK_FOLLOW) != 0) {
    const int number = errno;
    if (number == EEXIST) refuse_existing(to);
    return false;
  }
  sync_path(folder_of(to), O_RDONLY | O_DIRECTORY);
  return true;
}

void copy_pages(SQLite::Database& from, const std::string& to) {
  SQLite::Database copy(to, SQLite::OPEN_READWRITE, copy_timeout_ms);
  SQLite::Backup pages(copy, from);
  if (pages.executeStep(-1) != SQLITE_DONE)
    refuse("another program has locked the database; try again");
}

}  // namespace

void refuse_existing(const std::string& path) {
  struct stat status{};
  if (lstat(path.c_str(), &status) == 0)
    refuse(fmt::format("{} already exists: choose another name", path));
  for (const char* suffix : {"-wal", "-journal"})
    if (const std::string log = path + suffix; lstat(log.c_str(), &status) == 0)
      refuse(
          fmt::format("cannot write the new database to {}: the log {} belongs to another "
                      "database, and SQLite would apply this log to the new database; move the "
                      "log away",
                      path, log));
}

std::string unfinished_name(const std::string& name) {
  return fmt::format("{}.{}{}", name, getpid(), partial);
}
std::string unfinished_folder(const std::string& name) {
  return fmt::format("{}.{}{}", name, getpid(), partial_folder);
}

void remove_left_beside(const std::string& name) {
  const std::string own = std::filesystem::path(name).filename().string();
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder_of(name), error)) {
    const std::string left = entry.path().string();
    if (!is_unfinished(entry.path().filename().string(), own)) continue;
    const Fd opened(open(left.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
    if (!opened || flock(opened.get(), LOCK_EX | LOCK_NB) != 0) continue;
    for (const char* suffix : {"", "-journal", "-wal", "-shm"})
      std::filesystem::remove_all(left + suffix, error);
  }
}

Unfinished::Unfinished(const std::string& name) : name_(name), path_(unfinished_name(name)) {
  remove_left_beside(name);
  unlink(path_.c_str());  // another file with this name
  held_ = Fd(open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!held_) refuse_errno(fmt::format("cannot make {}", path_));
  flock(held_.get(), LOCK_EX | LOCK_NB);
}

Unfinished::~Unfinished() {
  if (path_.empty()) return;
  for (const char* suffix : {"", "-journal", "-wal", "-shm"}) unlink((path_ + suffix).c_str());
}

void Unfinished::finish(bool replace) {
  // Empties and removes the log, so that readers of the file don't have to write beside it.
  SQLite::Database(path_, SQLite::OPEN_READWRITE, copy_timeout_ms)
      .exec("PRAGMA journal_mode = DELETE");
  sync_path(path_, O_RDONLY);
  const unsigned flags = replace ? 0U : unsigned{RENAME_NOREPLACE};
  bool moved = renameat2(AT_FDCWD, path_.c_str(), AT_FDCWD, name_.c_str(), flags) == 0;
  // Some file systems don't support RENAME_NOREPLACE.
  if (!moved && !replace && (errno == EINVAL || errno == ENOSYS))
    moved = link(path_.c_str(), name_.c_str()) == 0 && unlink(path_.c_str()) == 0;
  if (!moved) {
    const int number = errno;
    if (number == EEXIST) refuse_existing(name_);
    errno = number;
    refuse_errno(fmt::format("cannot make {}", name_));
  }
  path_.clear();
  sync_path(folder_of(name_), O_RDONLY | O_DIRECTORY);
}

void copy_database(SQLite::Database& from, const std::string& to, bool replace) {
  if (!replace) refuse_existing(to);
  Unfinished unfinished(to);
  copy_pages(from, unfinished.path());
  unfinished.finish(replace);
}

Outcome<std::vector<Damage>> back_up(const std::string& from, const std::string& to) {
  return guarded("cannot copy the database", from, [&] {
    refuse_existing(to);
    Unfinished made(to);
    {
      SQLite::Database source(from, SQLite::OPEN_READONLY, copy_timeout_ms);
      check_identity(source);
      copy_pages(source, made.path());
    }
    std::vector<Damage> damage;
    {
      Connection copy(made.path(), Connection::ReadOnly(), Connection::AnyVersion());
      damage = find_damage(copy, std::nullopt);
    }
    made.finish(false);
    return damage;
  });
}

Outcome<void> keep_database(std::string_view bytes, const std::string& to) {
  return guarded("cannot store the database", to, [&] {
    refuse_existing(to);
    if (keep_at_once(bytes, to)) return;
    Unfinished made(to);
    const Fd file(open(made.path().c_str(), O_WRONLY | O_CLOEXEC));
    if (!file || !write_all(file.get(), bytes)) refuse_errno("cannot write it");
    made.finish(false);
  });
}

}  // namespace stab::store
