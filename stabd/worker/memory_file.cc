// SPDX-License-Identifier: MIT
#include "stabd/worker/memory_file.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

namespace stab::worker {

MemoryFile::MemoryFile(const char* name) : fd_(memfd_create(name, MFD_CLOEXEC)) {}

std::string MemoryFile::path() const {
  return fmt::format("/proc/{}/fd/{}", getpid(), fd_.get());
}

bool MemoryFile::write(std::string_view text) {
  return is_open() && write_all(fd_.get(), text);
}

std::string MemoryFile::read(std::size_t limit) const {
  struct stat status{};
  if (fstat(fd_.get(), &status) != 0) return "";
  std::string text(std::min(limit, static_cast<std::size_t>(status.st_size)), '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    const ssize_t n =
        pread(fd_.get(), text.data() + size, text.size() - size, static_cast<off_t>(size));
    if (n <= 0) break;
    size += static_cast<std::size_t>(n);
  }
  text.resize(size);
  return text;
}

}  // namespace stab::worker
