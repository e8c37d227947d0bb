// SPDX-License-Identifier: MIT
#include "worker/trial.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <iterator>
#include <optional>

#include "base/fd.h"
#include "base/hash.h"
#include "base/text.h"
#include "base/time.h"
#include "machine/measured_run.h"
#include "machine/program.h"
#include "plan/measures/formula.h"
#include "plan/measures/names.h"
#include "plan/measures/output.h"
#include "worker/runtime_report.h"
#include "worker/wrappers.h"

namespace stab::worker {
namespace {

using store::TrialStatus;

std::vector<std::string> environment_of(const protocol::RunRequest& request,
                                        const TrialContext& context, const RuntimeFiles& files,
                                        const std::string& preloads) {
  // A worker has only one user, and looking the account up takes time between two trials.
  static const auto base = machine::base_variables(geteuid());
  auto variables = base;
  for (const auto& [name, value] : request.env) variables[name] = value;
  variables[options_variable] = options_text(request.options, files);
  if (!preloads.empty()) {
    std::string& preload = variables["LD_PRELOAD"];
    preload = preloads + (preload.empty() ? "" : ":" + preload);
  }
  if (const auto equals = context.marker.find('='); equals != std::string::npos)
    variables[context.marker.substr(0, equals)] = context.marker.substr(equals + 1);
  return machine::make_environment(std::move(variables), request.env_bytes);
}

// The libraries for LD_PRELOAD, which go before the plan's own.
std::string preloads_for(const protocol::RunRequest& request) {
  const std::string heap = heap_library_for(request);
  const std::string operator_new = new_library_for(request);
  return heap + (heap.empty() || operator_new.empty() ? "" : ":") + operator_new;
}

machine::Launch launch_with(const protocol::RunRequest& request, const TrialContext& context,
                            const RuntimeFiles& files, const std::string& preloads) {
  machine::Launch launch;
  launch.argv = request.argv;
  launch.environment = environment_of(request, context, files, preloads);
  launch.directory = request.directory;
  launch.stdin_path = request.stdin_path;
  launch.timeout = request.timeout;
  launch.output_limit = request.output_limit;
  launch.limits = {.memory = request.memory_limit,
                   .cpu = request.cpu_limit,
                   .processes = request.process_limit,
                   .file = request.file_limit};
  launch.keep_aslr = request.aslr;
  launch.bind = context.bind;
  launch.stop_fd = context.stop_fd;
  launch.containment = context.containment;
  return launch;
}

// The command beside the program must do the same in all trials, so it is not random and has none of
// the trial's libraries and environment variables for random layouts.
void put_beside(const protocol::RunRequest& request, const TrialContext& context,
                machine::Launch& launch) {
  if (request.beside.empty()) return;
  protocol::RunRequest plain;
  plain.env = request.beside_env;
  plain.options = {{"code", "0"}, {"stack", "0"}, {"heap", "0"}};
  launch.beside = request.beside;
  launch.beside_environment = environment_of(plain, context, {}, "");
}

// The reading of the command beside the program. Its end must be one that the check accepts.
counters::Reading beside_reading(const machine::BesideEnded& ended, const plan::Check& check) {
  std::string fault = ended.fault;
  if (fault.empty() && !check.accepts(ended.exit_code))
    fault = fmt::format("ended with exit code {}", ended.exit_code);
  return fault.empty()
             ? counters::counted(std::string(counters::beside_cpu), "ns", ended.cpu.count())
             : counters::absent(std::string(counters::beside_cpu), "ns", fault);
}

TrialStatus status_of(const machine::Ended& ended, const plan::Check& check) {
  switch (ended.how) {
    case machine::End::exited:
      return check.accepts(ended.exit_code) ? TrialStatus::ok : TrialStatus::wrong_exit;
    case machine::End::signalled:
      return TrialStatus::signalled;
    case machine::End::timeout:
      return TrialStatus::timeout;
    case machine::End::output_limit:
      return TrialStatus::output_limit;
    case machine::End::over_limit:
      return TrialStatus::over_limit;
    case machine::End::stopped:
    case machine::End::not_started:
      return TrialStatus::not_started;
  }
  return TrialStatus::not_started;
}

// Why one of the plan's commands failed.
struct Fault {
  std::string reason{};   // "": it succeeded
  std::string printed{};  // the end of its output
};

Fault run_command(std::string_view name, machine::Launch launch) {
  launch.merge_stderr = true;
  const machine::Ended ended = machine::run(launch);
  if (ended.how == machine::End::exited && ended.exit_code == 0) return {};
  const std::string how = ended.how == machine::End::exited
                              ? fmt::format("ended with exit code {}", ended.exit_code)
                              : ended.reason;
  return {.reason = fmt::format("the {} command {}: {}", name, how, last_line(ended.out, 200)),
          .printed = tail(ended.out, protocol::kept_output)};
}

bool is_to_stop(const TrialContext& context) {
  pollfd stop{.fd = context.stop_fd, .events = POLLIN, .revents = 0};
  return context.stop_fd >= 0 && poll(&stop, 1, 0) == 1;
}

// The cleanup command also runs after a trial that had to stop, because later trials would find
// what it left. The daemon waits longer than this.
constexpr std::chrono::seconds longest_cleanup_of_stopped{8};

Fault clean_up(const protocol::RunRequest& request, const TrialContext& context) {
  machine::Launch launch = step_of(request, request.cleanup, context);
  if (is_to_stop(context)) {
    launch.stop_fd = -1;
    launch.timeout = std::min<std::chrono::nanoseconds>(launch.timeout, longest_cleanup_of_stopped);
  }
  return run_command("cleanup", std::move(launch));
}

// Returns "" if the command accepts the output.
std::string run_check_command(const protocol::RunRequest& request, const TrialContext& context,
                              const std::string& out) {
  MemoryFile memory("stdout");
  machine::Launch launch = launch_with(request, context, {}, "");
  launch.argv = {"/bin/sh", "-c", *request.check.command};
  launch.stdin_path = memory.write(out) ? memory.path() : "/dev/null";
  launch.bind = context.bind_others;
  return run_command("check", std::move(launch)).reason;
}

// Returns "" if the output passes the plan's check.
std::string find_fault(const protocol::RunRequest& request, const TrialContext& context,
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

// Why the response can't be compared, if it is a reading; "" if it can.
std::string reading_fault(const std::string& response,
                          const std::vector<counters::Reading>& readings, bool is_measure) {
  const auto reading = std::ranges::find(readings, response, &counters::Reading::name);
  if (reading == readings.end() || counters::comparable(*reading)) return "";
  if (reading->status == counters::Status::absent)
    return fmt::format("the response is {}, which {}: {}", response,
                       is_measure ? "this trial lacks" : "could not be counted", reading->reason);
  return fmt::format(
      "the response is {}, which was counted for only {:.0f} % of the time: measure fewer events "
      "at once",
      response, 100 * reading->coverage);
}

// Why the response can't be compared, if it needs the command beside the program.
std::string relative_fault(const protocol::RunRequest& request, const protocol::RunReply& reply) {
  if (request.response != counters::relative_cpu) return "";
  const auto number = store::number_of(reply, request.response);
  return number && counters::comparable(*number)
             ? ""
             : fmt::format("the response is {}, but {}", request.response,
                           number ? number->reason : "it was not measured");
}

bool is_measure(const protocol::RunRequest& request, const std::string& name) {
  return plan::region_of(name) || plan::is_simulated(name) || plan::is_of_builds(name) ||
         std::ranges::find(request.outputs, name, &plan::OutputMeasure::name) !=
             request.outputs.end() ||
         std::ranges::find(request.derived, name, &plan::DerivedMeasure::name) !=
             request.derived.end();
}

// If the program was ended, it printed only a part of its output, so nothing is read from it.
plan::Measured measured(const plan::OutputMeasure& measure, const machine::Ended& ended,
                        std::size_t room, std::chrono::steady_clock::time_point until) {
  if (ended.how == machine::End::exited)
    return plan::read_output(measure, measure.from_stderr ? ended.err : ended.out, room, until);
  return {.reading = counters::absent(
              measure.name, measure.unit,
              fmt::format("{} was cut off: {}", plan::stream_of(measure),
                          ended.reason.empty() ? "the program was killed" : ended.reason))};
}

counters::Reading derived_reading(const plan::DerivedMeasure& measure,
                                  const protocol::RunReply& reply) {
  const auto formula = plan::parse_formula(measure.formula);
  if (!formula) return counters::absent(measure.name, "", formula.error().message);
  return plan::evaluate(measure.name, *formula,
                        [&](std::string_view name) { return store::number_of(reply, name); });
}

// The names from which the response and the derived measures are computed.
std::vector<std::string> parts_in(const protocol::RunRequest& request) {
  std::vector<std::string> parts{request.response};
  for (const plan::DerivedMeasure& each : request.derived)
    if (const auto formula = plan::parse_formula(each.formula))
      std::ranges::move(plan::names_in(*formula), std::back_inserter(parts));
  return parts;
}

// Programs that start another program, which we can't know.
constexpr std::array<std::string_view, 6> starters{"sh", "dash", "bash", "ksh", "zsh", "env"};

// The code size of the trial's program, if no build made it.
counters::Reading size_of_program(const protocol::RunRequest& request, const TrialContext& context,
                                  const std::vector<std::string>& environment) {
  const std::string name(plan::code_size);
  const auto none = [&](std::string why) {
    return counters::absent(name, "bytes", std::move(why));
  };
  const std::string_view word = request.argv.front();
  const std::string_view file = word.substr(word.rfind('/') + 1);
  if (std::ranges::find(starters, file) != starters.end())
    return none(fmt::format(
        "the trial runs {}, and stabd cannot tell which program this command starts", file));
  const auto path = machine::find_program(word, environment, request.directory);
  if (!path) return none(path.error().message);
  const bool relative = !path->starts_with('/');
  const auto bytes = context.sizes->of(relative ? request.directory + "/" + *path : *path);
  return bytes ? counters::counted(name, "bytes", *bytes)
               : none(fmt::format("the size of the code of {} is not known: {}", *path,
                                  bytes.error().message));
}

// Why a program whose runtime reported nothing can't be randomized; "" if its file does not tell.
std::string why_in_place(const protocol::RunRequest& request,
                         const std::vector<std::string>& environment) {
  const auto path = machine::find_program(request.argv.front(), environment, request.directory);
  if (!path) return "";
  return machine::why_in_place(path->starts_with('/') ? *path : request.directory + "/" + *path);
}

// Adds the readings of builds. Absent readings are added only if the response or a measure needs
// them.
void add_of_builds(const protocol::RunRequest& request, const TrialContext& context,
                   const std::vector<std::string>& environment, protocol::RunReply& reply) {
  std::vector<counters::Reading> known = request.built;
  if (context.sizes != nullptr &&
      std::ranges::find(known, plan::code_size, &counters::Reading::name) == known.end())
    known.push_back(size_of_program(request, context, environment));
  const std::vector<std::string> wanted = parts_in(request);
  for (counters::Reading& each : known)
    if (each.status != counters::Status::absent ||
        std::ranges::find(wanted, each.name) != wanted.end())
      reply.readings.push_back(std::move(each));
}

// The kernel counts nothing for a program whose file is not readable.
void forget_unreadable(std::vector<counters::Reading>& counted, counters::Profile& profile) {
  constexpr const char* why =
      "the program's file is not readable, so the kernel does not count the program's events";
  for (counters::Reading& each : counted) each = counters::absent(each.name, each.unit, why);
  profile.functions.clear();
  if (profile.is_wanted()) profile.reason = why;
}

// Must run after all readings that derived measures may use.
void add_measures(const protocol::RunRequest& request, const machine::Ended& ended,
                  protocol::RunReply& reply) {
  const auto until = std::chrono::steady_clock::now() + plan::longest_reading;
  std::size_t room = counters::most_sample_bytes;
  for (const plan::OutputMeasure& each : request.outputs) {
    plan::Measured found = measured(each, ended, room, until);
    if (found.reading) reply.readings.push_back(std::move(*found.reading));
    for (counters::Samples& samples : found.samples) {
      room -= counters::bytes_of(samples);
      reply.samples.push_back(std::move(samples));
    }
  }
  for (const plan::DerivedMeasure& each : request.derived)
    reply.readings.push_back(derived_reading(each, reply));
}

// The trial does not start.
protocol::RunReply not_started(Fault fault) {
  protocol::RunReply reply;
  reply.status = TrialStatus::not_started;
  reply.reason = std::move(fault.reason);
  reply.started_ns = wall_clock_ns();
  reply.stderr_tail = std::move(fault.printed);
  return reply;
}

protocol::RunReply measure(const protocol::RunRequest& request, const TrialContext& context);

Fault prepared(const protocol::RunRequest& request, const TrialContext& context) {
  if (request.prepare.empty()) return {};
  return run_command("prepare", step_of(request, request.prepare, context));
}

}  // namespace

machine::Launch step_of(const protocol::RunRequest& request, const std::string& command,
                        const TrialContext& context) {
  machine::Launch launch = launch_with(request, context, {}, "");
  launch.argv = {"/bin/sh", "-c", command};
  launch.stdin_path = "/dev/null";
  launch.limits = {};
  launch.bind = context.bind_others;
  return launch;
}

std::string prepare(const protocol::RunRequest& request, const TrialContext& context) {
  return prepared(request, context).reason;
}

machine::Launch launch_of(const protocol::RunRequest& request, const TrialContext& context) {
  return launch_with(request, context, {}, preloads_for(request));
}

protocol::RunReply run_trial(const protocol::RunRequest& request, const TrialContext& context) {
  protocol::RunReply reply;
  if (Fault fault = prepared(request, context); fault.reason.empty())
    reply = measure(request, context);
  else
    reply = not_started(std::move(fault));
  if (request.cleanup.empty()) return reply;
  Fault fault = clean_up(request, context);
  if (!fault.reason.empty() && reply.status == TrialStatus::ok) {
    reply.status = TrialStatus::check_failed;
    reply.reason = std::move(fault.reason);
    reply.stderr_tail = std::move(fault.printed);
  }
  return reply;
}

namespace {

// Whether the reading counted accesses to an address.
bool counts_accesses(const counters::Reading& reading) {
  return reading.name.starts_with("mem:") && reading.status != counters::Status::absent;
}

protocol::RunReply measure(const protocol::RunRequest& request, const TrialContext& context) {
  const MemoryFile& report = MemoryFile::reused("report");
  const std::string library = heap_library_for(request);
  const std::string preloads = preloads_for(request);
  const auto causal = CausalRun::prepare(
      request.causal, context.causal,
      request.causal ? launch_with(request, context, {}, preloads) : machine::Launch{});
  if (!causal) return not_started({.reason = causal.error().message});
  if (context.observer != nullptr) context.observer->before();
  counters::Profiler* const profiler = context.profiler;
  const RuntimeFiles files{.report = report.is_open() ? report.path() : "",
                           .places = profiler != nullptr ? profiler->make_place_file() : ""};
  machine::Launch launch = launch_with(request, context, files, preloads);
  put_beside(request, context, launch);
  std::optional<Simulation> simulation;
  if (!context.simulator.empty()) simulation.emplace(context.simulator).wrap(launch);
  if (*causal) (*causal)->wrap(launch);
  if (context.counting != nullptr || profiler != nullptr)
    launch.held = [&](pid_t child) {
      if (profiler != nullptr) profiler->begin(child);
      if (context.counting != nullptr) context.counting->begin(child);
    };
  if (profiler != nullptr) {
    launch.watched_fd = [=] { return profiler->fd(); };
    launch.watched = [=] { profiler->drain(); };
  }
  machine::Ended ended = machine::run(launch);
  std::vector<counters::Reading> around;
  if (context.observer != nullptr) context.observer->after(around);
  std::vector<counters::Reading> counted;
  if (context.counting != nullptr) counted = context.counting->end();
  counters::Profile profile;
  if (profiler != nullptr) profile = profiler->end();
  protocol::RunReply reply;
  reply.status = status_of(ended, request.check);
  reply.reason = ended.reason;
  reply.started_ns = ended.started_ns;
  reply.stderr_tail = tail(ended.err, protocol::kept_output);
  if (ended.how == machine::End::not_started || ended.how == machine::End::stopped) return reply;

  if (ended.how == machine::End::exited) reply.exit_code = ended.exit_code;
  if (ended.how == machine::End::signalled) reply.signal = ended.signal;
  if (ended.signal == SIGTRAP && std::ranges::any_of(counted, counts_accesses))
    reply.reason +=
        "; counting mem: events causes this signal on virtual machines that lose debug exceptions";
  if (ended.wall.count() > 0) reply.wall_ns = ended.wall.count();
  reply.user_ns = ended.user.count();
  reply.system_ns = ended.system.count();
  reply.max_rss_bytes = ended.max_rss_bytes;
  if (simulation)
    reply.readings = simulation->readings(ended);
  else
    reply.readings = std::move(ended.readings);
  reply.readings.push_back(counters::counted("leftover-processes", "", ended.leftovers));
  if (ended.beside) reply.readings.push_back(beside_reading(*ended.beside, request.check));
  std::ranges::move(around, std::back_inserter(reply.readings));
  if (!ended.readable) forget_unreadable(counted, profile);
  reply.profile = std::move(profile);
  std::ranges::move(counted, std::back_inserter(reply.readings));
  reply.stdout_sha256 = sha256_hex(ended.out);
  RuntimeReport reported = read_report(report.read(max_report_bytes), ended.pid);
  std::ranges::move(region_readings(reported, parts_in(request)),
                    std::back_inserter(reply.readings));
  reply.layout = std::move(reported.layout);
  const std::string in_place =
      reply.layout.randomized ? "" : why_in_place(request, launch.environment);
  if (reply.layout.note.empty()) reply.layout.note = in_place;
  if (simulation) forget_real_runs(reply);  // before derived measures are computed
  std::string useless = *causal ? (*causal)->take(ended, reply) : "";
  add_of_builds(request, context, launch.environment, reply);
  add_measures(request, ended, reply);
  if (reply.status == TrialStatus::wrong_exit)
    reply.reason = fmt::format("ended with exit code {}, not {}", ended.exit_code,
                               plan::exits_of(request.check));
  if (ended.stuck) reply.status = TrialStatus::check_failed;
  if (reply.status != TrialStatus::ok) return reply;
  const auto judge = [&](TrialStatus status, std::string fault) {
    if (fault.empty() || reply.status != TrialStatus::ok) return;
    reply.status = status;
    reply.reason = std::move(fault);
  };
  reply.reason.clear();
  judge(TrialStatus::check_failed, find_fault(request, context, ended.out, reply.stdout_sha256));
  judge(TrialStatus::not_randomized,
        layout_fault(request, reply.layout, reported.did, !library.empty(), in_place));
  judge(TrialStatus::not_measured, response_fault(request, reply.layout));
  judge(TrialStatus::not_measured, relative_fault(request, reply));
  judge(TrialStatus::not_measured, std::move(useless));
  judge(TrialStatus::not_measured,
        reading_fault(request.response, reply.readings, is_measure(request, request.response)));
  return reply;
}

}  // namespace

}  // namespace stab::worker
