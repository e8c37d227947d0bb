// SPDX-License-Identifier: MIT
#include "worker/worker.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <optional>

#include "base/text.h"
#include "causal/run/prepare_program.h"
#include "counters/events/counting.h"
#include "counters/profiles/profiler.h"
#include "machine/containment.h"
#include "machine/facts.h"
#include "machine/program.h"
#include "machine/quiet/doctor.h"
#include "machine/quiet/quiet.h"
#include "machine/simulator.h"
#include "machine/topology.h"
#include "machine/trial_group.h"
#include "machine/user_limits.h"
#include "protocol/containment.h"
#include "protocol/lines.h"
#include "protocol/work.h"
#include "worker/builder.h"
#include "worker/trial.h"

namespace stab::worker {
namespace {

// The length of a text about the machine that the daemon accepts.
constexpr std::size_t most_said = 4000;

class Worker {
 public:
  explicit Worker(machine::Containment containment)
      : containment_(containment),
        builder_(containment, daemon_fd, protocol::marker_from_environment(),
                 [this] { return bind_all(); }) {}

  // Returns nullopt if this worker can't answer the request now; then it ends.
  std::optional<std::string> answer(const std::string& line) {
    // Checks only the first request, because reading it twice takes time between trials.
    if (!topology_)
      if (const auto setup = protocol::decode<protocol::SetupVersion>(line);
          setup && setup->protocol != protocol::version)
        return protocol::encode(protocol::SetupReply{.error = protocol::worker_mismatch()});
    const auto request = protocol::decode_work(line);
    if (!request) return std::nullopt;
    if (const auto* setup = std::get_if<protocol::SetupRequest>(&*request))
      return protocol::encode(set_up(*setup));
    if (!topology_) return std::nullopt;
    if (const auto* build = std::get_if<protocol::BuildRequest>(&*request))
      return only_without_leftovers(protocol::encode(builder_.build(*build)));
    if (const auto* fetch = std::get_if<protocol::FetchRequest>(&*request))
      return protocol::encode(builder_.fetch(*fetch));
    if (const auto* keep = std::get_if<protocol::KeepRequest>(&*request))
      return protocol::encode(builder_.keep(*keep));
    // No build may run at the same time as a trial.
    builder_.stop_ahead();
    const auto& run = std::get<protocol::RunRequest>(*request);
    if (run.set && *run.set >= by_set_.size()) return std::nullopt;
    // Either all trials of an experiment are simulated or none is.
    if (run.simulate == simulator_.empty()) return std::nullopt;
    // Either all trials are runs of a causal profile or none is.
    if (run.causal.has_value() != programs_.has_value()) return std::nullopt;
    auto reply = run_trial(run, context(run.set));
    reply.token = run.token;
    if (reply.status != store::TrialStatus::ok && has_lost_its_cpus()) return std::nullopt;
    return only_without_leftovers(protocol::encode(reply));
  }

 private:
  // If we can't empty our shared memory, it ends with us, and the next worker starts with an empty
  // one.
  [[nodiscard]] std::optional<std::string> only_without_leftovers(std::string reply) const {
    // Builds that run at the same time share the memory, and the last one empties it.
    if (builder_.runs_ahead()) return reply;
    const auto emptied = machine::empty_own_shared_memory();
    if (emptied) return reply;
    fmt::print(stderr, "a worker ends: {}\n", emptied.error().message);
    return std::nullopt;
  }

  protocol::SetupReply set_up(const protocol::SetupRequest& request) {
    protocol::SetupReply reply;
    auto topology = machine::Topology::load();
    if (!topology) return {.error = topology.error().message};
    if (const char* node = std::getenv(protocol::node_name))
      reply.machine_facts = machine::read_facts(*topology, "", node).facts_json;
    const machine::UserLimits limits = machine::limits_from_environment();
    if (!limits.refused.empty()) return {.error = limits.refused};
    if (!limits.lacking.empty())
      reply.notes.push_back(fmt::format(
          "builds and trials have stabd's resource limits (ulimit), not the user's own limits: {}",
          limits.lacking));
    else if (!limits.set.empty())
      reply.notes.push_back(
          fmt::format("PAM sets these limits for the user: {}", machine::names_of(limits.set)));
    machine::set_limits_of_programs(limits.set);
    builder_.run_at_once(topology->allowed().size());
    const auto choice = request.wanted_cpus.empty()
                            ? topology->choose_cpus(request.cpus, request.earlier_cpus)
                            : topology->take_cpus(request.wanted_cpus);
    if (!choice) {
      reply.error = choice.error().message;
      return reply;
    }
    reply.trial_cpus = machine::to_string(choice->trial);
    reply.notes.push_back(
        fmt::format("why these CPUs: {}", fmt::join(topology->reasons(*choice), "; ")));
    if (!machine::has_own_shared_memory())
      reply.notes.push_back(
          "/dev/shm, System V memory and message queues are shared with the machine: what a trial "
          "leaves there stays");
    if (!machine::is_in_group())
      reply.notes.push_back(
          "trials have no cgroup, so the number of threads is not limited, and memory_limit "
          "counts a file in memory only if a process maps the file");
    had_its_cpus_ = topology->bind(choice->trial).has_value();
    if (auto bound = topology->bind_to_online(choice->others); !bound)
      reply.notes.push_back(bound.error().message);
    // Trials inherit the memory policy. With a single node there is no choice, and a policy has a
    // small cost.
    if (topology->counts().numa_nodes > 1)
      if (auto bound = topology->bind_memory(choice->trial); !bound)
        reply.notes.push_back(bound.error().message);
    if (request.examine) {
      const auto findings = machine::examine(*topology, "", request.cpus);
      reply.grade = to_string(machine::overall(findings));
      reply.examined = one_line(machine::summary(findings), most_said);
    }
    if (request.check_knobs) {
      const auto knobs = machine::choose_knobs(request.knobs);
      if (!knobs) return {.error = knobs.error().message};
      reply.loud = one_line(machine::to_text(machine::loud_now(*knobs, *choice)), most_said);
    }
    choice_ = *choice;
    observer_.emplace(choice_.trial);
    if (auto counted = prepare_counters(request, reply.notes); !counted)
      reply.error = counted.error().message;
    if (request.simulate) {
      auto simulator = machine::find_simulator(machine::base_variables(geteuid()).at("PATH"));
      if (!simulator) {
        reply.error = simulator.error().message;
      } else {
        reply.simulator = machine::simulator_version(*simulator, containment_);
        simulator_ = *std::move(simulator);
      }
    }
    if (request.causal) {
      auto companions = causal::find_companions();
      if (companions)
        programs_.emplace(*std::move(companions));
      else
        reply.error = companions.error().message;
    }
    topology_ = std::move(*topology);
    return reply;
  }

  // Notes the events that can't be counted, or fails if the plan refuses that.
  Result<void> prepare_counters(const protocol::SetupRequest& request,
                                std::vector<std::string>& notes) {
    if (!request.counters.empty()) counting_.emplace(counters::groups_of(request.counters));
    for (const auto& set : request.rotated) {
      auto groups = request.counters;
      groups.push_back(set);
      by_set_.emplace_back(counters::groups_of(groups));
    }
    if (auto sampled = prepare_profiler(request, notes); !sampled) return sampled;
    if (by_set_.empty())
      return counting_ ? note_lacking(request, *counting_, true, notes) : Result<void>();
    for (std::size_t i = 0; i < by_set_.size(); ++i)
      if (auto noted = note_lacking(request, by_set_[i], has_response(request, i), notes); !noted)
        return noted;
    return {};
  }

  Result<void> prepare_profiler(const protocol::SetupRequest& request,
                                std::vector<std::string>& notes) {
    if (request.profile.empty()) return {};
    profiler_.emplace(request.profile, request.profile_hz);
    const std::string why = profiler_->lacking();
    if (why.empty()) return {};
    std::string sentence = fmt::format(
        "there are no profiles, because {} cannot be sampled here: {}", request.profile, why);
    if (request.refuse_absent)
      return fail(fmt::format("'measure.on_absent' is \"refuse\": {}", sentence));
    notes.push_back(std::move(sentence));
    return {};
  }

  // Whether blocks of this set count every event that the response needs.
  static bool has_response(const protocol::SetupRequest& request, std::size_t set) {
    const auto contains = [](const std::vector<std::string>& names, const std::string& name) {
      return std::ranges::find(names, name) != names.end();
    };
    return std::ranges::all_of(request.needed, [&](const std::string& name) {
      return contains(request.rotated[set], name) ||
             std::ranges::none_of(request.rotated,
                                  [&](const auto& each) { return contains(each, name); });
    });
  }

  static Result<void> note_lacking(const protocol::SetupRequest& request,
                                   counters::Counting& counting, bool has_response,
                                   std::vector<std::string>& notes) {
    for (const counters::Reading& missing : counting.lacking()) {
      std::string sentence =
          fmt::format("{} cannot be counted here: {}", missing.name, missing.reason);
      if (has_response && std::ranges::find(request.needed, missing.name) != request.needed.end())
        return fail(fmt::format("'analysis.response': {}", sentence));
      if (request.refuse_absent)
        return fail(fmt::format("'measure.on_absent' is \"refuse\": {}", sentence));
      if (std::ranges::find(notes, sentence) == notes.end()) notes.push_back(std::move(sentence));
    }
    return {};
  }

  counters::Counting* counting_of(std::optional<std::uint32_t> set) {
    if (set) return &by_set_[*set];
    return counting_ ? &*counting_ : nullptr;
  }

  TrialContext context(std::optional<std::uint32_t> set) {
    return {.containment = containment_,
            .stop_fd = daemon_fd,
            .bind = [this] { return topology_->bind(choice_.trial).has_value(); },
            .bind_others = [this] { return topology_->bind_to_online(choice_.others).has_value(); },
            // Other activity does not change the simulator's counts.
            .observer = observer_ && simulator_.empty() ? &*observer_ : nullptr,
            .counting = counting_of(set),
            .simulator = simulator_,
            .profiler = profiler_ ? &*profiler_ : nullptr,
            .causal = programs_ ? &*programs_ : nullptr,
            .sizes = &sizes_,
            .marker = protocol::marker_from_environment()};
  }

  // If a cpuset has taken the trial's CPUs away, the trial's failure says nothing about its
  // program. Another worker repeats it on the remaining CPUs.
  [[nodiscard]] bool has_lost_its_cpus() const {
    if (!had_its_cpus_) return false;  // binding never worked here
    auto bound = topology_->bind(choice_.trial);
    if (bound) bound = topology_->bind_to_online(choice_.others);
    if (!bound) fmt::print(stderr, "stabd: a worker ends: {}\n", bound.error().message);
    return !bound;
  }

  bool bind_all() { return topology_->bind_to_online(topology_->allowed()).has_value(); }

  machine::Containment containment_;
  Builder builder_;
  std::optional<machine::Topology> topology_;
  machine::CpuChoice choice_;
  bool had_its_cpus_ = false;
  std::optional<machine::Observer> observer_;
  std::optional<counters::Counting> counting_;
  std::string simulator_;  // the simulator that trials run under; "": none
  std::optional<counters::Profiler> profiler_;
  std::optional<causal::Programs> programs_;  // if trials are runs of a causal profile
  CodeSizes sizes_;
  // The events of each set, together with those that all trials count.
  std::vector<counters::Counting> by_set_;
};

}  // namespace

int print_limits_of(std::uint32_t uid) {
  fmt::print("{}", machine::to_line(machine::ask_pam(uid)));
  return 0;
}

int serve() {
  // A trial has our user. It must not look into this process, where it would find its own
  // measurements and the way to the daemon.
  if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0) return 1;
  // The daemon hangs up if our log is too long.
  std::signal(SIGPIPE, SIG_IGN);
  fcntl(daemon_fd, F_SETFD, FD_CLOEXEC);
  const machine::Containment containment = protocol::containment_from_environment();
  if (containment == machine::Containment::process_tree && !machine::adopt_orphans()) return 1;
  protocol::Channel channel(daemon_fd, protocol::max_work_line);
  Worker worker(containment);
  for (;;) {
    const auto line = channel.receive();
    if (!line || !*line) return line ? 0 : 1;
    const auto reply = worker.answer(**line);
    if (!reply || !channel.send(*reply)) return 1;
  }
}

}  // namespace stab::worker
