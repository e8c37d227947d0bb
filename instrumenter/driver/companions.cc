// SPDX-License-Identifier: MIT
#include "instrumenter/driver/companions.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <initializer_list>
#include <set>
#include <vector>

#include "base/elf.h"
#include "instrumenter/driver/added_compilers.h"
#include "instrumenter/driver/environment.h"
#include "instrumenter/driver/process.h"
#include "instrumenter/link_flags.h"

namespace stab::driver {
namespace {

namespace fs = std::filesystem;

bool runnable(const std::string& path) {
  std::error_code error;
  return fs::is_regular_file(path, error) && access(path.c_str(), X_OK) == 0;
}

// Returns the first of the folders (relative to `start`) that holds `name`.
std::string first_with(const fs::path& start, std::initializer_list<const char*> folders,
                       std::string_view name) {
  for (const char* folder : folders) {
    const fs::path folder_path = (start / folder).lexically_normal();
    if (access((folder_path / name).c_str(), R_OK) == 0) return folder_path / name;
  }
  return "";
}

// Whether the name is that of a C++ compiler, whatever comes before a dash.
bool is_cxx_name(const std::string& compiler) {
  const std::string name = fs::path(compiler).filename();
  return name.starts_with("clang++") || name.contains("g++") || name.contains("c++");
}

// clang-19 -> clang++-19, /opt/bin/x86_64-linux-gnu-gcc-12 -> /opt/bin/x86_64-linux-gnu-g++-12,
// cc -> c++. Returns "" if the name does not have such a form.
std::string cxx_name(const std::string& compiler) {
  const fs::path path(compiler);
  const std::string name = path.filename();
  if (is_cxx_name(name)) return "";
  for (const auto& [c, cxx] :
       {std::pair<std::string, std::string>{"clang", "clang++"}, {"gcc", "g++"}, {"cc", "c++"}}) {
    const std::size_t dash = name.find("-" + c);
    if (!name.starts_with(c) && dash == std::string::npos) continue;
    const std::size_t begin = name.starts_with(c) ? 0 : dash + 1;
    return path.parent_path() / (name.substr(0, begin) + cxx + name.substr(begin + c.size()));
  }
  return "";
}

// The names of the libraries that an executable needs, each followed by a zero, or "" if it is not
// an ELF file.
std::string needed_libraries(const std::string& path) {
  const auto elf = ElfReader::open(path);
  const auto segments = elf ? elf->segments() : std::unexpected(elf.error());
  const auto entries = elf ? elf->dynamic() : std::unexpected(elf.error());
  if (!segments || !entries) return "";
  const auto offset_of = [&](std::uint64_t address) -> std::uint64_t {
    for (const Elf64_Phdr& s : *segments)
      if (s.p_type == PT_LOAD && address >= s.p_vaddr && address - s.p_vaddr < s.p_filesz)
        return s.p_offset + (address - s.p_vaddr);
    return UINT64_MAX;
  };
  std::uint64_t strings = 0;
  std::uint64_t size = 0;
  for (const Elf64_Dyn& entry : *entries) {
    if (entry.d_tag == DT_STRTAB) strings = entry.d_un.d_ptr;
    if (entry.d_tag == DT_STRSZ) size = entry.d_un.d_val;
  }
  // Compilers have fewer names than this.
  constexpr std::uint64_t most = std::uint64_t{1} << 20;
  if (size > most) return "";
  const auto text = elf->bytes(offset_of(strings), size);
  std::string names;
  for (const Elf64_Dyn& entry : *entries)
    if (text && entry.d_tag == DT_NEEDED)
      names.append(ElfReader::text_at(*text, entry.d_un.d_val)).push_back('\0');
  return names;
}

// Whether the process is this one or one of its ancestors.
bool is_above(pid_t process) {
  constexpr unsigned most = 1000;  // no chain of programs is this deep
  pid_t at = getpid();
  for (unsigned i = 0; i < most && at > 1; ++i) {
    if (at == process) return true;
    std::string stat;
    std::getline(std::ifstream(fmt::format("/proc/{}/stat", at)), stat);
    // The name in parentheses may contain any character. A letter for the state follows, then the
    // parent.
    const std::size_t name = stat.rfind(')');
    if (name == std::string::npos || name + 4 > stat.size()) return false;
    at = static_cast<pid_t>(std::strtol(stat.c_str() + name + 4, nullptr, 10));
  }
  return false;
}

// Refuses a compiler that is szc, or that has started this szc. The variable has a line for each
// compiler that an ancestor szc started, with the process and the program.
Result<void> start_once(const std::string& program) {
  static std::set<std::string> ours;  // empty after an exec, in the same process
  const auto refuse = [&](std::string_view what) {
    return fail(fmt::format(
        "{} {}, so compiling would never end: set STAB_CC (or --stab-cc) to the compiler itself, "
        "such as /usr/bin/clang-{} or /usr/bin/gcc",
        program, what, STAB_LLVM_VERSION));
  };
  if (real_path(program) == running_program("szc")) return refuse("is szc itself");
  std::string lines = environment(variable::started);
  for (std::size_t at = 0, end = 0; (end = lines.find('\n', at)) != std::string::npos;
       at = end + 1) {
    const std::string line = lines.substr(at, end - at);
    const std::size_t space = line.find(' ');
    if (space == std::string::npos || line.substr(space + 1) != program || ours.contains(line))
      continue;
    if (is_above(static_cast<pid_t>(std::strtol(line.c_str(), nullptr, 10))))
      return refuse("calls szc again");
  }
  const std::string line = fmt::format("{} {}", getpid(), program);
  if (ours.insert(line).second) setenv(variable::started, (lines + line + "\n").c_str(), 1);
  return {};
}

std::string pass_name(unsigned llvm) {
  return fmt::format("stab-pass-{}.so", llvm);
}

// The number that follows the word, or 0 if there is none.
unsigned number_behind(std::string_view text, std::string_view word) {
  const std::size_t at = text.find(word);
  unsigned value = 0;
  if (at != std::string_view::npos)
    std::from_chars(text.data() + at + word.size(), text.data() + text.size(), value);
  return value;
}

// Whether this is a release of LLVM's own project, or of a distribution that changes little. Others
// may have changed the functions that a pass calls, and so may versions between two releases.
bool is_release(std::string_view line, std::string_view word) {
  const std::size_t at = line.find(word);
  const std::string_view vendor = line.substr(0, at);
  std::string_view version = line.substr(at + word.size());
  version = version.substr(0, version.find(' '));
  return (vendor.empty() || vendor == "Debian " || vendor == "Ubuntu ") &&
         !version.contains("git") && !version.contains("rc");
}

}  // namespace

std::string real_path(const fs::path& path) {
  std::error_code error;
  const fs::path resolved = fs::canonical(path, error);
  return error ? path.string() : resolved.string();
}

Companions find_companions(const std::string& program) {
  const fs::path here = fs::path(program).parent_path();
  Companions found;
  found.linker = first_with(here, {".", "../libexec/stabd", "../libexec"}, "ld.stab");
  found.lld_folder = first_with(here, {"../libexec/stabd/gcc", "../libexec/gcc", "gcc"}, "ld.lld");
  if (!found.lld_folder.empty()) found.lld_folder = fs::path(found.lld_folder).parent_path();
  found.postlink = first_with(here, {".", "../libexec/stabd", "../libexec"}, "stab-link");
  const auto library = [&](std::string_view name) {
    return first_with(here, {"../lib/stabd", "../lib", "../../lib/stabd", "../../lib"}, name);
  };
  found.runtime = library(instrumenter::executable_object);
  found.library = library(instrumenter::library_object);
  const std::string pass = library(pass_name(STAB_LLVM_VERSION));
  if (!pass.empty()) found.passes = fs::path(pass).parent_path();
  const std::string source = first_with(here, {"../share/stabd/pass", "../../share/stabd/pass"},
                                        "instrumenter/pass/stab_pass.cc");
  if (!source.empty()) found.sources = fs::path(source).parent_path().parent_path().parent_path();
  const std::string header =
      first_with(here, {"../include/stabd", "../include", "../../include/stabd", "../../include"},
                 "stabilizer.h");
  if (!header.empty()) found.include = fs::path(header).parent_path();
  return found;
}

std::string running_program(const std::string& argv0) {
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  return error ? real_path(search_path(argv0)) : self.string();
}

std::string search_path(std::string_view name) {
  if (name.empty()) return "";
  if (name.contains('/')) return runnable(std::string(name)) ? std::string(name) : "";
  const char* variable = std::getenv("PATH");
  std::string_view path = variable != nullptr ? variable : "/usr/bin:/bin";
  for (;;) {
    const std::size_t colon = path.find(':');
    const std::string_view folder = path.substr(0, colon);
    std::string file = fmt::format("{}/{}", folder.empty() ? "." : folder, name);
    if (runnable(file)) return file;
    if (colon == std::string_view::npos) return "";
    path.remove_prefix(colon + 1);
  }
}

Result<Words> find_compiler(std::string_view choice, bool cxx) {
  Words words;
  if (!search_path(choice).empty()) {
    words = {std::string(choice)};
  } else {
    words = split_response(choice);
  }
  if (words.empty()) words = {search_path("clang-19").empty() ? "clang" : "clang-19"};
  for (std::string& word : {std::ref(words.front()), std::ref(words.back())}) {
    std::string program = search_path(word);
    if (program.empty())
      return fail(
          fmt::format("there is no program {}; set STAB_CC (or STAB_CLANG) to a clang or a gcc "
                      "that is installed",
                      word));
    word = std::move(program);
  }
  if (auto once = start_once(words.back()); !once) return std::unexpected(once.error());
  if (!cxx) return words;
  const std::string name = cxx_name(words.back());
  if (runnable(name)) {
    if (auto once = start_once(name); !once) return std::unexpected(once.error());
    words.back() = name;
    return words;
  }
  if (is_cxx_name(words.back()) || words.back().contains("fortran")) return words;
  if (identify(words.back()).kind == Identity::Kind::gcc)
    return fail(fmt::format(
        "there is no C++ compiler beside {}: install one, or set STAB_CC to a g++", words.back()));
  words.emplace_back("--driver-mode=g++");
  return words;
}

std::string find_lld(const std::string& clang) {
  const fs::path resolved = real_path(clang);
  std::string beside = resolved.parent_path() / "ld.lld";
  if (resolved.filename().string().starts_with("clang") && runnable(beside)) return beside;
  const std::string versioned = search_path("ld.lld-19");
  return versioned.empty() ? search_path("ld.lld") : versioned;
}

Identity identify(const std::string& program) {
  using Kind = Identity::Kind;
  const std::string libraries = needed_libraries(program);
  for (const std::string_view name : {"libLLVM.so.", "libLLVM-"})
    if (const unsigned version = number_behind(libraries, name); version != 0) {
      const std::string library = libraries.c_str() + libraries.find(name);
      return {Kind::llvm, version, !library.contains("git"), fmt::format("of LLVM {}", version)};
    }
  const auto answer = read_output({program, "--version"});
  if (!answer || answer->empty()) return {Kind::unknown, 0, false, "of an unknown version"};
  const std::string line = answer->substr(0, answer->find('\n'));
  for (const std::string_view word : {"clang version ", "LLD "})
    if (const unsigned version = number_behind(line, word); version != 0)
      return {Kind::llvm, version, is_release(line, word), line};
  const bool gnu = answer->contains("Free Software Foundation");
  return {gnu ? Kind::gcc : Kind::other, 0, false, line};
}

std::string pass_of_version(const Companions& companions, unsigned llvm) {
  if (companions.passes.empty() || llvm == 0) return "";
  std::string path = companions.passes + "/" + pass_name(llvm);
  return access(path.c_str(), R_OK) == 0 ? path : "";
}

std::string pass_for(const Companions& companions, const std::string& program,
                     const Identity& identity) {
  std::string added = added_pass(companions, program, identity);
  if (!added.empty()) return added;
  std::string ours = identity.is_release ? pass_of_version(companions, identity.llvm) : "";
  if (ours.empty()) return "";
  if (!fs::path(program).filename().string().contains("lld"))
    return loads(program, identity, ours) ? ours : "";
  // A linker loads the same pass as the clang beside it.
  const std::string clang = fs::path(real_path(program)).parent_path() / "clang";
  return !runnable(clang) || loads(clang, identify(clang), ours) ? ours : "";
}

std::vector<unsigned> pass_versions(const Companions& companions) {
  constexpr std::string_view prefix = "stab-pass-";
  std::set<unsigned> versions;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(companions.passes, error)) {
    const std::string name = entry.path().filename();
    const unsigned version = name.starts_with(prefix) ? number_behind(name, prefix) : 0;
    if (version != 0 && name == pass_name(version)) versions.insert(version);
  }
  return {versions.begin(), versions.end()};
}

std::string versions_with_pass(const Companions& companions) {
  const std::vector<unsigned> versions = pass_versions(companions);
  std::string text;
  for (const unsigned version : versions) {
    const std::string_view between = version == versions.back() ? " or " : ", ";
    text += fmt::format("{}{}", text.empty() ? "clang " : between, version);
  }
  return text.empty() ? "no clang" : text;
}

}  // namespace stab::driver
