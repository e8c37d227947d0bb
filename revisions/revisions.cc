// SPDX-License-Identifier: MIT
#include "revisions/revisions.h"

#include <fmt/format.h>

#include <filesystem>
#include <string_view>
#include <system_error>

#include "base/fd.h"
#include "base/output_mark.h"
#include "base/text.h"
#include "revisions/submodules.h"
#include "revisions/tree_copy.h"

namespace stab::revisions {
namespace {

namespace fs = std::filesystem;
// The commit at which this branch left its upstream or the main branch.
Result<std::string> merge_base(const Repository& repository) {
  for (const char* main :
       {"@{upstream}", "origin/HEAD", "origin/main", "origin/master", "main", "master"}) {
    const auto ended = run_git(repository, {"merge-base", "HEAD", main});
    if (!ended) return std::unexpected(ended.error());
    if (is_well(*ended)) return ended->out.substr(0, ended->out.find('\n'));
  }
  return fail("there is no branch main, master or upstream to compare with: give a revision");
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
  return fail(
      fmt::format("{} is a partial clone that lacks files of {}: fetch them with git -C {} archive "
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
      return fail(fmt::format("--same {}: the last version has no such file or folder",
                              one_line(path, 200)));
    if (auto brought = bring(relative, from, to); !brought) return brought;
  }
  return {};
}

}  // namespace stab::revisions
