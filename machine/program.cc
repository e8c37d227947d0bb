// SPDX-License-Identifier: MIT
#include "machine/program.h"

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/fd.h"

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

// Reads single tables of an ELF program, which may be large. What can't be read is empty.
class ElfTables {
 public:
  explicit ElfTables(const std::string& path)
      : file_(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
    if (!file_ || !fill(0, &header_, sizeof header_) ||
        std::memcmp(header_.e_ident, ELFMAG, SELFMAG) != 0 ||
        header_.e_ident[EI_CLASS] != ELFCLASS64 || header_.e_ident[EI_DATA] != ELFDATA2LSB ||
        (header_.e_type != ET_EXEC && header_.e_type != ET_DYN))
      header_ = {};
  }

  [[nodiscard]] bool is_executable_at_fixed_place() const { return header_.e_type == ET_EXEC; }

  [[nodiscard]] std::vector<Elf64_Phdr> segments() const {
    if (header_.e_phentsize != sizeof(Elf64_Phdr)) return {};
    return table<Elf64_Phdr>(header_.e_phoff, header_.e_phnum);
  }

  // The names of all sections, each between two zeros.
  [[nodiscard]] std::string section_names() const {
    if (header_.e_shentsize != sizeof(Elf64_Shdr) || header_.e_shstrndx >= header_.e_shnum)
      return "";
    const auto sections = table<Elf64_Shdr>(header_.e_shoff, header_.e_shnum);
    if (sections.empty()) return "";
    const Elf64_Shdr& names = sections[header_.e_shstrndx];
    return text(names.sh_offset, names.sh_size);
  }

  [[nodiscard]] std::string text(std::uint64_t offset, std::uint64_t size) const {
    const auto bytes = table<char>(offset, size);
    return {bytes.begin(), bytes.end()};
  }

  template <class T>
  [[nodiscard]] std::vector<T> table(std::uint64_t offset, std::uint64_t count) const {
    constexpr std::uint64_t most = std::uint64_t{16} << 20;
    if (count > most / sizeof(T)) return {};
    std::vector<T> items(count);
    if (!fill(offset, items.data(), count * sizeof(T))) items.clear();
    return items;
  }

 private:
  bool fill(std::uint64_t offset, void* to, std::size_t size) const {
    return offset <= INT64_MAX &&
           pread(file_.get(), to, size, static_cast<off_t>(offset)) == static_cast<ssize_t>(size);
  }

  Fd file_;
  Elf64_Ehdr header_{};
};

// A shared library has no interpreter either, but it doesn't say that it is a program.
bool is_static(const ElfTables& elf) {
  const auto segments = elf.segments();
  const auto find = [&](std::uint32_t type) {
    return std::ranges::find(segments, type, &Elf64_Phdr::p_type);
  };
  if (segments.empty() || find(PT_INTERP) != segments.end()) return false;
  if (elf.is_executable_at_fixed_place()) return true;
  const auto dynamic = find(PT_DYNAMIC);
  return dynamic != segments.end() &&
         std::ranges::any_of(
             elf.table<Elf64_Dyn>(dynamic->p_offset, dynamic->p_filesz / sizeof(Elf64_Dyn)),
             [](const Elf64_Dyn& entry) {
               return entry.d_tag == DT_FLAGS_1 && (entry.d_un.d_val & DF_1_PIE) != 0;
             });
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
  // Without the group's right to execute, the bit means something else.
  const auto setgid = S_ISGID | S_IXGRP;
  if ((status.st_mode & setgid) == setgid && status.st_gid != getegid())
    return fmt::format("is setgid to group {}", status.st_gid);
  if (getxattr(program.c_str(), "security.capability", nullptr, 0) > 0)
    return "has file capabilities";
  return "";
}

std::string why_in_place(const std::string& program) {
  using namespace std::string_literals;
  const ElfTables elf(program);
  if (is_static(elf))
    return "the program is linked statically, and szc's runtime needs the C library as a shared "
           "library";
  if (elf.section_names().contains("\0.note.bolt_info\0"s))
    return "BOLT has rewritten the program's code and dropped the relocations that szc's runtime "
           "needs";
  return "";
}

std::string why_no_library(const std::string& program) {
  return is_static(ElfTables(program)) ? why_in_place(program) : "";
}

// runtime/abi/note.h names the section.
bool has_szc_note(const std::string& program) {
  using namespace std::string_literals;
  return ElfTables(program).section_names().contains("\0.note.stab\0"s);
}

}  // namespace stab::machine
