// SPDX-License-Identifier: MIT
// The running experiment's workers: one on our machine, or one at each of its places on a cluster.
// Also the cgroup of trials on our machine, the folder in the build cache, and the machine's CPUs
// and settings.
#pragma once

#include <uv.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/fd.h"
#include "cluster/slurm.h"
#include "machine/containment.h"
#include "machine/facts.h"
#include "machine/quiet/doctor.h"
#include "machine/quiet/quiet.h"
#include "machine/topology.h"
#include "machine/trial_group.h"
#include "plan/plan.h"
#include "protocol/lines.h"
#include "protocol/work.h"
#include "stabd/daemon/allocations.h"
#include "stabd/daemon/part.h"
#include "store/records.h"

namespace stab::daemon {

struct WorkerStart {
  std::string program;  // stabd itself
  // Its arguments make it a worker, or the process that starts one on a node (cluster/relays.h).
  std::vector<std::string> arguments{"--worker"};
  std::vector<std::string> environment{};  // added to a worker's
  // How often it gets an empty line as a sign of life; 0: never.
  std::chrono::milliseconds beat{0};
  std::string farewell{};  // the last line that it gets before we hang up; "": none
  std::string record;      // the file that names the living worker, for the next daemon
  std::string token;       // marks its processes if there are no namespaces
  machine::Containment containment = machine::Containment::process_tree;
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  bool privileged = false;           // as in machine/containment.h
  bool network = true;               // the same
  std::vector<std::string> doors{};  // the same
};

// The owner of workers learns from the loop, through this interface, what the worker at a place
// does.
class WorkerEvents {
 public:
  virtual void worker_said(const std::string& line, std::size_t place) = 0;
  // The worker did not answer in time and is being killed; worker_ended() follows.
  virtual void worker_silent(const std::string& how, std::size_t place) = 0;
  // Called once, when the worker and all processes that it started have ended.
  virtual void worker_ended(const std::string& how, std::size_t place) = 0;

 protected:
  ~WorkerEvents() = default;
};

// A worker process as the loop sees it: lines in both directions, its output, and its end.
//
// The worker has the rights of its trials, which may be hostile, so it shares nothing with us
// except one end of a socket and of a pipe. Its output is logged without control characters, up to
// a limit.
class WorkerProcess {
 public:
  // The loop owns the worker, which lives until its end has been reported and its handles are
  // closed.
  static Result<std::shared_ptr<WorkerProcess>> start(Clock& clock, uv_loop_t* loop,
                                                      std::size_t place, const WorkerStart& start,
                                                      WorkerEvents& events);
  ~WorkerProcess() = default;
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  // Sends a small line, which the worker is waiting for, so this never blocks for long. The answer
  // must come within the given time.
  void send(const std::string& line, std::chrono::nanoseconds within);
  // Hangs up, so that the worker ends what it runs. After a grace period it is killed, and after
  // another one it counts as ended.
  void stop();

 private:
  WorkerProcess(Clock& clock, std::size_t place, const WorkerStart& start, WorkerEvents& events);
  void expect_answer(std::chrono::nanoseconds within);
  void fell_silent();
  void give_sign();
  void kill_now();
  void give_up();
  bool read_some();  // returns whether there may be more
  bool log_some();   // the same for its output
  void process_ended();
  void finish(const std::string& how);
  void hang_up();
  void close_handles();
  void drop_timers();
  void discard();
  static void handle_closed(uv_handle_t* handle);

  const std::size_t place_;
  const WorkerStart start_;
  WorkerEvents& events_;
  machine::Contained process_;
  Fd socket_;
  Fd printed_;
  std::string unfinished_;  // the output after the last newline, not logged yet
  std::size_t logged_ = 0;
  protocol::LineBuffer lines_{protocol::max_work_line};
  uv_poll_t socket_poll_{};
  uv_poll_t printed_poll_{};
  uv_poll_t process_poll_{};
  // None of these timers is left when the worker has ended.
  std::unique_ptr<Timer> grace_;    // runs while the worker may end by itself
  std::unique_ptr<Timer> killing_;  // runs while a killed worker should end
  std::unique_ptr<Timer> answer_;   // runs while an answer is due
  std::unique_ptr<Timer> beat_;     // runs if the worker gets signs of life
  int open_handles_ = 0;
  std::chrono::nanoseconds within_{0};
  bool late_ = false;  // the time for the answer has passed once
  bool asked_ = false;
  std::shared_ptr<WorkerProcess> self_;
};

// Ends the worker that an earlier daemon left, if the record names a living one, and all processes
// that it started.
Result<void> end_recorded_worker(const std::string& record, const std::string& token);

struct WorkshopOptions {
  std::string program;  // stabd itself
  std::string state_directory;
  std::string database;
  std::string cache_directory;
  std::string machine_logs{};  // the folder of the machine's logs (machine/quiet/quiet.h)
  std::string machine_root{};  // a prefix for the /proc and /sys paths of knobs, for tests
  bool isolate = true;         // use pid namespaces if the machine allows them
  bool groups = true;          // give trials a cgroup if the machine allows it
  // For workers on nodes of a cluster (cluster/slurm.h).
  std::chrono::milliseconds node_silence = cluster::node_silence;
  std::chrono::milliseconds node_wait{600'000};
};

class Workshop final : private WorkerEvents {
 public:
  // When `events` hears of a worker's end, the worker's place is free again.
  Workshop(Clock& clock, uv_loop_t* loop, WorkshopOptions options, WorkerEvents& events);

  // Puts back the settings of the machine that a killed daemon left changed, ends the processes that
  // it left running, and removes their groups.
  Result<void> prepare();
  [[nodiscard]] machine::Containment containment() const { return containment_; }
  // The CPUs that we were allowed to use at prepare().
  [[nodiscard]] const std::vector<unsigned>& allowed_cpus() const { return allowed_cpus_; }

  // Starts a worker for this experiment; requires !has_worker().
  Result<void> start(const store::Experiment& experiment, bool privileged, bool network);
  // Starts a worker on one of these nodes of a cluster that is none of `others`; requires that this
  // place has none. Our machine has no part in its trials.
  Result<void> start_on(std::size_t place, const plan::Plan& plan, const plan::Machines& machines,
                        const std::vector<std::string>& others, const store::Experiment& experiment,
                        bool privileged);
  // The name of the job in which such a worker runs.
  [[nodiscard]] std::string job_of(std::size_t place) const;
  // Starts a process that frees the allocations of such workers of this user.
  [[nodiscard]] Result<Allocations::Attempt> free_allocations(const Owner& owner) const;
  // How long such a worker may take to answer its first request.
  [[nodiscard]] std::chrono::milliseconds node_patience() const {
    return options_.node_wait + 2 * cluster::longest_life(options_.node_silence);
  }
  // How long after the node's last sign of life the last line about such a worker may come: the
  // head notices the silence, asks the controller, and waits until the step must have ended.
  [[nodiscard]] std::chrono::milliseconds loss_patience() const {
    constexpr std::chrono::seconds asking{30};
    return options_.node_silence + cluster::longest_life(options_.node_silence) + asking;
  }
  [[nodiscard]] bool has_worker() const { return !workers_.empty(); }
  // These do nothing without a worker.
  void send(std::size_t place, const std::string& line, std::chrono::nanoseconds within);
  void stop(std::size_t place);
  void stop();  // all of them

  // Sets the limits of the worker's group before a trial.
  void bound(const protocol::RunRequest& run);
  // Which of these limits has been reached since, or "".
  [[nodiscard]] std::string passed() const;
  // Examines the machine for trials that use so many CPUs. Fails before the first worker.
  [[nodiscard]] Result<std::vector<machine::Finding>> examine(unsigned trial_cpus) const;
  // The facts about the machine. Fails before the first worker.
  [[nodiscard]] Result<machine::Facts> facts() const;
  // The machine's CPUs if trials run on these ones. Fails before the first worker, and if we may
  // not use these CPUs.
  [[nodiscard]] Result<machine::CpuChoice> cpus_beside(const machine::CpuSet& trial);

  // The settings of the machine that the running experiment may change.
  machine::Keeper& keeper() { return keeper_; }

  // The folder for the builds of this experiment's user.
  [[nodiscard]] std::string cache_of(const store::Experiment& experiment) const;
  // The bytes that the folders of one account may have without a setting.
  [[nodiscard]] std::uint64_t usual_cache_limit() const;
  // The number of such folders whose user is() names, at least 1.
  [[nodiscard]] std::size_t count_caches(const std::function<bool(std::uint32_t uid)>& is) const;

 private:
  void prepare_groups();
  void look_at_cpus();
  [[nodiscard]] std::string record_of(std::size_t place) const;
  [[nodiscard]] std::string token_of(std::size_t place) const;
  [[nodiscard]] WorkerStart head_for(std::size_t place, cluster::StepStart step) const;
  Result<void> start(std::size_t place, const WorkerStart& what);
  void worker_said(const std::string& line, std::size_t place) override;
  void worker_silent(const std::string& how, std::size_t place) override;
  void worker_ended(const std::string& how, std::size_t place) override;

  Clock& clock_;
  uv_loop_t* loop_;
  WorkshopOptions options_;
  WorkerEvents& events_;
  machine::Containment containment_;
  machine::Keeper keeper_;
  std::vector<unsigned> allowed_cpus_;
  std::string token_;
  std::string no_groups_;                      // why trials have no cgroup; "" if they have one
  std::optional<machine::Topology> topology_;  // loaded with the first worker
  std::string seen_cpus_;  // the CPUs that were online, and ours, when it was loaded
  std::unique_ptr<machine::TrialGroup> group_;
  std::map<std::size_t, std::shared_ptr<WorkerProcess>> workers_;  // by place
};

}  // namespace stab::daemon
