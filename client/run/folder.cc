// SPDX-License-Identifier: MIT
#include "client/run/folder.h"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <ctime>
#include <filesystem>
#include <optional>
#include <set>

#include "base/hash.h"
#include "plan/reading/reader.h"
#include "protocol/paths.h"

namespace stab::client {
namespace {

namespace fs = std::filesystem;

std::string file_name(const std::string& name) {
  std::string safe;
  for (const char c : name)
    safe += std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '-' || c == '_'
                ? c
                : '-';
  return safe;
}

// The file that holds the digest of the run's plan until the run has ended.
std::string mark_of(const std::string& folder) {
  return folder + "/unfinished";
}

std::string digest_of(const RunOf& run) {
  Sha256 hash;
  // A run that an earlier version began continues with the defaults of that version, so the digest
  // leaves defaults out.
  hash.add_field(plan::without_defaults(run.plan));
  hash.add_field(run.directory);
  return hash.hex();
}

bool has_mark(const std::string& folder, const std::string& digest) {
  const auto mark = read_file(mark_of(folder), 4096);
  return mark && *mark == digest;
}

// Empty if the run is of another plan, or a process uses the folder.
std::optional<RunFolder> interrupted_in(const std::string& folder, const std::string& digest) {
  if (!has_mark(folder, digest)) return std::nullopt;
  Fd claim(open(mark_of(folder).c_str(), O_RDONLY | O_CLOEXEC));
  if (!claim || flock(claim.get(), LOCK_EX | LOCK_NB) != 0) return std::nullopt;
  return RunFolder{.path = folder, .claim = std::move(claim)};
}

// Folders with a mark, newest first.
std::vector<std::string> marked_folders(const std::string& runs) {
  std::error_code error;
  std::set<std::pair<fs::file_time_type, std::string>> marks;
  for (const auto& entry : fs::directory_iterator(runs, error)) {
    std::error_code none;
    const auto time = fs::last_write_time(mark_of(entry.path()), none);
    if (!none) marks.emplace(time, entry.path().string());
  }
  std::vector<std::string> folders;
  for (auto each = marks.rbegin(); each != marks.rend(); ++each) folders.push_back(each->second);
  return folders;
}

std::optional<RunFolder> newest_interrupted(const std::string& runs, const std::string& digest) {
  for (const std::string& folder : marked_folders(runs))
    if (auto found = interrupted_in(folder, digest)) return found;
  return std::nullopt;
}

Result<RunFolder> new_folder(const std::string& runs, const RunOf& run, const std::string& digest) {
  std::error_code error;
  const std::string stem = fmt::format("{}/{}-{:%Y%m%d-%H%M%S}", runs, file_name(run.experiment),
                                       fmt::localtime(std::time(nullptr)));
  fs::create_directories(runs, error);
  RunFolder folder{.path = stem, .claim = Fd()};
  for (int i = 2; !error && !fs::create_directory(folder.path, error) && !error; ++i)
    folder.path = fmt::format("{}-{}", stem, i);
  if (error) return fail(fmt::format("cannot create {}: {}", folder.path, error.message()));
  folder.claim = Fd(open(mark_of(folder.path).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!folder.claim) return fail_errno("cannot write " + mark_of(folder.path));
  flock(folder.claim.get(), LOCK_EX);
  if (auto written = write_all(folder.claim.get(), digest); !written)
    return std::unexpected(written.error());
  return folder;
}

}  // namespace

std::string folder_of_runs() {
  return fs::absolute(default_state_directory() + "/runs").string();
}

bool is_unfinished(const std::string& folder, const RunOf& run) {
  return has_mark(folder, digest_of(run));
}

std::vector<std::string> interrupted_runs() {
  std::vector<std::string> folders = marked_folders(folder_of_runs());
  std::erase_if(folders, [](const std::string& folder) {
    const Fd mark(open(mark_of(folder).c_str(), O_RDONLY | O_CLOEXEC));
    return !mark || flock(mark.get(), LOCK_EX | LOCK_NB) != 0;
  });
  return folders;
}

Result<RunFolder> choose_folder(const std::string& wanted, const RunOf& run, bool again) {
  if (!wanted.empty()) {
    std::error_code error;
    fs::create_directories(wanted, error);
    if (error) return fail(fmt::format("cannot create {}: {}", wanted, error.message()));
    return RunFolder{.path = fs::absolute(wanted).string(), .claim = Fd()};
  }
  const std::string runs = folder_of_runs();
  const std::string digest = digest_of(run);
  if (!again)
    if (auto found = newest_interrupted(runs, digest)) return std::move(*found);
  return new_folder(runs, run, digest);
}

void mark_ended(const RunFolder& folder) {
  unlink(mark_of(folder.path).c_str());
}

}  // namespace stab::client
