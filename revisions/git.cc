// SPDX-License-Identifier: MIT
#include "revisions/git.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/text.h"
#include "machine/program.h"

namespace stab::revisions {
namespace {

using machine::End;
using machine::Ended;

constexpr std::chrono::minutes longest_of_git{10};
constexpr std::uint64_t bytes_kept = std::uint64_t{64} << 20;

std::string how_it_ended(const Ended& ended) {
  return ended.how == End::exited ? fmt::format("git ended with exit code {}", ended.exit_code)
                                  : ended.reason;
}

// Drops the variables by which a hook names a repository, which may be another one. Keeps the
// caller's variables that say where git and its settings are.
bool is_kept(std::string_view variable) {
  constexpr std::array kept = std::to_array<std::string_view>(
      {"GIT_CONFIG_GLOBAL=", "GIT_CONFIG_SYSTEM=", "GIT_CONFIG_NOSYSTEM=", "GIT_EXEC_PATH=",
       "GIT_CEILING_DIRECTORIES=", "GIT_DISCOVERY_ACROSS_FILESYSTEM="});
  return !variable.starts_with("GIT_") ||
         std::ranges::any_of(kept, [&](auto name) { return variable.starts_with(name); });
}

std::vector<std::string> environment_of(const Repository& repository,
                                        const std::vector<Setting>& settings) {
  std::vector<std::string> given = repository.how.environment;
  if (given.empty())
    for (char** each = environ; *each != nullptr; ++each) given.emplace_back(*each);
  std::erase_if(given, [](const std::string& each) { return !is_kept(each); });
  // No transport is allowed, so a partial clone fetches nothing, whatever its settings say.
  for (const char* each : {"GIT_ALLOW_PROTOCOL=none", "GIT_NO_LAZY_FETCH=1", "GIT_OPTIONAL_LOCKS=0",
                           "GIT_LITERAL_PATHSPECS=1", "GIT_TERMINAL_PROMPT=0"})
    given.emplace_back(each);
  given.push_back(fmt::format("GIT_CONFIG_COUNT={}", settings.size()));
  for (std::size_t i = 0; i < settings.size(); ++i) {
    given.push_back(fmt::format("GIT_CONFIG_KEY_{}={}", i, settings[i].first));
    given.push_back(fmt::format("GIT_CONFIG_VALUE_{}={}", i, settings[i].second));
  }
  return given;
}

}  // namespace

Repository at(const Repository& repository, std::string directory) {
  Repository other(std::move(directory));
  other.how = repository.how;
  return other;
}

Result<Ended> run_git(const Repository& repository, const std::vector<std::string>& arguments,
                      const std::vector<Setting>& settings) {
  const std::string& directory = repository.directory;
  machine::Launch launch = repository.how;
  launch.environment = environment_of(repository, settings);
  const auto program = machine::find_program("git", launch.environment, directory);
  if (!program) return fail("revisions need git: " + program.error().message);
  launch.argv = {*program, "-C", directory};
  // Git must not take a tracked folder for a repository because it looks like one.
  for (const char* each :
       {"safe.bareRepository=explicit", "core.fsmonitor=false", "core.hooksPath=/dev/null",
        "submodule.recurse=false", "diff.autoRefreshIndex=false"})
    launch.argv.insert(launch.argv.end(), {"-c", each});
  if (const std::string& own = repository.git_directory; !own.empty())
    launch.argv.insert(launch.argv.end(), {"--git-dir=" + own, "--work-tree=" + own});
  launch.argv.insert(launch.argv.end(), arguments.begin(), arguments.end());
  launch.directory = directory;
  launch.timeout = longest_of_git;
  launch.output_limit = bytes_kept;
  return machine::run(launch);
}

bool is_well(const Ended& ended) {
  return ended.how == End::exited && ended.exit_code == 0;
}

Result<std::string> git(const Repository& repository, const std::vector<std::string>& arguments,
                        const std::vector<Setting>& settings) {
  auto ended = run_git(repository, arguments, settings);
  if (!ended) return std::unexpected(ended.error());
  if (is_well(*ended)) return std::move(ended->out);
  return fail(fmt::format("git {} failed in {}: {}", arguments.front(), repository.directory,
                          ended->err.empty() ? how_it_ended(*ended) : one_line(ended->err, 500)));
}

Result<std::string> git_line(const Repository& repository,
                             const std::vector<std::string>& arguments) {
  auto text = git(repository, arguments);
  if (text && text->ends_with('\n')) text->pop_back();
  return text;
}

std::vector<std::string> split_at_zeros(const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at < text.size();) {
    const auto end = text.find('\0', at);
    parts.push_back(text.substr(at, end - at));
    at = end == std::string::npos ? text.size() : end + 1;
  }
  return parts;
}

}  // namespace stab::revisions
