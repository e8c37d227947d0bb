// SPDX-License-Identifier: MIT
#include "stabd/daemon/folders.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

namespace stab::daemon {
namespace {

Result<void> make_folder(const std::string& path, mode_t mask) {
  const mode_t before = umask(mask);
  std::error_code error;
  std::filesystem::create_directories(path, error);
  umask(before);
  if (error) return fail(fmt::format("cannot create {}: {}", path, error.message()));
  return {};
}

}  // namespace

Result<void> make_private_folder(const std::string& path) {
  return make_folder(path, 077);
}

Result<void> make_passable_folder(const std::string& path) {
  return make_folder(path, geteuid() == 0 ? 022 : 077);
}

void warn_if_closed(const std::string& path) {
  struct stat status{};
  if (stat(path.c_str(), &status) == 0 && status.st_uid == 0 && (status.st_mode & S_IXOTH) == 0)
    spdlog::warn("other users cannot pass through {}: 'chmod o+x {}' lets them", path, path);
}

}  // namespace stab::daemon
