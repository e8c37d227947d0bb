// SPDX-License-Identifier: MIT
#include "stabd/daemon/daemon.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>

#include "base/clock.h"
#include "plan/reading/reader.h"
#include "results/run_request.h"
#include "stabd/daemon/folders.h"
#include "stabd/daemon/host.h"
#include "stabd/daemon/requests.h"
#include "toml/problems.h"

namespace stab::daemon {
namespace {

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
      workshop_(loop_->get(), {.program = options_.program,
                               .state_directory = options_.state_directory,
                               .database = database_in(options_.state_directory),
                               .cache_directory = options_.cache_directory,
                               .machine_logs = options_.machine_logs,
                               .machine_root = options_.machine_root,
                               .isolate = options_.isolate,
                               .groups = options_.groups,
                               .node_silence = options_.node_silence,
                               .node_wait = options_.node_wait}),
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
                .containment = workshop_.containment()},
               options_.notify,
               [this] {
                 if (ending_.waits_for_notices()) ending_.leave();
               }),
      accounts_("/etc/subuid", geteuid()),
      retries_(*loop_, *store_, queue_, accounts_, [this] { run_next(); }),
      maintenance_(*loop_, *store_, options_.retention, [this] { tell_company(); }),
      leavings_(*loop_),
      clients_(*loop_, options_.limits, options_.idle_limit, accounts_),
      look_(*loop_, options_.machine_root),
      supervision_(*loop_, std::move(manager)),
      ending_(*loop_, *this) {}

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

  if (auto prepared = workshop_.prepare(); !prepared) return prepared;
  load_queue();
  if (auto opened = open_loop(); !opened) return opened;
  return listen();
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
  if (const int error = uv_pipe_init(loop, &server_, 0); error != 0) return failed(error);
  for (uv_signal_t& signal : signals_) {
    if (const int error = uv_signal_init(loop, &signal); error != 0) return failed(error);
    signal.data = this;
  }
  uv_idle_init(loop, &again_);
  for (uv_timer_t* timer : {&storage_retry_, &progress_}) {
    uv_timer_init(loop, timer);
    timer->data = this;
  }
  clients_.serve(reinterpret_cast<uv_stream_t*>(&server_),
                 [this](Connection& connection, const std::string& line) {
                   handle_request(*this, connection, line);
                   after_session_step();
                 });
  server_.data = again_.data = this;
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
  // A node of a cluster checks that itself.
  if (plan.network || plan.machines ||
      workshop_.containment() == machine::Containment::pid_namespace)
    return {};
  return fail(
      "'experiment.network': trials use the machine's network here, because stabd has no "
      "namespaces (this machine or stabd's settings do not allow them): leave the key out, or have "
      "that changed");
}

void Daemon::run_next() {
  while (!session_ && !ending_.has_begun() && store_->refusal().empty()) {
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
        if (daemon->ending_.has_begun()) return;
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
  if (ending_.has_begun() && session_ && !session_->runs_trial()) ending_.abandon();
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
  if (ending_.has_begun())
    ending_.leave();
  else
    run_next();
  tell_status();
}

SessionPorts Daemon::ports(store::Id experiment) {
  return {
      .start_worker = [this] { return start_worker(); },
      .send = [this](const std::string& line,
                     std::chrono::nanoseconds within) { workshop_.send(line, within); },
      .bound = [this](const protocol::RunRequest& run) { workshop_.bound(run); },
      .passed = [this] { return workshop_.passed(); },
      .stop_worker = [this] { workshop_.stop(); },
      .stay_off_trials =
          [this](const std::vector<unsigned>& cpus, bool shared) {
            run_on(cpus);
            readers_->use_cpus(cpus);
            notices_.use_cpus(cpus);
            room_.share_cpus(shared);
          },
      .quiesce =
          [this](std::span<const machine::Knob* const> knobs, const machine::CpuChoice& cpus) {
            return quiesce_allowed(workshop_.keeper(), options_.quiesce_for,
                                   submitter(session_->experiment().uid), knobs, cpus);
          },
      .disturbed = [this] { return workshop_.keeper().disturbed(); },
      .examine = [this] { return workshop_.examine(session_->plan().cpus); },
      .restore = [this] { return workshop_.keeper().restore(); },
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
                within_block);
          },
      .readers_are_due = [this] { return room_.readers_are_due(); },
      .turn_is_over = [this] { return turn_.is_over(); },
      .node_patience = workshop_.node_patience(),
      .abandoned_block = turn_.abandoned_block(experiment),
      .call_again =
          [this] {
            uv_idle_start(&again_, [](uv_idle_t* handle) {
              uv_idle_stop(handle);
              Daemon* daemon = owner(handle);
              if (daemon->session_ && !daemon->ending_.abandons_trial())
                daemon->session_->continue_work();
              daemon->after_session_step();
            });
          },
      .retry_later = [this] { look_again_later(); },
      .cache =
          [this](const store::Experiment& experiment) { return workshop_.cache_of(experiment); },
      .cache_limit = options_.limits.cache_of_user.value_or(workshop_.usual_cache_limit()),
      .tell =
          [this](std::string_view trouble, const std::string& reason) {
            notices_.tell(session_->experiment(), &session_->plan(), trouble, reason,
                          session_->counts());
          },
  };
}

Result<void> Daemon::start_worker() {
  if (ending_.has_begun()) return fail("stabd is stopping");
  const store::Experiment& experiment = session_->experiment();
  const plan::Plan& plan = session_->plan();
  WorkerEvents events{.said =
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
                            // An experiment that has not ended continues when stabd starts again.
                            if (ending_.has_begun() && !is_final(session_->state())) {
                              session_->rest();
                              return ending_.leave();
                            }
                            session_->worker_ended(how);
                            after_session_step();
                          }};
  if (plan.machines)
    return workshop_.start_on(*plan.machines, experiment, session_->privileged(), plan.network,
                              std::move(events));
  return workshop_.start(experiment, session_->privileged(), plan.network, std::move(events));
}

}  // namespace stab::daemon
