// SPDX-License-Identifier: MIT
#include "instrumenter/driver/command.h"

#include <fmt/format.h>

#include <filesystem>
#include <string_view>

#include "base/text.h"
#include "instrumenter/link_flags.h"

namespace stab::driver {
namespace {

namespace fs = std::filesystem;

// The target in the name of a gcc, such as aarch64-linux-gnu-gcc-12, or "" if the name has no
// target.
std::string target_of_gcc(const std::string& program) {
  const std::string name = fs::path(program).filename();
  for (const char* part : {"-gcc", "-g++", "-gfortran", "-cc", "-c++"})
    if (const std::size_t at = name.find(part); at != std::string::npos) return name.substr(0, at);
  return "";
}

// For all other targets clang works as if szc were not there.
bool supported(const std::string& target) {
  if (target.empty()) return true;
  return (target.starts_with("x86_64") || target.starts_with("amd64")) &&
         target.find("linux") != std::string::npos;
}

// The linker that the user chose by -fuse-ld= or --ld-path=, or "" if it was not found.
std::string chosen_linker(const Arguments& arguments, const std::string& clang) {
  if (!arguments.ld_path.empty()) return search_path(arguments.ld_path);
  if (arguments.linker.contains('/')) return search_path(arguments.linker);
  const std::string name = "ld." + arguments.linker;
  for (const std::string& prefix : arguments.prefixes) {
    std::string file = search_path((fs::path(prefix) / name).string());
    if (!file.empty()) return file;
  }
  if (arguments.linker == "lld") return find_lld(clang);
  return search_path(name);
}

void add_compile_flags(const Companions& companions, const std::string& pass, Words& words) {
  for (const std::string_view flag : instrumenter::compile_flags) words.emplace_back(flag);
  if (!companions.include.empty()) words.insert(words.end(), {"-idirafter", companions.include});
  if (!pass.empty()) words.push_back("-fpass-plugin=" + pass);
}

// The compiler calls ld.stab instead of a linker. If the linker that the user chose is missing, it
// does not, so that the compiler reports the error.
void add_linker(const Arguments& arguments, const Companions& companions,
                const std::string& compiler, Command& command) {
  const bool chosen = !arguments.linker.empty() || !arguments.ld_path.empty();
  const std::string linker = chosen ? chosen_linker(arguments, compiler) : "";
  if (chosen && linker.empty()) {
    if (!arguments.ld_path.empty()) command.words.push_back("--ld-path=" + arguments.ld_path);
    return;
  }
  if (arguments.linker.empty()) command.words.emplace_back("-fuse-ld=lld");
  command.words.push_back("--ld-path=" + companions.linker);
  command.environment[variable::linker] = linker;
  command.environment[variable::used_clang] = compiler;
}

// gcc looks for ld.lld in the folders that it is given. Its last -fuse-ld= counts. Some gccs pass
// --as-needed by default, and then lld, unlike ld, drops libraries that only other libraries use.
Result<void> add_linker_of_gcc(const Arguments& arguments, const Companions& companions,
                               const std::string& compiler, Command& command) {
  if (arguments.lto)
    return fail(
        "gcc's -flto needs a linker that loads gcc's plugin, and szc links with lld: leave -flto "
        "out, "
        "or compile with clang");
  if (!arguments.links) return {};
  const bool chosen = !arguments.linker.empty() || !arguments.ld_path.empty();
  const std::string linker = chosen ? chosen_linker(arguments, compiler) : "";
  if (!arguments.ld_path.empty() && linker.empty())
    return fail(
        fmt::format("--ld-path names the linker {}, which does not exist", arguments.ld_path));
  if (chosen && linker.empty()) return {};
  if (companions.lld_folder.empty())
    return fail(
        "../libexec/stabd/gcc/ld.lld is missing (the path is relative to the folder that contains "
        "szc)");
  command.words.insert(command.words.end(),
                       {"-fuse-ld=lld", "-B", companions.lld_folder, "-Wl,--no-as-needed"});
  command.environment[variable::linker] = linker;
  command.environment[variable::used_clang] = compiler;
  return {};
}

// Adds only flags that gcc understands: it has no pass, and it refuses clang's flags.
Result<void> fill_for_gcc(const Arguments& arguments, const Companions& companions,
                          const std::string& compiler, Command& command) {
  add_compile_flags(companions, "", command.words);
  if (auto done = add_linker_of_gcc(arguments, companions, compiler, command); !done) return done;
  const bool ours = command.environment.contains(variable::used_clang);
  const Words& words = ours && !arguments.linker.empty() ? arguments.expanded : arguments.clang;
  for (const std::string& word : words)
    if (!ours || !word.starts_with("-fuse-ld=")) command.words.push_back(word);
  return {};
}

void set_environment(const OwnFlags& own, bool off, Command& command) {
  auto& environment = command.environment;
  if (off) environment[variable::off] = "1";
  if (own.strict) environment[variable::strict] = "1";
  if (own.quiet) environment[variable::quiet] = "1";
  if (!own.stack.empty()) environment[variable::stack] = own.stack;
  if (own.link_order) environment[variable::link_order] = fmt::to_string(*own.link_order);
  if (own.link_padding) environment[variable::link_padding] = fmt::to_string(*own.link_padding);
}

// ccache does not notice a changed plugin of the same compiler unless it is told to look at the
// file.
void tell_ccache(const std::string& pass, Command& command) {
  if (pass.empty()) return;
  const std::string others = environment("CCACHE_EXTRAFILES");
  command.environment["CCACHE_EXTRAFILES"] = others.empty() ? pass : others + ":" + pass;
}

// A program for another target stays as it is, which is a note, or an error with --stab-strict.
Result<void> note_plain(const Arguments& arguments, bool off, const std::string& why,
                        Command& command) {
  if (!arguments.links || off) return {};
  if (arguments.own.strict || is_set(variable::strict)) return fail("cannot randomize: " + why);
  if (!arguments.own.quiet) command.note = "not randomized: " + why;
  return {};
}

}  // namespace

Result<Command> make_command(const Arguments& arguments, const Words& compiler,
                             const Companions& companions, bool off) {
  Command command{.words = compiler, .environment = {}, .note = ""};
  if (!arguments.verbatim && !supported(arguments.target)) {
    if (auto noted = note_plain(arguments, off, "made for " + arguments.target, command); !noted)
      return std::unexpected(noted.error());
  } else if (!arguments.verbatim) {
    if (companions.linker.empty())
      return fail(
          "../libexec/stabd/ld.stab is missing (the path is relative to the folder that contains "
          "szc)");
    const std::string& program =
        compiler[compiler.size() - (compiler.back().starts_with("--") ? 2 : 1)];
    const Identity identity = identify(program);
    if (identity.kind == Identity::Kind::other)
      return fail(
          fmt::format("{} is neither clang nor gcc: its --version prints \"{}\". Set STAB_CC to a "
                      "clang or a gcc, such as clang-{}",
                      program, identity.name, STAB_LLVM_VERSION));
    set_environment(arguments.own, off, command);
    const bool gcc = identity.kind == Identity::Kind::gcc;
    if (gcc && !supported(target_of_gcc(program))) {
      if (auto noted = note_plain(arguments, off, "made by " + program, command); !noted)
        return std::unexpected(noted.error());
      command.words.insert(command.words.end(), arguments.clang.begin(), arguments.clang.end());
      return command;
    }
    if (gcc) {
      if (auto done = fill_for_gcc(arguments, companions, program, command); !done)
        return std::unexpected(done.error());
      return command;
    }
    command.words.emplace_back("--start-no-unused-arguments");
    const std::string pass = off ? "" : pass_for(companions, program, identity);
    add_compile_flags(companions, pass, command.words);
    add_linker(arguments, companions, program, command);
    command.words.emplace_back("--end-no-unused-arguments");
    tell_ccache(pass, command);
    command.environment[variable::pass_phase] =
        arguments.lto || arguments.bitcode ? "prelink" : "compile";
  }
  command.words.insert(command.words.end(), arguments.clang.begin(), arguments.clang.end());
  return command;
}

std::string to_shell(const Command& command) {
  std::string text;
  for (const auto& [name, value] : command.environment) {
    if (!value.empty()) text += fmt::format("{}={} ", name, shell_quote(value));
  }
  for (const std::string& word : command.words)
    text += shell_quote(word) + (&word == &command.words.back() ? "" : " ");
  return text;
}

}  // namespace stab::driver
