// SPDX-License-Identifier: MIT
#include "stabd/archive/spool.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>

namespace stab::archive {
namespace {

namespace fs = std::filesystem;

std::string spools_in(const std::string& state_folder) {
  return state_folder + "/spool";
}

}  // namespace

Result<std::shared_ptr<Spool>> Spool::make(const std::string& state_folder) {
  std::error_code error;
  fs::create_directories(spools_in(state_folder), error);
  std::string folder = spools_in(state_folder) + "/XXXXXX";
  if (mkdtemp(folder.data()) == nullptr)
    return fail_errno(fmt::format("cannot make a folder in {}", spools_in(state_folder)));
  return std::shared_ptr<Spool>(new Spool(std::move(folder)));
}

void Spool::remove_left(const std::string& state_folder) {
  std::error_code error;
  fs::remove_all(spools_in(state_folder), error);
}

Spool::~Spool() {
  std::error_code error;
  fs::remove_all(folder_, error);
}

Result<void> Spool::add(std::string_view piece) {
  if (!file_) file_ = Fd(open(file().c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!file_) return fail_errno("cannot keep what is sent");
  if (auto written = write_all(file_.get(), piece); !written)
    return fail("cannot keep what is sent: " + written.error().message);
  bytes_ += piece.size();
  return {};
}

}  // namespace stab::archive
