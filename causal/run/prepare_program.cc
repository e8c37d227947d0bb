// SPDX-License-Identifier: MIT
#include "causal/run/prepare_program.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <glob.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <utility>

#include "base/elf.h"
#include "base/fd.h"
#include "base/text.h"
#include "base/time.h"
#include "causal/lines/line_map.h"
#include "machine/program.h"

namespace stab::causal {
namespace {

std::string_view take_until(std::string_view& text, char end) {
  const std::size_t at = text.find(end);
  const std::string_view taken = text.substr(0, at);
  text = at == std::string_view::npos ? "" : text.substr(at + 1);
  return taken;
}

template <class Number>
std::optional<Number> number(std::string_view text, int base) {
  Number value{};
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value, base);
  if (text.empty() || at != end || error != std::errc{}) return std::nullopt;
  return value;
}

bool add_range(LineMap& map, std::string_view fields) {
  const auto start = number<std::uint64_t>(take_until(fields, '\t'), 16);
  const auto size = number<std::uint32_t>(take_until(fields, '\t'), 16);
  const auto line = number<std::uint32_t>(fields, 10);
  if (!start || !size || !line || *line >= map.lines.size() || map.objects.empty()) return false;
  if (*size == 0 || *start > UINT64_MAX - *size) return false;
  auto& ranges = map.objects.back().ranges;
  if (!ranges.empty() && ranges.back().start + ranges.back().size > *start) return false;
  ranges.push_back({.start = *start, .size = *size, .line = *line});
  return true;
}

bool add_file(LineMap& map, std::string_view fields) {
  const auto device = number<std::uint64_t>(take_until(fields, '\t'), 10);
  const auto inode = number<std::uint64_t>(take_until(fields, '\t'), 10);
  const auto size = number<std::uint64_t>(take_until(fields, '\t'), 10);
  const auto modified = number<std::int64_t>(take_until(fields, '\t'), 10);
  const auto changed = number<std::int64_t>(take_until(fields, '\t'), 10);
  if (!device || !inode || !size || !modified || !changed || fields.empty()) return false;
  map.files.push_back({.path = std::string(fields),
                       .state = {.device = *device,
                                 .inode = *inode,
                                 .size = *size,
                                 .modified_ns = *modified,
                                 .changed_ns = *changed}});
  return map.files.size() <= most_files;
}

bool add(LineMap& map, std::string_view record, std::size_t& ranges) {
  const std::string_view kind = take_until(record, '\t');
  if (kind == "range") return ++ranges <= most_ranges && add_range(map, record);
  if (kind == "file") return add_file(map, record);
  if (kind == "line") {
    map.lines.emplace_back(record);
    return !record.empty() && map.lines.size() <= most_lines && map.objects.empty();
  }
  if (kind == "stranger") {
    if (record.empty() || map.objects.empty()) return false;
    map.objects.back().stranger = record;
    return true;
  }
  if (kind != "object") return false;
  const std::string_view has_lines = take_until(record, '\t');
  map.objects.push_back({.path = std::string(record), .has_lines = has_lines == "1"});
  return !record.empty() && map.objects.size() <= most_objects;
}

struct Name {
  std::string_view file;
  std::uint32_t line = 0;
};

std::optional<Name> split(std::string_view name) {
  const std::size_t at = name.rfind(':');
  if (at == std::string_view::npos || at == 0) return std::nullopt;
  const auto line = number<std::uint32_t>(name.substr(at + 1), 10);
  if (!line) return std::nullopt;
  return Name{.file = name.substr(0, at), .line = *line};
}

bool ends_as(std::string_view path, std::string_view file) {
  return path == file || (path.ends_with(file) && path.size() > file.size() &&
                          (file.starts_with('/') || path[path.size() - file.size() - 1] == '/'));
}

}  // namespace

Result<LineMap> parse_map(std::string_view text) {
  if (text.size() > most_map_bytes)
    return fail("the program has too many source lines; select fewer files with --scope");
  LineMap map;
  std::size_t ranges = 0;
  while (!text.empty()) {
    const std::string_view record = take_until(text, '\n');
    if (!add(map, record, ranges))
      return fail(fmt::format("stab-lines printed a line that cannot be parsed: '{}'",
                              one_line(record, 80)));
  }
  return map;
}

Result<std::uint32_t> find_line(const LineMap& map, std::string_view name) {
  const auto wanted = split(name);
  if (!wanted)
    return fail(
        fmt::format("'{}' does not name a source line; write FILE:LINE", one_line(name, 200)));
  std::optional<std::uint32_t> found;
  std::optional<std::uint32_t> nearest;
  std::uint32_t distance = UINT32_MAX;
  for (std::uint32_t i = 0; i < map.lines.size(); ++i) {
    const auto each = split(map.lines[i]);
    if (!each || !ends_as(each->file, wanted->file)) continue;
    const std::uint32_t off =
        std::max(each->line, wanted->line) - std::min(each->line, wanted->line);
    if (off == 0 && found)
      return fail(fmt::format("'{}' matches {} and {}; give more of the path", one_line(name, 200),
                              map.lines[*found], map.lines[i]));
    if (off == 0) found = i;
    if (off >= distance) continue;
    distance = off;
    nearest = i;
  }
  if (found) return *found;
  if (!nearest)
    return fail(
        fmt::format("the file of the line '{}' has no code in the scope; see --scope and --binary",
                    one_line(name, 200)));
  return fail(fmt::format("there is no code for {}; the nearest line with code is {}",
                          one_line(name, 200), map.lines[*nearest]));
}

namespace {

// File systems count time in steps of 10 ms at most. A file that changes twice in one step may
// have the same state both times.
constexpr std::int64_t settled_ns = 100'000'000;

bool is_current(const LineMap& map) {
  return std::ranges::all_of(
      map.files, [](const FileRead& each) { return state_of(each.path) == each.state; });
}

// Whether any later change gives a file another state than this.
bool is_settled(const LineMap& map, std::int64_t at_ns) {
  return !map.files.empty() && std::ranges::all_of(map.files, [&](const FileRead& each) {
    return each.state.changed_ns < at_ns - settled_ns;
  });
}

std::size_t records_of(const LineMap& map) {
  std::size_t sum = map.lines.size() + map.files.size();
  for (const ObjectLines& each : map.objects) sum += 1 + each.ranges.size();
  return sum;
}

}  // namespace

Result<std::shared_ptr<const LineMap>> KnownLines::find(
    const std::vector<std::string>& key, const std::function<Result<LineMap>()>& read) {
  const auto found = std::ranges::find(entries_, key, &Entry::key);
  if (found != entries_.end()) {
    if (is_current(*found->map)) {
      entries_.splice(entries_.end(), entries_, found);
      return entries_.back().map;
    }
    records_ -= records_of(*found->map);
    entries_.erase(found);
  }
  const std::int64_t began = wall_clock_ns();
  auto made = read();
  if (!made) return std::unexpected(made.error());
  auto map = std::make_shared<const LineMap>(*std::move(made));
  if (is_settled(*map, began)) keep({.key = key, .map = map}, records_of(*map));
  return map;
}

void KnownLines::keep(Entry entry, std::size_t records) {
  if (records > limits_.records || limits_.maps == 0) return;
  while (entries_.size() >= limits_.maps || records_ + records > limits_.records) {
    records_ -= records_of(*entries_.front().map);
    entries_.pop_front();
  }
  records_ += records;
  entries_.push_back(std::move(entry));
}

namespace {

namespace fs = std::filesystem;

std::string first_in(const fs::path& here, std::initializer_list<const char*> folders,
                     const char* name) {
  for (const char* folder : folders) {
    std::error_code error;
    if (fs::path path = (here / folder / name).lexically_normal(); fs::exists(path, error))
      return path.string();
  }
  return "";
}

enum class Kind { dynamic, fixed, no_elf };

Kind kind_of(int fd) {
  const auto elf = ElfReader::of(fd);
  if (!elf || elf->header().e_phentsize != sizeof(Elf64_Phdr)) return Kind::no_elf;
  return elf->has_segment(PT_INTERP) ? Kind::dynamic : Kind::fixed;
}

// The loader ignores LD_PRELOAD in such a program.
bool gains_rights(const std::string& path) {
  struct stat status{};
  if (stat(path.c_str(), &status) != 0) return false;
  return ((status.st_mode & S_ISUID) != 0 && status.st_uid != geteuid()) ||
         ((status.st_mode & S_ISGID) != 0 && status.st_gid != getegid()) ||
         getxattr(path.c_str(), "security.capability", nullptr, 0) > 0;
}

Result<void> check(const std::string& path, bool has_binaries) {
  if (gains_rights(path))
    return fail(path +
                " is setuid or gains other rights, so it does not load libraries from its "
                "environment; profile a copy without those rights");
  const Fd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return fail_errno("cannot read " + path);
  switch (kind_of(file.get())) {
    case Kind::dynamic:
      return {};
    case Kind::fixed:
      return fail(path + " is linked statically; link it dynamically, without -static");
    case Kind::no_elf:
      break;
  }
  if (has_binaries) return {};
  return fail(path +
              " is not a 64-bit ELF file, but perhaps a script: name the program that it starts, "
              "or that program's file with --binary");
}

Result<std::vector<std::string>> expand(const std::vector<std::string>& patterns,
                                        const fs::path& directory) {
  std::vector<std::string> found;
  for (const std::string& pattern : patterns) {
    glob_t matches{};
    const int failed = glob((directory / pattern).c_str(), 0, nullptr, &matches);
    for (std::size_t i = 0; failed == 0 && i < matches.gl_pathc; ++i)
      found.emplace_back(matches.gl_pathv[i]);
    globfree(&matches);
    if (failed != 0) return fail("no file matches --binary " + one_line(pattern, 500));
  }
  return found;
}

// Reads everything, up to a limit.
Result<std::string> read_all(int fd) {
  std::string text;
  std::array<char, 65536> part{};
  while (true) {
    const ssize_t n = read(fd, part.data(), part.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno("cannot read the output of stab-lines");
    if (n == 0) return text;
    text.append(part.data(), static_cast<std::size_t>(n));
    if (text.size() > most_map_bytes)
      return fail("the program has too many source lines; select fewer files with --scope");
  }
}

// Each build has a folder of its own, but a source line must have one name in all builds.
void leave_out(const std::string& tree, LineMap& map) {
  if (tree.empty()) return;
  for (std::string& line : map.lines)
    if (line.starts_with(tree + "/")) line.erase(0, tree.size() + 1);
}

std::string why_no_lines(const std::string& path, const LineMap& map) {
  const auto found = std::ranges::find_if(
      map.objects, [](const ObjectLines& each) { return !each.stranger.empty(); });
  if (found == map.objects.end()) return path + " has no debug information; build it with -g";
  return fmt::format(
      "{} has no debug information, and the debug file {} belongs to a different build than {}; "
      "build the program with -g",
      path, found->stranger, found->path);
}

Result<LineMap> run_lines(std::vector<std::string> words) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return fail_errno("cannot make a pipe");
  Fd from(ends[0]);
  Fd to(ends[1]);
  const Fd errors(memfd_create("stab-lines", MFD_CLOEXEC));
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, to.get(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, errors.get(), STDERR_FILENO);
  pid_t child = 0;
  const int failed = posix_spawn(&child, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) return fail_errno("cannot start " + words[0], failed);
  to.reset();
  const auto text = read_all(from.get());
  if (!text) kill(child, SIGKILL);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  if (!text) return std::unexpected(text.error());
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return parse_map(*text);
  static_cast<void>(lseek(errors.get(), 0, SEEK_SET));
  std::array<char, 4096> said{};
  const ssize_t n = read(errors.get(), said.data(), said.size());
  const std::string why =
      one_line({said.data(), static_cast<std::size_t>(std::max<ssize_t>(n, 0))}, 500);
  return fail(why.empty() ? "stab-lines could not read the debug information" : why);
}

}  // namespace

Result<Companions> find_companions() {
  std::error_code error;
  const fs::path here = fs::read_symlink("/proc/self/exe", error).parent_path();
  Companions found{.lines = first_in(here, {".", "../libexec/stabd", "../libexec"}, "stab-lines"),
                   .library = first_in(here, {"../lib/stabd", "../lib"}, "libstabcausal.so")};
  if (found.lines.empty())
    return fail(
        "../libexec/stabd/stab-lines is missing (the path is relative to the folder that contains "
        "stabctl and stabd): install the szc package too");
  if (found.library.empty())
    return fail(
        "../lib/stabd/libstabcausal.so is missing (the path is relative to the folder that "
        "contains stabctl and stabd)");
  if (found.library.find_first_of(" :\t") != std::string::npos)
    return fail("a path in LD_PRELOAD must not contain spaces or colons: " + found.library);
  return found;
}

Result<Program> Programs::prepare(const Wanted& wanted) {
  std::vector<std::string> environment = wanted.environment;
  if (environment.empty())
    for (char** each = environ; *each != nullptr; ++each) environment.emplace_back(*each);
  std::error_code error;
  const fs::path directory =
      wanted.directory.empty() ? fs::current_path(error) : fs::path(wanted.directory);
  auto path = machine::find_program(wanted.word, environment, directory.string());
  if (!path) return std::unexpected(path.error());
  if (!wanted.directory.empty()) *path = (directory / *path).string();
  const auto binaries = expand(wanted.binaries, wanted.directory);
  if (!binaries) return std::unexpected(binaries.error());
  if (auto fit = check(*path, !binaries->empty()); !fit) return std::unexpected(fit.error());
  std::vector<std::string> words{companions_.lines};
  for (const std::string& pattern : wanted.scope) {
    words.emplace_back("--scope");
    words.push_back(pattern);
  }
  if (!wanted.below.empty()) {
    words.emplace_back("--below");
    words.push_back(wanted.below);
  }
  const Fd file(open(path->c_str(), O_RDONLY | O_CLOEXEC));
  if (kind_of(file.get()) == Kind::dynamic) words.push_back(*path);
  words.insert(words.end(), binaries->begin(), binaries->end());
  // Relative names depend on the current directory, and so does a default scope.
  std::vector<std::string> key{fs::current_path(error).string(), wanted.tree};
  key.insert(key.end(), words.begin(), words.end());
  auto map = known_.find(key, [&] {
    auto read = run_lines(words);
    if (read) leave_out(wanted.tree, *read);
    return read;
  });
  if (!map) return std::unexpected(map.error());
  const bool has_ranges = std::ranges::any_of(
      (*map)->objects, [](const ObjectLines& each) { return !each.ranges.empty(); });
  if (has_ranges) return Program{.path = *path, .map = *std::move(map)};
  const bool has_lines = std::ranges::any_of((*map)->objects, &ObjectLines::has_lines);
  if (!has_lines) return fail(why_no_lines(*path, **map));
  return fail("no source of " + *path + " is in scope; --scope takes patterns like '*/src/*'");
}

}  // namespace stab::causal
