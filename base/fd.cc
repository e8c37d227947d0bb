// SPDX-License-Identifier: MIT
#include "base/fd.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>

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

}  // namespace stab
