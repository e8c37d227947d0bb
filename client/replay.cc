// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>

#include "base/text.h"
#include "client/client.h"
#include "client/run_folder.h"
#include "client/streams.h"
#include "client/verbs.h"
#include "machine/containment.h"
#include "machine/measured_run.h"
#include "machine/program.h"
#include "protocol/containment.h"
#include "worker/binary.h"
#include "worker/trial.h"

namespace stab::client {
namespace {

constexpr std::chrono::minutes longest_look{10};  // for reading a build

Result<protocol::ReplayReply> look_up(const Common& common,
                                      const protocol::ReplayRequest& request) {
  if (!common.state.empty()) return answer_stored(common.state, request);
  auto client = Client::connect(common.sockets);
  if (!client) return std::unexpected(client.error());
  return client->ask(request);
}

// Fails unless the build cache still has exactly the program that was measured.
Result<void> build_is_there(const protocol::ReplayReply& trial) {
  if (trial.build.empty()) return {};
  const auto digest = worker::digest_of(
      trial.out, {.key = trial.build, .until = std::chrono::steady_clock::now() + longest_look});
  if (!digest) return std::unexpected(digest.error());
  if (digest->value_or("") == trial.binary_sha256) return {};
  return fail(fmt::format(
      "{} {}. If the program's sources have not changed, run the plan again ('stabctl submit', or "
      "'stabctl run --again'): this builds the program again",
      trial.out,
      *digest ? "is not the program that was measured" : "is no longer in the build cache"));
}

std::string words_of(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + shell_quote(word);
  return text;
}

// Writes the command for a POSIX shell.
std::string command_of(const machine::Launch& launch, bool gives_up) {
  return fmt::format("(cd {} && ulimit -S -s {} && exec {}env -i {} {}{}{})\n",
                     shell_quote(launch.directory), machine::stack_bytes / 1024,
                     gives_up ? "setpriv --no-new-privs --bounding-set=-all --inh-caps=-all " : "",
                     words_of(launch.environment), launch.keep_aslr ? "" : "setarch -R ",
                     words_of(launch.argv),
                     launch.stdin_path.empty() ? "" : " <" + shell_quote(launch.stdin_path));
}

// A replay runs the commands that the file holds, and another user's file could hold any command.
Result<void> may_believe(const std::string& folder) {
  const std::string path = folder + "/stabd.db";
  struct stat status{};
  if (stat(path.c_str(), &status) != 0) return fail_errno("cannot look at " + path);
  if (status.st_uid == geteuid() || status.st_uid == 0) return {};
  return fail(
      fmt::format("{} belongs to user {}, and a replay runs the commands in this file. If you "
                  "trust these commands, copy the file and replay from the copy",
                  path, status.st_uid));
}

// Looks up the program of the caller's words before the command, in the caller's PATH and folder.
Result<std::vector<std::string>> found(std::vector<std::string> words) {
  if (words.empty()) return words;
  std::error_code error;
  const std::string here = std::filesystem::current_path(error).string();
  const char* const path = getenv("PATH");
  auto program = machine::find_program(
      words.front(), {fmt::format("PATH={}", path == nullptr ? "/usr/bin:/bin" : path)}, here);
  if (!program) return std::unexpected(program.error());
  words.front() = program->starts_with('/') ? *program : here + "/" + *program;
  return words;
}

// The marker of a trial's environment changes where its stack is, so a replay has one of the same
// length. It is not the marker of any daemon, which would end the processes that have it.
std::string marker_for(const protocol::ReplayReply& trial) {
  constexpr std::size_t digits = 32;  // of a daemon's token
  return trial.marked ? protocol::marker_variable(std::string(digits, '0')) : "";
}

}  // namespace

Result<int> replay(const Common& common, const ReplayOptions& options) {
  if (!common.state.empty())
    if (auto may = may_believe(common.state); !may) return std::unexpected(may.error());
  const auto trial =
      look_up(common, {.id = options.id, .position = options.position, .attempt = options.attempt});
  if (!trial) return std::unexpected(trial.error());
  if (common.json) {
    if (auto printed = write_json(protocol::to_text(*trial, 2)); !printed)
      return std::unexpected(printed.error());
    return exit_ok;
  }
  // Another user has other variables and folders, and may not be allowed to read the build.
  if (trial->uid != geteuid())
    return fail(
        fmt::format("user {} ran this trial, so replay it as that user: sudo -u '#{}' "
                    "stabctl replay {} {}{}{}",
                    trial->uid, trial->uid, options.id, options.position,
                    options.attempt ? fmt::format(" --attempt {}", *options.attempt) : "",
                    common.state.empty() ? "" : " --folder " + shell_quote(common.state)));
  if (auto there = build_is_there(*trial); !there) return std::unexpected(there.error());
  // Does not limit the size of files, because a profiler writes its own files.
  protocol::RunRequest run = trial->run;
  run.file_limit = 0;
  worker::TrialContext context;
  context.marker = marker_for(*trial);
  machine::Launch launch = worker::launch_of(run, context);
  const auto before = found(options.before);
  if (!before) return std::unexpected(before.error());
  launch.argv.insert(launch.argv.begin(), before->begin(), before->end());
  // A debugger needs its user's stdin.
  if (launch.stdin_path.empty() && before->empty()) launch.stdin_path = "/dev/null";
  const bool gives_up = geteuid() == 0 && !trial->privileged;
  if (options.print) {
    std::string text = command_of(launch, gives_up);
    if (!run.prepare.empty()) {
      std::string before_it = command_of(worker::step_of(run, run.prepare, context), gives_up);
      before_it.pop_back();
      text = before_it + " &&\n" + text;
    }
    if (auto printed = write_output(text, "", Colours::none); !printed)
      return std::unexpected(printed.error());
    return exit_ok;
  }
  if (gives_up && !machine::give_up_privileges())
    return fail(
        "the trial ran without capabilities, but this process cannot drop its capabilities");
  // If the prepare command leaves processes running, we must become their parent to end them.
  if (!run.prepare.empty() && !machine::adopt_orphans())
    return fail_errno("cannot adopt the processes that the prepare command leaves running");
  if (std::string fault = worker::prepare(run, context); !fault.empty())
    return fail(std::move(fault));
  return std::unexpected(machine::replace_this_process(launch));
}

}  // namespace stab::client
