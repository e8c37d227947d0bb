// SPDX-License-Identifier: MIT
#include "instrumenter/driver/compilers.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
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
#include <sstream>
#include <vector>

#include "base/elf.h"
#include "base/fd.h"
#include "base/hash.h"
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

// clang-22 -> clang++-22, /opt/bin/x86_64-linux-gnu-gcc-12 -> /opt/bin/x86_64-linux-gnu-g++-12,
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
        "{}, so compiling would never end: set STAB_CC (or --stab-cc) to the compiler itself, "
        "such as /usr/bin/clang-{} or /usr/bin/gcc",
        fmt::format("{} {}", program, what), STAB_LLVM_VERSION));
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

// The same for the name of LLVM's library, such as libLLVM-16.so.1 or libLLVM.so.22.1. From LLVM 18
// on, releases begin at N.1, and N.0 is a snapshot from between two releases.
bool is_release_library(std::string_view library, unsigned version) {
  if (library.contains("git") || library.contains("rc")) return false;
  constexpr unsigned first_at_one = 18;
  return version < first_at_one || !library.starts_with("libLLVM.so.") ||
         number_behind(library, fmt::format(".so.{}.", version)) > 0;
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
  if (words.empty()) {
    const std::string ours = fmt::format("clang-{}", STAB_LLVM_VERSION);
    words = {search_path(ours).empty() ? "clang" : ours};
  }
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

const std::string& program_of(const Words& compiler) {
  return compiler[compiler.size() - (compiler.back().starts_with("--") ? 2 : 1)];
}

std::string answer_of(const std::string& program, const char* question) {
  std::string text = read_output({program, question}).value_or("");
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

std::string find_lld(const std::string& clang) {
  const fs::path resolved = real_path(clang);
  std::string beside = resolved.parent_path() / "ld.lld";
  if (resolved.filename().string().starts_with("clang") && runnable(beside)) return beside;
  // A wrapper, or a link to ccache, does not lie beside the lld of the clang that it starts. An
  // older lld cannot read that clang's bitcode.
  if (const unsigned llvm = clang.empty() ? 0 : identify(clang).llvm; llvm != 0) {
    std::string own = answer_of(clang, "-print-prog-name=ld.lld");
    if (own.starts_with('/') && runnable(own) && identify(own).llvm >= llvm) return own;
    std::string same = search_path(fmt::format("ld.lld-{}", llvm));
    if (!same.empty()) return same;
  }
  const std::string versioned = search_path(fmt::format("ld.lld-{}", STAB_LLVM_VERSION));
  return versioned.empty() ? search_path("ld.lld") : versioned;
}

bool is_lld(const std::string& linker) {
  const auto says_so = [](const fs::path& path) {
    return path.filename().string().contains("lld");
  };
  return says_so(linker) || says_so(real_path(linker));
}

Identity identify(const std::string& program) {
  using Kind = Identity::Kind;
  const std::string libraries = needed_libraries(program);
  for (const std::string_view name : {"libLLVM.so.", "libLLVM-"})
    if (const unsigned version = number_behind(libraries, name); version != 0) {
      const std::string library = libraries.c_str() + libraries.find(name);
      const bool release = is_release_library(library, version);
      return {Kind::llvm, version, release,
              fmt::format("of {}LLVM {}", release ? "" : "a snapshot of ", version)};
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
  if (!is_lld(program)) return loads(program, identity, ours) ? ours : "";
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

namespace {

// The compilers that got a pass.

constexpr std::string_view ending_of_notes = ".compiler";

// Returns "" if there is no home directory. It doesn't use XDG_DATA_HOME, which builds that stabd
// starts don't get.
std::string folder() {
  const std::string home = environment("HOME");
  return home.starts_with('/') ? home + "/.local/share/stabd/passes" : "";
}

// Whether the file exists and nobody but this user or root can have written it.
bool is_ours(const std::string& path) {
  struct stat status{};
  return stat(path.c_str(), &status) == 0 && (status.st_uid == geteuid() || status.st_uid == 0) &&
         (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

// The size and time of change of a program, which distinguish its builds, or "" if it does not
// exist.
std::string state_of(const std::string& program) {
  struct stat status{};
  if (stat(program.c_str(), &status) != 0) return "";
  return fmt::format("{} bytes, changed at {}.{:09}", status.st_size, status.st_mtim.tv_sec,
                     status.st_mtim.tv_nsec);
}

std::string stem_of(const std::string& program) {
  constexpr std::size_t digits = 16;
  return folder() + "/" + sha256_hex(program).substr(0, digits);
}

// A wrapper may start another compiler than before, so the notes have the version, too.
struct Notes {
  std::string compiler;
  std::string state;
  std::string step;
  bool operator==(const Notes&) const = default;
};

Notes notes_of(const Companions& companions, const std::string& program, const Identity& identity) {
  return {.compiler = program,
          .state = state_of(program) + ", " + identity.name,
          .step = state_of(companions.postlink)};
}

Notes read_notes(const std::string& file) {
  std::ifstream lines(file);
  Notes notes;
  for (std::string* line : {&notes.compiler, &notes.state, &notes.step}) std::getline(lines, *line);
  return notes;
}

// Finds llvm-config beside the compiler, or by the compiler's version. Returns "" if there is none.
std::string find_config(const std::string& program, const Identity& identity) {
  const std::string beside = fs::path(program).parent_path() / "llvm-config";
  if (access(beside.c_str(), X_OK) == 0) return beside;
  return search_path(fmt::format("llvm-config-{}", identity.llvm));
}

// Returns LLVM's own flags except the flags that choose a language or warnings. Its headers need
// the same standard library and the same kind of type information.
Words flags_of(const std::string& config) {
  Words flags;
  for (const std::string& word : split_response(answer_of(config, "--cxxflags")))
    if (word.starts_with("-I"))  // a build tree has two folders of headers
      flags.insert(flags.end(), {"-isystem", word.substr(2)});
    else if (word.starts_with("-D") || word.starts_with("-stdlib=") || word.starts_with("-f"))
      flags.push_back(word);
  flags.insert(flags.end(), {"-isystem", answer_of(config, "--includedir")});
  return flags;
}

// Compiles the sources as one file, so that headers are read only once.
Result<void> build(const std::string& program, const std::string& config,
                   const Companions& companions, const std::string& scratch,
                   const std::string& output) {
  const std::string all = scratch + "/all.cc";
  std::ofstream text(all);
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(companions.sources + "/instrumenter/pass", error))
    if (entry.path().extension() == ".cc") text << "#include " << entry.path() << '\n';
  text.close();
  Words words{program, "--driver-mode=g++", "-std=c++20", "-O2", "-fPIC", "-shared", "-w"};
  const Words flags = flags_of(config);
  words.insert(words.end(), flags.begin(), flags.end());
  words.insert(words.end(),
               {"-I", companions.sources, fmt::format("-DSTAB_VERSION=\"{}\"", STAB_VERSION), all,
                "-o", output});
  const auto built = run_and_wait(words);
  if (!built) return std::unexpected(built.error());
  if (!built->success())
    return fail(fmt::format(
        "{} cannot compile the pass with the LLVM headers that {} reports: see the errors "
        "above. The pass is known to work with {}",
        program, config, versions_with_pass(companions)));
  return {};
}

// Unsets the user's settings, which must not affect a trial of the pass.
class WithoutVariables {
 public:
  WithoutVariables() {
    for (auto& [name, value] : kept_) {
      value = environment(name);
      unsetenv(name);
    }
  }
  WithoutVariables(const WithoutVariables&) = delete;
  WithoutVariables& operator=(const WithoutVariables&) = delete;
  ~WithoutVariables() {
    for (const auto& [name, value] : kept_)
      if (!value.empty()) setenv(name, value.c_str(), 1);
  }

 private:
  std::array<std::pair<const char*, std::string>, 2> kept_{
      {{variable::stack, ""}, {variable::pass_phase, ""}}};
};

// Whether the compiler, with this pass, gives a pad to a function that calls another one.
bool makes_pads(const std::string& program, const std::string& pass, const std::string& scratch,
                Errors errors) {
  const std::string source = scratch + "/try.c";
  const std::string code = scratch + "/try.s";
  std::ofstream(source) << "int f(int);\nint g(int x) { return f(x) + 1; }\n";
  const WithoutVariables unset;
  const auto done = run_and_wait({program, "--target=x86_64-linux-gnu", "-O2", "-S", "-o", code,
                                  "-fpass-plugin=" + pass, source},
                                 errors);
  std::ostringstream text;
  text << std::ifstream(code).rdbuf();
  return done && done->success() && text.str().contains(".szc_frames");
}

Result<void> try_out(const std::string& program, const std::string& pass,
                     const std::string& scratch) {
  if (!makes_pads(program, pass, scratch, Errors::shown))
    return fail(
        fmt::format("the pass was built, but {} does not load it. If this compiler was built "
                    "without support for plugins, rebuild it with LLVM_ENABLE_PLUGINS=ON",
                    program));
  return {};
}

// Makes ~/.local/share/stabd/passes, for this user only. Returns false if that is not possible.
bool make_folder() {
  std::error_code error;
  if (folder().empty()) return false;
  fs::create_directories(folder(), error);
  if (!error) fs::permissions(folder(), fs::perms::owner_all, error);
  return !error;
}

// The folder of one call, which is removed with its content at the end. It stays locked until then:
// an unlocked folder was left behind by a call that was killed.
class Scratch {
 public:
  explicit Scratch(const std::string& parent) : path_(parent + "/new-XXXXXX") {
    if (mkdtemp(path_.data()) == nullptr) path_.clear();
    lock_ = Fd(open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (lock_) flock(lock_.get(), LOCK_EX | LOCK_NB);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;  // "" if the folder could not be made
  Fd lock_;
};

void remove_left_folders() {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder(), error)) {
    if (!entry.path().filename().string().starts_with("new-")) continue;
    const Fd left(open(entry.path().c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    std::error_code ignored;
    if (left && flock(left.get(), LOCK_EX | LOCK_NB) == 0) fs::remove_all(entry.path(), ignored);
  }
}

// The distribution's compilers need no trial, because szc's passes are built for them.
bool is_of_distribution(const std::string& program) {
  return program.starts_with("/usr/lib/llvm-") && program.contains("/bin/");
}

}  // namespace

std::string added_pass(const Companions& companions, const std::string& program,
                       const Identity& identity) {
  if (folder().empty() || !is_ours(folder())) return "";
  const std::string path = real_path(program);
  const std::string stem = stem_of(path);
  std::string pass = stem + ".so";
  if (!is_ours(pass)) return "";
  const Notes notes = read_notes(stem + std::string(ending_of_notes));
  return notes == notes_of(companions, path, identity) ? pass : "";
}

bool loads(const std::string& program, const Identity& identity, const std::string& pass) {
  std::error_code error;
  if (is_of_distribution(real_path(program))) return true;
  // The real path would be wrong: a link to ccache starts the compiler of the link's name.
  const std::string path = fs::absolute(program, error);
  const std::string file = stem_of(path) + ".tried";
  const std::string tried =
      fmt::format("{}\n{}, {}\n{}\n", path, state_of(path), identity.name, state_of(pass));
  // If others can write to the folder, it stays as it is, and its content is not trusted.
  const bool can_keep = fs::exists(folder(), error) ? is_ours(folder()) : make_folder();
  if (can_keep && is_ours(file)) {
    const std::string before = read_file(file, 1 << 16).value_or("");
    if (before == tried + "yes\n") return true;
    if (before == tried + "no\n") return false;
  }
  const Scratch room(can_keep ? folder() : fs::temp_directory_path(error).string());
  if (room.path().empty()) return false;
  const bool good = makes_pads(path, pass, room.path(), Errors::dropped);
  // The pass is to blame for a failure only if the compiler works without it. Otherwise the disk
  // may be full, for example.
  const auto works = [&] {
    const auto ended = run_and_wait({path, "--target=x86_64-linux-gnu", "-O2", "-S", "-o",
                                     room.path() + "/plain.s", room.path() + "/try.c"},
                                    Errors::dropped);
    return ended && ended->success();
  };
  if (can_keep && (good || works()))
    (void)write_file_atomically(file, tried + (good ? "yes\n" : "no\n"));
  return good;
}

std::vector<Added> added_compilers(const Companions& companions) {
  std::vector<Added> all;
  std::error_code error;
  if (folder().empty() || !is_ours(folder())) return all;
  for (const auto& entry : fs::directory_iterator(folder(), error)) {
    if (entry.path().extension() != ending_of_notes) continue;
    fs::path pass = entry.path();
    pass.replace_extension(".so");
    const std::string compiler = read_notes(entry.path()).compiler;
    const bool there = !state_of(compiler).empty();
    all.push_back(
        {.compiler = compiler,
         .pass = pass,
         .changed = !there || added_pass(companions, compiler, identify(compiler)) != pass});
  }
  std::ranges::sort(all, {}, &Added::compiler);
  return all;
}

Result<std::string> add_compiler(const std::string& choice, const Companions& companions) {
  const std::string found = search_path(choice);
  if (found.empty()) return fail(fmt::format("there is no program {}", choice));
  const std::string program = real_path(found);
  const Identity identity = identify(program);
  if (identity.kind != Identity::Kind::llvm)
    return fail(
        fmt::format("{} is not clang: it is {} ({}). Give the path of the clang executable itself",
                    choice, program, identity.name));
  if (companions.sources.empty())
    return fail(
        "the folder ../share/stabd/pass with the pass's sources is missing (the path is relative "
        "to the folder that contains szc)");
  if (folder().empty())
    return fail(
        "there is no folder for the compiler pass: set HOME to the absolute path of a folder of "
        "your own");
  const std::string config = find_config(program, identity);
  if (config.empty())
    return fail(
        fmt::format("there is no llvm-config beside {}, so LLVM's headers cannot be found: install "
                    "LLVM with its development files (on Debian, llvm-{}-dev)",
                    program, identity.llvm));
  const std::string version = answer_of(config, "--version");
  if (!read_output({program, "--version"}).value_or("").contains("clang version " + version))
    return fail(
        fmt::format("{} reports LLVM version \"{}\", but {} has another version: install the "
                    "development files that match this clang",
                    config, version, program));
  if (!make_folder()) return fail_errno(fmt::format("cannot write to {}", folder()));
  remove_left_folders();
  const Scratch room(folder());
  const std::string& scratch = room.path();
  if (scratch.empty()) return fail_errno(fmt::format("cannot write to {}", folder()));
  std::error_code error;
  const std::string pass = scratch + "/pass.so";
  const std::string stem = stem_of(program);
  const std::string notes = stem + std::string(ending_of_notes);
  const Notes state = notes_of(companions, program, identity);
  Result<void> done = build(program, config, companions, scratch, pass);
  if (done) done = try_out(program, pass, scratch);
  if (done) {
    // A pass without notes does not count, so the old notes are removed first, and the new ones are
    // written last.
    fs::remove(notes, error);
    if (!error)
      fs::permissions(pass, fs::perms::group_write | fs::perms::others_write,
                      fs::perm_options::remove, error);
    if (!error) fs::rename(pass, stem + ".so", error);
    if (error)
      done =
          fail(fmt::format("cannot store the compiler pass in {}: {}", folder(), error.message()));
    else
      done = write_file_atomically(
          notes, fmt::format("{}\n{}\n{}\n", state.compiler, state.state, state.step));
  }
  if (!done) return std::unexpected(done.error());
  return fmt::format(
      "szc now adds random pads to the stack frames of programs that {} compiles. To use that "
      "compiler, set STAB_CC={}. The compiler pass is {}.so",
      program, choice, stem);
}

}  // namespace stab::driver
