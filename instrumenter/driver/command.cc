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

// Elsewhere clang works as if we were not there.
bool supported(const std::string& target) {
  if (target.empty()) return true;
  return (target.starts_with("x86_64") || target.starts_with("amd64")) &&
         target.find("linux") != std::string::npos;
}

// The linker that the user chose by -fuse-ld= or --ld-path=, "" if it was not found.
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

void add_compile_flags(const Companions& companions, const std::string& pass, bool off,
                       Words& words) {
  for (const std::string_view flag : instrumenter::compile_flags) words.emplace_back(flag);
  if (!companions.include.empty()) words.insert(words.end(), {"-idirafter", companions.include});
  if (!off && !pass.empty()) words.push_back("-fpass-plugin=" + pass);
}

// clang calls ld.stab instead of a linker, unless the linker that the user chose is missing: clang
// reports that.
void add_linker(const Arguments& arguments, const Companions& companions, const std::string& clang,
                Command& command) {
  const bool chosen = !arguments.linker.empty() || !arguments.ld_path.empty();
  const std::string linker = chosen ? chosen_linker(arguments, clang) : "";
  if (chosen && linker.empty()) {
    if (!arguments.ld_path.empty()) command.words.push_back("--ld-path=" + arguments.ld_path);
    return;
  }
  if (arguments.linker.empty()) command.words.emplace_back("-fuse-ld=lld");
  command.words.push_back("--ld-path=" + companions.linker);
  command.environment[variable::linker] = linker;
  command.environment[variable::used_clang] = clang;
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

// ccache takes a changed plugin for the same compiler unless it is told.
void tell_ccache(const std::string& pass, Command& command) {
  if (pass.empty()) return;
  const std::string others = environment("CCACHE_EXTRAFILES");
  command.environment["CCACHE_EXTRAFILES"] = others.empty() ? pass : others + ":" + pass;
}

}  // namespace

Result<Command> make_command(const Arguments& arguments, const Words& clang,
                             const Companions& companions, bool off) {
  Command command{.words = clang, .environment = {}, .note = ""};
  if (!arguments.verbatim && !supported(arguments.target)) {
    if (arguments.links && !off && !arguments.own.quiet)
      command.note = fmt::format("not randomized: made for {}", arguments.target);
  } else if (!arguments.verbatim) {
    if (companions.linker.empty())
      return fail(
          "ld.stab is missing; it belongs in ../libexec/stabd, relative to the folder of szc");
    const std::string& program = clang[clang.size() - (clang.back().starts_with("--") ? 2 : 1)];
    const Identity identity = identify(program);
    if (identity.kind == Identity::Kind::other)
      return fail(
          fmt::format("{} is not clang: it says \"{}\". szc works only with clang; set STAB_CLANG "
                      "to a clang, such as clang-{}",
                      program, identity.name, STAB_LLVM_VERSION));
    command.words.emplace_back("--start-no-unused-arguments");
    const std::string pass = pass_for(companions, program, identity);
    add_compile_flags(companions, pass, off, command.words);
    add_linker(arguments, companions, program, command);
    command.words.emplace_back("--end-no-unused-arguments");
    set_environment(arguments.own, off, command);
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
