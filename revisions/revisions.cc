// SPDX-License-Identifier: MIT

#include "revisions/revisions.h"

#include <fmt/format.h>
#include <strings.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
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
#include "machine/program.h"

namespace stab::revisions {
namespace {

using machine::End;
using machine::Ended;

constexpr std::chrono::minutes longest_of_git{10};
constexpr std::uint64_t bytes_kept = std::uint64_t{64} << 20;

std::string how_it_ended(const Ended& ended) {
  return ended.how == End::exited ? fmt::format("git ended with exit code {}", ended.exit_code)
                                  : ended.reason;
}

// Drops the variables by which a hook names a repository, which may be another one. Keeps the
// caller's variables that say where git and its settings are.
bool is_kept(std::string_view variable) {
  constexpr std::array kept = std::to_array<std::string_view>(
      {"GIT_CONFIG_GLOBAL=", "GIT_CONFIG_SYSTEM=", "GIT_CONFIG_NOSYSTEM=", "GIT_EXEC_PATH=",
       "GIT_CEILING_DIRECTORIES=", "GIT_DISCOVERY_ACROSS_FILESYSTEM="});
  return !variable.starts_with("GIT_") ||
         std::ranges::any_of(kept, [&](auto name) { return variable.starts_with(name); });
}

std::vector<std::string> environment_of(const Repository& repository,
                                        const std::vector<Setting>& settings) {
  std::vector<std::string> given = repository.how.environment;
  if (given.empty())
    for (char** each = environ; *each != nullptr; ++each) given.emplace_back(*each);
  std::erase_if(given, [](const std::string& each) { return !is_kept(each); });
  // No transport is allowed, so a partial clone fetches nothing, whatever its settings say.
  for (const char* each : {"GIT_ALLOW_PROTOCOL=none", "GIT_NO_LAZY_FETCH=1", "GIT_OPTIONAL_LOCKS=0",
                           "GIT_LITERAL_PATHSPECS=1", "GIT_TERMINAL_PROMPT=0"})
    given.emplace_back(each);
  given.push_back(fmt::format("GIT_CONFIG_COUNT={}", settings.size()));
  for (std::size_t i = 0; i < settings.size(); ++i) {
    given.push_back(fmt::format("GIT_CONFIG_KEY_{}={}", i, settings[i].first));
    given.push_back(fmt::format("GIT_CONFIG_VALUE_{}={}", i, settings[i].second));
  }
  return given;
}

}  // namespace

Repository at(const Repository& repository, std::string directory) {
  Repository other(std::move(directory));
  other.how = repository.how;
  return other;
}

Result<Ended> run_git(const Repository& repository, const std::vector<std::string>& arguments,
                      const std::vector<Setting>& settings) {
  const std::string& directory = repository.directory;
  machine::Launch launch = repository.how;
  launch.environment = environment_of(repository, settings);
  const auto program = machine::find_program("git", launch.environment, directory);
  if (!program) return fail("revisions need git: " + program.error().message);
  launch.argv = {*program, "-C", directory};
  // Git must not take a tracked folder for a repository because it looks like one.
  for (const char* each :
       {"safe.bareRepository=explicit", "core.fsmonitor=false", "core.hooksPath=/dev/null",
        "submodule.recurse=false", "diff.autoRefreshIndex=false"})
    launch.argv.insert(launch.argv.end(), {"-c", each});
  if (const std::string& own = repository.git_directory; !own.empty())
    launch.argv.insert(launch.argv.end(), {"--git-dir=" + own, "--work-tree=" + own});
  launch.argv.insert(launch.argv.end(), arguments.begin(), arguments.end());
  launch.directory = directory;
  launch.timeout = longest_of_git;
  launch.output_limit = bytes_kept;
  return machine::run(launch);
}

bool is_well(const Ended& ended) {
  return ended.how == End::exited && ended.exit_code == 0;
}

Result<std::string> git(const Repository& repository, const std::vector<std::string>& arguments,
                        const std::vector<Setting>& settings) {
  auto ended = run_git(repository, arguments, settings);
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

namespace {

namespace fs = std::filesystem;

fs::file_status status_of(const fs::path& path) {
  std::error_code error;
  return fs::symlink_status(path, error);
}

Result<void> no_copy(const fs::path& path, const fs::path& to, const std::string& why) {
  return fail(
      fmt::format("cannot copy {} to {}: {}", one_line(path.string(), 300), to.string(), why));
}

// Ignores files that have vanished meanwhile, and everything that is not a file, link or folder.
void copy_entry(const fs::path& from, const fs::path& to, std::error_code& error) {
  switch (status_of(from).type()) {
    case fs::file_type::regular:
      fs::copy_file(from, to, error);
      break;
    case fs::file_type::symlink:
      fs::copy_symlink(from, to, error);
      break;
    case fs::file_type::directory:
      fs::create_directories(to, error);
      break;
    default:
      return;
  }
  if (error == std::errc::no_such_file_or_directory && !fs::exists(status_of(from))) error.clear();
}

void copy_all(const fs::path& from, const fs::path& to, std::error_code& error) {
  copy_entry(from, to, error);
  if (error || !fs::is_directory(status_of(from))) return;
  for (auto it = fs::recursive_directory_iterator(from, error); !error && it != fs::end(it);
       it.increment(error)) {
    copy_entry(it->path(), to / it->path().lexically_relative(from), error);
    if (error) return;
  }
}

// Whether this is an ELF file, an archive, LLVM bitcode or a header that gcc compiled.
bool is_product(const fs::path& file) {
  std::array<char, 8> start{};
  std::ifstream stream(file, std::ios::binary);
  stream.read(start.data(), start.size());
  const std::string_view read(start.data(), static_cast<std::size_t>(stream.gcount()));
  return read.starts_with(
             "\x7f"
             "ELF") ||
         read == "!<arch>\n" || read == "!<thin>\n" || read.starts_with("BC\xc0\xde") ||
         read.starts_with("gpch");
}

void make_older(const fs::path& file, std::error_code& error) {
  if (!fs::is_regular_file(status_of(file))) return;
  constexpr std::chrono::hours day{24};
  fs::last_write_time(file, fs::file_time_type::clock::now() - (is_product(file) ? 2 * day : day),
                      error);
}

}  // namespace

bool is_way(const fs::path& path) {
  return !path.empty() && path.is_relative() && std::ranges::none_of(path, [](const auto& part) {
    return part == ".." || strcasecmp(part.c_str(), ".git") == 0;
  });
}

bool is_inside(const fs::path& root, const fs::path& path) {
  std::error_code error;
  const fs::path top = fs::canonical(root, error);
  if (error) return false;
  const fs::path parent = fs::weakly_canonical((root / path).parent_path(), error);
  if (error) return false;
  const auto [end, there] = std::ranges::mismatch(top, parent);
  return end == top.end();
}

bool is_tracked_way(const fs::path& root, const fs::path& path) {
  fs::path way = root;
  for (const fs::path& part : path.parent_path()) {
    way /= part;
    if (!fs::is_directory(status_of(way))) return false;
  }
  return true;
}

bool has_place(const fs::path& root, const fs::path& path) {
  if (!is_way(path) || !is_inside(root, path)) return false;
  const fs::file_status status = status_of(root / path);
  return !fs::exists(status) || fs::is_directory(status);
}

Result<void> bring(const fs::path& path, const fs::path& from, const fs::path& to) {
  if (!is_inside(to, path)) return no_copy(path, to, "a symbolic link points outside the copy");
  std::error_code error;
  fs::remove_all(to / path, error);
  if (!error && fs::exists(status_of(from / path))) {
    fs::create_directories((to / path).parent_path(), error);
    if (!error) copy_all(from / path, to / path, error);
  }
  if (error) return no_copy(path, to, error.message());
  return {};
}

TreeCopy::TreeCopy(fs::path from, fs::path to)
    : from_(std::move(from)), to_(std::move(to)), looked_at_("/") {}

Result<void> TreeCopy::add(const std::string& listed) {
  const bool whole = listed.ends_with('/');
  const fs::path path = whole ? fs::path(listed).parent_path() : fs::path(listed);
  if (!is_way(path)) return no_copy(path, to_, "it is not a file of a working tree");
  std::error_code error;
  if (path.parent_path() != looked_at_) {
    if (!is_tracked_way(from_, path)) return {};
    if (!is_inside(to_, path)) return no_copy(path, to_, "a symbolic link points outside the copy");
    fs::create_directories((to_ / path).parent_path(), error);
    if (error) return no_copy(path, to_, error.message());
    looked_at_ = path.parent_path().string();
  }
  if (whole)
    copy_all(from_ / path, to_ / path, error);
  else if (!fs::is_directory(status_of(from_ / path)))
    copy_entry(from_ / path, to_ / path, error);
  if (error) return no_copy(path, to_, error.message());
  return {};
}

Result<void> TreeCopy::add_untracked(const std::string& listed) {
  if (auto added = add(listed); !added) return added;
  const fs::path copied = to_ / listed;
  std::error_code error;
  make_older(copied, error);
  if (fs::is_directory(status_of(listed.ends_with('/') ? copied.parent_path() : copied)))
    for (auto it = fs::recursive_directory_iterator(copied, error); !error && it != fs::end(it);
         it.increment(error))
      make_older(it->path(), error);
  if (error) return no_copy(listed, to_, error.message());
  return {};
}

namespace {

// Finds the submodules of a commit or of the index, and the repositories that have their objects.

struct Entry {
  std::string path;    // from the repository's top
  std::string commit;  // "": a file, not a submodule
};

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
  return fail(
      fmt::format("{} is a partial clone and lacks files of commit {}; to fetch the files: git -C "
                  "{} archive {} >/dev/null",
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
  // With --quiet, git would count files that have a new time but their old content, because it may
  // not refresh its index here.
  const auto changes = run_git(*top, {"diff", "--no-ext-diff", "--no-textconv", "--no-color",
                                      "--submodule=short", "--unified=0", commit, "--"});
  if (!changes) return std::unexpected(changes.error());
  if (!is_well(*changes) || !changes->out.empty()) return false;
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
    if (leads_out)
      return fail(fmt::format("--share {}: name a file or folder below the current folder",
                              one_line(path, 200)));
    if (!fs::exists(fs::symlink_status(fs::path(from) / relative)))
      return fail(fmt::format("--share {}: the last version has no such file or folder",
                              one_line(path, 200)));
    if (auto brought = bring(relative, from, to); !brought) return brought;
  }
  return {};
}

}  // namespace stab::revisions
