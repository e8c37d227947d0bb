// SPDX-License-Identifier: MIT
#include "stabd/spool.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <utility>

namespace stab::archive {
namespace {

namespace fs = std::filesystem;

std::string spools_in(const std::string& state_folder) {
  return state_folder + "/spool";
}

// Freeing a large file takes time and happens when its last name and descriptor are gone. So
// `leave` gets a descriptor before the names are removed.
void remove(const std::string& folder, const Spool::Leave& leave) {
  std::error_code error;
  if (leave)
    for (auto each = fs::recursive_directory_iterator(folder, error);
         !error && each != fs::recursive_directory_iterator(); each.increment(error)) {
      std::error_code none;
      if (!each->is_regular_file(none) || std::cmp_less_equal(each->file_size(none), piece_of_file))
        continue;
      Fd file(open(each->path().c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW));
      if (file) leave(std::move(file));
    }
  fs::remove_all(folder, error);
}

}  // namespace

Result<std::shared_ptr<Spool>> Spool::make(const std::string& state_folder, Leave leave) {
  std::error_code error;
  fs::create_directories(spools_in(state_folder), error);
  std::string folder = spools_in(state_folder) + "/XXXXXX";
  if (mkdtemp(folder.data()) == nullptr)
    return fail_errno(fmt::format("cannot make a folder in {}", spools_in(state_folder)));
  return std::shared_ptr<Spool>(new Spool(std::move(folder), std::move(leave)));
}

void Spool::remove_left(const std::string& state_folder, const Leave& leave) {
  remove(spools_in(state_folder), leave);
}

Spool::~Spool() {
  remove(folder_, leave_);
}

bool Spool::shrink(const Fd& file) {
  struct stat status{};
  if (fstat(file.get(), &status) != 0 || status.st_size <= piece_of_file) return false;
  return ftruncate(file.get(), status.st_size - piece_of_file) == 0;
}

Result<void> Spool::add(std::string_view piece) {
  if (!file_) file_ = Fd(open(file().c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!file_) return fail_errno("cannot store the data that was sent");
  if (auto written = write_all(file_.get(), piece); !written)
    return fail("cannot store the data that was sent: " + written.error().message);
  bytes_ += piece.size();
  return {};
}

}  // namespace stab::archive
