// SPDX-License-Identifier: MIT
// szc and szc++: clang-compatible compilers whose programs choose their own code layout at each
// start.
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "instrumenter/driver/added_compilers.h"
#include "instrumenter/driver/command.h"
#include "instrumenter/driver/help.h"
#include "instrumenter/driver/process.h"

namespace stab::driver {
namespace {

int report(const std::string& name, const Error& error) {
  fmt::print(stderr, "{}: error: {}\n", name, error.message);
  return 1;
}

Result<Words> explain_command(const Arguments& arguments, const Companions& companions) {
  if (companions.postlink.empty())
    return fail(
        "stab-link is missing; it belongs in ../libexec/stabd, relative to the folder of szc");
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
  std::string choice = arguments.own.compiler;
  for (const char* other : {variable::compiler, variable::clang})
    if (choice.empty()) choice = environment(other);
  auto compiler = find_compiler(choice, name.ends_with("++"));
  if (!compiler) return std::unexpected(compiler.error());
  auto command =
      make_command(arguments, *compiler, companions, arguments.own.off || is_set(variable::off));
  if (!command) return std::unexpected(command.error());
  if (arguments.own.print) {
    fmt::print("{}\n", to_shell(*command));
    return 0;
  }
  if (!command->note.empty()) fmt::print(stderr, "szc: note: {}\n", command->note);
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
      fmt::print("{}", version_text(companions));
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
