// SPDX-License-Identifier: MIT
#include "stabd/worker/trial.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/hash.h"
#include "base/text.h"
#include "machine/child.h"
#include "machine/environment.h"

namespace stab::worker {
namespace {

using store::TrialStatus;

std::vector<std::string> environment_of(const wire::RunRequest& request,
                                        const TrialContext& context) {
  auto variables = machine::base_variables(geteuid());
  for (const auto& [name, value] : request.env) variables[name] = value;
  if (const auto equals = context.marker.find('='); equals != std::string::npos)
    variables[context.marker.substr(0, equals)] = context.marker.substr(equals + 1);
  return machine::make_environment(std::move(variables), request.env_bytes);
}

machine::Launch launch_of(const wire::RunRequest& request, const TrialContext& context) {
  machine::Launch launch;
  launch.argv = request.argv;
  launch.environment = environment_of(request, context);
  launch.directory = request.directory;
  launch.stdin_path = request.stdin_path;
  launch.timeout = request.timeout;
  launch.output_limit = request.output_limit;
  launch.keep_aslr = request.aslr;
  launch.bind = context.bind;
  launch.stop_fd = context.stop_fd;
  launch.scope = context.scope;
  return launch;
}

TrialStatus status_of(const machine::Ended& ended, int expected_exit) {
  switch (ended.how) {
    case machine::End::exited:
      return ended.exit_code == expected_exit ? TrialStatus::ok : TrialStatus::wrong_exit;
    case machine::End::signalled:
      return TrialStatus::signalled;
    case machine::End::timeout:
      return TrialStatus::timeout;
    case machine::End::output_limit:
      return TrialStatus::output_limit;
    case machine::End::stopped:
    case machine::End::not_started:
      return TrialStatus::not_started;
  }
  return TrialStatus::not_started;
}

// The path of a file in memory that holds the text.
std::string path_in_memory(const std::string& text, Fd& owner) {
  owner = Fd(memfd_create("stdout", MFD_CLOEXEC));
  if (!owner || !write_all(owner.get(), text)) return "/dev/null";
  return fmt::format("/proc/{}/fd/{}", getpid(), owner.get());
}

// "" if the command accepts the output.
std::string run_check_command(const wire::RunRequest& request, const TrialContext& context,
                              const std::string& out) {
  Fd memory;
  machine::Launch launch = launch_of(request, context);
  launch.argv = {"/bin/sh", "-c", *request.check.command};
  launch.stdin_path = path_in_memory(out, memory);
  launch.bind = context.bind_others;
  launch.merge_stderr = true;
  const machine::Ended ended = machine::run(launch);
  if (ended.how == machine::End::exited && ended.exit_code == 0) return "";
  const std::string how = ended.how == machine::End::exited
                              ? fmt::format("ended with exit code {}", ended.exit_code)
                              : ended.reason;
  return fmt::format("the check command {}: {}", how, one_line(ended.out, 200));
}

// "" if the output is as the plan says.
std::string find_fault(const wire::RunRequest& request, const TrialContext& context,
                       const std::string& out, const std::string& digest) {
  const plan::Check& check = request.check;
  if (check.stdout_sha256 && digest != *check.stdout_sha256)
    return fmt::format("stdout has SHA-256 {}, not {}", digest, *check.stdout_sha256);
  if (check.stdout_file) {
    const std::string path = check.stdout_file->starts_with('/')
                                 ? *check.stdout_file
                                 : request.directory + "/" + *check.stdout_file;
    const auto wanted = read_file(path, request.output_limit);
    if (!wanted) return "check.stdout_file: " + wanted.error().message;
    if (*wanted != out) return fmt::format("stdout differs from {}", *check.stdout_file);
  }
  return check.command ? run_check_command(request, context, out) : "";
}

}  // namespace

wire::RunReply run_trial(const wire::RunRequest& request, const TrialContext& context) {
  machine::Ended ended = machine::run(launch_of(request, context));
  wire::RunReply reply;
  reply.status = status_of(ended, request.check.exit);
  reply.reason = ended.reason;
  reply.started_ns = ended.started_ns;
  reply.stderr_tail = tail(ended.err, wire::kept_output);
  if (ended.how == machine::End::not_started || ended.how == machine::End::stopped) return reply;

  if (ended.how == machine::End::exited) reply.exit_code = ended.exit_code;
  if (ended.how == machine::End::signalled) reply.signal = ended.signal;
  if (ended.wall.count() > 0) reply.wall_ns = ended.wall.count();
  reply.user_ns = ended.user.count();
  reply.system_ns = ended.system.count();
  reply.max_rss_bytes = ended.max_rss_bytes;
  reply.readings = std::move(ended.readings);
  reply.readings.push_back(
      {"leftover-processes", counters::Status::counted, ended.leftovers, 1.0, ""});
  reply.stdout_sha256 = sha256_hex(ended.out);
  if (reply.status == TrialStatus::wrong_exit)
    reply.reason =
        fmt::format("ended with exit code {}, not {}", ended.exit_code, request.check.exit);
  if (ended.stuck) reply.status = TrialStatus::check_failed;
  if (reply.status != TrialStatus::ok) return reply;
  reply.reason = find_fault(request, context, ended.out, reply.stdout_sha256);
  if (!reply.reason.empty()) reply.status = TrialStatus::check_failed;
  return reply;
}

}  // namespace stab::worker
