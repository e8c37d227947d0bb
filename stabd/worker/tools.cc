// SPDX-License-Identifier: MIT
#include "stabd/worker/tools.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <set>

#include "machine/program.h"

namespace stab::worker {
namespace {

// A makefile runs these without naming them in the plan.
constexpr std::string_view implied =
    "cc c++ gcc g++ clang clang++ clang-19 clang++-19 ld ld.lld ld.lld-19 ar as make cmake ninja";

}  // namespace

std::vector<std::string> words_of(std::string_view command) {
  constexpr std::string_view cuts = " \t\n'\"=;|&()`";
  std::set<std::string> words;
  while (!command.empty()) {
    const std::size_t end = std::min(command.find_first_of(cuts), command.size());
    if (end > 0) words.emplace(command.substr(0, end));
    command.remove_prefix(std::min(end + 1, command.size()));
  }
  return {words.begin(), words.end()};
}

std::string toolchain(std::string_view command, const std::vector<std::string>& environment) {
  std::string text;
  for (const std::string& word : words_of(fmt::format("{} {}", command, implied))) {
    const auto program = machine::find_program(word, environment, "/");
    if (!program) continue;
    std::error_code error;
    const std::string real = std::filesystem::canonical(*program, error).string();
    struct stat status{};
    if (error || stat(real.c_str(), &status) != 0) continue;
    text += fmt::format("{} {} {} {}.{}\n", word, real, status.st_size, status.st_mtim.tv_sec,
                        status.st_mtim.tv_nsec);
  }
  return text;
}

}  // namespace stab::worker
