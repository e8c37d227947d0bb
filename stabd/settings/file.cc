// SPDX-License-Identifier: MIT
#include "stabd/settings/file.h"

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
  struct stat status{};
  if (stat(path.c_str(), &status) != 0) {
    // The home may be somebody else's, as under sudo.
    if (errno == ENOENT || errno == ENOTDIR || errno == EACCES) return std::nullopt;
    return fail_errno("cannot read the settings in " + path);
  }
  if (S_ISREG(status.st_mode)) {
    if (status.st_uid != 0 && status.st_uid != geteuid())
      return fail(
          fmt::format("{} belongs to user {}: make it yours or root's", path, status.st_uid));
    if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0)
      return fail(fmt::format("others may write {}: 'chmod go-w {}' takes that away", path, path));
  }
  auto text = read_file(path, max_file);
  if (!text) return std::unexpected(text.error());
  return *std::move(text);
}

}  // namespace stab::settings
