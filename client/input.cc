// SPDX-License-Identifier: MIT
#include "client/input.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>
#include <vector>

#include "base/fd.h"

namespace stab::client {
namespace {

Result<std::string> read_all(int fd, const std::string& path) {
  std::string text;
  std::vector<char> buffer(std::size_t{1} << 20);
  while (true) {
    const ssize_t got = read(fd, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail_errno("cannot read " + path);
    if (got == 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
}

}  // namespace

Result<Input> Input::open(const std::string& path) {
  Fd file;
  if (path != "-") {
    file = Fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file) return fail_errno("cannot open " + path);
  }
  const int fd = path == "-" ? STDIN_FILENO : file.get();
  struct stat status{};
  if (fstat(fd, &status) != 0) return fail_errno("cannot read " + path);
  if (S_ISDIR(status.st_mode)) return fail(path + " is a folder");
  Input input;
  if (path != "-" && S_ISREG(status.st_mode) && status.st_size > 0) {
    const auto size = static_cast<std::size_t>(status.st_size);
    void* mapping = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (mapping == MAP_FAILED) return fail_errno("cannot read " + path);
    input.mapping_ = mapping;
    input.size_ = size;
    return input;
  }
  auto text = read_all(fd, path);
  if (!text) return std::unexpected(text.error());
  input.copy_ = std::move(*text);
  return input;
}

Input::Input(Input&& other) noexcept
    : mapping_(std::exchange(other.mapping_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      copy_(std::move(other.copy_)) {}

Input::~Input() {
  if (mapping_ != nullptr) munmap(mapping_, size_);
}

std::string_view Input::text() const {
  if (mapping_ == nullptr) return copy_;
  return {static_cast<const char*>(mapping_), size_};
}

}  // namespace stab::client
