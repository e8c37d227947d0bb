// SPDX-License-Identifier: MIT
#include "stabd/client/replay/replay.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <chrono>

#include "base/text.h"
#include "machine/child.h"
#include "stabd/client/client.h"
#include "stabd/client/output.h"
#include "stabd/client/stored.h"
#include "stabd/worker/binary.h"
#include "stabd/worker/trial.h"

namespace stab::client {
namespace {

constexpr std::chrono::minutes longest_look{10};  // at a build

Result<protocol::ReplayReply> look_up(const Common& common,
                                      const protocol::ReplayRequest& request) {
  if (!common.state.empty()) return answer_stored(common.state, request);
  auto client = Client::connect(common.sockets);
  if (!client) return std::unexpected(client.error());
  return client->ask(request);
}

// The program that was measured, and no other.
Result<void> build_is_there(const protocol::ReplayReply& trial) {
  if (trial.build.empty()) return {};
  const auto digest = worker::digest_of(
      trial.out, {.key = trial.build, .until = std::chrono::steady_clock::now() + longest_look});
  if (!digest) return std::unexpected(digest.error());
  if (digest->value_or("") == trial.binary_sha256) return {};
  return fail(fmt::format(
      "{} {}: submit the plan again, which builds it again from the same sources", trial.out,
      *digest ? "is not the program that was measured" : "is no longer in the cache of builds"));
}

std::string words_of(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + shell_quote(word);
  return text;
}

// For a POSIX shell.
std::string command_of(const machine::Launch& launch) {
  return fmt::format("(cd {} && ulimit -S -s {} && exec env -i {} {}{}{})\n",
                     shell_quote(launch.directory), machine::stack_bytes / 1024,
                     words_of(launch.environment), launch.keep_aslr ? "" : "setarch -R ",
                     words_of(launch.argv),
                     launch.stdin_path.empty() ? "" : " <" + shell_quote(launch.stdin_path));
}

}  // namespace

Result<int> replay(const Common& common, const ReplayOptions& options) {
  const auto trial =
      look_up(common, {.id = options.id, .position = options.position, .attempt = options.attempt});
  if (!trial) return std::unexpected(trial.error());
  if (common.json) {
    if (auto printed = write_json(protocol::to_text(*trial, 2)); !printed)
      return std::unexpected(printed.error());
    return exit_ok;
  }
  // Other users have other variables, other folders and perhaps no right to the build.
  if (trial->uid != geteuid())
    return fail(fmt::format("user {} ran this trial: replay it as that user", trial->uid));
  if (auto there = build_is_there(*trial); !there) return std::unexpected(there.error());
  // No file is limited: a profiler writes its own.
  protocol::RunRequest run = trial->run;
  run.file_limit = 0;
  machine::Launch launch = worker::launch_of(run, {}, "");
  launch.argv.insert(launch.argv.begin(), options.before.begin(), options.before.end());
  if (options.print) {
    if (auto printed = write_output(command_of(launch), "", Colours::none); !printed)
      return std::unexpected(printed.error());
    return exit_ok;
  }
  return std::unexpected(machine::replace_this_process(launch));
}

}  // namespace stab::client
