// SPDX-License-Identifier: MIT
#include "base/fd.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

namespace stab {

Fd& Fd::operator=(Fd&& other) noexcept {
  if (this != &other) {
    reset();
    fd_ = std::exchange(other.fd_, -1);
  }
  return *this;
}

void Fd::reset() {
  if (fd_ >= 0) close(fd_);
  fd_ = -1;
}

Result<std::string> read_file(const std::string& path, std::size_t limit) {
  // Without O_NONBLOCK, open() would hang on a FIFO that nobody writes.
  const Fd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd) return fail_errno(fmt::format("cannot open {}", path));
  std::string content;
  std::array<char, 65536> buffer;
  for (;;) {
    const ssize_t n = read(fd.get(), buffer.data(), buffer.size());
    if (n == 0) return content;
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno(fmt::format("cannot read {}", path));
    content.append(buffer.data(), static_cast<std::size_t>(n));
    if (content.size() > limit)
      return fail(fmt::format("{} is larger than the limit of {} bytes", path, limit));
  }
}

Result<std::string> read_piece(const Fd& file, std::size_t bytes) {
  std::string piece(bytes, '\0');
  std::size_t size = 0;
  while (size < piece.size()) {
    const ssize_t n = read(file.get(), piece.data() + size, piece.size() - size);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno("cannot read a file");
    if (n == 0) break;
    size += static_cast<std::size_t>(n);
  }
  piece.resize(size);
  return piece;
}

Result<void> write_file_atomically(const std::string& path, std::string_view content) {
  // The name is random: pids are not unique across pid namespaces.
  std::string draft = path + ".XXXXXX";
  const Fd fd(mkostemp(draft.data(), O_CLOEXEC));
  if (!fd) return fail_errno(fmt::format("cannot create {}", draft));
  auto written = write_all(fd.get(), content);
  if (written && fchmod(fd.get(), 0644) != 0) written = fail_errno("fchmod");
  if (written && fsync(fd.get()) != 0) written = fail_errno("fsync");
  if (written && std::rename(draft.c_str(), path.c_str()) != 0) written = fail_errno("rename");
  if (!written) {
    unlink(draft.c_str());
    return fail(fmt::format("cannot write {}: {}", path, written.error().message));
  }
  return {};
}

Result<void> write_all(int fd, std::string_view content) {
  while (!content.empty()) {
    const ssize_t n = write(fd, content.data(), content.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno("cannot write");
    content.remove_prefix(static_cast<std::size_t>(n));
  }
  return {};
}

namespace {

std::vector<std::string> names_in_folder(int folder) {
  std::vector<std::string> names;
  const int copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(copy >= 0 ? fdopendir(copy) : nullptr,
                                                    closedir);
  if (!entries) return names;
  while (const dirent* entry = readdir(entries.get()))
    if (const std::string_view name = entry->d_name; name != "." && name != "..")
      names.emplace_back(name);
  return names;
}

// Removes a folder. Its subfolders are moved to the top instead of visited recursively, so that any
// depth is possible.
bool lift_what_is_in(int top, const std::string& name, unsigned& lifted) {
  fchmodat(top, name.c_str(), 0700, 0);
  const Fd folder(openat(top, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder) return false;
  for (const std::string& each : names_in_folder(folder.get())) {
    if (unlinkat(folder.get(), each.c_str(), 0) == 0) continue;
    fchmodat(folder.get(), each.c_str(), 0700, 0);
    int result = -1;
    do {
      const std::string free = fmt::format("lifted-{}", lifted++);
      result = static_cast<int>(
          syscall(SYS_renameat2, folder.get(), each.c_str(), top, free.c_str(), RENAME_NOREPLACE));
    } while (result != 0 && errno == EEXIST);
    if (result != 0) return false;
  }
  return unlinkat(top, name.c_str(), AT_REMOVEDIR) == 0;
}

}  // namespace

bool empty_folder(const std::string& path) {
  const Fd top(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!top) return errno == ENOENT;
  unsigned lifted = 0;
  for (;;) {
    const std::vector<std::string> names = names_in_folder(top.get());
    if (names.empty()) return true;
    for (const std::string& name : names)
      if (unlinkat(top.get(), name.c_str(), 0) != 0 && !lift_what_is_in(top.get(), name, lifted))
        return false;
  }
}

}  // namespace stab
