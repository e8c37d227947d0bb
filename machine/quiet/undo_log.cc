// SPDX-License-Identifier: MIT
#include "machine/quiet/undo_log.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/hash.h"
#include "base/json.h"

namespace stab::machine {
namespace {

using nlohmann::json;

constexpr std::size_t largest_log = 16 << 20;

// The first line names the boot. Each other line is a change, or says that the newest change of a
// file is forgotten. Each line ends with a digest of its text.
std::string sealed(const json& line) {
  const std::string text = json_text(line);
  return fmt::format("{} {}\n", text, sha256_hex(text).substr(0, 16));
}

std::optional<json> opened(std::string_view line) {
  const auto space = line.rfind(' ');
  if (space == std::string_view::npos) return std::nullopt;
  const std::string text(line.substr(0, space));
  if (sha256_hex(text).substr(0, 16) != line.substr(space + 1)) return std::nullopt;
  json parsed = json::parse(text, nullptr, false);
  if (!parsed.is_object()) return std::nullopt;
  return parsed;
}

std::optional<Change> change_in(std::string_view line) {
  const auto object = opened(line);
  if (!object) return std::nullopt;
  const auto text = [&](const char* name) { return object->value(name, std::string()); };
  const KnobFiles* files = files_of(text("knob"), text("file"));
  if (files == nullptr) return std::nullopt;  // invariant 5
  return Change{.knob = text("knob"),
                .file = text("file"),
                .found = text("found"),
                .set = text("set"),
                .form = files->form};
}

std::optional<std::string> forgotten_in(std::string_view line) {
  const auto object = opened(line);
  if (!object || !object->contains("forgotten")) return std::nullopt;
  return object->value("forgotten", std::string());
}

Result<void> sync_folder(const std::filesystem::path& folder) {
  const Fd fd(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd || fsync(fd.get()) != 0)
    return fail_errno(fmt::format("cannot write {}", folder.string()));
  return {};
}

}  // namespace

Result<UndoLog> UndoLog::open(const std::string& path, const std::string& root) {
  const auto boot = read_file(root + "/proc/sys/kernel/random/boot_id", 100);
  if (!boot) return std::unexpected(boot.error());
  const auto folder = std::filesystem::path(path).parent_path();
  // Other users must not be able to read the log, because a reader could lock it.
  const mode_t before = umask(077);
  std::error_code error;
  const bool made = std::filesystem::create_directories(folder, error);
  umask(before);
  if (error) return fail(fmt::format("cannot make {}: {}", folder.string(), error.message()));
  Fd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_APPEND, 0600));
  if (!fd) return fail_errno(fmt::format("cannot open {}", path));
  if (flock(fd.get(), LOCK_EX | LOCK_NB) != 0)
    return fail(fmt::format("{} is in use: another process keeps this machine quiet", path));
  if (auto synced = sync_folder(folder); !synced) return std::unexpected(synced.error());
  if (made)
    if (auto synced = sync_folder(folder.parent_path()); !synced)
      return std::unexpected(synced.error());
  UndoLog log(std::move(fd), path, value_in(*boot, Form::word));
  if (auto read = log.read(); !read) return std::unexpected(read.error());
  return log;
}

Result<void> UndoLog::read() {
  const auto content = read_file(path_, largest_log);
  if (!content) return std::unexpected(content.error());
  std::string_view rest = *content;
  for (bool first = true; !rest.empty(); first = false) {
    const auto end = rest.find('\n');
    if (end == std::string_view::npos) {
      // The process that wrote this line died before it changed the machine (invariant 1).
      if (ftruncate(fd_.get(), static_cast<off_t>(content->size() - rest.size())) != 0)
        return fail_errno(fmt::format("cannot write {}", path_));
      break;
    }
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end + 1);
    if (first) {
      const auto head = opened(line);
      if (head && head->value("boot", std::string()) != boot_) return clear();  // invariant 4
      damaged_ += head ? 0 : 1;
    } else if (const auto file = forgotten_in(line)) {
      drop_newest_of(*file);
    } else if (auto change = change_in(line)) {
      changes_.push_back(std::move(*change));
    } else {
      ++damaged_;
    }
  }
  return {};
}

Result<void> UndoLog::add(std::span<const Change> changes) {
  std::string lines = lseek(fd_.get(), 0, SEEK_END) == 0 ? sealed({{"boot", boot_}}) : "";
  for (const Change& change : changes)
    lines += sealed({{"knob", change.knob},
                     {"file", change.file},
                     {"found", change.found},
                     {"set", change.set}});
  if (auto written = append(lines); !written) return written;
  changes_.insert(changes_.end(), changes.begin(), changes.end());
  return {};
}

Result<void> UndoLog::append(const std::string& lines) {
  if (auto written = write_all(fd_.get(), lines); !written)
    return fail(fmt::format("{}: {}", path_, written.error().message));
  if (fsync(fd_.get()) != 0) return fail_errno(fmt::format("cannot write {}", path_));
  return {};
}

void UndoLog::drop_newest_of(const std::string& file) {
  const auto newest = std::find_if(changes_.rbegin(), changes_.rend(),
                                   [&](const Change& change) { return change.file == file; });
  if (newest != changes_.rend()) changes_.erase(std::next(newest).base());
}

Result<void> UndoLog::forget(std::span<const Change> changes) {
  std::string lines;
  for (const Change& change : changes) lines += sealed({{"forgotten", change.file}});
  if (auto written = append(lines); !written) return written;
  for (const Change& change : changes) drop_newest_of(change.file);
  return {};
}

UndoLog::Mark UndoLog::mark() const {
  return {.changes = changes_.size(), .size = lseek(fd_.get(), 0, SEEK_END)};
}

Result<void> UndoLog::back_to(Mark mark) {
  if (ftruncate(fd_.get(), mark.size) != 0 || fsync(fd_.get()) != 0)
    return fail_errno(fmt::format("cannot truncate {}", path_));
  changes_.resize(mark.changes);
  return {};
}

Result<void> UndoLog::clear() {
  if (ftruncate(fd_.get(), 0) != 0 || fsync(fd_.get()) != 0)
    return fail_errno(fmt::format("cannot empty {}", path_));
  changes_.clear();
  damaged_ = 0;
  return {};
}

Result<std::string> UndoLog::set_aside() const {
  const std::string copy = path_ + ".damaged";
  const auto content = read_file(path_, largest_log);
  if (!content) return std::unexpected(content.error());
  if (auto written = write_file_atomically(copy, *content); !written)
    return std::unexpected(written.error());
  return copy;
}

}  // namespace stab::machine
