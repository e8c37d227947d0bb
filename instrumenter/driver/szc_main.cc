// SPDX-License-Identifier: MIT
// szc and szc++: clang-compatible compilers whose programs choose their own code layout at each
// start.
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/json.h"
#include "instrumenter/driver/command.h"
#include "instrumenter/driver/compilers.h"
#include "instrumenter/driver/process.h"

namespace stab::driver {
namespace {

// Size and time of change, as ccache looks at compilers.
std::string fingerprint(const char* name, const std::string& path) {
  struct stat status{};
  if (path.empty() || stat(path.c_str(), &status) != 0)
    return fmt::format("{}: not installed\n", name);
  return fmt::format("{}: {} {:x}-{:x}.{:x}\n", name, path, status.st_size, status.st_mtim.tv_sec,
                     status.st_mtim.tv_nsec);
}

std::string help_text() {
  return R"(szc, szc++: clang and clang++ whose programs can choose their code layout anew at each start.
Every flag of clang works as it does there. At run time STABILIZER_OPTIONS=help=1 lists the program's options.

Our own flags, and the environment variables that do the same where flags get lost:
  --stab-help               this text
  --stab-version            our version, and fingerprints of our parts and of the compiler
  --stab-print              print the command that would run, and run nothing
  --stab-cc=COMPILER        compile with this clang or gcc (gcc, g++, gfortran)            STAB_CC=COMPILER
  --stab-compilers          the compilers whose frames get pads (--json for programs)
  --stab-add-compiler CLANG build the pass for a clang of your own, so that frames get pads with it, too
  --stab-explain BINARY     which functions of a binary can move, which cannot, and why (--json for programs)
  --stab-off                plain clang with the same code generation: the baseline        STAB_OFF=1
  --stab-strict             a binary that cannot be randomized is an error                 STAB_STRICT=1
  --stab-quiet              no notes on stderr                                             STAB_QUIET=1
  --stab-stack=MODE         how frames get random pads: frame (default: their size is   STAB_STACK=MODE
                            patched in copies), table (read on entry, for
                            comparison), or off (frames as clang makes them)
  --stab-link-order=SEED    link the sections in the random order of this seed             STAB_LINK_ORDER=SEED
  --stab-link-padding=SEED  keep the order, insert small random gaps between sections      STAB_LINK_PADDING=SEED
                            and at the start of text, rodata and data

A compiler may also be a command, such as "ccache clang-22". STAB_CLANG is an older name of STAB_CC.
If ccache calls szc (ccache szc), set CCACHE_COMPILERCHECK="%compiler% --stab-version", so that ccache notices other
compilers and other values of STAB_OFF and STAB_STACK.
Frames get pads if szc has a pass for the version of clang (--stab-compilers lists the versions). Functions move with
any clang and with gcc. gcc's -flto does not work with szc.
)";
}

// The compilers that have a pass: by szc, and those that the user added.
std::string compilers_text(const Companions& companions, bool json) {
  const std::vector<unsigned> versions = pass_versions(companions);
  const std::vector<Added> added = added_compilers(companions);
  if (json) {
    using Json = nlohmann::ordered_json;
    Json all{{"versions", Json::array()}, {"added", Json::array()}};
    for (const unsigned version : versions)
      all["versions"].push_back(
          {{"llvm", version}, {"pass", pass_of_version(companions, version)}});
    for (const Added& each : added)
      all["added"].push_back(
          {{"compiler", each.compiler}, {"pass", each.pass}, {"changed", each.changed}});
    return json_text(all, 2) + "\n";
  }
  std::string text;
  for (const unsigned version : versions)
    text += fmt::format("clang {}: {}\n", version, pass_of_version(companions, version));
  for (const Added& each : added)
    text += fmt::format(
        "{}: {}{}\n", each.compiler, each.pass,
        each.changed ? " (not used: the compiler has changed or is gone; add it again)" : "");
  return text;
}

// The compiler that szc or szc++ would call, as find_compiler() takes it.
std::string choice_of(const OwnFlags& own) {
  std::string choice = own.compiler;
  for (const char* other : {variable::compiler, variable::clang})
    if (choice.empty()) choice = environment(other);
  return choice;
}

// The compiler and the settings that change the code. A wrapper may start another compiler than
// before, so the version counts, too.
std::string compiler_text(const OwnFlags& own, bool cxx) {
  const auto compiler = find_compiler(choice_of(own), cxx);
  const std::string program = compiler ? program_of(*compiler) : "";
  const std::string stack = stack_mode(own);
  std::string text = fingerprint("compiler", program);
  if (!program.empty()) text.insert(text.size() - 1, fmt::format(", {}", identify(program).name));
  return fmt::format("{}off: {}\nstack: {}\n", text,
                     own.off || is_set(variable::off) ? "yes" : "no",
                     stack.empty() ? "frame" : stack);
}

// Our version and a fingerprint of each part and of the compiler: it changes when what szc produces
// may change, as a compiler cache wants to know (CCACHE_COMPILERCHECK="%compiler% --stab-version").
std::string version_text(const Companions& companions, const OwnFlags& own, bool cxx) {
  std::string passes;
  for (const unsigned version : pass_versions(companions))
    passes += fingerprint("pass", pass_of_version(companions, version));
  for (const Added& each : added_compilers(companions))
    if (!each.changed) passes += fingerprint("pass", each.pass);
  return fmt::format(
      "szc {}\n{}{}{}{}{}{}pads: for {}\n", STAB_VERSION, fingerprint("ld.stab", companions.linker),
      fingerprint("stab-link", companions.postlink), fingerprint("runtime", companions.runtime),
      fingerprint("library", companions.library), passes, compiler_text(own, cxx),
      versions_with_pass(companions));
}

}  // namespace

}  // namespace stab::driver

namespace stab::driver {
namespace {

int report(const std::string& name, const Error& error) {
  fmt::print(stderr, "{}: error: {}\n", name, error.message);
  return 1;
}

Result<Words> explain_command(const Arguments& arguments, const Companions& companions) {
  if (companions.postlink.empty())
    return fail(
        "../libexec/stabd/stab-link is missing (the path is relative to the folder that contains "
        "szc)");
  Words words{companions.postlink, "explain", arguments.own.named};
  if (arguments.own.json) words.emplace_back("--json");
  return words;
}

void apply(const Command& command) {
  for (const auto& [name, value] : command.environment) {
    if (value.empty()) {
      unsetenv(name.c_str());
    } else {
      setenv(name.c_str(), value.c_str(), 1);
    }
  }
}

Result<int> compile(const Arguments& arguments, const std::string& name,
                    const Companions& companions) {
  auto compiler = find_compiler(choice_of(arguments.own), name.ends_with("++"));
  if (!compiler) return std::unexpected(compiler.error());
  auto command =
      make_command(arguments, *compiler, companions, arguments.own.off || is_set(variable::off));
  if (!command) return std::unexpected(command.error());
  if (arguments.own.print) {
    fmt::print("{}\n", to_shell(*command));
    return 0;
  }
  if (!command->note.empty()) fmt::print(stderr, "szc: note: {}\n", command->note);
  const auto asks_for_help = [](const std::string& word) {
    return word == "--help" || word == "-help";
  };
  if (std::ranges::any_of(command->words, asks_for_help)) {
    fmt::print("szc's own flags: {} --stab-help. All others are the compiler's:\n\n", name);
    std::fflush(stdout);
  }
  apply(*command);
  return std::unexpected(
      become(command->words, arguments.verbatim ? command->words.size() : compiler->size()));
}

Result<int> run(const Words& words, const std::string& name, const std::string& argv0) {
  auto arguments = parse_arguments(words);
  if (!arguments) return std::unexpected(arguments.error());
  const Companions companions = find_companions(running_program(argv0));
  switch (arguments->own.action) {
    case Action::help:
      fmt::print("{}", help_text());
      return 0;
    case Action::version:
      fmt::print("{}", version_text(companions, arguments->own, name.ends_with("++")));
      return 0;
    case Action::explain: {
      auto explain = explain_command(*arguments, companions);
      return explain ? std::unexpected(become(*explain))
                     : Result<int>(std::unexpected(explain.error()));
    }
    case Action::add_compiler: {
      const auto added = add_compiler(arguments->own.named, companions);
      if (!added) return std::unexpected(added.error());
      if (arguments->own.json)
        fmt::print("{}", compilers_text(companions, true));
      else
        fmt::print("szc: {}\n", *added);
      return 0;
    }
    case Action::compilers:
      fmt::print("{}", compilers_text(companions, arguments->own.json));
      return 0;
    case Action::compile:
      break;
  }
  return compile(*arguments, name, companions);
}

}  // namespace
}  // namespace stab::driver

int main(int argc, char** argv) {
  const std::string argv0 = argc > 0 ? argv[0] : "szc";
  const std::string name = std::filesystem::path(argv0).filename();
  const auto status =
      stab::driver::run(stab::driver::Words(argv + (argc > 0 ? 1 : 0), argv + argc), name, argv0);
  if (!status) return stab::driver::report(name, status.error());
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0)
    return stab::driver::report(name, stab::fail_errno("cannot write the output").error());
  return *status;
}
