// SPDX-License-Identifier: MIT
#include "stabd/daemon/folders.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <vector>

#include "base/fd.h"

namespace stab::daemon {
namespace {

namespace fs = std::filesystem;

// The folders on the path that don't exist yet, the outermost one last.
std::vector<fs::path> missing(const std::string& path) {
  std::vector<fs::path> folders;
  std::error_code error;
  for (fs::path folder = fs::absolute(path, error); !error && !fs::exists(folder, error);
       folder = folder.parent_path())
    if (folder.has_filename()) folders.push_back(folder);
  return folders;
}

// Syncs the folders' names to disk, so that files in them survive a loss of power.
Result<void> sync_names(const std::vector<fs::path>& folders) {
  for (const fs::path& folder : folders) {
    const Fd parent(open(folder.parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!parent || fsync(parent.get()) != 0)
      return fail_errno(fmt::format("cannot sync {}", folder.parent_path().string()));
  }
  return {};
}

Result<void> make_folder(const std::string& path, mode_t mask) {
  const std::vector<fs::path> made = missing(path);
  const mode_t before = umask(mask);
  std::error_code error;
  fs::create_directories(path, error);
  umask(before);
  if (error) return fail(fmt::format("cannot create {}: {}", path, error.message()));
  return sync_names(made);
}

}  // namespace

Result<void> make_private_folder(const std::string& path) {
  return make_folder(path, 077);
}

Result<void> make_passable_folder(const std::string& path) {
  return make_folder(path, geteuid() == 0 ? 022 : 077);
}

std::string database_in(const std::string& state_folder) {
  return state_folder + "/stabd.db";
}

void warn_if_closed(const std::string& path) {
  struct stat status{};
  if (stat(path.c_str(), &status) == 0 && status.st_uid == 0 && (status.st_mode & S_IXOTH) == 0)
    spdlog::warn("other users cannot enter {}: 'chmod o+x {}' allows it", path, path);
}

}  // namespace stab::daemon
