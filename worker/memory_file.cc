// SPDX-License-Identifier: MIT
#include "worker/memory_file.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <map>

#include "base/shown_files.h"

namespace stab::worker {

MemoryFile::MemoryFile(const char* name) : fd_(memfd_create(name, MFD_CLOEXEC)) {}

std::string MemoryFile::path() const {
  return is_open() ? path_for_others(fd_.get()) : "";
}

MemoryFile& MemoryFile::reused(const char* name) {
  static std::map<std::string, MemoryFile> files;
  const auto [file, is_new] = files.try_emplace(name, name);
  if (!is_new && !file->second.empty()) file->second = MemoryFile(name);
  return file->second;
}

bool MemoryFile::empty() {
  return is_open() && ftruncate(fd_.get(), 0) == 0 && lseek(fd_.get(), 0, SEEK_SET) == 0;
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
