// SPDX-License-Identifier: MIT
// profiled FILE PROGRAM ARGUMENTS...: runs a program once under our profiler, which only takes
// samples (each experiment is at speedup 0). Adds a line to FILE: the milliseconds until the program
// began, the milliseconds that a further run takes until then, the milliseconds that the program
// ran, and the number of samples. Exits as the program does.
#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "causal/run/prepare_program.h"
#include "causal/run/run_program.h"
#include "causal/run/session_file.h"

namespace {

using namespace stab;  // NOLINT(google-build-using-namespace): a program's main file
using std::chrono::steady_clock;

double milliseconds_since(steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(steady_clock::now() - start).count();
}

struct Begun {
  causal::Program program;
  causal::SessionFile session;
};

Result<Begun> begin(causal::Programs& programs, const std::string& word) {
  auto program = programs.prepare({.word = word, .scope = {"*"}});
  if (!program) return std::unexpected(program.error());
  auto session = causal::SessionFile::make(*program->map, {.fixed_speedup = 0});
  if (!session) return std::unexpected(session.error());
  return Begun{.program = std::move(*program), .session = std::move(*session)};
}

Result<int> run(const std::string& file, const std::vector<std::string>& command) {
  const auto start = steady_clock::now();
  // Ours is bench/ of a build.
  std::error_code error;
  const auto build = std::filesystem::read_symlink("/proc/self/exe", error).parent_path() / "..";
  causal::Programs programs(
      {.lines = build / "bin/stab-lines", .library = build / "lib/libstabcausal.so"});
  const auto begun = begin(programs, command.front());
  if (!begun) return std::unexpected(begun.error());
  const double first = milliseconds_since(start);
  if (const auto again = begin(programs, command.front()); !again)
    return std::unexpected(again.error());
  const double second = milliseconds_since(start) - first;
  const auto ended = causal::run_program(
      {.path = begun->program.path, .argv = command, .library = programs.library()}, begun->session,
      [] {});
  if (!ended) return std::unexpected(ended.error());
  const causal::Head& head = begun->session.head();
  if (std::FILE* const log = std::fopen(file.c_str(), "a")) {
    fmt::print(log, "{:.3f} {:.3f} {:.3f} {}\n", first, second,
               static_cast<double>(ended->passed_ns) / 1e6, head.samples);
    std::fclose(log);
  }
  return ended->signal != 0 ? 128 + ended->signal : ended->exit_code;
}

}  // namespace

int main(int count, char** words) {
  const std::vector<std::string> arguments(words + 1, words + count);
  if (arguments.size() < 2 || arguments[0].starts_with('-')) {
    fmt::print(stderr, "usage: profiled FILE PROGRAM [ARGUMENT...]\n");
    return 2;
  }
  const auto code = run(arguments[0], {arguments.begin() + 1, arguments.end()});
  if (code) return *code;
  fmt::print(stderr, "profiled: {}\n", code.error().message);
  return 1;
}
