// SPDX-License-Identifier: MIT

#include "stabd/daemon/daemon.h"

#include <fmt/format.h>
#include <grp.h>
#include <spdlog/spdlog.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <filesystem>

#include "base/streams.h"
#include "base/text.h"
#include "base/time.h"
#include "counters/events/counting.h"
#include "counters/profiles/sampler.h"
#include "plan/reading/read_plan.h"
#include "protocol/lines.h"
#include "protocol/messages.h"
#include "results/run_request.h"
#include "stabd/daemon/host.h"
#include "stabd/daemon/requests.h"
#include "store/summaries.h"
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
  std::chrono::nanoseconds loss_patience() override { return daemon_.workshop_.loss_patience(); }

  Result<machine::Facts> facts() override { return daemon_.workshop_.facts(); }
  Result<machine::CpuChoice> cpus_beside(const machine::CpuSet& trial) override {
    return daemon_.workshop_.cpus_beside(trial);
  }
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

  Result<void> may_store() override { return daemon_.may_run_on(experiment().uid); }
  std::string cache(const store::Experiment& experiment) override {
    return daemon_.workshop_.cache_of(experiment);
  }
  // Each folder of an account gets the same share of the account's limit. 0 would mean no limit.
  std::uint64_t cache_limit() override {
    const std::uint64_t limit =
        daemon_.options_.limits.cache_of_user.value_or(daemon_.workshop_.usual_cache_limit());
    const std::size_t folders = daemon_.workshop_.count_caches(
        [this](std::uint32_t uid) { return daemon_.accounts_.is_same(uid, experiment().uid); });
    return std::max<std::uint64_t>(limit / folders, 1);
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
  if (plan.machines) {
    plan::Machines machines = *plan.machines;
    if (!node.name.empty()) machines.names = {node.name};
    if (auto noted = daemon_.allocations_.step_starts({.uid = experiment().uid,
                                                       .gid = experiment().gid,
                                                       .jobs = {daemon_.workshop_.job_of(place)}});
        !noted)
      return noted;
    auto started = daemon_.workshop_.start_on(place, plan, machines, node.others, experiment(),
                                              daemon_.session_->privileged());
    if (!started && !daemon_.workshop_.has_worker()) daemon_.allocations_.step_ended();
    return started;
  }
  return daemon_.workshop_.start(experiment(), daemon_.session_->privileged(), plan.network);
}

void Daemon::worker_said(const std::string& line, std::size_t place) {
  // The worker has answered, so no trial runs on this machine right now.
  maintenance_.keep_up();
  session_->worker_said(line, place);
  after_session_step();
}

void Daemon::worker_silent(const std::string& how, std::size_t place) {
  session_->worker_silent(how, place);
  after_session_step();
}

void Daemon::worker_ended(const std::string& how, std::size_t place) {
  if (session_->plan().machines && !workshop_.has_worker()) allocations_.step_ended();
  // An experiment that has not ended continues when stabd starts again.
  if (ending_.has_begun() && !is_final(session_->state())) {
    if (workshop_.has_worker()) {
      session_->worker_left(place);
      return after_session_step();
    }
    session_->rest();
    return ending_.leave();
  }
  session_->worker_ended(how, place);
  after_session_step();
  // If the experiment's end cannot be stored, the session stays, but stabd ends anyway.
  if (ending_.has_begun() && session_ && !workshop_.has_worker()) ending_.leave();
}

Daemon::Daemon(DaemonOptions options, service::Manager manager, std::unique_ptr<store::Store> store,
               std::unique_ptr<Loop> loop)
    : loop_(std::move(loop)),
      store_(std::move(store)),
      options_(std::move(options)),
      wanted_(options_),
      workshop_(*loop_, loop_->get(),
                {.program = options_.program,
                 .state_directory = options_.state_directory,
                 .database = database_in(options_.state_directory),
                 .cache_directory = options_.cache_directory,
                 .machine_logs = options_.machine_logs,
                 .machine_root = options_.machine_root,
                 .isolate = options_.isolate,
                 .groups = options_.groups,
                 .node_silence = options_.node_silence,
                 .node_wait = options_.node_wait},
                *this),
      allocations_(*loop_, allocations_in(options_.state_directory),
                   [this](const Owner& owner) { return workshop_.free_allocations(owner); }),
      queue_(geteuid(), options_.limits),
      turn_(*loop_, queue_, options_.limits.turn,
            [this] {
              session_->give_way();
              after_session_step();
            }),
      readers_(new Readers(*loop_, loop_->get(),
                           ReadersOptions{.program = options_.program,
                                          .folder = options_.state_directory,
                                          .limit = options_.read_limit},
                           *this)),
      room_(*loop_, *readers_, [this] { tell_company(); }),
      accounts_("/etc/subuid", geteuid()),
      notices_(*loop_, loop_->get(), *store_, *readers_, accounts_,
               {.program = options_.program,
                .database = database_in(options_.state_directory),
                .containment = workshop_.containment()},
               options_.notify,
               [this] {
                 if (ending_.is_leaving()) ending_.leave();
               }),
      retries_(*loop_, *store_, queue_, accounts_, [this] { run_next(); }),
      maintenance_(*loop_, *store_, accounts_, options_.retention, [this] { tell_company(); }),
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

  accounts_.tell(
      [this] { store_->use_accounts([this](std::uint32_t uid) { return accounts_.of(uid); }); });
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
  if (const int error = uv_pipe_init(loop_->get(), &server_, 0); error != 0)
    return fail(fmt::format("cannot set up the event loop: {}", uv_strerror(error)));
  clients_.serve(reinterpret_cast<uv_stream_t*>(&server_),
                 [this](Connection& connection, const std::string& line) {
                   handle_request(*this, connection, line);
                   after_session_step();
                 });
  server_.data = this;
  readers_->use_cpus(workshop_.allowed_cpus());
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
      "stabd cannot cut trials off from the network here, because this machine or stabd's settings "
      "do not allow namespaces. Allow namespaces, or leave out 'experiment.network'");
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
    auto fits = plan ? results::fits_a_turn(*plan, turn_.longest_of((*experiment)->uid), false)
                     : Result<void>();
    if (plan && fits) fits = has_its_network(*plan);
    // The experiment may come from an archive.
    if (plan && fits && plan->machines && !queue_.is_trusted((*experiment)->uid))
      fits = fail(
          "only root and stabd's own user may run experiments on a cluster: start a stabd of your "
          "own ('stabd --state FOLDER --socket FILE'), then import and retry the experiment there");
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
      if (!saved && saved.error().temporary) {
        queue_.add(*first);
        return look_again_later();
      }
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

// The requests of users about experiments that wait, run or have ended.

namespace {

std::string not_there(store::Id id) {
  return fmt::format(
      "experiment {0} is neither waiting nor running: 'stabctl status {0}' shows why", id);
}

}  // namespace

void Daemon::load_queue() {
  const auto all = store_->summaries();
  if (!all) {
    spdlog::error("the queue cannot be read: {}", all.error().message);
    return;
  }
  for (const auto& [id, damage] : (*all)->damaged())
    spdlog::error("experiment {} is refused: {}", id, damage.problem);
  const std::int64_t now = wall_clock_ns();
  for (const auto& [id, summary] : (*all)->intact()) {
    const store::Experiment& experiment = summary.experiment;
    // If the clock was ahead when the experiment began, its user must not stay behind all others.
    queue_.had_turn(accounts_.of(experiment.uid), std::min(experiment.started_ns, now));
    const auto state = state_from(experiment.state);
    if (experiment.state == store::being_retried) retries_.load(id);
    if (!state || is_final(*state)) continue;
    Waiting waiting = waiting_from(experiment, accounts_.of(experiment.uid));
    waiting.plan_bytes = summary.plan_bytes;
    queue_.add(waiting);
  }
  const auto paused = store_->is_queue_paused();
  if (!paused)
    spdlog::error("cannot read whether the queue was paused, so the queue continues: {}",
                  paused.error().message);
  queue_.hold(paused.value_or(false));
}

Result<void> Daemon::has_room(std::uint32_t uid, std::size_t plan_bytes) const {
  if (auto room = queue_.has_room(accounts_.of(uid), plan_bytes); !room) return room;
  return may_store(uid, plan_bytes);
}

Result<void> Daemon::may_store(std::uint32_t uid, std::uint64_t more) const {
  return within_limit(uid, store_->bytes_of_account(uid).all + more);
}

Result<void> Daemon::may_import(std::uint32_t uid, std::uint64_t more) const {
  const bool runs = session_ && accounts_.is_same(session_->experiment().uid, uid);
  return within_limit(uid, store_->bytes_of_account(uid).all + more,
                      runs ? session_->bytes_to_come() : 0);
}

Result<void> Daemon::may_run_on(std::uint32_t uid) const {
  const auto stored = store_->bytes_of_account(uid);
  return within_limit(uid, stored.all - stored.hidden);
}

Result<void> Daemon::within_limit(std::uint32_t uid, std::uint64_t bytes,
                                  std::uint64_t to_come) const {
  const std::uint64_t most = options_.limits.stored_bytes_of_user;
  if (queue_.is_trusted(uid) || (bytes <= most && to_come <= most - bytes)) return {};
  const std::string also =
      to_come == 0 ? ""
                   : fmt::format(", and the one that is running will take about {} more",
                                 about_bytes(to_come));
  return fail(
      fmt::format("the experiments of user {} take {} in the database{}, but "
                  "limits.stored_bytes_of_user allows {}: {}remove some with 'stabctl rm' "
                  "('stabctl list' shows their sizes)",
                  uid, about_bytes(bytes), also, format_bytes(most),
                  to_come == 0 ? "" : "import the archive when it has ended, or "));
}

void Daemon::read_submission(Connection& client, const std::string& line) {
  const Peer& peer = client.peer();
  const auto words = [](const Result<void>& may) { return may ? "" : may.error().message; };
  const protocol::ReadRequest request{.reading = protocol::Reading::plan,
                                      .uid = peer.uid,
                                      .gid = peer.gid,
                                      .turn = turn_.longest_of(peer.uid),
                                      .goes_first = queue_.is_trusted(peer.uid),
                                      .may_not_quiesce = words(may_quiesce(peer.uid, false)),
                                      .may_not_move = words(may_quiesce(peer.uid, true))};
  const auto ticket =
      readers_->ask_of_plan(accounts_.of(peer.uid), protocol::encode(request) + "\n" + line,
                            [this, &client](const Result<Fd>& answer) {
                              submitted(client, answer);
                              after_session_step();
                            });
  client.await_answer([this, ticket] { readers_->forget(ticket); });
}

void Daemon::submitted(Connection& client, const Result<Fd>& answer) {
  const auto id = take_submission(client.peer(), answer);
  client.answer(id ? protocol::encode(protocol::SubmitReply{.id = *id})
                   : protocol::encode_refusal(id.error().message));
}

// The plan may have taken over its reader, so the answer never gives its user any rights.
// Everything that matters is read again when the experiment begins.
Result<store::Id> Daemon::take_submission(const Peer& peer, const Result<Fd>& answer) {
  if (!answer) return std::unexpected(answer.error());
  auto text = text_in(*answer, protocol::most_decoded + 1 + plan::max_plan_bytes + 1);
  if (!text) return std::unexpected(text.error());
  const std::size_t end = std::min(text->find('\n'), text->size());
  if (end > protocol::most_decoded)
    return fail("the data that the reader process took from the plan is too long");
  const auto plan =
      protocol::decode_reply<protocol::PlanReply>(std::string_view(*text).substr(0, end));
  if (!plan) return std::unexpected(plan.error());
  for (const auto& [key, names] :
       {std::pair("counters", &plan->counters), {"rotate", &plan->rotated}})
    if (const auto groups = counters::find_groups(*names); !groups)
      return fail(fmt::format("'measure.{}': {}", key, groups.error().message));
  if (!plan->profile.empty())
    if (const auto event = counters::find_sampled(plan->profile); !event)
      return fail("'measure.profile': " + event.error().message);
  text->erase(0, std::min(end + 1, text->size()));
  if (text->empty() || one_line(plan->name, plan->name.size()) != plan->name)
    return fail("the plan was not read completely");
  if (!plan->commit.empty() && !store::is_source(plan->branch, plan->commit))
    return fail("the branch and the commit that were sent with the plan are not valid git names");
  if (auto room = has_room(peer.uid, text->size()); !room) return std::unexpected(room.error());
  return submit({.name = plan->name,
                 .plan = std::move(*text),
                 .directory = plan->directory,
                 .uid = peer.uid,
                 .gid = peer.gid,
                 .state = "queued",
                 .submitted_ns = wall_clock_ns(),
                 .trials = plan->trials,
                 .priority = plan->priority,
                 .source_branch = plan->commit.empty() ? "" : plan->branch,
                 .source_commit = plan->commit});
}

Result<store::Id> Daemon::submit(store::Experiment experiment) {
  const auto id = store_->add_experiment(experiment);
  if (!id) return fail("the experiment cannot be stored: " + id.error().message);
  experiment.id = *id;
  queue_.add(waiting_from(experiment, accounts_.of(experiment.uid)));
  run_next();
  return *id;
}

// Changes the row of a waiting experiment.
Result<void> Daemon::change_waiting(store::Id id, Event event,
                                    const std::function<void(store::Experiment&)>& change) {
  auto found = store_->experiment(id);
  if (!found) return fail(found.error().message);
  if (queue_.find(id) == nullptr || !*found) return fail(not_there(id));
  store::Experiment& row = **found;
  const State from = state_from(row.state).value_or(State::queued);
  // A killed daemon may have left any state in the row, but nothing is under way while the
  // experiment waits.
  auto to = next(from, event);
  if (!to && event == Event::hold) to = next(State::queued, event);
  if (!to) return fail(not_there(id));
  row.state = to_string(*to);
  row.stopped_by.reset();
  change(row);
  if (auto saved = store_->update_experiment(row); !saved) return fail(saved.error().message);
  queue_.remove(id);
  if (!is_final(*to)) queue_.add(waiting_from(row, accounts_.of(row.uid)));
  return {};
}

Result<void> Daemon::cancel(store::Id id) {
  if (session_ && session_->experiment().id == id) {
    session_->cancel();
    return {};
  }
  store::Experiment cancelled;
  auto changed = change_waiting(id, Event::cancel, [&cancelled](store::Experiment& row) {
    row.reason = row.started_ns == 0 ? "cancelled by the user before it began"
                                     : "cancelled by the user; the completed trials are kept";
    forget_holder(row);
    row.ended_ns = wall_clock_ns();
    cancelled = row;
  });
  if (!changed) return changed;
  notices_.tell_unread(cancelled, cancelled.state, cancelled.reason);
  return {};
}

Result<void> Daemon::hold(store::Id id, std::uint32_t uid) {
  if (session_ && session_->experiment().id == id) return session_->hold(uid);
  return change_waiting(id, Event::hold, [uid](store::Experiment& row) {
    // If root holds the experiment, another user who pauses it does not become its holder.
    if (row.held_by != 0) row.held_by = uid;
    row.reason = held_reason(*row.held_by);
  });
}

Result<void> Daemon::let_go(store::Id id, std::uint32_t uid) {
  if (session_ && session_->experiment().id == id)
    return fail(
        session_->experiment().held_by
            ? fmt::format("experiment {} is still being paused: try again in a moment", id)
            : fmt::format("experiment {0} is not paused: 'stabctl status {0}' shows its state",
                          id));
  const auto found = store_->experiment(id);
  if (!found) return fail(found.error().message);
  if (!*found) return fail(not_there(id));
  const Waiting* waiting = queue_.find(id);
  if (waiting == nullptr || !waiting->held)
    return fail(
        fmt::format("experiment {0} is not paused: 'stabctl status {0}' shows its state", id));
  const std::uint32_t holder = (*found)->held_by.value_or(uid);
  if (!queue_.is_trusted(uid) && holder != uid)
    return fail(fmt::format(
        "experiment {} was paused by user {}: only that user or root can resume it", id, holder));
  auto changed = change_waiting(id, Event::let_go, [](store::Experiment& row) {
    row.held_by.reset();
    row.reason.clear();
  });
  if (changed) run_next();
  return changed;
}

Result<void> Daemon::may_be_removed(const store::Experiment& experiment) {
  if (retries_.is_retried(experiment.id))
    return fail(fmt::format("experiment {} is being retried", experiment.id));
  const auto state = state_from(experiment.state);
  const bool driven = session_ && session_->experiment().id == experiment.id;
  if (state && is_final(*state) && !driven) return {};
  return fail(has_not_ended(experiment.id));
}

Result<void> Daemon::retry(Connection& client, const store::Experiment& experiment) {
  const bool driven = session_ && session_->experiment().id == experiment.id;
  if (driven) return fail(has_not_ended(experiment.id));
  return retries_.begin(client, client.peer().uid, experiment);
}

Result<void> Daemon::remove(const store::Experiment& experiment, std::uint32_t uid) {
  auto begun = maintenance_.remove(experiment, fmt::format("by user {}", uid));
  if (!begun) return fail(begun.error().message);
  spdlog::info("user {} removes experiment {} ({}) of user {}", uid, experiment.id,
               one_line(experiment.name, 100), experiment.uid);
  return {};
}

Result<void> Daemon::hold_queue(bool held, std::uint32_t uid) {
  if (!queue_.is_trusted(uid))
    return fail(
        "only root and stabd's own user may pause or resume the whole queue: give the numbers of "
        "experiments instead");
  const auto stored = store_->pause_queue(
      held, {.at_ns = wall_clock_ns(),
             .kind = "queue",
             .text = fmt::format("{} by user {}", held ? "paused" : "resumed", uid)});
  if (!stored) return fail(stored.error().message);
  queue_.hold(held);
  run_next();
  return {};
}

// The daemon as a service: its socket, its signals, its end, and its messages to the service
// manager.

namespace {

namespace fs = std::filesystem;

// The time within which a worker and its processes should end.
constexpr std::chrono::seconds ending{60};
// So many connections wait in the kernel until the loop accepts them; the kernel tells further
// clients to try again. The number is the default of limits.connections.
constexpr int most_waiting_connections = 256;

// Removes the socket file of a daemon that has gone, but never a living daemon's.
Result<void> clear_socket(const std::string& path) {
  sockaddr_un address{};
  if (path.size() >= sizeof address.sun_path)
    return fail(fmt::format(
        "the socket's path {} is longer than {} bytes: choose a shorter one with --socket", path,
        sizeof address.sun_path - 1));
  struct stat status{};
  if (lstat(path.c_str(), &status) != 0) return {};
  if (!S_ISSOCK(status.st_mode)) return fail(fmt::format("{} exists and is not a socket", path));
  const Fd probe(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  if (connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0)
    return fail(fmt::format("another stabd serves {}", path));
  if (unlink(path.c_str()) != 0)
    return fail_errno(fmt::format("cannot remove the stale socket {}", path));
  return {};
}

Result<gid_t> group_of(const std::string& name) {
  gid_t number = 0;
  const char* const end = name.data() + name.size();
  const auto [rest, error] = std::from_chars(name.data(), end, number);
  // The largest number is not a valid group: chown() takes it for "no change".
  if (error == std::errc() && rest == end && number + 1 != 0) return number;
  if (const auto* known = getgrnam(name.c_str())) return known->gr_gid;
  return fail(
      fmt::format("there is no group '{}' for the socket: 'daemon.socket_group' needs the name or "
                  "number of a group",
                  name));
}

Result<void> give_to_group(const std::string& socket, const std::string& name, unsigned mode) {
  if (name.empty()) return {};
  if ((mode & 0060U) == 0)
    return fail(
        fmt::format("'daemon.socket_group' has no effect with the socket's mode {:04o}: add "
                    "socket_mode = \"0660\", or leave the group out",
                    mode));
  const auto number = group_of(name);
  if (!number) return std::unexpected(number.error());
  if (chown(socket.c_str(), static_cast<uid_t>(-1), *number) == 0) return {};
  return fail_errno(fmt::format("cannot give the socket {} to the group '{}'", socket, name));
}

}  // namespace

Result<void> Daemon::make_socket() {
  if (auto cleared = clear_socket(options_.socket_path); !cleared) return cleared;
  const std::string folder = fs::path(options_.socket_path).parent_path().string();
  if (auto made = make_passable_folder(folder); !made) return made;
  if (geteuid() == 0 && options_.socket_mode != 0600) warn_if_closed(folder);
  const mode_t before = umask(0777 & ~options_.socket_mode);
  const int bound = uv_pipe_bind(&server_, options_.socket_path.c_str());
  umask(before);
  if (bound != 0)
    return fail(fmt::format("cannot bind {}: {}", options_.socket_path, uv_strerror(bound)));
  // Nobody can connect before it listens.
  return give_to_group(options_.socket_path, options_.socket_group, options_.socket_mode);
}

// A socket that was passed to us belongs to the service manager, which sets its mode and group and
// removes it.
Result<void> Daemon::use_socket(Fd passed) {
  options_.socket_path = service::path_of(passed);
  const int opened = uv_pipe_open(&server_, passed.get());
  if (opened != 0)
    return fail(
        fmt::format("cannot use the socket that was passed to stabd: {}", uv_strerror(opened)));
  static_cast<void>(passed.release());
  return {};
}

Result<void> Daemon::listen() {
  Fd passed = supervision_.take_socket();
  if (auto bound = passed ? use_socket(std::move(passed)) : make_socket(); !bound) return bound;
  const int listening = uv_listen(reinterpret_cast<uv_stream_t*>(&server_),
                                  most_waiting_connections, [](uv_stream_t* server, int status) {
                                    if (status == 0)
                                      static_cast<Daemon*>(server->data)->clients_.accept();
                                  });
  if (listening != 0)
    return fail(
        fmt::format("cannot listen on {}: {}", options_.socket_path, uv_strerror(listening)));
  return {};
}

void Daemon::watch_signals() {
  std::signal(SIGPIPE, SIG_IGN);
  const auto watch = [this](int number, std::function<void()> come) {
    if (const auto watched = loop_->on_signal(number, std::move(come)); !watched)
      spdlog::error("{}", watched.error().message);
  };
  watch(SIGTERM, [this] { ending_.stop(); });
  watch(SIGINT, [this] { ending_.stop(); });
  watch(SIGHUP, [this] { read_settings_again(); });
}

void Daemon::run() {
  watch_signals();
  spdlog::info("stabd {} serves {} and keeps its state in {}", STAB_VERSION, options_.socket_path,
               options_.state_directory);
  if (options_.ready_fd >= 0) {
    const auto told = write_all(options_.ready_fd, "ready\n");
    close(options_.ready_fd);
    open_closed_streams();
    if (!told) spdlog::warn("{}", told.error().message);
  }
  supervision_.ready();
  run_next();
  tell_status();
  archive::Spool::remove_left(options_.state_directory, leavings_.take());
  maintenance_.start();
  retries_.start();
  verify_trials();
  uv_run(loop_->get(), UV_RUN_DEFAULT);
  spdlog::info("stabd is stopping");
}

void Daemon::read_settings_again() {
  auto read = options_.read_again();
  if (!read)
    return spdlog::error("the settings stay as they are, because the new settings are wrong: {}",
                         read.error().message);
  for (const std::string_view key : settings::differences(wanted_, *read)) {
    if (settings::can_change(key))
      spdlog::info("'{}' has changed", key);
    else
      spdlog::warn("'{}' keeps its old value until stabd is restarted", key);
  }
  wanted_ = settings::changed(wanted_, *read);
  static_cast<settings::Settings&>(options_) = settings::changed(options_, *read);
  use_settings();
  spdlog::info("the settings were read again");
}

// Passes the new settings to everything that has copies of them. A running experiment keeps the
// cache limit that it began with.
void Daemon::use_settings() {
  spdlog::set_level(spdlog::level::from_str(options_.log));
  queue_.use_limits(options_.limits);
  turn_.use_limit(options_.limits.turn);
  clients_.use_limits(options_.limits);
  readers_->use_limit(options_.read_limit);
  notices_.use_settings(options_.notify);
  clients_.use_idle_limit(options_.idle_limit);
  maintenance_.use_retention(options_.retention);
}

void Daemon::tell_status() {
  if (session_)
    supervision_.show(session_->experiment().id, session_->experiment().name, session_->state());
  else
    supervision_.show(0, "", std::nullopt);
}

std::optional<std::chrono::nanoseconds> Daemon::begin_to_stop() {
  retries_.stop();
  maintenance_.stop();
  const bool finish = options_.stop == settings::Stop::finish && session_ && session_->runs_trial();
  const auto longest = std::chrono::duration_cast<std::chrono::microseconds>(
      finish ? options_.stop_limit + ending : ending);
  supervision_.stopping(longest, finish ? "stabd finishes the running trial" : "stopping");
  if (!finish) return std::nullopt;
  session_->ask_for_no_more();
  spdlog::info("stabd finishes the running trial if that takes at most {}, and then stops",
               format_duration(options_.stop_limit));
  return options_.stop_limit;
}

bool Daemon::stop_worker() {
  if (session_) session_->rest();
  const bool works = workshop_.has_worker();
  workshop_.stop();
  return works;
}

bool Daemon::owes_notices() const {
  return notices_.owed();
}

bool Daemon::owes_allocations() const {
  return allocations_.has_owners();
}

void Daemon::wait_to_leave() {
  allow_readers();
  if (!workshop_.has_worker()) allocations_.hurry([this] { ending_.leave(); });
}

void Daemon::stop_loop() {
  uv_stop(loop_->get());
}

}  // namespace stab::daemon
