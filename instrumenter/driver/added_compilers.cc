// SPDX-License-Identifier: MIT
#include "instrumenter/driver/added_compilers.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/fd.h"
#include "base/hash.h"
#include "base/text.h"
#include "instrumenter/driver/environment.h"
#include "instrumenter/driver/process.h"

namespace stab::driver {
namespace {

namespace fs = std::filesystem;

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

std::string answer_of(const std::string& config, const char* question) {
  std::string text = read_output({config, question}).value_or("");
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
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
  return done && done->success() && text.str().contains(".stab_frames");
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
        fmt::format("{} reports LLVM version \"{}\", but {} has another version: beside this "
                    "clang, install LLVM's development files of clang's version",
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
