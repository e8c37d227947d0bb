// SPDX-License-Identifier: MIT
#include "store/copy.h"

#include <SQLiteCpp/Backup.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "base/fd.h"
#include "store/connection.h"
#include "store/failure.h"
#include "store/schema.h"
#include "store/verify.h"

namespace stab::store {
namespace {

constexpr int busy_timeout_ms = 2000;

[[noreturn]] void refuse_errno(const std::string& what) {
  refuse(fmt::format("{}: {}", what, std::strerror(errno)));
}

void sync_path(const std::string& path, int flags) {
  const Fd fd(open(path.c_str(), flags | O_CLOEXEC));
  if (!fd || fsync(fd.get()) != 0) refuse_errno(fmt::format("cannot write {}", path));
}

void copy_pages(SQLite::Database& from, const std::string& to) {
  SQLite::Database copy(to, SQLite::OPEN_READWRITE, busy_timeout_ms);
  SQLite::Backup pages(copy, from);
  if (pages.executeStep(-1) != SQLITE_DONE) refuse("another program keeps it locked; try again");
}

}  // namespace

void refuse_existing(const std::string& path) {
  struct stat status{};
  if (lstat(path.c_str(), &status) == 0)
    refuse(fmt::format("{} is there already: name a file that is not", path));
  for (const char* suffix : {"-wal", "-journal"})
    if (const std::string log = path + suffix; lstat(log.c_str(), &status) == 0)
      refuse(
          fmt::format("beside {} there is {}, the log of another database, which would change "
                      "it: move it away",
                      path, log));
}

Unfinished::Unfinished(const std::string& name)
    : name_(name), path_(fmt::format("{}.{}.partial", name, getpid())) {
  unlink(path_.c_str());  // of a process that is no more
  const Fd made(open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!made) refuse_errno(fmt::format("cannot make {}", path_));
}

Unfinished::~Unfinished() {
  if (path_.empty()) return;
  for (const char* suffix : {"", "-journal", "-wal", "-shm"}) unlink((path_ + suffix).c_str());
}

void Unfinished::finish(bool replace) {
  // The log is emptied and gone: whoever reads the file needs to write nothing beside it.
  SQLite::Database(path_, SQLite::OPEN_READWRITE, busy_timeout_ms)
      .exec("PRAGMA journal_mode = DELETE");
  sync_path(path_, O_RDONLY);
  const unsigned flags = replace ? 0U : unsigned{RENAME_NOREPLACE};
  bool moved = renameat2(AT_FDCWD, path_.c_str(), AT_FDCWD, name_.c_str(), flags) == 0;
  // Some file systems cannot say in one step that nothing is replaced.
  if (!moved && !replace && (errno == EINVAL || errno == ENOSYS))
    moved = link(path_.c_str(), name_.c_str()) == 0 && unlink(path_.c_str()) == 0;
  if (!moved) {
    const int number = errno;
    if (number == EEXIST) refuse_existing(name_);
    errno = number;
    refuse_errno(fmt::format("cannot make {}", name_));
  }
  path_.clear();
  const std::string folder = std::filesystem::path(name_).parent_path().string();
  sync_path(folder.empty() ? "." : folder, O_RDONLY | O_DIRECTORY);
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
      SQLite::Database source(from, SQLite::OPEN_READONLY, busy_timeout_ms);
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

Outcome<bool> copy_of_this_version(const std::string& from, const std::string& to) {
  return guarded("cannot read the database", from, [&] {
    {
      Connection source(from, Connection::ReadOnly(), Connection::AnyVersion());
      if (source.number("PRAGMA user_version") >= schema_version) return false;
      refuse_programs(source.database());
      copy_database(source.database(), to, false);
    }
    Connection copy(to);
    migrate(copy, schema_steps());
    return true;
  });
}

Outcome<void> keep_database(std::string_view bytes, const std::string& to) {
  return guarded("cannot keep the database", to, [&] {
    refuse_existing(to);
    Unfinished made(to);
    const Fd file(open(made.path().c_str(), O_WRONLY | O_CLOEXEC));
    if (!file || !write_all(file.get(), bytes)) refuse_errno("cannot write it");
    made.finish(false);
  });
}

}  // namespace stab::store
