// SPDX-License-Identifier: MIT
#include "client/ab/interrupted.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "base/hash.h"
#include "base/text.h"
#include "client/ab/prepare_versions.h"
#include "client/run_folder.h"
#include "client/stored.h"
#include "protocol/codec.h"
#include "revisions/git.h"
#include "revisions/revisions.h"

namespace stab::client::ab {

constexpr std::uint64_t most_described = std::uint64_t{16} << 20;

// The options that decide what is measured.
BOOST_DESCRIBE_STRUCT(AbOptions, (),
                      (programs, words, build, run, prepare, cleanup, same, env, budget, margin,
                       response, exit_codes, cpus, machines, seed, heap, pads, control))
BOOST_DESCRIBE_STRUCT(Call, (), (command, inputs, untracked))
BOOST_DESCRIBE_STRUCT(HeapCost, (), (change, low, high, pairs))
BOOST_DESCRIBE_STRUCT(Begun, (),
                      (call, own_files, plan, work, time, heap, why_no_heap, heap_cost,
                       heap_changes, pads, why_no_pads))

}  // namespace stab::client::ab

namespace stab::protocol {

// A working tree may have many files that git does not track.
template <>
inline constexpr Field field<&client::ab::Call::command>{.most = client::ab::most_described};
template <>
inline constexpr Field field<&client::ab::Call::untracked>{.most = client::ab::most_described};
template <>
inline constexpr Field field<&client::ab::Begun::own_files>{.most = client::ab::most_described};
template <>
inline constexpr Field field<&client::ab::Begun::time>{.name = "time_ns"};
template <>
inline constexpr Numbered numbered<client::ab::Heap>{client::ab::Heap::never,
                                                     client::ab::Heap::where_possible};
template <>
inline constexpr Numbered numbered<client::ab::Pads>{client::ab::Pads::never,
                                                     client::ab::Pads::where_possible};

}  // namespace stab::protocol

namespace stab::client::ab {
namespace {

namespace fs = std::filesystem;

std::string digest_of_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return "it cannot be read";
  Sha256 hash;
  std::string piece(std::size_t{1} << 20, '\0');
  while (file.read(piece.data(), static_cast<std::streamsize>(piece.size())) || file.gcount() > 0)
    hash.add({piece.data(), static_cast<std::size_t>(file.gcount())});
  return hash.hex();
}

// The top of the copy or of the user's own tree. `folder` is the place in it that corresponds to
// `directory`.
std::string top_of(const std::string& folder, const std::string& directory) {
  const auto way = revisions::way_from_top(directory);
  fs::path top = fs::path(folder + "/").lexically_normal().parent_path();
  for (const fs::path& part : fs::path(way.value_or("")))
    if (!part.empty()) top = top.parent_path();
  return top.string();
}

// All files that git neither tracks nor ignores, as paths from the top of the working tree.
std::vector<std::string> untracked_in(const std::string& directory) {
  const auto listed = revisions::git(top_of(directory, directory),
                                     {"ls-files", "--others", "--exclude-standard", "-z"});
  return listed ? revisions::split_at_zeros(*listed) : std::vector<std::string>();
}

// The digest of everything in the folder except .git and the files in `apart`. It must be computed
// before any build.
std::string digest_of_tree(const std::string& folder,
                           const std::map<std::string, std::string>& apart) {
  std::error_code error;
  std::vector<fs::path> all;
  for (auto it = fs::recursive_directory_iterator(folder, error); !error && it != fs::end(it);
       it.increment(error)) {
    if (it->path().filename() == ".git") {
      it.disable_recursion_pending();
      continue;
    }
    if (!apart.contains(it->path().lexically_relative(folder).string())) all.push_back(it->path());
  }
  std::ranges::sort(all);
  Sha256 hash;
  for (const fs::path& path : all) {
    const fs::file_status status = fs::symlink_status(path, error);
    hash.add_field(path.lexically_relative(folder).string());
    hash.add_field(fmt::format("{}:{:o}", static_cast<int>(status.type()),
                               static_cast<unsigned>(status.permissions())));
    if (fs::is_symlink(status)) hash.add_field(fs::read_symlink(path, error).string());
    if (fs::is_regular_file(status)) hash.add_field(digest_of_file(path));
  }
  return hash.hex();
}

// Adds the words of a shell command that are names of files, with the files' digests.
void add_files_of(const std::string& command, const std::string& directory,
                  std::map<std::string, std::string>& inputs) {
  constexpr std::string_view between = " \t\n'\"`|&;()<>$";
  for (std::size_t at = 0; at < command.size();) {
    const std::size_t end = std::min(command.find_first_of(between, at), command.size());
    const std::string word = command.substr(at, end - at);
    const fs::path path = fs::path(directory) / word;
    std::error_code error;
    if (!word.empty() && fs::is_regular_file(path, error) && !error)
      inputs[word] = digest_of_file(path);
    at = end + 1;
  }
}

// Nothing if no `ab` of this version has left a readable file in the folder.
std::optional<Begun> read_begun(const std::string& folder) {
  const auto text = read_file(folder + "/" + ab_mark, most_described);
  if (!text) return std::nullopt;
  auto read = protocol::from_text<Begun>(*text, most_described);
  return read ? std::optional(std::move(*read)) : std::nullopt;
}

}  // namespace

Call call_of(const AbOptions& options, const Comparison& comparison, const std::string& directory) {
  Call call;
  call.command = fmt::format("{} in {}: {}", STAB_VERSION, protocol::dump(directory),
                             protocol::to_text(options, -1));
  for (const auto& [name, value] : comparison.env)
    call.inputs["the variable " + name] = sha256_hex(value);
  for (const Version& version : comparison.versions) {
    if (comparison.kind == Kind::programs)
      call.inputs[version.said] = digest_of_file(version.text);
    else if (comparison.kind == Kind::commands)
      add_files_of(version.text, directory, call.inputs);
    else if (!version.is_working_tree)
      call.inputs[version.name] = version.said;
    else {
      const std::string top = top_of(version.text, directory);
      for (const std::string& path : untracked_in(directory)) {
        std::error_code error;
        if (fs::is_regular_file(fs::symlink_status(fs::path(top) / path, error)))
          call.untracked[path] = digest_of_file(fs::path(top) / path);
      }
      call.inputs["the working tree"] = digest_of_tree(top, call.untracked);
    }
  }
  for (const std::string& word : comparison.arguments) add_files_of(word, directory, call.inputs);
  return call;
}

OwnFiles::OwnFiles(const Comparison& comparison, std::string directory) {
  if (comparison.kind != Kind::folders ||
      std::ranges::none_of(comparison.versions, &Version::is_working_tree))
    return;
  directory_ = std::move(directory);
  before_ = look();
}

std::vector<std::string> OwnFiles::since() const {
  std::vector<std::string> own;
  if (directory_.empty()) return own;
  for (const auto& [path, state] : look()) {
    const auto before = before_.find(path);
    if (before == before_.end() || before->second != state) own.push_back(path);
  }
  return own;
}

std::map<std::string, std::string> OwnFiles::look() const {
  std::map<std::string, std::string> files;
  const fs::path top = top_of(directory_, directory_);
  for (const std::string& path : untracked_in(directory_)) {
    struct stat status{};
    if (lstat((top / path).c_str(), &status) == 0 && S_ISREG(status.st_mode))
      files[path] = fmt::format("{} {} {} {}", status.st_ino, status.st_size, status.st_mtim.tv_sec,
                                status.st_mtim.tv_nsec);
  }
  return files;
}

Result<void> write_begun(const std::string& folder, const Begun& begun) {
  const Fd file(
      open((folder + "/" + ab_mark).c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!file) return fail_errno(fmt::format("cannot write {}/{}", folder, ab_mark));
  return write_all(file.get(), protocol::to_text(begun, 1));
}

void forget_begun(const std::string& folder) {
  unlink((folder + "/" + ab_mark).c_str());
}

std::optional<Interrupted> find_interrupted(const std::string& wanted, const Call& call) {
  const auto folders = wanted.empty() ? interrupted_runs() : std::vector<std::string>{wanted};
  for (const std::string& folder : folders)
    if (auto begun = read_begun(folder); begun && begun->call.command == call.command)
      return Interrupted{.folder = folder, .begun = std::move(*begun)};
  return std::nullopt;
}

std::string why_anew(const Interrupted& found, const Call& call) {
  for (const auto& [name, value] : call.inputs) {
    const auto before = found.begun.call.inputs.find(name);
    if (before == found.begun.call.inputs.end() || before->second != value)
      return one_line(name, 100) + " has changed";
  }
  for (const auto& [name, value] : found.begun.call.inputs)
    if (!call.inputs.contains(name)) return one_line(name, 100) + " is gone";
  const auto is_own = [&](const std::string& path) {
    return std::ranges::find(found.begun.own_files, path) != found.begun.own_files.end();
  };
  for (const auto& [path, digest] : call.untracked) {
    const auto before = found.begun.call.untracked.find(path);
    if (before == found.begun.call.untracked.end() && !is_own(path))
      return one_line(path, 100) + " is new in the working tree";
    if (before != found.begun.call.untracked.end() && before->second != digest && !is_own(path))
      return one_line(path, 100) + " has changed";
  }
  for (const auto& [path, digest] : found.begun.call.untracked)
    if (!call.untracked.contains(path) && !is_own(path)) return one_line(path, 100) + " is gone";
  if (!found.begun.work.empty() && !is_work_folder(found.begun.work))
    return fmt::format("the builds in {} are gone", one_line(found.begun.work, 200));
  return "";
}

std::chrono::nanoseconds time_left(const Interrupted& found) {
  std::chrono::nanoseconds used{0};
  if (const auto stored = open_stored(found.folder))
    if (const auto rows = stored->reader->experiments(); rows && !rows->intact.empty())
      used = std::chrono::nanoseconds(rows->intact.back().duration_ns.value_or(0));
  return std::max(found.begun.time - used, std::chrono::nanoseconds(0));
}

}  // namespace stab::client::ab
