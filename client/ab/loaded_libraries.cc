// SPDX-License-Identifier: MIT
#include "client/ab/loaded_libraries.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/timerfd.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <ranges>
#include <string_view>
#include <utility>

#include "base/elf.h"
#include "machine/processes.h"

namespace stab::client::ab {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::milliseconds shortest_pause{1};
constexpr std::chrono::milliseconds longest_pause{8};
constexpr std::size_t most_of_maps = std::size_t{16} << 20;

// Returns "" if the process has ended or belongs to somebody else.
std::string program_of_process(pid_t process) {
  std::error_code error;
  const fs::path program = fs::read_symlink(fmt::format("/proc/{}/exe", process), error);
  return error ? "" : program.string();
}

// The library whose code or variables this line of /proc/PID/maps shows, as in "7f3a1000-7f3b2000
// r-xp 00002000 08:01 131 /lib/libz.so.1"; "" for all other lines. A program that only reads a
// library, as linkers do, maps neither. Code that szc moved has no file any more.
std::string_view library_in_line(std::string_view line) {
  const std::size_t rights = line.find(' ');
  const std::size_t path = line.find('/');
  if (rights == std::string_view::npos || path == std::string_view::npos || path < rights + 5)
    return "";
  const std::string_view may = line.substr(rights + 1, 4);
  if (may[2] != 'x' && may != "rw-p") return "";
  const std::string_view file = line.substr(path);
  return file.substr(file.rfind('/')).contains(".so") ? file : "";
}

// The name by which programs find this library: its soname, or without one its file name. "" if the
// file is not a library for x86-64.
std::string name_of_library(const std::string& path) {
  const auto elf = ElfReader::open(path);
  if (!elf || elf->header().e_type != ET_DYN || elf->header().e_machine != EM_X86_64) return "";
  const auto entries = elf->dynamic();
  const auto section = elf->find_section(".dynstr");
  if (!entries || !section || !*section) return "";
  const auto names = elf->bytes((*section)->sh_offset, (*section)->sh_size);
  if (!names) return "";
  for (const Elf64_Dyn& entry : *entries)
    if (entry.d_tag == DT_SONAME) return std::string(ElfReader::text_at(*names, entry.d_un.d_val));
  // Plugins of different programs may have the same name.
  std::string file = fs::path(path).filename().string();
  return file.starts_with("lib") ? file : "";
}

bool is_below(const std::string& path, const std::string& folder) {
  return path.starts_with(folder + "/");
}

// The libraries in the folder, by name.
std::multimap<std::string, std::string> libraries_below(const std::string& folder) {
  std::multimap<std::string, std::string> libraries;
  std::error_code error;
  constexpr auto skip = fs::directory_options::skip_permission_denied;
  for (auto it = fs::recursive_directory_iterator(folder, skip, error); !error && it != fs::end(it);
       it.increment(error)) {
    const fs::path& path = it->path();
    if (path.filename() == ".git") it.disable_recursion_pending();
    std::error_code gone;
    if (!path.filename().string().contains(".so") || !fs::is_regular_file(it->symlink_status(gone)))
      continue;
    if (std::string name = name_of_library(path.string()); !name.empty())
      libraries.emplace(std::move(name), path.string());
  }
  return libraries;
}

// Files that cannot be read count as different.
bool have_same_bytes(const std::string& a, const std::string& b) {
  using Bytes = std::istreambuf_iterator<char>;
  std::ifstream first(a, std::ios::binary);
  std::ifstream second(b, std::ios::binary);
  return first && second && std::equal(Bytes(first), Bytes(), Bytes(second), Bytes());
}

}  // namespace

void LoadedLibraries::watch(machine::Launch& launch) {
  timer_ = Fd(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  pause_ = shortest_pause;
  set_timer();
  launch.watched_fd = [this] { return timer_.get(); };
  launch.watched = [this] {
    look();
    pause_ = std::min(2 * pause_, longest_pause);
    set_timer();
  };
}

void LoadedLibraries::set_timer() const {
  itimerspec once{};
  once.it_value.tv_nsec = std::chrono::nanoseconds(pause_).count();
  timerfd_settime(timer_.get(), 0, &once, nullptr);
}

void LoadedLibraries::look() {
  for (const pid_t process : machine::descendants()) {
    const std::string program = program_of_process(process);
    const auto maps = read_file(fmt::format("/proc/{}/maps", process), most_of_maps);
    // Between the two, the process may have started another program.
    if (!maps || program.empty() || program_of_process(process) != program) continue;
    auto& libraries = seen_[program];
    for (const auto line : std::views::split(*maps, '\n'))
      if (const std::string_view library = library_in_line(std::string_view(line));
          !library.empty())
        libraries.emplace(library);
  }
}

std::set<std::string> LoadedLibraries::all() const {
  std::set<std::string> paths;
  for (const auto& [program, libraries] : seen_) paths.insert(libraries.begin(), libraries.end());
  return paths;
}

std::vector<ForeignLibrary> LoadedLibraries::foreign_to(const Version& version) const {
  std::error_code error;
  const std::string folder = fs::canonical(version.copy, error).string();
  const std::string shell = error ? "" : fs::canonical("/bin/sh", error).string();
  if (folder.empty()) return {};
  const auto own = libraries_below(folder);
  if (own.empty()) return {};
  std::set<std::string> used;  // names of the copy's libraries that processes loaded
  std::map<std::string, ForeignLibrary> by_own_programs;
  std::map<std::string, ForeignLibrary> by_others;
  for (const auto& [program, libraries] : seen_)
    for (const std::string& path : libraries) {
      const std::string name = name_of_library(path);
      const auto [from, to] = own.equal_range(name);
      if (from == to) continue;
      if (is_below(path, folder)) {
        used.insert(name);
        continue;
      }
      const bool is_own_program = is_below(program, folder);
      if (!is_own_program && program == shell) continue;
      if (std::any_of(from, to,
                      [&](const auto& each) { return have_same_bytes(each.second, path); }))
        continue;
      (is_own_program ? by_own_programs : by_others)
          .try_emplace(
              name,
              ForeignLibrary{
                  .version = version.name, .library = name, .program = program, .loaded = path});
    }
  // If a program of the copy ran, others are its helpers.
  const bool has_own_program =
      std::ranges::any_of(seen_, [&](const auto& each) { return is_below(each.first, folder); });
  for (const auto& [name, library] : by_others)
    if (!has_own_program && !used.contains(name)) by_own_programs.try_emplace(name, library);
  std::vector<ForeignLibrary> result;
  for (const auto& [name, library] : by_own_programs) result.push_back(library);
  return result;
}

std::string said(const std::vector<ForeignLibrary>& libraries, std::size_t versions) {
  if (libraries.empty()) return "";
  const ForeignLibrary& first = libraries.front();
  std::vector<std::string> where;
  std::set<std::string> loaded;
  std::set<std::string> others;
  for (const ForeignLibrary& each : libraries) {
    if (each.library != first.library) {
      others.insert(each.library);
      continue;
    }
    where.push_back(each.version);
    loaded.insert(each.loaded);
  }
  return fmt::format(
      "the build made {}, but {} loads {} in {}{}; to measure the library of the build, link it "
      "statically or with -Wl,-rpath, or set LD_LIBRARY_PATH in --run",
      first.library, fs::path(first.program).filename().string(), fmt::join(loaded, " or "),
      where.size() == versions ? "all versions" : fmt::format("{}", fmt::join(where, ", ")),
      others.empty() ? "" : fmt::format(" (the same is true of {})", fmt::join(others, ", ")));
}

}  // namespace stab::client::ab
