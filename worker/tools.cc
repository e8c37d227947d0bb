// SPDX-License-Identifier: MIT
#include "worker/tools.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <set>

#include "machine/child.h"
#include "machine/program.h"

namespace stab::worker {
namespace {

// A makefile can run these although the command does not name them.
constexpr std::string_view implied =
    "cc c++ gcc g++ clang clang++ clang-19 clang++-19 ld ld.lld ld.lld-19 ar as make cmake ninja "
    "szc szc++";

// szc's parts can change separately, and a new runtime makes another binary.
std::string parts_of_szc(const std::string& program, const std::vector<std::string>& environment,
                         machine::Containment containment) {
  machine::Launch launch;
  launch.argv = {program, "--stab-version"};
  launch.environment = environment;
  launch.directory = "/";
  launch.timeout = std::chrono::seconds(10);
  launch.output_limit = 65536;
  launch.merge_stderr = true;
  launch.keep_aslr = true;
  launch.containment = containment;
  return machine::run(launch).out;
}

bool is_szc(const std::string& program) {
  const std::string name = std::filesystem::path(program).filename();
  return name == "szc" || name == "szc++";
}

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

std::string toolchain(std::string_view command, const std::vector<std::string>& environment,
                      machine::Containment containment) {
  std::string text;
  std::set<std::string> asked;
  for (const std::string& word : words_of(fmt::format("{} {}", command, implied))) {
    const auto program = machine::find_program(word, environment, "/");
    if (!program) continue;
    std::error_code error;
    const std::string real = std::filesystem::canonical(*program, error).string();
    struct stat status{};
    if (error || stat(real.c_str(), &status) != 0) continue;
    text += fmt::format("{} {} {} {}.{}\n", word, real, status.st_size, status.st_mtim.tv_sec,
                        status.st_mtim.tv_nsec);
    if (is_szc(real) && asked.insert(real).second)
      text += parts_of_szc(real, environment, containment);
  }
  return text;
}

}  // namespace stab::worker
