// SPDX-License-Identifier: MIT
#include "revisions/revisions.h"

#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/fd.h"
#include "base/streams.h"
#include "base/text.h"
#include "revisions/git.h"
#include "revisions/tree_copy.h"

namespace stab::revisions {
namespace {

// Finds the submodules of a commit or of the index, and the repositories that have their objects.

struct Entry {
  std::string path;    // from the repository's top
  std::string commit;  // "": a file, not a submodule
};

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

// The submodules of a commit, without their own submodules.
Result<std::vector<Entry>> submodules_of(const Repository& top, const std::string& commit) {
  const auto listed = git(top, {"ls-tree", "-r", "-z", "--full-tree", commit});
  if (!listed) return std::unexpected(listed.error());
  std::vector<Entry> found;
  for (const std::string& line : split_at_zeros(*listed))
    if (auto entry = entry_in(line); entry && !entry->commit.empty())
      found.push_back(std::move(*entry));
  return found;
}

// The entries of the index, each path once.
Result<std::vector<Entry>> entries_of_index(const Repository& top) {
  const auto listed = git(top, {"ls-files", "--stage", "-z"});
  if (!listed) return std::unexpected(listed.error());
  std::vector<Entry> found;
  for (const std::string& line : split_at_zeros(*listed))
    if (auto entry = entry_in(line); entry && (found.empty() || found.back().path != entry->path))
      found.push_back(std::move(*entry));
  return found;
}

// The repository that has the submodule's commit: its checkout, or the place where git keeps it
// after a checkout.
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
  return fail(fmt::format("the submodule {} of commit {} in {} is missing; to fetch it: {}",
                          one_line(submodule.path, 300), commit.substr(0, 12), top.directory,
                          whence(submodule, top, commit)));
}

// The checkout of the index's submodule in the working tree. Its `directory` is "" if the
// submodule's folder is gone.
Result<Repository> checked_out(const Entry& submodule, const Repository& top) {
  const std::string folder = top.directory + "/" + submodule.path;
  std::error_code error;
  if (!is_way(submodule.path) || !is_tracked_way(top.directory, submodule.path) ||
      !fs::is_directory(fs::symlink_status(folder, error)))
    return at(top, "");
  const auto there = is_top(at(top, folder));
  if (!there) return std::unexpected(there.error());
  if (!*there)
    return fail(fmt::format("the submodule {} of {} is missing: run git submodule update --init {}",
                            one_line(submodule.path, 300), top.directory,
                            shell_quote(submodule.path)));
  return at(top, folder);
}

// The commit at which this branch left its upstream or the main branch.
Result<std::string> merge_base(const Repository& repository) {
  for (const char* main :
       {"@{upstream}", "origin/HEAD", "origin/main", "origin/master", "main", "master"}) {
    const auto ended = run_git(repository, {"merge-base", "HEAD", main});
    if (!ended) return std::unexpected(ended.error());
    if (is_well(*ended)) return ended->out.substr(0, ended->out.find('\n'));
  }
  return fail(
      "the current branch has no upstream, and there is no branch main or master to compare with: "
      "give a revision");
}

Result<void> no_place(const Entry& submodule, const std::string& to) {
  return fail(fmt::format("cannot copy the submodule {} to {}: a file or link is in the way",
                          one_line(submodule.path, 300), to));
}

// The repository's own settings that decide how a checkout writes files. A copy of the repository
// does not have them.
Result<std::vector<Setting>> settings_of_files(const Repository& from) {
  const auto listed =
      run_git(from, {"config", "-z", "--get-regexp",
                     "^(filter\\..*|core\\.(autocrlf|eol|symlinks|attributesfile))$"});
  if (!listed) return std::unexpected(listed.error());
  std::vector<Setting> found;
  for (const std::string& each : split_at_zeros(listed->out)) {
    const auto end = each.find('\n');
    if (end == std::string::npos)
      found.emplace_back(each, "true");
    else
      found.emplace_back(each.substr(0, end), each.substr(end + 1));
  }
  return found;
}

// Copies one of the repository's own files into the copy, if it exists.
Result<void> copy_own(const char* name, const Repository& from, const std::string& to) {
  const auto path = git_line(from, {"rev-parse", "--path-format=absolute", "--git-path", name});
  if (!path) return std::unexpected(path.error());
  std::error_code error;
  if (!fs::is_regular_file(*path, error)) return {};
  const fs::path target = fs::path(to) / ".git" / name;
  fs::create_directories(target.parent_path(), error);
  if (!error) fs::copy_file(*path, target, fs::copy_options::overwrite_existing, error);
  if (error) return fail(fmt::format("cannot copy {}: {}", *path, error.message()));
  return {};
}

// Makes a repository without files that uses the objects and has the tags of another one, which may
// be shallow.
Result<Repository> make_repository(const Repository& from, const std::string& to) {
  const auto format = git_line(from, {"rev-parse", "--show-object-format"});
  if (!format) return std::unexpected(format.error());
  const auto objects =
      git_line(from, {"rev-parse", "--path-format=absolute", "--git-path", "objects"});
  if (!objects) return std::unexpected(objects.error());
  if (objects->contains('\n'))
    return fail("the path of a repository must not contain a line break");
  const auto tags = git(from, {"for-each-ref", "--format=%(objectname) %(refname)", "refs/tags/"});
  if (!tags) return std::unexpected(tags.error());
  std::error_code error;
  fs::create_directories(to, error);
  if (error) return fail(fmt::format("cannot create {}: {}", to, error.message()));
  const Repository made = at(from, to);
  if (auto done = git(made, {"init", "--quiet", "--template=", "--object-format=" + *format});
      !done)
    return std::unexpected(done.error());
  fs::create_directories(to + "/.git/objects/info", error);
  if (auto done = write_file_atomically(to + "/.git/objects/info/alternates", *objects + "\n");
      !done)
    return std::unexpected(done.error());
  if (auto done = write_file_atomically(to + "/.git/packed-refs", *tags); !done)
    return std::unexpected(done.error());
  for (const char* name : {"shallow", "info/attributes"})
    if (auto done = copy_own(name, from, to); !done) return std::unexpected(done.error());
  return made;
}

Result<void> copy_commit(const Repository& from, const std::string& commit, const std::string& to) {
  const auto settings = settings_of_files(from);
  if (!settings) return std::unexpected(settings.error());
  const auto made = make_repository(from, to);
  if (!made) return std::unexpected(made.error());
  if (auto done = git(*made, {"checkout", "--quiet", "--detach", commit}, *settings); !done)
    return std::unexpected(done.error());
  const auto submodules = submodules_of(from, commit);
  if (!submodules) return std::unexpected(submodules.error());
  for (const Entry& each : *submodules) {
    const auto there = repository_of(each, from, commit);
    if (!there) return std::unexpected(there.error());
    if (!has_place(to, each.path)) return no_place(each, to);
    if (auto copied = copy_commit(*there, each.commit, to + "/" + each.path); !copied)
      return copied;
  }
  return {};
}

// Copies the files of the working tree byte by byte, without git's filters and line endings.
// Changes that git was told to ignore are copied, too. Files that stabctl wrote are left out unless
// they are tracked.
Result<void> copy_working_tree(const Repository& from, const std::string& to) {
  const auto commit = commit_of(from, "HEAD");
  if (!commit) return std::unexpected(commit.error());
  const auto made = make_repository(from, to);
  if (!made) return std::unexpected(made.error());
  for (const std::vector<std::string>& step :
       {std::vector<std::string>{"update-ref", "--no-deref", "HEAD", *commit},
        {"read-tree", "HEAD"}})
    if (auto done = git(*made, step); !done) return std::unexpected(done.error());
  const auto entries = entries_of_index(from);
  if (!entries) return std::unexpected(entries.error());
  const auto others = git(from, {"ls-files", "--others", "--exclude-standard", "-z"});
  if (!others) return std::unexpected(others.error());
  TreeCopy copy(from.directory, to);
  for (const Entry& each : *entries)
    if (each.commit.empty())
      if (auto added = copy.add(each.path); !added) return added;
  for (const std::string& path : split_at_zeros(*others)) {
    if (is_marked_as_output(from.directory + "/" + path)) continue;
    if (auto added = copy.add_untracked(path); !added) return added;
  }
  for (const Entry& each : *entries) {
    if (each.commit.empty()) continue;
    const auto there = checked_out(each, from);
    if (!there) return std::unexpected(there.error());
    if (there->directory.empty()) continue;
    if (!has_place(to, each.path)) return no_place(each, to);
    if (auto copied = copy_working_tree(*there, to + "/" + each.path); !copied) return copied;
  }
  return {};
}

// A partial clone may lack objects, and we don't fetch any.
Result<void> objects_are_there(const Repository& top, const std::string& commit) {
  const auto promised = run_git(
      top, {"config", "--get-regexp", R"(^(extensions\.partialclone|remote\..*\.promisor)$)"});
  if (!promised) return std::unexpected(promised.error());
  if (promised->out.empty()) return {};
  const auto listed = run_git(
      top, {"rev-list", "--objects", "--no-object-names", "--no-walk", "--missing=print", commit});
  if (!listed) return std::unexpected(listed.error());
  if (is_well(*listed) && !listed->out.contains('?')) return {};
  return fail(fmt::format(
      "{} is a partial clone that lacks files of commit {}: fetch them with git -C {} archive "
      "{} >/dev/null",
      top.directory, commit.substr(0, 12), shell_quote(top.directory), commit));
}

Result<void> commit_is_there(const Repository& top, const std::string& commit) {
  if (auto objects = objects_are_there(top, commit); !objects) return objects;
  const auto submodules = submodules_of(top, commit);
  if (!submodules) return std::unexpected(submodules.error());
  for (const Entry& each : *submodules) {
    const auto there = repository_of(each, top, commit);
    if (!there) return std::unexpected(there.error());
    if (auto inner = commit_is_there(*there, each.commit); !inner) return inner;
  }
  return {};
}

Result<void> submodules_are_checked_out(const Repository& top) {
  const auto entries = entries_of_index(top);
  if (!entries) return std::unexpected(entries.error());
  for (const Entry& each : *entries) {
    if (each.commit.empty()) continue;
    const auto there = checked_out(each, top);
    if (!there) return std::unexpected(there.error());
    if (there->directory.empty()) continue;
    if (auto inner = submodules_are_checked_out(*there); !inner) return inner;
  }
  return {};
}

Result<Repository> top_of(const Repository& repository) {
  const auto top = git_line(repository, {"rev-parse", "--show-toplevel"});
  if (!top) return std::unexpected(top.error());
  return at(repository, *top);
}

bool is_hash(std::string_view text) {
  return (text.size() == 40 || text.size() == 64) &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

}  // namespace

Result<std::string> commit_of(const Repository& repository, const std::string& revision) {
  if (revision.starts_with('-'))
    return fail(fmt::format("{} is not a revision", one_line(revision, 100)));
  // Takes two steps, because "^{commit}" would become a part of the words in ":/words".
  const auto object = run_git(repository, {"rev-parse", "--verify", "--quiet", revision});
  if (!object) return std::unexpected(object.error());
  const std::string found = object->out.substr(0, object->out.find('\n'));
  if (is_well(*object) && is_hash(found)) {
    const auto peeled =
        run_git(repository, {"rev-parse", "--verify", "--quiet", found + "^{commit}"});
    if (!peeled) return std::unexpected(peeled.error());
    if (is_well(*peeled)) return peeled->out.substr(0, peeled->out.find('\n'));
  }
  const bool is_range = revision.contains("..");
  return fail(fmt::format("{} is not a revision of the repository in {}{}{}",
                          one_line(revision, 100), repository.directory,
                          is_range ? ": write the two revisions apart" : "",
                          object->err.empty() ? "" : ": " + one_line(object->err, 300)));
}

std::optional<Head> head_of(const Repository& repository) {
  const auto commit = run_git(repository, {"rev-parse", "--verify", "--quiet", "HEAD^{commit}"});
  if (!commit || !is_well(*commit)) return std::nullopt;
  Head head{.branch = "", .commit = commit->out.substr(0, commit->out.find('\n'))};
  if (!is_hash(head.commit)) return std::nullopt;
  if (const auto branch = run_git(repository, {"symbolic-ref", "--quiet", "--short", "HEAD"});
      branch && is_well(*branch))
    head.branch = branch->out.substr(0, branch->out.find('\n'));
  return head;
}

Result<std::vector<std::string>> revisions_to_compare(const std::vector<std::string>& given,
                                                      const Repository& repository) {
  std::vector<std::string> all = given;
  if (all.empty() || (all.size() == 1 && all.front() == working_tree)) {
    auto base = merge_base(repository);
    if (!base) return std::unexpected(base.error());
    all = {base->substr(0, 12)};
  }
  if (all.size() == 1) all.emplace_back(working_tree);
  for (const std::string& revision : all)
    if (revision != working_tree)
      if (auto known = commit_of(repository, revision); !known)
        return std::unexpected(known.error());
  return all;
}

Result<void> check_out(const Repository& repository, const Checkout& checkout) {
  const auto top = top_of(repository);
  if (!top) return std::unexpected(top.error());
  if (checkout.revision == working_tree) return copy_working_tree(*top, checkout.folder);
  const auto commit = commit_of(repository, checkout.revision);
  if (!commit) return std::unexpected(commit.error());
  return copy_commit(*top, *commit, checkout.folder);
}

Result<bool> is_working_tree(const Repository& repository, const std::string& commit) {
  const auto top = top_of(repository);
  if (!top) return std::unexpected(top.error());
  const auto changed = run_git(*top, {"diff", "--quiet", commit, "--"});
  if (!changed) return std::unexpected(changed.error());
  if (!is_well(*changed)) return false;
  const auto others = git(*top, {"ls-files", "--others", "--exclude-standard", "-z"});
  if (!others) return std::unexpected(others.error());
  for (const std::string& path : split_at_zeros(*others))
    if (!is_marked_as_output(top->directory + "/" + path)) return false;
  return true;
}

Result<void> is_whole(const Repository& repository, const std::string& revision) {
  const auto top = top_of(repository);
  if (!top) return std::unexpected(top.error());
  return revision == working_tree ? submodules_are_checked_out(*top)
                                  : commit_is_there(*top, revision);
}

Result<bool> has(const Repository& repository, const std::string& commit, const std::string& path) {
  const auto ended = run_git(repository, {"cat-file", "-e", commit + ":" + path});
  if (!ended) return std::unexpected(ended.error());
  if (is_well(*ended)) return true;
  const auto submodules = submodules_of(repository, commit);
  if (!submodules) return std::unexpected(submodules.error());
  for (const Entry& each : *submodules) {
    if (path == each.path) return true;
    if (!path.starts_with(each.path + "/")) continue;
    const auto top = repository.git_directory.empty() ? top_of(repository) : repository;
    if (!top) return std::unexpected(top.error());
    const auto there = repository_of(each, *top, commit);
    if (!there) return std::unexpected(there.error());
    return has(*there, each.commit, path.substr(each.path.size() + 1));
  }
  return false;
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
      return fail(fmt::format("--share {}: the last version has no such file or folder",
                              one_line(path, 200)));
    if (auto brought = bring(relative, from, to); !brought) return brought;
  }
  return {};
}

}  // namespace stab::revisions
