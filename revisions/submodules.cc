// SPDX-License-Identifier: MIT
#include "revisions/submodules.h"

#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "revisions/tree_copy.h"

namespace stab::revisions {
namespace {

namespace fs = std::filesystem;

// Reads "160000 commit HASH\tPATH" of ls-tree, or "160000 HASH 0\tPATH" of ls-files --stage.
std::optional<Entry> entry_in(const std::string& line) {
  const auto tab = line.find('\t');
  if (tab == std::string::npos) return std::nullopt;
  Entry entry{.path = line.substr(tab + 1), .commit = ""};
  std::istringstream words(line.substr(0, tab));
  std::string mode;
  std::string second;
  std::string third;
  words >> mode >> second >> third;
  if (mode == "160000") entry.commit = second == "commit" ? third : second;
  return entry;
}

Result<bool> has_commit(const Repository& repository, const std::string& commit) {
  const auto ended = run_git(repository, {"cat-file", "-e", commit + "^{commit}"});
  if (!ended) return std::unexpected(ended.error());
  return is_well(*ended);
}

// The submodule's name in the commit's .gitmodules; "" if it has none.
Result<std::string> name_of(const Entry& submodule, const Repository& top,
                            const std::string& commit) {
  const auto listed = run_git(top, {"config", "-z", "--blob", commit + ":.gitmodules",
                                    "--get-regexp", R"(^submodule\..*\.path$)"});
  if (!listed) return std::unexpected(listed.error());
  constexpr std::string_view before = "submodule.";
  constexpr std::string_view behind = ".path";
  for (const std::string& each : split_at_zeros(listed->out)) {
    const auto end = each.find('\n');
    if (end == std::string::npos || each.substr(end + 1) != submodule.path) continue;
    const std::string key = each.substr(0, end);
    if (key.size() > before.size() + behind.size())
      return key.substr(before.size(), key.size() - before.size() - behind.size());
  }
  return "";
}

// Whether the folder is the top of a repository. If git can't use its .git, git takes the folder
// for a part of the surrounding repository.
Result<bool> is_top(const Repository& repository) {
  std::error_code error;
  if (!fs::exists(repository.directory + "/.git", error)) return false;
  const auto way = git_line(repository, {"rev-parse", "--show-prefix"});
  if (!way) return std::unexpected(way.error());
  return way->empty();
}

std::string whence(const Entry& submodule, const Repository& top, const std::string& commit) {
  const std::string path = shell_quote(submodule.path);
  const std::string folder = top.directory + "/" + submodule.path;
  if (is_top(at(top, folder)).value_or(false)) return fmt::format("git -C {} fetch", path);
  std::error_code error;
  if (fs::exists(folder, error)) return "git submodule update --init " + path;
  return fmt::format("git checkout {} && git submodule update --init {} && git checkout -", commit,
                     path);
}

}  // namespace

Result<std::vector<Entry>> submodules_of(const Repository& top, const std::string& commit) {
  const auto listed = git(top, {"ls-tree", "-r", "-z", "--full-tree", commit});
  if (!listed) return std::unexpected(listed.error());
  std::vector<Entry> found;
  for (const std::string& line : split_at_zeros(*listed))
    if (auto entry = entry_in(line); entry && !entry->commit.empty())
      found.push_back(std::move(*entry));
  return found;
}

Result<std::vector<Entry>> entries_of_index(const Repository& top) {
  const auto listed = git(top, {"ls-files", "--stage", "-z"});
  if (!listed) return std::unexpected(listed.error());
  std::vector<Entry> found;
  for (const std::string& line : split_at_zeros(*listed))
    if (auto entry = entry_in(line); entry && (found.empty() || found.back().path != entry->path))
      found.push_back(std::move(*entry));
  return found;
}

Result<Repository> repository_of(const Entry& submodule, const Repository& top,
                                 const std::string& commit) {
  const fs::path path = submodule.path;
  std::vector<Repository> candidates;
  const Repository here = at(top, top.directory + "/" + submodule.path);
  if (top.git_directory.empty() && is_way(path) && is_tracked_way(top.directory, path) &&
      is_top(here).value_or(false))
    candidates.push_back(here);
  const auto name = name_of(submodule, top, commit);
  if (!name) return std::unexpected(name.error());
  if (is_way(*name)) {
    const auto kept =
        git_line(top, {"rev-parse", "--path-format=absolute", "--git-path", "modules/" + *name});
    if (!kept) return std::unexpected(kept.error());
    std::error_code error;
    if (fs::is_directory(*kept, error)) {
      candidates.push_back(at(top, *kept));
      candidates.back().git_directory = *kept;
    }
  }
  for (Repository& each : candidates) {
    const auto there = has_commit(each, submodule.commit);
    if (!there) return std::unexpected(there.error());
    if (*there) return std::move(each);
  }
  return fail(fmt::format("the submodule {} of {} in {} is missing: {}",
                          one_line(submodule.path, 300), commit.substr(0, 12), top.directory,
                          whence(submodule, top, commit)));
}

Result<Repository> checked_out(const Entry& submodule, const Repository& top) {
  const std::string folder = top.directory + "/" + submodule.path;
  std::error_code error;
  if (!is_way(submodule.path) || !is_tracked_way(top.directory, submodule.path) ||
      !fs::is_directory(fs::symlink_status(folder, error)))
    return at(top, "");
  const auto there = is_top(at(top, folder));
  if (!there) return std::unexpected(there.error());
  if (!*there)
    return fail(fmt::format("the submodule {} of {} is missing: git submodule update --init {}",
                            one_line(submodule.path, 300), top.directory,
                            shell_quote(submodule.path)));
  return at(top, folder);
}

}  // namespace stab::revisions
