// SPDX-License-Identifier: MIT
#include "stabd/revisions/revisions.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "machine/child.h"
#include "machine/program.h"

namespace stab::revisions {
namespace {

namespace fs = std::filesystem;
using machine::End;
using machine::Ended;

constexpr std::chrono::minutes longest_of_git{10};
constexpr std::uint64_t bytes_kept = std::uint64_t{64} << 20;

bool is_well(const Ended& ended) {
  return ended.how == End::exited && ended.exit_code == 0;
}

std::string how_it_ended(const Ended& ended) {
  return ended.how == End::exited ? fmt::format("it ended with exit code {}", ended.exit_code)
                                  : ended.reason;
}

bool names_a_repository(std::string_view variable) {
  constexpr std::array names = std::to_array<std::string_view>(
      {"GIT_DIR=", "GIT_WORK_TREE=", "GIT_INDEX_FILE=", "GIT_PREFIX=", "GIT_OBJECT_DIRECTORY=",
       "GIT_ALTERNATE_OBJECT_DIRECTORIES=", "GIT_COMMON_DIR="});
  return std::ranges::any_of(names, [&](auto name) { return variable.starts_with(name); });
}

// With the caller's own environment, where git finds its settings; in a hook it also names the
// repository, which is not always ours.
Result<Ended> run_git(const Repository& repository, const std::vector<std::string>& arguments) {
  const std::string& directory = repository.directory;
  machine::Launch launch = repository.how;
  if (launch.environment.empty())
    for (char** each = environ; *each != nullptr; ++each)
      if (!names_a_repository(*each)) launch.environment.emplace_back(*each);
  const auto git = machine::find_program("git", launch.environment, directory);
  if (!git) return fail("revisions need git: " + git.error().message);
  launch.argv = {*git, "-C", directory};
  launch.argv.insert(launch.argv.end(), arguments.begin(), arguments.end());
  launch.directory = directory;
  launch.timeout = longest_of_git;
  launch.output_limit = bytes_kept;
  return machine::run(launch);
}

// What it prints.
Result<std::string> git(const Repository& repository, const std::vector<std::string>& arguments) {
  auto ended = run_git(repository, arguments);
  if (!ended) return std::unexpected(ended.error());
  if (is_well(*ended)) return std::move(ended->out);
  return fail(fmt::format("git {} failed in {}: {}", arguments.front(), repository.directory,
                          ended->err.empty() ? how_it_ended(*ended) : one_line(ended->err, 500)));
}

Result<std::string> git_line(const Repository& repository,
                             const std::vector<std::string>& arguments) {
  auto text = git(repository, arguments);
  if (text && text->ends_with('\n')) text->pop_back();
  return text;
}

std::vector<std::string> split_at_zeros(const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at < text.size();) {
    const auto end = text.find('\0', at);
    parts.push_back(text.substr(at, end - at));
    at = end == std::string::npos ? text.size() : end + 1;
  }
  return parts;
}

// The commit at which this branch left the one that it comes from.
Result<std::string> merge_base(const Repository& repository) {
  for (const char* main :
       {"@{upstream}", "origin/HEAD", "origin/main", "origin/master", "main", "master"}) {
    const auto ended = run_git(repository, {"merge-base", "HEAD", main});
    if (!ended) return std::unexpected(ended.error());
    if (is_well(*ended)) return ended->out.substr(0, ended->out.find('\n'));
  }
  return fail("there is no branch main, master or upstream to compare with: name a revision");
}

struct Submodule {
  std::string path;
  std::string commit;
};

// "160000 commit HASH\tPATH" of ls-tree, "160000 HASH 0\tPATH" of ls-files --stage.
std::optional<Submodule> submodule_in(const std::string& entry) {
  const auto tab = entry.find('\t');
  if (!entry.starts_with("160000 ") || tab == std::string::npos) return std::nullopt;
  std::istringstream words(entry.substr(0, tab));
  std::string mode;
  std::string second;
  std::string third;
  words >> mode >> second >> third;
  return Submodule{.path = entry.substr(tab + 1), .commit = second == "commit" ? third : second};
}

// `uncommitted`: those that are in the index.
Result<std::vector<Submodule>> submodules_of(const Repository& top, const std::string& commit,
                                             bool uncommitted) {
  const auto listed = uncommitted ? git(top, {"ls-files", "--stage", "-z"})
                                  : git(top, {"ls-tree", "-r", "-z", "--full-tree", commit});
  if (!listed) return std::unexpected(listed.error());
  std::vector<Submodule> found;
  for (const std::string& entry : split_at_zeros(*listed))
    if (auto submodule = submodule_in(entry)) found.push_back(std::move(*submodule));
  return found;
}

// No link on the way leads out of the folder.
bool is_inside(const fs::path& root, const fs::path& path) {
  std::error_code error;
  const fs::path top = fs::canonical(root, error);
  if (error) return false;
  const fs::path parent = fs::weakly_canonical((root / path).parent_path(), error);
  if (error) return false;
  const auto [end, there] = std::ranges::mismatch(top, parent);
  return end == top.end();
}

// A file or folder of one folder becomes in another what it is there, or is not.
Result<void> bring(const fs::path& path, const fs::path& from, const fs::path& to) {
  const auto refuse = [&](const std::string& why) {
    return fail(
        fmt::format("cannot copy {} to {}: {}", one_line(path.string(), 300), to.string(), why));
  };
  if (!is_inside(to, path)) return refuse("a link leads out of the copy");
  std::error_code error;
  fs::remove_all(to / path, error);
  if (!error && fs::exists(fs::symlink_status(from / path))) {
    fs::create_directories((to / path).parent_path(), error);
    if (!error)
      fs::copy(from / path, to / path,
               fs::copy_options::recursive | fs::copy_options::copy_symlinks, error);
  }
  if (error) return refuse(error.message());
  return {};
}

Result<void> bring_uncommitted(const Repository& top, const std::string& to) {
  const std::vector<std::vector<std::string>> questions = {
      {"diff", "--name-only", "--no-renames", "--ignore-submodules=all", "-z", "HEAD"},
      {"ls-files", "--others", "--exclude-standard", "-z"}};
  for (const auto& question : questions) {
    const auto changed = git(top, question);
    if (!changed) return std::unexpected(changed.error());
    for (const std::string& path : split_at_zeros(*changed))
      if (auto brought = bring(path, top.directory, to); !brought) return brought;
  }
  return {};
}

// The same git in another folder.
Repository at(const Repository& repository, std::string directory) {
  Repository other = repository;
  other.directory = std::move(directory);
  return other;
}

// `uncommitted`: with what is not in the commit.
Result<void> copy_commit(const Repository& top, const std::string& commit, const std::string& to,
                         bool uncommitted) {
  const std::string& from = top.directory;
  if (auto made = git(top, {"clone", "--quiet", "--shared", "--no-checkout", "--", from, to});
      !made)
    return std::unexpected(made.error());
  if (auto made = git(at(top, to), {"checkout", "--quiet", "--detach", commit}); !made)
    return std::unexpected(made.error());
  const auto submodules = submodules_of(top, commit, uncommitted);
  if (!submodules) return std::unexpected(submodules.error());
  for (const Submodule& each : *submodules) {
    const Repository there = at(top, from + "/" + each.path);
    std::error_code error;
    if (!fs::exists(there.directory + "/.git", error))
      return fail(fmt::format("the submodule {} of {} is not there: git submodule update --init {}",
                              each.path, from, shell_quote(each.path)));
    const std::string into = to + "/" + each.path;
    fs::remove(into, error);
    const auto own = uncommitted ? commit_of(there, "HEAD") : each.commit;
    if (!own) return std::unexpected(own.error());
    if (auto copied = copy_commit(there, *own, into, uncommitted); !copied) return copied;
  }
  return uncommitted ? bring_uncommitted(top, to) : Result<void>();
}

}  // namespace

Result<std::string> commit_of(const Repository& repository, const std::string& revision) {
  if (revision.starts_with('-'))
    return fail(fmt::format("{} is no revision", one_line(revision, 100)));
  const auto ended =
      run_git(repository, {"rev-parse", "--verify", "--quiet", revision + "^{commit}"});
  if (!ended) return std::unexpected(ended.error());
  if (!is_well(*ended))
    return fail(fmt::format("{} is no revision of the repository in {}{}", one_line(revision, 100),
                            repository.directory,
                            ended->err.empty() ? "" : ": " + one_line(ended->err, 300)));
  return ended->out.substr(0, ended->out.find('\n'));
}

Result<std::vector<std::string>> revisions_to_compare(const std::vector<std::string>& given,
                                                      const Repository& repository) {
  std::vector<std::string> all = given;
  if (all.empty()) {
    auto base = merge_base(repository);
    if (!base) return std::unexpected(base.error());
    all.push_back(base->substr(0, 12));
  }
  if (all.size() == 1) all.emplace_back(working_tree);
  for (const std::string& revision : all)
    if (revision != working_tree)
      if (auto known = commit_of(repository, revision); !known)
        return std::unexpected(known.error());
  return all;
}

Result<void> check_out(const Repository& repository, const Checkout& checkout) {
  const auto top = git_line(repository, {"rev-parse", "--show-toplevel"});
  if (!top) return std::unexpected(top.error());
  const bool uncommitted = checkout.revision == working_tree;
  const auto commit = commit_of(repository, uncommitted ? "HEAD" : checkout.revision);
  if (!commit) return std::unexpected(commit.error());
  return copy_commit(at(repository, *top), *commit, checkout.folder, uncommitted);
}

Result<bool> has(const Repository& repository, const std::string& commit, const std::string& path) {
  const auto ended = run_git(repository, {"cat-file", "-e", commit + ":" + path});
  if (!ended) return std::unexpected(ended.error());
  return is_well(*ended);
}

Result<std::string> way_from_top(const Repository& repository) {
  return git_line(repository, {"rev-parse", "--show-prefix"});
}

Result<void> take_over(const std::vector<std::string>& paths, const std::string& from,
                       const std::string& to) {
  for (const std::string& path : paths) {
    fs::path relative = fs::path(path).lexically_normal();
    if (!relative.has_filename()) relative = relative.parent_path();  // "folder/"
    const bool leads_out = relative.is_absolute() || relative.empty() ||
                           *relative.begin() == ".." || relative == "." ||
                           !is_inside(from, relative);
    if (leads_out || !fs::exists(fs::symlink_status(fs::path(from) / relative)))
      return fail(fmt::format("--same {}: that is no file or folder of the last version",
                              one_line(path, 200)));
    if (auto brought = bring(relative, from, to); !brought) return brought;
  }
  return {};
}

}  // namespace stab::revisions
