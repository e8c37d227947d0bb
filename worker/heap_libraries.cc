// SPDX-License-Identifier: MIT
#include "worker/heap_libraries.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>

#include "base/fd.h"
#include "plan/options.h"

namespace stab::worker {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view elf{"\177ELF"};
constexpr std::size_t max_program_bytes = std::size_t{1} << 30;

// Finds the program as the trial's exec does: a path, or a name in the usual folders.
std::string find_program(const protocol::RunRequest& request) {
  const std::string& name = request.argv.front();
  if (name.starts_with('/')) return name;
  if (name.contains('/')) return request.directory + "/" + name;
  for (const char* folder : {"/usr/local/bin", "/usr/bin", "/bin"}) {
    std::error_code error;
    if (fs::path path = fs::path(folder) / name; fs::exists(path, error)) return path;
  }
  return "";
}

bool is_shell(const std::string& program) {
  constexpr std::array<std::string_view, 6> shells{"sh", "bash", "dash", "zsh", "env", "busybox"};
  return std::ranges::find(shells, fs::path(program).filename().string()) != shells.end();
}

// Looks for the names by which ELF files refer to a library.
bool names_an_allocator_with_new(std::string_view text) {
  constexpr std::array<std::string_view, 3> names{"libjemalloc.so", "libtcmalloc", "libmimalloc"};
  return std::ranges::any_of(names, [&](std::string_view name) { return text.contains(name); });
}

// The path of our library; "" if it is not installed or LD_PRELOAD can't name it.
std::string installed(const char* name) {
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  if (error) return "";
  for (const char* folder : {"../lib/stabd", "../lib"}) {
    const fs::path path = (self.parent_path() / folder / name).lexically_normal();
    if (fs::exists(path, error))
      return path.string().find_first_of(" :") == std::string::npos ? path.string() : "";
  }
  return "";
}

// Everything that szc links has a note of type 1 with our name (runtime/abi/abi.h).
bool is_plain_elf(const std::string& program) {
  constexpr std::string_view note{"\1\0\0\0Stabd\0\0\0", 12};
  const auto file = read_file(program, max_program_bytes);
  return file && file->starts_with(elf) && !file->contains(note);
}

}  // namespace

std::string heap_library() {
  return installed("libstabheap.so");
}

std::string heap_library_for(const protocol::RunRequest& request) {
  if (!plan::wants_heap(request.options) || request.argv.empty()) return "";
  const std::string program = find_program(request);
  if (program.empty() || is_shell(program) || !is_plain_elf(program)) return "";
  return heap_library();
}

std::string new_library_for(const protocol::RunRequest& request) {
  if (!plan::wants_heap(request.options) || request.argv.empty()) return "";
  const std::string program = find_program(request);
  if (program.empty() || is_shell(program)) return "";
  const auto preload = request.env.find("LD_PRELOAD");
  const bool is_preloaded =
      preload != request.env.end() && names_an_allocator_with_new(preload->second);
  const auto file = read_file(program, max_program_bytes);
  const bool is_elf = file && file->starts_with(elf);
  if (!is_elf || (!is_preloaded && !names_an_allocator_with_new(*file))) return "";
  return installed("libstabnew.so");
}

}  // namespace stab::worker
