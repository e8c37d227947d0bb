// SPDX-License-Identifier: MIT

#include "machine/program.h"

#include <fmt/format.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <optional>

#include "base/elf.h"
#include "runtime/abi/abi.h"

namespace stab::machine {
namespace {

bool executable(const std::string& path) {
  struct stat status{};
  return stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
         access(path.c_str(), X_OK) == 0;
}

std::string from(std::string_view directory, std::string_view path) {
  if (path.starts_with('/')) return std::string(path);
  return fmt::format("{}/{}", directory, path);
}

std::string_view value_of(std::string_view name, const std::vector<std::string>& environment) {
  for (const std::string_view entry : environment)
    if (entry.starts_with(name) && entry.substr(name.size()).starts_with('='))
      return entry.substr(name.size() + 1);
  return "";
}

// Nothing if it is not an ELF program or library.
std::optional<ElfReader> open_program(const std::string& path) {
  auto elf = ElfReader::open(path);
  if (!elf || (elf->header().e_type != ET_EXEC && elf->header().e_type != ET_DYN))
    return std::nullopt;
  return *std::move(elf);
}

// A shared library has no interpreter either, but it doesn't say that it is a program.
bool is_static(const ElfReader& elf) {
  const auto segments = elf.segments();
  if (!segments || segments->empty() || elf.has_segment(PT_INTERP)) return false;
  if (elf.header().e_type == ET_EXEC) return true;
  const auto entries = elf.dynamic();
  return entries && std::ranges::any_of(*entries, [](const Elf64_Dyn& entry) {
           return entry.d_tag == DT_FLAGS_1 && (entry.d_un.d_val & DF_1_PIE) != 0;
         });
}

bool has_section(const ElfReader& elf, std::string_view name) {
  return elf.find_section(name).value_or(std::nullopt).has_value();
}

}  // namespace

Result<std::string> find_program(std::string_view word, const std::vector<std::string>& environment,
                                 std::string_view directory) {
  if (word.contains('/')) {
    const std::string path = from(directory, word);
    if (executable(path)) return path;
    if (access(path.c_str(), F_OK) != 0)
      return fail(fmt::format("cannot find the program {} (resolved to {})", word, path));
    return fail(fmt::format("{} is not an executable file", path));
  }
  const std::string_view path = value_of("PATH", environment);
  for (std::size_t start = 0; start <= path.size() && !word.empty();) {
    const std::size_t end = std::min(path.find(':', start), path.size());
    const std::string candidate =
        fmt::format("{}/{}", from(directory, path.substr(start, end - start)), word);
    if (executable(candidate)) return candidate;
    start = end + 1;
  }
  return fail(fmt::format(
      "cannot find the program '{}' in PATH ({}); write ./{} for a program in the plan's directory",
      word, path, word));
}

std::string refused_rights(const std::string& program) {
  if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1) return "";
  struct stat status{};
  if (stat(program.c_str(), &status) != 0) return "";
  if ((status.st_mode & S_ISUID) != 0 && status.st_uid != geteuid())
    return fmt::format("is setuid to user {}", status.st_uid);
  // The bit has another meaning if the group may not execute the file.
  const auto setgid = S_ISGID | S_IXGRP;
  if ((status.st_mode & setgid) == setgid && status.st_gid != getegid())
    return fmt::format("is setgid to group {}", status.st_gid);
  if (getxattr(program.c_str(), "security.capability", nullptr, 0) > 0)
    return "has file capabilities";
  return "";
}

std::string why_in_place(const std::string& program) {
  const auto elf = open_program(program);
  if (!elf) return "";
  if (is_static(*elf))
    return "the program is linked statically, and szc's runtime needs the C library as a shared "
           "library";
  if (has_section(*elf, ".note.bolt_info"))
    return "BOLT has rewritten the program's code and dropped the relocations that szc's runtime "
           "needs";
  return "";
}

std::string why_no_library(const std::string& program) {
  const auto elf = open_program(program);
  return elf && is_static(*elf) ? why_in_place(program) : "";
}

bool has_szc_note(const std::string& program) {
  const auto elf = open_program(program);
  return elf && has_section(*elf, abi::note_section);
}

std::string why_note_fails(const std::string& program) {
  const auto elf = open_program(program);
  const auto section =
      elf ? elf->find_section(abi::note_section).value_or(std::nullopt) : std::nullopt;
  if (!section) return "";
  const auto bytes = elf->bytes(section->sh_offset, sizeof(abi::Note));
  abi::Note note{};
  if (bytes) std::memcpy(&note, bytes->data(), sizeof note);
  // Such tools move the note and leave other bytes in its place, which the runtime finds.
  if (!bytes || note.desc_size != sizeof note - offsetof(abi::Note, abi_version) ||
      (note.table_size != 0 && note.own_address != section->sh_addr))
    return "a tool such as patchelf has rewritten the program since szc linked it";
  if (note.table_size == 0) return "the program was linked without szc's post-link step";
  return "";
}

namespace {

constexpr std::uint64_t padding_piece = 65536;

}  // namespace

std::vector<std::string> make_environment(std::map<std::string, std::string> variables,
                                          std::uint64_t extra_bytes) {
  const auto add = [&](std::size_t index, std::size_t bytes) {
    variables[index == 0 ? padding_variable : fmt::format("{}_{}", padding_variable, index)] =
        std::string(bytes, 'x');
  };
  const auto size = [&] {
    std::size_t bytes = 0;
    for (const auto& [name, value] : variables) bytes += name.size() + 1 + value.size() + 1;
    return bytes;
  };
  // The kernel refuses strings of more than 128 KiB, so the padding is split into pieces.
  const std::uint64_t pieces = extra_bytes / padding_piece;
  for (std::size_t i = 0; i <= pieces; ++i) add(i, 0);
  const std::size_t used = size();
  const std::size_t rounded = (used + environment_unit - 1) / environment_unit * environment_unit;
  for (std::size_t i = 1; i <= pieces; ++i) add(i, padding_piece);
  add(0, rounded - used + extra_bytes % padding_piece);

  std::vector<std::string> environment;
  environment.reserve(variables.size());
  for (const auto& [name, value] : variables) environment.push_back(name + "=" + value);
  return environment;
}

std::map<std::string, std::string> base_variables(std::uint32_t uid) {
  std::map<std::string, std::string> variables{
      {"PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
      {"LANG", "C.UTF-8"},
      {"TMPDIR", "/tmp"},
      {"HOME", "/"},
      {"USER", "nobody"},
  };
  if (const passwd* user = getpwuid(uid)) {
    variables["HOME"] = user->pw_dir;
    variables["USER"] = user->pw_name;
  }
  return variables;
}

}  // namespace stab::machine
