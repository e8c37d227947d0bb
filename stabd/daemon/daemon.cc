// SPDX-License-Identifier: MIT
#include "stabd/daemon/daemon.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "base/clock.h"
#include "base/hash.h"
#include "plan/reading/reader.h"
#include "results/run_request.h"
#include "stabd/daemon/folders.h"
#include "stabd/daemon/host/own_cpus.h"
#include "stabd/daemon/requests.h"
#include "toml/problems.h"

namespace stab::daemon {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t storage_retry_ms = 2000;

template <class Handle>
Daemon* owner(Handle* handle) {
  return static_cast<Daemon*>(handle->data);
}

}  // namespace

Daemon::Daemon(DaemonOptions options, service::Manager manager, std::unique_ptr<store::Store> store,
               std::unique_ptr<Loop> loop)
    : loop_(std::move(loop)),
      store_(std::move(store)),
      options_(std::move(options)),
      wanted_(options_),
      manager_(std::move(manager)),
      containment_(options_.isolate ? machine::best_containment()
                                    : machine::Containment::process_tree),
      keeper_(options_.machine_logs, options_.machine_root),
      queue_(geteuid(), options_.limits),
      turn_(*loop_, queue_, options_.limits.turn,
            [this] {
              session_->give_way();
              after_session_step();
            }),
      readers_(std::make_unique<Readers>(
          loop_->get(),
          ReadersOptions{
              .program = options_.program,
              .folder = options_.state_directory,
              .limit = options_.read_limit,
              .is_trusted = [this](std::uint32_t account) { return queue_.is_trusted(account); }})),
      room_(*loop_, *readers_, [this] { tell_company(); }),
      notices_(loop_->get(), *store_, *readers_,
               {.program = options_.program,
                .database = database_in(options_.state_directory),
                .containment = containment_},
               options_.notify,
               [this] {
                 if (leaving_) leave();
               }),
      accounts_("/etc/subuid", geteuid()),
      retries_(*loop_, *store_, queue_, accounts_, [this] { run_next(); }),
      maintenance_(*loop_, *store_, options_.retention, [this] { tell_company(); }),
      leavings_(*loop_),
      clients_(*loop_, options_.limits, options_.idle_limit, accounts_),
      look_(*loop_, options_.machine_root) {}

Result<std::unique_ptr<Daemon>> Daemon::open(DaemonOptions options, service::Manager manager) {
  // Plans, their output and copies of their sources are private to their owners.
  umask(077);
  if (auto made = make_private_folder(options.state_directory); !made)
    return std::unexpected(made.error());
  auto store = store::Store::open(database_in(options.state_directory));
  if (!store) return fail(store.error().message);
  auto loop = Loop::open();
  if (!loop) return std::unexpected(loop.error());
  std::unique_ptr<Daemon> daemon(
      new Daemon(std::move(options), std::move(manager), std::move(*store), std::move(*loop)));
  if (auto prepared = daemon->prepare(); !prepared) return std::unexpected(prepared.error());
  return daemon;
}

Result<void> Daemon::prepare() {
  const auto damage = store_->verify_small_tables();
  if (!damage) return fail(damage.error().message);
  heed_damage(*damage);

  // A killed daemon may have confined the process that started us, and so us, to the CPUs that
  // trials do not use. So this comes before current_cpus().
  put_back_what_was_left(options_.machine_logs, options_.machine_root);
  allowed_cpus_ = current_cpus();
  std::error_code error;
  token_ = sha256_hex(fs::canonical(database(), error).string()).substr(0, 32);
  if (containment_ == machine::Containment::process_tree)
    spdlog::warn(
        "pid namespaces are not used here: processes that a killed trial left behind are found by "
        "their environment");
  if (auto ended = end_recorded_worker(options_.state_directory + "/worker.json", token_); !ended)
    return ended;
  prepare_groups();
  load_queue();
  if (auto opened = open_loop(); !opened) return opened;
  return listen();
}

// If the earlier daemon used namespaces, the processes in its remaining groups died together with
// their worker.
void Daemon::prepare_groups() {
  const std::string owner = token_.substr(0, 8);
  if (const unsigned left = machine::remove_left_groups(owner); left != 0)
    spdlog::warn("removed {} cgroups of an interrupted trial", left);
  if (!options_.groups) {
    no_groups_ = "stabd's settings (daemon.cgroups) turn them off";
  } else if (const auto group = machine::TrialGroup::make(owner); !group) {
    no_groups_ = group.error().message;
  }
  if (!no_groups_.empty())
    spdlog::info("trials have no cgroup: {}; stabd checks the limits itself (doc/limits.md)",
                 no_groups_);
}

// Sets the group's limits before a trial. The worker may need more memory to keep the output, so
// that is added. Prepare and cleanup commands have no memory limit, so with them the group has none
// either.
void Daemon::bound_trial(const protocol::RunRequest& run) {
  if (!group_) return;
  constexpr std::uint64_t of_worker = std::uint64_t{16} << 20;
  const bool bounded = run.memory_limit != 0 && run.prepare.empty() && run.cleanup.empty();
  const auto done = group_->bound(bounded ? run.memory_limit + of_worker + 2 * run.output_limit : 0,
                                  run.process_limit);
  if (!done) spdlog::warn("{}", done.error().message);
}

Result<std::vector<machine::Finding>> Daemon::examine_machine() {
  if (!topology_) return fail("the machine's CPUs cannot be read");
  return machine::examine(*topology_, options_.machine_root, session_->plan().cpus);
}

Submitter Daemon::submitter(std::uint32_t uid) const {
  return {.uid = uid, .trusted = queue_.is_trusted(uid)};
}

Result<void> Daemon::may_quiesce(std::uint32_t uid, bool moves_processes) const {
  return daemon::may_quiesce(options_.quiesce_for, submitter(uid), moves_processes);
}

Result<void> Daemon::open_loop() {
  const auto failed = [](int error) {
    return fail(fmt::format("cannot set up the event loop: {}", uv_strerror(error)));
  };
  uv_loop_t* const loop = loop_->get();
  loop_time_.watch(loop);
  if (const int error = uv_pipe_init(loop, &server_, 0); error != 0) return failed(error);
  for (uv_signal_t* signal : {&on_term_, &on_int_, &on_hup_})
    if (const int error = uv_signal_init(loop, signal); error != 0) return failed(error);
  uv_idle_init(loop, &again_);
  for (uv_timer_t* timer : {&storage_retry_, &progress_, &stop_timer_, &watchdog_}) {
    uv_timer_init(loop, timer);
    timer->data = this;
  }
  clients_.serve(reinterpret_cast<uv_stream_t*>(&server_),
                 [this](Connection& connection, const std::string& line) {
                   handle_request(*this, connection, line);
                   after_session_step();
                 });
  server_.data = on_term_.data = on_int_.data = on_hup_.data = again_.data = this;
  start_readers();
  return {};
}

Daemon::~Daemon() {
  clients_.close_all();
  readers_.reset();
  notices_.end();
  // It closes handles that are members of ours.
  loop_.reset();
}

Result<void> Daemon::has_its_network(const plan::Plan& plan) const {
  if (plan.network || containment_ == machine::Containment::pid_namespace) return {};
  return fail(
      "'experiment.network': trials use the machine's network here, because stabd has no "
      "namespaces (this machine or stabd's settings do not allow them): leave the key out, or have "
      "that changed");
}

void Daemon::run_next() {
  while (!session_ && !stopping_ && store_->refusal().empty()) {
    const auto first = queue_.take();
    if (!first) return;
    auto experiment = store_->experiment(first->id);
    if (!experiment && experiment.error().temporary) {
      queue_.end_turn();
      queue_.add(*first);
      return look_again_later();
    }
    if (!experiment || !*experiment) {
      spdlog::error("experiment {} cannot be read: {}", first->id,
                    experiment ? "it is gone" : experiment.error().message);
      queue_.end_turn();
      continue;
    }
    auto plan = plan::read_plan((*experiment)->plan);
    auto fits =
        plan ? results::fits_a_turn(*plan, turn_.longest_of((*experiment)->uid)) : Result<void>();
    if (plan && fits) fits = has_its_network(*plan);
    if (!plan || !fits) {
      (*experiment)->state = to_string(State::failed);
      (*experiment)->stopped_by.reset();
      (*experiment)->reason = plan ? fits.error().message
                                   : "this version of stabd does not accept its plan: " +
                                         toml::describe(plan.error(), "plan");
      (*experiment)->ended_ns = wall_clock_ns();
      const auto saved = store_->update_experiment(**experiment);
      if (!saved) spdlog::error("experiment {}: {}", first->id, saved.error().message);
      queue_.end_turn();
      notices_.tell(**experiment, nullptr, (*experiment)->state, (*experiment)->reason,
                    std::nullopt);
      continue;
    }
    session_ = std::make_unique<Session>(*store_, std::move(**experiment), std::move(*plan),
                                         ports(first->id));
    queue_.had_turn(first->uid, wall_clock_ns());
    turn_.begin(first->id, session_->experiment().uid);
    session_->start();
    after_session_step();
  }
  turn_.watch();
}

// The storage is in trouble: tries again later to read or store what failed.
void Daemon::look_again_later() {
  uv_timer_start(
      &storage_retry_,
      [](uv_timer_t* handle) {
        Daemon* daemon = owner(handle);
        if (daemon->stopping_) return;
        if (daemon->session_)
          daemon->session_->retry_storage();
        else
          daemon->run_next();
        daemon->after_session_step();
      },
      storage_retry_ms, 0);
}

// Call this after everything that may have changed the session's state.
void Daemon::after_session_step() {
  allow_readers();
  maintenance_.trials_run(session_ && session_->state() == State::running);
  tell_status();
  if (stopping_ && session_ && !session_->runs_trial()) abandon();
  if (!session_ || !session_->finished()) return;
  publish_progress();
  const store::Experiment ended = session_->experiment();
  forget_session_reading();
  if (is_final(session_->state()))
    notices_.tell(ended, &session_->plan(), ended.state, ended.reason, session_->counts());
  turn_.end(is_final(session_->state()) ? std::nullopt : session_->abandoned_block());
  session_.reset();
  allow_readers();
  if (!is_final(*state_from(ended.state))) queue_.add(waiting_from(ended, accounts_.of(ended.uid)));
  if (stopping_)
    leave();
  else
    run_next();
  tell_status();
}

SessionPorts Daemon::ports(store::Id experiment) {
  return {
      .start_worker = [this] { return start_worker(); },
      .send =
          [this](const std::string& line, std::chrono::nanoseconds within) {
            if (worker_) worker_->send(line, within);
          },
      .bound = [this](const protocol::RunRequest& run) { bound_trial(run); },
      .passed = [this] { return group_ ? group_->reached() : std::string(); },
      .stop_worker =
          [this] {
            if (worker_) worker_->stop();
          },
      .stay_off_trials =
          [this](const std::vector<unsigned>& cpus, bool shared) {
            run_on(cpus);
            readers_->use_cpus(cpus);
            notices_.use_cpus(cpus);
            shared_cpus_ = shared;
          },
      .quiesce =
          [this](std::span<const machine::Knob* const> knobs, const machine::CpuChoice& cpus) {
            return quiesce_allowed(keeper_, options_.quiesce_for,
                                   submitter(session_->experiment().uid), knobs, cpus);
          },
      .disturbed = [this] { return keeper_.disturbed(); },
      .examine = [this] { return examine_machine(); },
      .restore = [this] { return keeper_.restore(); },
      .look =
          [this](const machine::CpuSet& trial, const machine::CalmBounds& bounds,
                 SessionPorts::OnLook done) {
            look_.begin(trial, bounds,
                        [this, done = std::move(done)](const std::string& loud,
                                                       const std::vector<std::string>& missing) {
                          done(loud, missing);
                          after_session_step();
                        });
          },
      .stop_looking = [this] { look_.stop(); },
      .may_store = [this] { return may_store(session_->experiment().uid, 0); },
      .read =
          [this](protocol::ReadRequest request, std::function<void(Result<std::string>)> done) {
            read_for_session(std::move(request), std::move(done));
          },
      .stop_reading = [this] { forget_session_reading(); },
      .let_readers_run =
          [this](std::function<void()> go_on, bool within_block) {
            return room_.let_run(
                [this, go_on = std::move(go_on)] {
                  go_on();
                  after_session_step();
                },
                readers_disturb(), within_block);
          },
      .readers_are_due = [this] { return room_.readers_are_due(); },
      .turn_is_over = [this] { return turn_.is_over(); },
      .abandoned_block = turn_.abandoned_block(experiment),
      .call_again =
          [this] {
            uv_idle_start(&again_, [](uv_idle_t* handle) {
              uv_idle_stop(handle);
              Daemon* daemon = owner(handle);
              if (daemon->session_ && !daemon->abandoned_) daemon->session_->continue_work();
              daemon->after_session_step();
            });
          },
      .retry_later = [this] { look_again_later(); },
      .cache = [this](const store::Experiment& experiment) { return cache_of(experiment); },
      .cache_limit = cache_limit(),
      .tell =
          [this](std::string_view trouble, const std::string& reason) {
            notices_.tell(session_->experiment(), &session_->plan(), trouble, reason,
                          session_->counts());
          },
  };
}

// Without a setting, the limit is a tenth of the cache's file system. The cache's folder may not
// exist yet, so its nearest existing parent is measured.
std::uint64_t Daemon::cache_limit() const {
  constexpr std::uint64_t most = std::uint64_t{16} << 30;
  if (options_.limits.cache_of_user) return *options_.limits.cache_of_user;
  struct statvfs disk{};
  for (fs::path folder = options_.cache_directory; !folder.empty(); folder = folder.parent_path()) {
    if (statvfs(folder.c_str(), &disk) == 0)
      return std::min(std::uint64_t{disk.f_blocks} * disk.f_frsize / 10, most);
    if (folder == folder.parent_path()) break;
  }
  return most;
}

std::string Daemon::cache_of(const store::Experiment& experiment) const {
  return fmt::format("{}/{}", options_.cache_directory, experiment.uid);
}

Result<void> Daemon::start_worker() {
  if (stopping_) return fail("stabd is stopping");
  const store::Experiment& experiment = session_->experiment();
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
  auto worker =
      WorkerProcess::start(loop_->get(),
                           {.program = options_.program,
                            .record = options_.state_directory + "/worker.json",
                            .token = token_,
                            .containment = containment_,
                            .uid = experiment.uid,
                            .gid = experiment.gid,
                            .privileged = session_->privileged(),
                            .network = session_->plan().network,
                            .doors = group_ ? group_->doors() : std::vector<std::string>()},
                           {.said =
                                [this](const std::string& line) {
                                  // The worker has answered, so no trial runs right now.
                                  maintenance_.keep_up();
                                  session_->worker_said(line);
                                  after_session_step();
                                },
                            .silent =
                                [this](const std::string& how) {
                                  session_->worker_silent(how);
                                  after_session_step();
                                },
                            .ended =
                                [this](const std::string& how) {
                                  worker_.reset();
                                  group_.reset();
                                  // An experiment that has not ended continues when stabd starts
                                  // again.
                                  if (stopping_ && !is_final(session_->state())) {
                                    session_->rest();
                                    return leave();
                                  }
                                  session_->worker_ended(how);
                                  after_session_step();
                                }});
  if (!worker) {
    group_.reset();
    return std::unexpected(worker.error());
  }
  worker_ = *worker;
  return {};
}

}  // namespace stab::daemon
