// SPDX-License-Identifier: MIT
// The running experiment's workers: one on our machine, or one at each of its places on a cluster.
// Also the cgroup of trials on our machine, the folder in the build cache, and the machine's CPUs
// and settings.
#pragma once

#include <uv.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "cluster/step.h"
#include "machine/containment.h"
#include "machine/quiet/doctor.h"
#include "machine/quiet/keeper.h"
#include "machine/topology.h"
#include "machine/trial_group.h"
#include "plan/plan.h"
#include "protocol/work.h"
#include "stabd/daemon/allocations.h"
#include "stabd/daemon/worker_process.h"
#include "store/records.h"

namespace stab::daemon {

struct WorkshopOptions {
  std::string program;  // stabd itself
  std::string state_directory;
  std::string database;
  std::string cache_directory;
  std::string machine_logs{};  // the folder of the machine's logs (machine/quiet/keeper.h)
  std::string machine_root{};  // a prefix for the /proc and /sys paths of knobs, for tests
  bool isolate = true;         // use pid namespaces if the machine allows them
  bool groups = true;          // give trials a cgroup if the machine allows it
  // For workers on nodes of a cluster (cluster/step.h).
  std::chrono::milliseconds node_silence = cluster::node_silence;
  std::chrono::milliseconds node_wait{600'000};
};

class Workshop {
 public:
  Workshop(uv_loop_t* loop, WorkshopOptions options);

  // Puts back the settings of the machine that a killed daemon left changed, ends the processes that
  // it left running, and removes their groups.
  Result<void> prepare();
  [[nodiscard]] machine::Containment containment() const { return containment_; }
  // The CPUs that we were allowed to use at prepare().
  [[nodiscard]] const std::vector<unsigned>& allowed_cpus() const { return allowed_cpus_; }

  // Starts a worker for this experiment; requires !has_worker().
  Result<void> start(const store::Experiment& experiment, bool privileged, bool network,
                     WorkerEvents events);
  // Starts a worker on a node of a cluster that is none of `others`; requires that this place has
  // none. Our machine has no part in its trials.
  Result<void> start_on(std::size_t place, const plan::Machines& machines,
                        const std::vector<std::string>& others, const store::Experiment& experiment,
                        bool privileged, bool network, WorkerEvents events);
  // Starts a process that frees the allocations of such workers of this user.
  [[nodiscard]] Result<Allocations::Attempt> free_allocations(const Owner& owner) const;
  // How long such a worker may take to answer its first request.
  [[nodiscard]] std::chrono::milliseconds node_patience() const {
    return options_.node_wait + 3 * options_.node_silence;
  }
  [[nodiscard]] bool has_worker() const { return !workers_.empty(); }
  // These do nothing without a worker (worker_process.h).
  void send(std::size_t place, const std::string& line, std::chrono::nanoseconds within);
  void stop(std::size_t place);
  void stop();  // all of them

  // Sets the limits of the worker's group before a trial.
  void bound(const protocol::RunRequest& run);
  // Which of these limits has been reached since, or "".
  [[nodiscard]] std::string passed() const;
  // Examines the machine for trials that use so many CPUs. Fails before the first worker.
  [[nodiscard]] Result<std::vector<machine::Finding>> examine(unsigned trial_cpus) const;

  // The settings of the machine that the running experiment may change.
  machine::Keeper& keeper() { return keeper_; }

  // The folder for the builds of this experiment's user.
  [[nodiscard]] std::string cache_of(const store::Experiment& experiment) const;
  // The bytes that this folder may have without a setting.
  [[nodiscard]] std::uint64_t usual_cache_limit() const;

 private:
  void prepare_groups();
  [[nodiscard]] std::string record_of(std::size_t place) const;
  [[nodiscard]] std::string token_of(std::size_t place) const;
  [[nodiscard]] WorkerStart head_for(std::size_t place, cluster::StepStart step) const;
  Result<void> start(std::size_t place, WorkerStart what, WorkerEvents events);

  uv_loop_t* loop_;
  WorkshopOptions options_;
  machine::Containment containment_;
  machine::Keeper keeper_;
  std::vector<unsigned> allowed_cpus_;
  std::string token_;
  std::string no_groups_;                      // why trials have no cgroup; "" if they have one
  std::optional<machine::Topology> topology_;  // loaded with the first worker
  std::unique_ptr<machine::TrialGroup> group_;
  std::map<std::size_t, std::shared_ptr<WorkerProcess>> workers_;  // by place
};

}  // namespace stab::daemon
