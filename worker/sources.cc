// SPDX-License-Identifier: MIT
#include "worker/sources.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>

#include "base/fd.h"
#include "base/hash.h"
#include "base/streams.h"
#include "base/text.h"
#include "plan/plan.h"
#include "revisions/revisions.h"
#include "worker/build_cache.h"

namespace stab::worker {
namespace {

namespace fs = std::filesystem;

struct Copied {
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;
  std::vector<std::string> left_out{};  // paths that were not copied, except .git and the cache
};

Result<void> count(const fs::path& file, Copied& counted) {
  std::error_code error;
  ++counted.files;
  if (fs::is_regular_file(fs::symlink_status(file, error)))
    counted.bytes += fs::file_size(file, error);
  if (counted.files <= max_source_files && counted.bytes <= max_source_bytes) return {};
  return fail(
      fmt::format("the sources have more than {} files or {} MiB: use 'benchmark.sources' to list "
                  "the files that the build reads",
                  max_source_files, max_source_bytes >> 20));
}

// Programs such as make compare the times of files, so a copy is as old as its original.
void copy_time(const fs::path& from, const fs::path& to, std::error_code& error) {
  const fs::file_time_type time = fs::last_write_time(from, error);
  if (!error) fs::last_write_time(to, time, error);
}

Result<void> copy_entry(const fs::path& from, const fs::path& to) {
  std::error_code error;
  const fs::file_status status = fs::symlink_status(from, error);
  fs::create_directories(to.parent_path(), error);
  if (fs::is_symlink(status) && !fs::is_symlink(fs::symlink_status(to, error)))
    fs::copy_symlink(from, to, error);
  else if (fs::is_directory(status))
    fs::create_directories(to, error);
  else if (fs::is_regular_file(status)) {
    fs::copy_file(from, to, fs::copy_options::overwrite_existing, error);
    if (!error) copy_time(from, to, error);
  }
  if (error) return fail(fmt::format("cannot copy {}: {}", from.string(), error.message()));
  return {};
}

constexpr std::uint64_t longest_plan = 1 << 20;

// A plan is not a source: a new comment in it must not change the build.
bool is_plan(const fs::path& path) {
  std::error_code error;
  if (path.extension() != ".toml" || !fs::is_regular_file(fs::symlink_status(path, error)))
    return false;
  const auto text = read_file(path.string(), longest_plan);
  if (!text) return false;
  const std::string lines = "\n" + *text;
  return lines.contains("\n[experiment]") && lines.contains("\n[[benchmark]]");
}

// Whether a `stabctl run` writes a file with this name into its folder, or a draft of such a file
// (write_file_atomically).
bool is_name_of_a_run(std::string_view name) {
  constexpr std::array<std::string_view, 5> names{"run.sock", "worker.json", "quiesce.undo",
                                                  "experiments.undo", "allocations.json"};
  constexpr std::string_view of_worker = "worker-";
  constexpr std::string_view ending = ".json";
  constexpr std::size_t draft = std::string_view(".XXXXXX").size();
  if (name.size() > draft && name[name.size() - draft] == '.' &&
      name.substr(0, name.size() - draft).ends_with(ending))
    name.remove_suffix(draft);
  if (name.starts_with("stabd.") || std::ranges::find(names, name) != names.end()) return true;
  // On a cluster, the worker of each node after the first has a file with the node's number.
  if (!name.starts_with(of_worker) || !name.ends_with(ending)) return false;
  name.remove_prefix(of_worker.size());
  name.remove_suffix(ending.size());
  return !name.empty() && name.find_first_not_of("0123456789") == std::string_view::npos;
}

// Whether this is the folder of a `stabctl run` with nothing else in it.
bool is_of_a_run(const fs::path& path) {
  std::error_code error;
  if (!fs::is_directory(fs::symlink_status(path, error)) ||
      !fs::is_regular_file(path / "stabd.db", error))
    return false;
  fs::directory_iterator it(path, error);
  for (; !error && it != fs::end(it); it.increment(error))
    if (!is_name_of_a_run(it->path().filename().string())) return false;
  return !error;
}

// Whether a folder's copy leaves this entry out. Files that `sources` names are always copied. The
// build's output lists what was left out, because nobody can see it in the copy.
bool is_left_out(const fs::path& path, const fs::path& from, const fs::path& cache) {
  std::error_code error;
  return path.filename() == ".git" || fs::equivalent(path, cache, error) || is_of_a_run(path) ||
         is_marked_as_output(path.string()) || (path.parent_path() == from && is_plan(path));
}

Result<void> copy_folder(const fs::path& from, const fs::path& to, const fs::path& cache,
                         Copied& counted) {
  std::error_code error;
  std::error_code ignored;
  fs::create_directories(to, error);
  for (auto it = fs::recursive_directory_iterator(from, error); !error && it != fs::end(it);
       it.increment(error)) {
    if (is_left_out(it->path(), from, cache)) {
      if (it->path().filename() != ".git" && !fs::equivalent(it->path(), cache, ignored))
        counted.left_out.push_back(it->path().lexically_relative(from).string());
      it.disable_recursion_pending();
      continue;
    }
    if (auto within = count(it->path(), counted); !within) return within;
    auto copied = copy_entry(it->path(), to / it->path().lexically_relative(from));
    if (!copied) return copied;
  }
  if (error) return fail(fmt::format("cannot read {}: {}", from.string(), error.message()));
  return {};
}

Result<void> copy_named(const fs::path& directory, const std::string& name, const fs::path& to,
                        const fs::path& cache, Copied& counted) {
  const fs::path relative = fs::path(name).lexically_normal();
  if (relative.is_absolute() || relative.begin()->string() == "..")
    return fail(
        fmt::format("the source {} lies outside the plan's directory: move the plan to a parent "
                    "directory, or move the source into the plan's directory",
                    name));
  std::error_code error;
  const fs::path from = directory / relative;
  const fs::file_status status = fs::status(from, error);
  if (fs::is_directory(status)) return copy_folder(from, to / relative, cache, counted);
  if (!fs::is_regular_file(status))
    return fail(fmt::format("the source {} does not exist in {}", name, directory.string()));
  if (auto within = count(from, counted); !within) return within;
  return copy_entry(from, to / relative);
}

Result<std::string> digest_of(const fs::path& tree) {
  std::vector<fs::path> entries;
  std::error_code error;
  for (auto it = fs::recursive_directory_iterator(tree, error); !error && it != fs::end(it);
       it.increment(error))
    entries.push_back(it->path());
  if (error) return fail(fmt::format("cannot read {}: {}", tree.string(), error.message()));
  std::ranges::sort(entries);
  Sha256 hash;
  for (const fs::path& entry : entries) {
    const fs::file_status status = fs::symlink_status(entry, error);
    hash.add_field(entry.lexically_relative(tree).string());
    hash.add_field(fmt::format("{}:{:o}", static_cast<int>(status.type()),
                               static_cast<unsigned>(status.permissions())));
    if (fs::is_symlink(status)) hash.add_field(fs::read_symlink(entry, error).string());
    if (!fs::is_regular_file(status)) continue;
    const auto content = read_file(entry.string(), max_source_bytes);
    if (!content) return std::unexpected(content.error());
    hash.add_field(*content);
  }
  return hash.hex().substr(0, 32);
}

Result<Sources> keep(const Draft& draft, const fs::path& cache) {
  const auto digest = digest_of(draft.path());
  if (!digest) return std::unexpected(digest.error());
  const fs::path path = cache / ("sources-2-" + *digest);  // early versions kept no file times
  std::error_code error;
  // There may already be an equal copy. If somebody has changed it since, it is replaced.
  if (fs::is_directory(path, error) && digest_of(path).value_or("") != *digest &&
      !remove_entry(cache, path))
    return fail(
        fmt::format("the copy {} was changed and cannot be replaced: try again when no experiment "
                    "uses the copy, or remove the copy",
                    path.string()));
  fs::rename(draft.path(), path, error);
  if (!fs::is_directory(path, error)) return fail(fmt::format("cannot write {}", path.string()));
  return Sources{*digest, path.string()};
}

std::string words_of(std::vector<std::string> names) {
  constexpr std::size_t most = 5;
  constexpr std::size_t longest = 100;
  std::ranges::sort(names);
  std::string words;
  for (std::size_t i = 0; i < std::min(names.size(), most); ++i)
    words += (i == 0 ? "" : ", ") + one_line(names[i], longest);
  if (names.size() > most) words += fmt::format(" and {} more", names.size() - most);
  return words;
}

}  // namespace

Result<Sources> take_sources(const std::string& directory, const std::vector<std::string>& names,
                             const std::string& cache) {
  std::error_code error;
  fs::create_directories(cache, error);
  const auto draft = Draft::make(cache);
  if (!draft) return std::unexpected(draft.error());
  Copied counted;
  Result<void> copied;
  if (names.empty()) copied = copy_folder(directory, draft->path(), cache, counted);
  for (const std::string& name : names)
    if (copied) copied = copy_named(directory, name, draft->path(), cache, counted);
  if (!copied) return std::unexpected(copied.error());
  auto kept = keep(*draft, cache);
  if (kept) kept->left_out = words_of(counted.left_out);
  return kept;
}

Result<void> copy_tree(const std::string& from, const std::string& to) {
  if (!remove_tree(to)) return fail(fmt::format("cannot remove {}: remove it", to));
  std::error_code error;
  const auto may_not = [&] {
    return fail(fmt::format("cannot copy {} to {}: {}", from, to, error.message()));
  };
  fs::copy(from, to, fs::copy_options::recursive | fs::copy_options::copy_symlinks, error);
  if (error) return may_not();
  for (auto it = fs::recursive_directory_iterator(from, error); !error && it != fs::end(it);
       it.increment(error)) {
    if (!fs::is_regular_file(it->symlink_status(error))) continue;
    copy_time(it->path(), fs::path(to) / it->path().lexically_relative(from), error);
    if (error) return may_not();
  }
  if (error) return may_not();
  return {};
}

Result<Sources> take_revision(const RevisionOf& from, const std::vector<std::string>& names,
                              const std::string& cache, const machine::Launch& how) {
  if (!plan::is_resolved(from.revision))
    return fail(fmt::format("'{}' is not the full name of a commit", from.revision));
  std::error_code error;
  fs::create_directories(cache, error);
  const auto draft = Draft::make(cache);
  if (!draft) return std::unexpected(draft.error());
  revisions::Repository repository(from.directory);
  repository.how = how;
  const auto way = revisions::way_from_top(repository);
  if (!way) return std::unexpected(way.error());
  const std::string tree = draft->path() + "/tree";
  if (auto there = revisions::check_out(repository, {.folder = tree, .revision = from.revision});
      !there)
    return std::unexpected(there.error());
  if (!fs::is_directory(tree + "/" + *way, error))
    return fail(fmt::format("the revision {} has no folder {}", from.revision, *way));
  return take_sources(tree + "/" + *way, names, cache);
}

}  // namespace stab::worker
