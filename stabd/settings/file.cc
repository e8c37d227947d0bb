// SPDX-License-Identifier: MIT
#include "stabd/settings/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/fd.h"

namespace stab::settings {
namespace {

constexpr std::size_t max_file = std::size_t{1} << 20;

}  // namespace

Result<std::optional<std::string>> load(const std::string& path) {
  const Fd file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat status{};
  if (!file || fstat(file.get(), &status) != 0) {
    // The home may belong to somebody else, as under sudo.
    if (errno == ENOENT || errno == ENOTDIR || errno == EACCES) return std::nullopt;
    return fail_errno("cannot read the settings in " + path);
  }
  if (status.st_uid != 0 && status.st_uid != geteuid())
    return fail(fmt::format("{} belongs to user {}: make it yours or root's", path, status.st_uid));
  const bool is_device = S_ISCHR(status.st_mode) && status.st_uid == 0;  // /dev/null
  if (!is_device && (status.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return fail(
        fmt::format("other users may write to {}: fix this with 'chmod go-w {}'", path, path));
  // Reads the file that was checked, whatever the path leads to by now.
  auto text = read_file(fmt::format("/proc/self/fd/{}", file.get()), max_file);
  if (!text) return std::unexpected(text.error());
  return *std::move(text);
}

}  // namespace stab::settings
