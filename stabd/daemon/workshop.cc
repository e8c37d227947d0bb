// SPDX-License-Identifier: MIT
#include "stabd/daemon/workshop.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "base/hash.h"
#include "base/text.h"
#include "protocol/codec.h"
#include "protocol/containment.h"
#include "stabd/daemon/folders.h"
#include "stabd/daemon/host.h"

namespace stab::daemon {
Workshop::Workshop(uv_loop_t* loop, WorkshopOptions options)
    : loop_(loop),
      options_(std::move(options)),
      containment_(options_.isolate ? machine::best_containment()
                                    : machine::Containment::process_tree),
      keeper_(options_.machine_logs, options_.machine_root) {}

Result<void> Workshop::prepare() {
  // A killed daemon may have confined the process that started us, and so us, to the CPUs that
  // trials do not use. So this comes before current_cpus().
  put_back_what_was_left(options_.machine_logs, options_.machine_root);
  allowed_cpus_ = current_cpus();
  std::error_code error;
  token_ = sha256_hex(std::filesystem::canonical(options_.database, error).string()).substr(0, 32);
  if (containment_ == machine::Containment::process_tree)
    spdlog::warn(
        "stabd uses no pid namespaces here. If a killed trial leaves processes behind, stabd "
        "recognizes them by their environment variables");
  for (std::size_t place = 0; place < plan::max_machines; ++place) {
    if (place > 0 && access(record_of(place).c_str(), F_OK) != 0) continue;
    if (auto ended = end_recorded_worker(record_of(place), token_of(place)); !ended) return ended;
  }
  prepare_groups();
  return {};
}

// If the earlier daemon used namespaces, the processes in its remaining groups died together with
// their worker.
void Workshop::prepare_groups() {
  const std::string owner = token_.substr(0, 8);
  if (const unsigned left = machine::remove_left_groups(owner); left != 0)
    spdlog::warn("removed {} cgroups of an interrupted trial", left);
  if (!options_.groups) {
    no_groups_ = "stabd's setting daemon.cgroups turns cgroups off";
  } else if (const auto group = machine::TrialGroup::make(owner); !group) {
    no_groups_ = group.error().message;
  }
  if (!no_groups_.empty())
    spdlog::info("trials have no cgroup: {}; stabd checks the limits itself (doc/limits.md)",
                 no_groups_);
}

Result<void> Workshop::start(const store::Experiment& experiment, bool privileged, bool network,
                             WorkerEvents events) {
  const std::string cache = cache_of(experiment);
  if (auto made = make_passable_folder(options_.cache_directory); !made) return made;
  if (geteuid() == 0 && experiment.uid != 0) warn_if_closed(options_.cache_directory);
  if (auto made = make_private_folder(cache); !made) return made;
  run_on(allowed_cpus_);  // a worker starts with all CPUs that we may use
  // Topology::load() takes the allowed CPUs from our own affinity, which run_on() has just reset.
  if (!topology_)
    if (auto topology = machine::Topology::load()) topology_ = *std::move(topology);
  if (geteuid() == 0 && chown(cache.c_str(), experiment.uid, experiment.gid) != 0)
    return fail_errno("cannot give " + cache + " to the submitter");
  group_.reset();
  if (no_groups_.empty()) {
    auto group = machine::TrialGroup::make(token_.substr(0, 8));
    if (!group) return fail(group.error().message);
    group_ = *std::move(group);
  }
  return start(0,
               {.program = options_.program,
                .record = record_of(0),
                .token = token_,
                .containment = containment_,
                .uid = experiment.uid,
                .gid = experiment.gid,
                .privileged = privileged,
                .network = network,
                .doors = group_ ? group_->doors() : std::vector<std::string>()},
               std::move(events));
}

std::string Workshop::record_of(std::size_t place) const {
  return place == 0 ? options_.state_directory + "/worker.json"
                    : fmt::format("{}/worker-{}.json", options_.state_directory, place);
}

// Without namespaces, the end of one place's worker ends everything that has its token.
std::string Workshop::token_of(std::size_t place) const {
  return place == 0 ? token_ : fmt::format("{}-{}", token_, place);
}

WorkerStart Workshop::head_for(std::size_t place, cluster::StepStart step) const {
  step.program = options_.program;
  step.name = cluster::job_name(token_, place);
  step.token = token_of(place);
  step.silence_ms = options_.node_silence.count();
  step.wait_ms = options_.node_wait.count();
  // Slurm's programs find their settings by this variable.
  const char* settings = std::getenv("SLURM_CONF");
  return {.program = options_.program,
          .arguments = {"--on-head", protocol::to_text(step, -1)},
          .environment = settings == nullptr ? std::vector<std::string>()
                                             : std::vector{fmt::format("SLURM_CONF={}", settings)},
          .beat = cluster::beat_of(options_.node_silence),
          .farewell = std::string(cluster::leaving),
          .record = record_of(place),
          .token = token_of(place),
          .containment = containment_};
}

Result<void> Workshop::start_on(std::size_t place, const plan::Machines& machines,
                                const std::vector<std::string>& others,
                                const store::Experiment& experiment, bool privileged, bool network,
                                WorkerEvents events) {
  cluster::StepStart step = cluster::step_on(machines);
  step.comment = fmt::format("experiment {}: {}", experiment.id, one_line(experiment.name, 100));
  step.others = others;
  step.privileged = privileged;
  step.network = network;
  group_.reset();
  WorkerStart head = head_for(place, std::move(step));
  head.uid = experiment.uid;
  head.gid = experiment.gid;
  return start(place, std::move(head), std::move(events));
}

Result<Allocations::Attempt> Workshop::free_allocations(const Owner& owner) const {
  const WorkerStart head = head_for(0, {.only_frees = true});
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    return fail_errno("socketpair");
  Fd ours(ends[0]);
  const Fd theirs(ends[1]);
  machine::ContainedStart what;
  what.argv = {head.program};
  what.argv.insert(what.argv.end(), head.arguments.begin(), head.arguments.end());
  what.environment = protocol::worker_environment(head.containment, head.token);
  what.environment.insert(what.environment.end(), head.environment.begin(), head.environment.end());
  what.containment = head.containment;
  what.uid = owner.uid;
  what.gid = owner.gid;
  what.passed_fd = theirs.get();
  auto process = machine::start_contained(what);
  if (!process) return std::unexpected(process.error());
  return Allocations::Attempt{.process = *std::move(process), .daemon = std::move(ours)};
}

Result<void> Workshop::start(std::size_t place, WorkerStart what, WorkerEvents events) {
  events.ended = [this, place, ended = std::move(events.ended)](const std::string& how) {
    workers_.erase(place);
    group_.reset();
    ended(how);
  };
  auto worker = WorkerProcess::start(loop_, what, std::move(events));
  if (!worker) {
    group_.reset();
    return std::unexpected(worker.error());
  }
  workers_[place] = *worker;
  return {};
}

void Workshop::send(std::size_t place, const std::string& line, std::chrono::nanoseconds within) {
  if (const auto worker = workers_.find(place); worker != workers_.end())
    worker->second->send(line, within);
}

void Workshop::stop(std::size_t place) {
  if (const auto worker = workers_.find(place); worker != workers_.end()) worker->second->stop();
}

void Workshop::stop() {
  for (const auto& [place, worker] : workers_) worker->stop();
}

// The worker may need more memory to keep the output, so that is added. Prepare and cleanup
// commands have no memory limit, so with them the group has none either.
void Workshop::bound(const protocol::RunRequest& run) {
  if (!group_) return;
  constexpr std::uint64_t of_worker = std::uint64_t{16} << 20;
  const bool bounded = run.memory_limit != 0 && run.prepare.empty() && run.cleanup.empty();
  const auto done = group_->bound(bounded ? run.memory_limit + of_worker + 2 * run.output_limit : 0,
                                  run.process_limit);
  if (!done) spdlog::warn("{}", done.error().message);
}

std::string Workshop::passed() const {
  return group_ ? group_->reached() : std::string();
}

Result<std::vector<machine::Finding>> Workshop::examine(unsigned trial_cpus) const {
  if (!topology_) return fail("cannot read which CPUs the machine has");
  return machine::examine(*topology_, options_.machine_root, trial_cpus);
}

std::string Workshop::cache_of(const store::Experiment& experiment) const {
  return fmt::format("{}/{}", options_.cache_directory, experiment.uid);
}

// A tenth of the cache's file system. The cache's folder may not exist yet, so its nearest existing
// parent is measured.
std::uint64_t Workshop::usual_cache_limit() const {
  constexpr std::uint64_t most = std::uint64_t{16} << 30;
  struct statvfs disk{};
  for (std::filesystem::path folder = options_.cache_directory; !folder.empty();
       folder = folder.parent_path()) {
    if (statvfs(folder.c_str(), &disk) == 0)
      return std::min(std::uint64_t{disk.f_blocks} * disk.f_frsize / 10, most);
    if (folder == folder.parent_path()) break;
  }
  return most;
}

}  // namespace stab::daemon
