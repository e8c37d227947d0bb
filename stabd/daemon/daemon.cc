// SPDX-License-Identifier: MIT
#include "stabd/daemon/daemon.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>

#include "base/time.h"
#include "plan/reading/reader.h"
#include "results/run_request.h"
#include "stabd/daemon/folders.h"
#include "stabd/daemon/host.h"
#include "stabd/daemon/requests.h"
#include "toml/value.h"

namespace stab::daemon {
namespace {

constexpr std::chrono::milliseconds storage_retry(2000);

}  // namespace

// The daemon implements what its session asks for.
class Daemon::Around final : public Surroundings {
 public:
  explicit Around(Daemon& daemon) : daemon_(daemon) {
    uv_idle_init(daemon_.loop_->get(), &again_);
    again_.data = this;
  }

  Result<void> start_worker(std::size_t place, const WantedNode& node) override;
  void send(std::size_t place, const std::string& line, std::chrono::nanoseconds within) override {
    daemon_.workshop_.send(place, line, within);
  }
  void bound(const protocol::RunRequest& run) override { daemon_.workshop_.bound(run); }
  std::string passed() override { return daemon_.workshop_.passed(); }
  void stop_worker(std::size_t place) override { daemon_.workshop_.stop(place); }
  std::chrono::nanoseconds node_patience() override { return daemon_.workshop_.node_patience(); }

  void stay_off_trials(const std::vector<unsigned>& cpus, bool shared) override {
    run_on(cpus);
    daemon_.readers_->use_cpus(cpus);
    daemon_.notices_.use_cpus(cpus);
    daemon_.room_.share_cpus(shared);
  }
  Outcomes quiesce(std::span<const machine::Knob* const> knobs,
                   const machine::CpuChoice& cpus) override {
    return quiesce_allowed(daemon_.workshop_.keeper(), daemon_.options_.quiesce_for,
                           daemon_.submitter(experiment().uid), knobs, cpus);
  }
  std::vector<machine::Outcome> disturbed() override {
    return daemon_.workshop_.keeper().disturbed();
  }
  Result<std::vector<machine::Finding>> examine() override {
    return daemon_.workshop_.examine(daemon_.session_->plan().cpus);
  }
  Outcomes restore() override { return daemon_.workshop_.keeper().restore(); }
  void look(const machine::CpuSet& trial, const machine::CalmBounds& bounds, OnLook done) override {
    daemon_.look_.begin(trial, bounds,
                        [this, done = std::move(done)](const std::string& loud,
                                                       const std::vector<std::string>& missing) {
                          done(loud, missing);
                          daemon_.after_session_step();
                        });
  }
  void stop_looking() override { daemon_.look_.stop(); }

  void read(protocol::ReadRequest request, OnAnswer done) override {
    daemon_.read_for_session(std::move(request), std::move(done));
  }
  void stop_reading() override { daemon_.forget_session_reading(); }
  bool let_readers_run(std::function<void()> go_on, bool within_block) override {
    return daemon_.room_.let_run(
        [this, go_on = std::move(go_on)] {
          go_on();
          daemon_.after_session_step();
        },
        within_block);
  }
  bool readers_are_due() override { return daemon_.room_.readers_are_due(); }

  bool turn_is_over() override { return daemon_.turn_.is_over(); }
  std::optional<BlockId> abandoned_block(store::Id experiment) override {
    return daemon_.turn_.abandoned_block(experiment);
  }
  void call_again() override {
    uv_idle_start(&again_, [](uv_idle_t* handle) {
      uv_idle_stop(handle);
      Daemon& daemon = static_cast<Around*>(handle->data)->daemon_;
      if (daemon.session_ && !daemon.ending_.abandons_trial()) daemon.session_->continue_work();
      daemon.after_session_step();
    });
  }
  void retry_later() override { daemon_.look_again_later(); }

  Result<void> may_store() override { return daemon_.may_store(experiment().uid, 0); }
  std::string cache(const store::Experiment& experiment) override {
    return daemon_.workshop_.cache_of(experiment);
  }
  std::uint64_t cache_limit() override {
    return daemon_.options_.limits.cache_of_user.value_or(daemon_.workshop_.usual_cache_limit());
  }
  void tell(std::string_view trouble, const std::string& reason) override {
    daemon_.notices_.tell(experiment(), &daemon_.session_->plan(), trouble, reason,
                          daemon_.session_->counts());
  }
  void drain(const std::string& node, const std::string& reason) override {
    daemon_.notices_.drain(experiment(), node, reason);
  }

 private:
  [[nodiscard]] const store::Experiment& experiment() const {
    return daemon_.session_->experiment();
  }

  Daemon& daemon_;
  uv_idle_t again_{};  // active while the session wants to be called again
};

Result<void> Daemon::Around::start_worker(std::size_t place, const WantedNode& node) {
  if (daemon_.ending_.has_begun()) return fail("stabd is stopping");
  const plan::Plan& plan = daemon_.session_->plan();
  WorkerEvents events{
      .said =
          [this, place](const std::string& line) {
            // The worker has answered, so no trial runs on this machine right now.
            daemon_.maintenance_.keep_up();
            daemon_.session_->worker_said(line, place);
            daemon_.after_session_step();
          },
      .silent =
          [this, place](const std::string& how) {
            daemon_.session_->worker_silent(how, place);
            daemon_.after_session_step();
          },
      .ended =
          [this, place, on_cluster = plan.machines.has_value()](const std::string& how) {
            if (on_cluster && !daemon_.workshop_.has_worker()) daemon_.allocations_.step_ended();
            // An experiment that has not ended continues when stabd starts again.
            if (daemon_.ending_.has_begun() && !is_final(daemon_.session_->state())) {
              if (daemon_.workshop_.has_worker()) return;
              daemon_.session_->rest();
              return daemon_.ending_.leave();
            }
            daemon_.session_->worker_ended(how, place);
            daemon_.after_session_step();
          }};
  if (plan.machines) {
    plan::Machines machines = *plan.machines;
    if (!node.name.empty()) machines.names = {node.name};
    if (auto noted =
            daemon_.allocations_.step_starts({.uid = experiment().uid, .gid = experiment().gid});
        !noted)
      return noted;
    auto started =
        daemon_.workshop_.start_on(place, machines, node.others, experiment(),
                                   daemon_.session_->privileged(), plan.network, std::move(events));
    if (!started && !daemon_.workshop_.has_worker()) daemon_.allocations_.step_ended();
    return started;
  }
  return daemon_.workshop_.start(experiment(), daemon_.session_->privileged(), plan.network,
                                 std::move(events));
}

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
      allocations_(*loop_, options_.state_directory + "/allocations.json",
                   [this](const Owner& owner) { return workshop_.free_allocations(owner); }),
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
      ending_(*loop_, *this),
      around_(std::make_unique<Around>(*this)),
      storage_retry_(loop_->timer([this] { retry_storage(); })),
      progress_(loop_->timer([this] { publish_progress(); })) {}

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
  if (const auto taken = allocations_.take_over(); !taken)
    spdlog::warn("{}", taken.error().message);
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
  clients_.serve(reinterpret_cast<uv_stream_t*>(&server_),
                 [this](Connection& connection, const std::string& line) {
                   handle_request(*this, connection, line);
                   after_session_step();
                 });
  server_.data = this;
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
      "'experiment.network': stabd cannot cut trials off from the network here, because this "
      "machine or stabd's settings do not allow namespaces: leave the key out, or allow "
      "namespaces");
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
      (*experiment)->reason =
          plan ? fits.error().message
               : "this version of stabd does not accept the experiment's plan: " +
                     toml::describe(plan.error(), "plan");
      (*experiment)->ended_ns = wall_clock_ns();
      const auto saved = store_->update_experiment(**experiment);
      if (!saved) spdlog::error("experiment {}: {}", first->id, saved.error().message);
      queue_.end_turn();
      notices_.tell(**experiment, nullptr, (*experiment)->state, (*experiment)->reason,
                    std::nullopt);
      continue;
    }
    session_ =
        std::make_unique<Session>(*store_, std::move(**experiment), std::move(*plan), *around_);
    queue_.had_turn(first->uid, wall_clock_ns());
    turn_.begin(first->id, session_->experiment().uid);
    session_->start();
    after_session_step();
  }
  turn_.watch();
}

// The storage is in trouble: tries again later to read or store what failed.
void Daemon::look_again_later() {
  storage_retry_->start(storage_retry);
}

void Daemon::retry_storage() {
  if (ending_.has_begun()) return;
  if (session_)
    session_->retry_storage();
  else
    run_next();
  after_session_step();
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

}  // namespace stab::daemon
