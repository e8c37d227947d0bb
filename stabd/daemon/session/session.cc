// SPDX-License-Identifier: MIT
#include "stabd/daemon/session/session.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <span>

#include "base/text.h"
#include "base/time.h"
#include "design/trial_list.h"
#include "machine/containment.h"
#include "machine/facts.h"
#include "machine/topology.h"
#include "plan/texts.h"
#include "results/exclusion.h"
#include "results/run_request.h"
#include "results/trials.h"
#include "store/rows/bounds.h"

namespace stab::daemon {
namespace {

using std::chrono::nanoseconds;
using std::chrono::steady_clock;
using store::TrialStatus;

constexpr unsigned max_losses = 3;
// Added to the plan's time limit. A worker that hangs or is stopped ends its experiment, but never
// blocks the queue. The worker itself waits up to 30 s for processes that don't end, so this must
// be longer.
constexpr std::chrono::seconds trial_grace{45};

// Clocks that differ by less count as the same.
constexpr std::chrono::seconds most_ignored{5};

constexpr std::size_t most_line = 4096;

bool is_short_line(const std::string& text) {
  return text.size() <= most_line && one_line(text, most_line) == text;
}

// Trials may have taken over their worker, so every text that we store from its replies has a
// length limit, and texts that are shown as a line must be one line. The facts about a node have
// their own check (machine::facts_in()).
std::string refusal_of(const protocol::SetupReply& reply) {
  constexpr std::size_t most_notes = 200;
  if (reply.notes.size() > most_notes) return "the description of the machine is too long";
  if (!reply.grade.empty() && !store::quietness_named(reply.grade))
    return "the grade of the machine is not known";
  for (const std::string* text :
       {&reply.trial_cpus, &reply.simulator, &reply.examined, &reply.loud})
    if (!is_short_line(*text)) return "the description of the machine is not a single line";
  return std::ranges::all_of(reply.notes, is_short_line)
             ? ""
             : "one of the worker's notes is not a single line";
}

std::string refusal_of(const protocol::NodeReply& reply) {
  if (!plan::is_node(reply.node) || !plan::is_node(reply.job) || !is_short_line(reply.cache))
    return "the description of the node is not valid";
  return "";
}

std::string refusal_of(const protocol::FetchReply& reply) {
  constexpr std::size_t most_encoded = (protocol::most_of_piece + 2) / 3 * 4;
  if (!is_short_line(reply.error) || !is_short_line(reply.complete.binary_sha256) ||
      reply.bytes.size() > most_encoded)
    return "the piece of a build is not valid";
  return "";
}

std::string refusal_of(const protocol::KeepReply& reply) {
  return is_short_line(reply.error) ? "" : "the error is not a single short line";
}

std::string refusal_of(const protocol::BuildReply& reply) {
  constexpr std::size_t most_word = 64;
  constexpr std::size_t most_output = std::size_t{64} << 10;
  if (reply.key.size() > most_word || reply.binary_sha256.size() > most_word ||
      reply.output.size() > most_output)
    return "the description of a build is too long";
  for (const std::string* text : {&reply.key, &reply.binary_sha256, &reply.directory, &reply.out,
                                  &reply.compilers, &reply.in_place, &reply.error, &reply.tidied})
    if (!is_short_line(*text)) return "the description of a build is not a single short line";
  return store::refusal_of(reply.readings);
}

// Adds the node if it is not there yet.
store::Node& node_named(const std::string& name, std::vector<store::Node>& nodes) {
  const auto known = std::ranges::find(nodes, name, &store::Node::name);
  return known == nodes.end() ? nodes.emplace_back(store::Node{.name = name}) : *known;
}

// The CPUs of the worker's trials, if they are those that the plan asks for.
Result<machine::CpuSet> cpus_reported(const std::string& list, const plan::Plan& plan) {
  machine::CpuSet cpus = machine::cpus_in(list);
  if (cpus.empty()) return fail("the worker did not report which CPUs the trials run on");
  if (plan.cpu.empty() ? cpus.size() == plan.cpus : cpus == plan.cpu) return cpus;
  return fail(fmt::format("the worker reports that trials run on CPU {}, but the plan asks for {}",
                          machine::to_string(cpus),
                          plan.cpu.empty()
                              ? fmt::format("{} CPU{}", plan.cpus, plan.cpus == 1 ? "" : "s")
                              : "CPU " + machine::to_string(plan.cpu)));
}

}  // namespace

std::string held_reason(std::uint32_t uid) {
  return fmt::format("paused by user {}; 'stabctl resume' resumes it", uid);
}

void forget_holder(store::Experiment& experiment) {
  if (experiment.held_by != 0) experiment.held_by.reset();
}

Session::Session(store::Store& store, store::Experiment experiment, plan::Plan plan,
                 Surroundings& around)
    : store_(store),
      experiment_(std::move(experiment)),
      plan_(std::move(plan)),
      expansion_(plan::expand(plan_)),
      around_(around),
      state_(state_from(experiment_.state).value_or(State::queued)),
      places_(plan_.machine_count()),
      abandoned_(around_.abandoned_block(experiment_.id)),
      since_(steady_clock::now()) {
  for (Place& place : places_) {
    place.index = static_cast<std::size_t>(&place - places_.data());
    if (plan_.machines && has_several() && !plan_.machines->names.empty())
      place.home = plan_.machines->names[place.index];
  }
  if (has_several()) {
    std::vector<std::uint8_t> machines;
    machines.reserve(expansion_.trials.size());
    BlockId block{true, UINT32_MAX};
    for (const plan::Trial& trial : expansion_.trials) {
      const bool is_new = std::exchange(block, BlockId(trial.warmup, trial.block)) != block;
      machines.push_back(
          is_new ? static_cast<std::uint8_t>(plan::machine_of(plan_, trial.warmup, trial.block))
                 : machines.back());
    }
    machine_of_ = std::make_shared<const std::vector<std::uint8_t>>(std::move(machines));
  }
  for (Place& place : places_) place.schedule = schedule_for(place);
}

void Session::apply(Event event, const std::string& reason) {
  const auto to = next(state_, event);
  if (!to) return;
  const State from = before_ = std::exchange(state_, *to);
  stop_asking();
  if (state_ != State::quiescing && state_ != State::running) put_back();  // E5
  experiment_.state = to_string(state_);
  experiment_.reason = one_line(reason, 2000);
  if (state_ != State::analysing && state_ != State::done) experiment_.stopped_by.reset();
  if (experiment_.started_ns == 0 && state_ == State::building)
    experiment_.started_ns = wall_clock_ns();
  if (is_final(state_)) {
    experiment_.ended_ns = wall_clock_ns();
    forget_holder(experiment_);
  }
  spdlog::info("experiment {}: {} -> {}{}{}", experiment_.id, to_string(from), experiment_.state,
               reason.empty() ? "" : ": ", experiment_.reason);
  if (from == State::paused) since_ = steady_clock::now();  // E7
  add_duration();
  save_state();
  if (!needs_worker(state_))
    for (const Place& place : places_)
      if (place.has_worker) around_.stop_worker(place.index);
  if (state_ == State::paused && !is_held()) around_.retry_later();
}

// Uses the monotonic clock, so that changes of the wall clock don't matter.
void Session::add_duration() {
  const auto now = steady_clock::now();
  const auto driven = std::chrono::duration_cast<nanoseconds>(now - std::exchange(since_, now));
  experiment_.duration_ns = experiment_.duration_ns.value_or(0) + driven.count();
}

store::Experiment Session::shown() const {
  store::Experiment row = experiment_;
  if ((!is_final(state_) && !rests()) || finished()) return row;
  row.state = to_string(before_);
  row.reason = (is_final(state_) ? "it is being ended: "
                : is_held()      ? "it is being paused: "
                                 : "it gives up the machine: ") +
               row.reason;
  if (unsaved_) row.reason += fmt::format("; but that cannot be stored yet: {}", unsaved_why_);
  row.ended_ns = 0;
  return row;
}

void Session::rest() {
  last_ = true;
  store_rows();
  put_back();
  add_duration();
  if (is_final(state_)) return;
  if (auto saved = store_.update_experiment(experiment_); !saved)
    spdlog::warn("experiment {}: {}", experiment_.id, saved.error().message);
}

// If the state can't be stored now, retry_storage() stores it later. Until then the daemon goes by
// state_.
void Session::save_state() {
  if (auto saved = store_.update_experiment(experiment_); !saved) {
    spdlog::warn("cannot store the state of experiment {}: {}", experiment_.id,
                 saved.error().message);
    // A row that can never be stored must not hold up the queue.
    unsaved_ = saved.error().temporary;
    unsaved_why_ = one_line(saved.error().message, 500);
    if (unsaved_) around_.retry_later();
    return;
  }
  unsaved_ = false;
  unsaved_why_.clear();
  note("state", experiment_.reason.empty() ? experiment_.state
                                           : experiment_.state + ": " + experiment_.reason);
}

// Stores an event for people who look later. No session reads it.
void Session::note(const std::string& kind, const std::string& text) {
  const auto added = store_.add_event(
      {.experiment = experiment_.id, .at_ns = wall_clock_ns(), .kind = kind, .text = text});
  if (!added) spdlog::warn("experiment {}: {}", experiment_.id, added.error().message);
}

bool Session::stored(const store::Outcome<void>& outcome) {
  if (outcome) return true;
  if (!outcome.error().temporary) {
    apply(Event::damaged, outcome.error().message);
    return false;
  }
  wait_for_storage(outcome.error().message,
                   "the experiment continues when its state can be stored");
  return false;
}

void Session::wait_for_storage(const std::string& why, std::string_view what_follows) {
  apply(Event::storage_trouble, fmt::format("{}; {}", why, what_follows));
  if (!std::exchange(told_of_storage_, true)) around_.tell("paused", why);
}

void Session::ask(Place& place, const protocol::WorkRequest& request, nanoseconds within) {
  place.asked = request.index();
  around_.send(place.index,
               std::visit([](const auto& each) { return protocol::encode(each); }, request),
               within);
}

void Session::worker_said(const std::string& line, std::size_t at) {
  if (!needs_worker(state_)) return;  // the worker is being stopped
  Place& place = places_[at];
  // The first answer may come from a worker of another version, so its protocol is checked before
  // it is decoded. Later answers come between two trials and are decoded only once.
  if (place.asked == protocol::setup_index)
    if (const auto setup = protocol::decode<protocol::SetupVersion>(line);
        setup && setup->protocol != protocol::version)
      return apply(Event::refused, protocol::worker_mismatch());
  const auto reply = protocol::decode_work_reply(line);
  const auto bad = [&](std::string_view why) {
    spdlog::error("experiment {}: the worker's answer makes no sense: {}", experiment_.id,
                  one_line(why, 500));
    if (plan_.machines && !place.lost)
      place.lost = {
          .loss = std::string(to_string(protocol::Loss::step_lost)),
          .reason = fmt::format(
              "{} returned wrong bytes, so stabd gave up the step. If this happens again, check "
              "that the node has the same stabd at the same path, and look for a fault of its "
              "memory or its network. The error: {}",
              place.node.node.empty() ? "the node" : "node " + place.node.node,
              one_line(why, 500))};
    around_.stop_worker(place.index);
  };
  if (!reply) return bad(reply.error().message);
  if (const auto* node = std::get_if<protocol::NodeReply>(&*reply)) {
    if (const std::string refusal = refusal_of(*node); !refusal.empty() || !plan_.machines)
      return bad(refusal.empty() ? "the experiment does not run on a cluster" : refusal);
    if (place.asked != protocol::setup_index || !place.node.node.empty())
      return bad("the worker named its node twice, or named it too late");
    return came_up_on(place, *node);
  }
  if (const auto* lost = std::get_if<protocol::LostReply>(&*reply)) {
    if (!plan_.machines) return bad("the experiment does not run on a cluster");
    place.lost = {.loss = lost->loss, .reason = one_line(lost->reason, 2000)};
    return;
  }
  // Each request has one kind of reply, with the same index in its variant.
  const bool was_asked = std::exchange(place.asked, std::nullopt) == reply->index();
  if (const auto* run = std::get_if<protocol::RunReply>(&*reply);
      run != nullptr && (!was_asked || run->token != place.token)) {
    note_late(place);
    return bad("it answers another request for a trial than the last one");
  }
  if (!was_asked) return bad("that was not requested");
  const std::string refusal = std::visit(
      [](const auto& each) {
        using Reply = std::remove_cvref_t<decltype(each)>;
        if constexpr (std::is_same_v<Reply, protocol::RunReply>)
          return store::refusal_of(each);
        else if constexpr (std::is_same_v<Reply, protocol::LostReply>)
          return std::string();
        else
          return refusal_of(each);
      },
      *reply);
  if (!refusal.empty()) return bad(refusal);
  if (const auto* setup = std::get_if<protocol::SetupReply>(&*reply)) return set_up(place, *setup);
  if (const auto* build = std::get_if<protocol::BuildReply>(&*reply)) return built(place, *build);
  if (const auto* piece = std::get_if<protocol::FetchReply>(&*reply)) return fetched(place, *piece);
  if (const auto* keep = std::get_if<protocol::KeepReply>(&*reply)) return kept(place, *keep);
  // These two are handled above.
  if (!std::holds_alternative<protocol::RunReply>(*reply)) return;
  auto run = std::get<protocol::RunReply>(*reply);
  // Only the session decides whether a trial was disturbed.
  if (run.status == TrialStatus::disturbed)
    return bad("the worker reported a trial as disturbed, but only stabd may decide that");
  // At a limit, the kernel may have slowed the trial down, or the program may have run without
  // something it was refused. So the trial doesn't count.
  const std::string passed = around_.passed();
  if (!passed.empty() && run.status != TrialStatus::over_limit &&
      run.status != TrialStatus::not_started) {
    run.status = TrialStatus::over_limit;
    run.reason = passed;
    run.exit_code.reset();
    run.signal.reset();
  }
  ran(place, std::move(run));
}

// E11
void Session::note_late(const Place& place) {
  ++late_;
  note(
      std::string(late_event),
      fmt::format("{} answered another request for a trial than the last one, so stabd refused the "
                  "answer; such answers since stabd took up the experiment: {}",
                  place.node.node.empty() ? "the worker" : "node " + place.node.node, late_));
}

void Session::set_up(Place& place, const protocol::SetupReply& reply) {
  if (!reply.error.empty())
    return refuse(place.node.node.empty()
                      ? reply.error
                      : fmt::format("node {}: {}", place.node.node, reply.error));
  const auto trial_cpus = cpus_reported(reply.trial_cpus, plan_);
  if (!trial_cpus) return refuse(trial_cpus.error().message);
  // We can see the CPUs and the facts of this machine ourselves, and take no worker's word for them.
  const auto cpus = plan_.machines
                        ? Result<machine::CpuChoice>(machine::CpuChoice{.trial = *trial_cpus})
                        : around_.cpus_beside(*trial_cpus);
  if (!cpus)
    return refuse("the worker reports CPUs that this machine does not have: " +
                  cpus.error().message);
  const auto facts = plan_.machines ? machine::facts_in(reply.machine_facts) : around_.facts();
  if (!facts) return refuse(facts.error().message);
  if (plan_.machines && facts->host != place.node.node)
    return refuse(fmt::format("the worker on node {} describes another machine: {}",
                              place.node.node, one_line(facts->host, 60)));
  place.cpus = *cpus;
  const auto machine =
      store_.add_machine({.key = facts->key, .host = facts->host, .facts = facts->facts_json});
  if (!machine) {
    stored(std::unexpected(machine.error()));
    return;
  }
  const bool is_first = experiment_.machine == 0;
  if (!has_several() && !is_first && experiment_.machine != *machine)
    note("machine",
         "the machine has changed since the experiment began, so the experiment's earlier trials "
         "ran in a different state of the machine");
  if (!has_several() || is_first) experiment_.machine = *machine;
  // Later workers try to keep to the CPUs of the first trials.
  const bool may_be_elsewhere = plan_.machines && !has_trials(place);
  const std::string cpu_list = machine::to_string(place.cpus.trial);
  if (experiment_.trial_cpus.empty() || (may_be_elsewhere && !has_several()))
    experiment_.trial_cpus = cpu_list;
  if (has_several()) {
    store::Node& node = node_named(place.node.node, experiment_.nodes);
    node.hardware = facts->kind;
    if (!facts->kind.empty() && !facts->distribution.empty())
      place.kind = fmt::format("{}, {}", facts->kind, facts->distribution);
    if (node.trial_cpus.empty() || may_be_elsewhere) node.trial_cpus = cpu_list;
  }
  if (!stored(store_.update_experiment(experiment_))) return;
  note("machine",
       fmt::format("trials {}run on CPU {}",
                   has_several() ? fmt::format("on node {} ", place.node.node) : "", cpu_list));
  const std::string rights = machine::words_about_rights(experiment_.uid, privileged());
  if (is_first && !rights.empty()) note("machine", rights);
  place.simulator = reply.simulator;
  place.grade = reply.grade;
  place.examined = reply.examined;
  place.loud = reply.loud;
  if (!plan_.machines) around_.stay_off_trials(place.cpus.others, place.cpus.shared);
  for (const std::string& text : reply.notes) note("machine", text);
  place.builds_since = steady_clock::now();
  ask_for_build(place);
}

store::Trial Session::row_for(const Place& place, const Schedule::Step& step) const {
  const plan::Trial trial = expansion_.trials[step.position];
  store::Trial row;
  row.experiment = experiment_.id;
  row.position = step.position;
  row.attempt = step.attempt;
  row.block = trial.block;
  row.warmup = trial.warmup;
  row.benchmark = plan_.benchmarks[trial.benchmark].name;
  row.levels = results::stored_levels(plan_, trial);
  row.seed = trial.seed;
  row.node = place.node.node;
  const std::int64_t slot = place.builds.of_trial[step.position];
  if (slot >= 0) row.build = place.builds.slots[static_cast<std::size_t>(slot)].key;
  return row;
}

void Session::continue_work() {
  if (!store_rows()) return;
  if (busy_with<Loading>()) return load_trials();
  for (Place& place : places_) continue_at(place);
}

bool Session::has_room() {
  const auto may = around_.may_store();
  if (!may) apply(Event::gave_up, may.error().message + "; 'stabctl retry' continues from here");
  return may.has_value();
}

void Session::continue_at(Place& place) {
  if (state_ != State::running || !busy_with<std::monostate>() || place.trial || last_) return;
  if (!place.is_ready) return;
  const auto step = place.schedule->next();
  // The worker ends first, so that the analysis runs on a free machine; worker_ended() continues.
  if (!step) {
    const auto has_finished = [](const Place& each) {
      return !each.trial && !each.schedule->next();
    };
    if (std::ranges::all_of(places_, has_finished)) end_trials("");
    return;
  }
  if (!has_room()) return;
  if (waits_before(place, *step)) return;
  if (!step->without_running) {
    if (!waits_for_quiet(*step)) ask_for_trial(place, *step);
    return;
  }
  store::Trial row = row_for(place, *step);
  row.status = *step->without_running;
  row.reason = step->reason;
  row.started_ns = wall_clock_ns();
  place.trial = step;
  keep(place, std::move(row));
}

// The analysis begins when the last worker has ended. There may be none, because nodes are lost.
void Session::end_trials(const std::string& why) {
  for (Place& place : places_) place.waits = false;
  apply(Event::trials_complete, why);
  if (state_ == State::analysing && !has_worker()) analyse();
}

protocol::RunRequest Session::request_for(const Place& place, std::uint32_t position) const {
  results::BuiltPaths built;
  if (const std::int64_t slot = place.builds.of_trial[position]; slot >= 0)
    built = {.out = place.builds.slots[static_cast<std::size_t>(slot)].out,
             .tree = place.builds.slots[static_cast<std::size_t>(slot)].directory,
             .readings = place.builds.slots[static_cast<std::size_t>(slot)].readings};
  return results::run_request(plan_, expansion_.trials[position], experiment_.directory, built);
}

void Session::ask_for_trial(Place& place, const Schedule::Step& step) {
  place.trial = step;
  company_ = nanoseconds(0);
  if (company_since_) company_since_ = steady_clock::now();
  ask_to_run(place, request_for(place, step.position));
}

void Session::ask_to_run(Place& place, protocol::RunRequest request) {
  request.token = place.token = last_token_ = std::max(last_token_ + 1, wall_clock_ns());  // E11
  // The program, the check command, and the prepare and cleanup commands may each take the whole
  // timeout.
  const int steps = (request.prepare.empty() ? 0 : 1) + (request.cleanup.empty() ? 0 : 1);
  around_.bound(request);
  place.asked_ns = wall_clock_ns();
  ask(place, request,
      (2 + steps) * request.timeout + trial_grace +
          (plan_.machines ? around_.loss_patience() : nanoseconds(0)));
}

void Session::ran(Place& place, protocol::RunReply reply) {
  if (heap_tests_) return heap_tested(place, reply);
  store::Trial row = row_for(place, *place.trial);
  row.status = reply.status;
  row.reason = std::move(reply.reason);
  row.exit_code = reply.exit_code;
  row.signal = reply.signal;
  row.started_ns = started_by_our_clock(place, reply.started_ns);
  row.wall_ns = reply.wall_ns;
  row.user_ns = reply.user_ns;
  row.system_ns = reply.system_ns;
  row.max_rss_bytes = reply.max_rss_bytes;
  row.stdout_sha256 = std::move(reply.stdout_sha256);
  row.stderr_tail = std::move(reply.stderr_tail);
  row.layout = std::move(reply.layout);
  row.readings = std::move(reply.readings);
  row.samples = std::move(reply.samples);
  row.profile = std::move(reply.profile);
  row.causal = std::move(reply.causal);
  if (place.last_commit.count() > 0)
    row.readings.push_back(counters::counted("commit-before-ns", "ns", place.last_commit.count()));
  for (counters::Reading& reading : std::exchange(waited_, {}))
    row.readings.push_back(std::move(reading));
  const bool company = company_since_.has_value();
  has_company(false);
  if (company_.count() > 0)
    row.readings.push_back(counters::counted("reports-beside-ns", "ns", company_.count()));
  if (company) has_company(true);
  exclusion::mark(plan_.exclude, row);
  keep(place, std::move(row));
}

void Session::keep(Place& place, store::Trial row) {
  const Schedule::Step step = *place.trial;
  row.last = place.schedule->is_last(step, row.status);
  const bool was_run = row.wall_ns.has_value() || row.status == TrialStatus::not_started;
  place.pending = std::move(row);
  // E10: nodes whose trials end at about the same time share a commit. There may also be thousands of
  // rows without a run, so clients are answered between them.
  const bool can_wait = has_several() && was_run && place.has_worker;
  if (!can_wait && !store_rows()) return;
  if (!place.has_worker) return;
  if (was_run && !can_wait)
    continue_at(place);
  else
    around_.call_again();
}

// E1, E2. Stores the rows of all places in one transaction. No place goes on here. Returns false if
// rows are left, or if the experiment has failed.
bool Session::store_rows() {
  std::vector<Place*> ended;
  for (Place& place : places_)
    if (place.pending) ended.push_back(&place);
  if (ended.empty()) return true;
  const auto before = steady_clock::now();
  store::Outcome<void> added;
  if (ended.size() > 1) {
    std::vector<store::Trial> rows;
    for (const Place* place : ended) rows.push_back(*place->pending);
    added = store_.add_trials(rows);
  }
  // One row that can't be stored must not cost the others.
  const bool apart = ended.size() == 1 || (!added && !added.error().temporary);
  nanoseconds took = steady_clock::now() - before;
  bool is_good = true;
  for (Place* place : ended) {
    if (apart) {
      added = store_.add_trial(*place->pending);
      took = steady_clock::now() - before;
    }
    if (!added && added.error().temporary) {
      around_.retry_later();
      if (needs_worker(state_)) stored(added);
      return false;
    }
    const store::Trial row = *std::exchange(place->pending, std::nullopt);
    is_good = stored(added) && is_good;
    if (added) was_stored(*place, row, took);
  }
  return is_good;
}

void Session::was_stored(Place& place, const store::Trial& row, nanoseconds took) {
  told_of_storage_ = false;
  if (has_several() && place.home.empty()) place.home = row.node;
  if (row.status == TrialStatus::over_limit && !std::exchange(told_of_limit_, true))
    around_.tell("over-limit", fmt::format("a trial of '{}' {}", row.benchmark, row.reason));
  place.last_commit = took;
  // After trouble with the storage, all rows are read again.
  const auto step = std::exchange(place.trial, std::nullopt);
  if (!step) return;
  place.schedule->record(*step, row.status);
  // On a node a lost worker repeats its block, so other trials of the block don't count as progress.
  if (!plan_.machines || step->position == place.lost_position) place.losses = 0;
  measured_ += row.wall_ns.has_value() || row.status == TrialStatus::not_started ? 1 : 0;
}

void Session::worker_ended(const std::string& how_on_head, std::size_t at) {
  store_rows();
  Place& place = places_[at];
  place.has_worker = false;
  place.is_ready = false;
  place.asked.reset();
  hand_over(place);
  if (plan_.machines && needs_worker(state_) &&
      !(place.lost && protocol::loss_named(place.lost->loss) == protocol::Loss::worker))
    return lost_node(place, how_on_head);
  const std::string how =
      place.lost ? std::exchange(place.lost, std::nullopt)->reason : how_on_head;
  const auto step = std::exchange(place.trial, std::nullopt);
  if (state_ == State::analysing) {
    if (!has_worker()) analyse();
    return;
  }
  if (!needs_worker(state_)) return;
  if (heap_tests_) {  // E13
    place.losses = 0;
    if (!keep_heap({.why_not = fmt::format("the worker {} during a test run", how)})) return;
  }
  if (plan_.machines && step &&
      std::exchange(place.lost_position, step->position) != step->position)
    place.losses = 0;
  if (++place.losses >= max_losses && step && state_ == State::running) {
    // This trial seems to end its worker, so it counts as failed.
    place.trial = step;
    store::Trial row = row_for(place, *step);
    row.started_ns = wall_clock_ns();
    row.reason =
        fmt::format("the trial's worker {}; this happened {} times in a row", how, place.losses);
    if (plan_.machines) never_whole_.insert(block_at(step->position));
    keep(place, std::move(row));
  }
  if (place.losses >= max_losses)
    return apply(
        Event::gave_up,
        fmt::format(
            "the worker {}; this happened {} times, and no build or trial finished meanwhile", how,
            place.losses));
  spdlog::warn("experiment {}: the worker {}; a new worker continues", experiment_.id, how);
  start_again(place, "");
}

void Session::worker_left(std::size_t at) {
  store_rows();
  Place& place = places_[at];
  place.has_worker = false;
  place.is_ready = false;
  place.asked.reset();
  place.trial.reset();
  place.lost.reset();
}

// E9. The program has no part in this, so no trial counts as failed.
void Session::lost_node(Place& place, const std::string& how) {
  using protocol::Loss;
  constexpr unsigned most_losses = 5;
  place.trial.reset();
  const auto lost = std::exchange(place.lost, std::nullopt)
                        .value_or(protocol::LostReply{
                            .loss = std::string(to_string(Loss::step_lost)),
                            .reason = fmt::format("the step's launcher process {}", how)});
  const Loss loss = protocol::loss_named(lost.loss);
  // A controller that is away is asked every few seconds.
  const std::string text = fmt::format("{}: {}", to_string(loss), lost.reason);
  if (std::exchange(place.noted_loss, text) != text || !place.node.node.empty())
    note(std::string(lost_event), text);
  // The controller takes a while to see that a node has failed, and offers it until then.
  const bool passes = loss == Loss::controller_away || loss == Loss::old_step ||
                      (has_several() && loss == Loss::cannot_start && place.has_been_up);
  if (passes && place.node.node.empty())
    return wait_for_node(place, text, loss != Loss::controller_away);
  if (loss == Loss::cannot_start || loss == Loss::no_node) return refuse(text);
  const auto next = place.schedule->next();
  const auto block = next ? std::optional(block_at(next->position)) : std::nullopt;
  place.node_losses = block == place.lost_block ? place.node_losses + 1 : 1;
  place.lost_block = block;
  if (place.node_losses >= most_losses)
    return apply(Event::gave_up,
                 fmt::format("{}: {}; {} steps were lost in the same block. 'stabctl retry' "
                             "continues from here",
                             to_string(loss), lost.reason, place.node_losses));
  spdlog::warn("experiment {}: a step was lost ({}: {}), and stabd continues with another step",
               experiment_.id, to_string(loss), lost.reason);
  start_again(place, fmt::format("{}: {}", to_string(loss), lost.reason));
}

void Session::came_up_on(Place& place, const protocol::NodeReply& node) {
  const auto is_elsewhere = [&](const Place& other) {
    return &other != &place && (other.home == node.node || other.node.node == node.node);
  };
  if (has_several() && ((!place.home.empty() && node.node != place.home) ||
                        std::ranges::any_of(places_, is_elsewhere))) {
    place.lost = {.loss = std::string(to_string(protocol::Loss::step_lost)),
                  .reason = fmt::format("Slurm started the step on the wrong node: {}", node.node)};
    return around_.stop_worker(place.index);
  }
  place.node = node;
  place.has_been_up = true;
  place.waits_since.reset();
  if (node.version != STAB_VERSION)
    return refuse(
        fmt::format("node {} has stabd {}, but this is stabd {}: install the same version "
                    "on both",
                    node.node, one_line(node.version, 100), STAB_VERSION));
  note("machine", fmt::format("trials run on node {}, in Slurm's job {}", node.node, node.job));
  compare_clocks(place);
}

// Reports and logs compare times of trials that ran on different nodes, so the trials of a node whose
// clock is wrong get the times of our clock. The line with both times takes a moment to arrive, so a
// small difference is not known. A delay of the line makes the clock look as if it were behind, so
// that is believed only when a trial seems to have started before it was requested.
void Session::compare_clocks(Place& place) {
  place.clock_ahead = nanoseconds(0);
  place.clock_is_noted = false;
  if (!place.node.sent_ns || !place.node.heard_ns) return;
  const nanoseconds ahead(*place.node.sent_ns - *place.node.heard_ns);
  if (std::chrono::abs(ahead) <= most_ignored) return;
  place.clock_ahead = ahead;
  if (ahead.count() > 0) note_clock(place);
}

std::int64_t Session::started_by_our_clock(Place& place, std::int64_t started_ns) {
  const std::int64_t ahead = place.clock_ahead.count();
  const bool is_early = started_ns < place.asked_ns - nanoseconds(most_ignored).count();
  if (started_ns == 0 || ahead == 0 || (ahead < 0 && !is_early)) return started_ns;
  // A node may send any number.
  std::int64_t ours = 0;
  if (__builtin_sub_overflow(started_ns, ahead, &ours) || ours <= 0) return started_ns;
  if (!place.clock_is_noted) note_clock(place);
  return ours;
}

void Session::note_clock(Place& place) {
  const nanoseconds ahead = place.clock_ahead;
  place.clock_is_noted = true;
  note("machine",
       fmt::format("the clock of node {} is {} {} the clock of stabd's machine: stabd stores the "
                   "times of the node's trials by its own clock. Set the node's clock, for example "
                   "with chrony",
                   place.node.node, format_duration(std::chrono::abs(ahead)),
                   ahead.count() > 0 ? "ahead of" : "behind"));
}

void Session::worker_silent(const std::string& how, std::size_t at) {
  if (plan_.machines) {
    Place& place = places_[at];
    place.lost = {
        .loss = std::string(to_string(protocol::Loss::silent)),
        .reason = fmt::format("the worker on node {} {}",
                              place.node.node.empty() ? "(not known yet)" : place.node.node, how)};
    return;
  }
  // E13: otherwise a retry would end in the same test run.
  if (heap_tests_ && state_ == State::building &&
      !keep_heap({.why_not = fmt::format("the worker {} during a test run", how)}))
    return;
  apply(
      Event::gave_up,
      fmt::format("the worker {}: the worker was stopped, or waits for something that does not end",
                  how));
}

void Session::retry_storage() {
  if (!store_rows()) return;
  for (Place& place : places_)
    if (std::exchange(place.waits, false) && needs_worker(state_)) start_again(place, "");
  if (unsaved_) save_state();
  if (unsaved_ || (state_ == State::paused && has_worker())) return around_.retry_later();
  if (state_ != State::paused || is_held()) return;
  apply(Event::storage_ok, "");
  start();
}

void Session::refuse(const std::string& why) {
  apply(next(state_, Event::refused) ? Event::refused : Event::gave_up, why);
}

// E10. Only this place starts again, even if there are several. The node's time to come back begins again
// whenever the controller was away.
void Session::wait_for_node(Place& place, const std::string& why, bool may_end) {
  const auto now = steady_clock::now();
  if (!may_end)
    place.waits_since.reset();
  else if (!place.waits_since)
    place.waits_since = now;
  if (may_end && now - *place.waits_since > around_.node_patience())
    return apply(Event::gave_up, why + ". 'stabctl retry' continues from here");
  if (!has_several()) return wait_for_storage(why, "stabd tries again");
  place.waits = true;
  around_.retry_later();
}

Result<void> Session::hold(std::uint32_t uid) {
  if (!next(state_, Event::hold))
    return fail(fmt::format("experiment {} is {}: it is too late to pause it", experiment_.id,
                            to_string(state_)));
  if (experiment_.held_by != 0) experiment_.held_by = uid;
  apply(Event::hold, held_reason(*experiment_.held_by));
  if (unsaved_why_.empty()) return {};
  return fail(fmt::format("experiment {} is being paused, but its new state cannot be stored{}: {}",
                          experiment_.id, unsaved_ ? " yet" : "", unsaved_why_));
}

void Session::give_way_for(const std::string& why) {
  if (!next(state_, Event::give_way)) return;
  gave_way_ = true;
  apply(Event::give_way, why);
}

// E8
void Session::give_way() {
  if (!store_rows() || !next(state_, Event::give_way)) return;
  // E13: otherwise the next turn might end in the same test runs.
  if (heap_tests_ && !keep_heap({.why_not = "another user's turn began during the test runs"}))
    return;
  const Place& place = places_.front();
  const auto step = place.schedule->next();
  if (state_ != State::running || !step || step->position == 0)
    return give_way_for(std::string(turn_is_over));
  const BlockId block = block_at(step->position);
  const auto positions = positions_of_block(step->position);
  // A retry fills gaps in blocks that were measured long ago, so such a block is not repeated.
  const bool split = abandoned_ == block || never_whole_.contains(block) || !positions ||
                     place.schedule->goes_back(step->position);
  abandoned_ = block;
  if (split) return give_way_for(std::string(turn_is_over));
  if (!stored(store_.reopen(experiment_.id, positions->first, positions->second))) return;
  give_way_for(fmt::format("{}. Then {} {} starts again from its first trial", turn_is_over,
                           block.first ? "warm-up block" : "block", block.second + 1));
}

BlockId Session::block_at(std::uint32_t position) const {
  const plan::Trial trial = expansion_.trials[position];
  return {trial.warmup, trial.block};
}

// The block's first position and the one after its last; nothing if the block has so many trials
// that repeating them would take too long.
std::optional<std::pair<std::uint32_t, std::uint32_t>> Session::positions_of_block(
    std::uint32_t position) const {
  constexpr std::uint32_t most = 1000;
  const BlockId block = block_at(position);
  std::uint32_t from = position;
  while (from > 0 && position - from <= most && block_at(from - 1) == block) --from;
  std::uint32_t end = position + 1;
  while (end < expansion_.trials.size() && end - from <= most && block_at(end) == block) ++end;
  if (end - from > most) return std::nullopt;
  return std::pair(from, end);
}

void Session::cancel() {
  apply(Event::cancel, "cancelled by the user; the completed trials are kept");
}

void Session::has_company(bool company) {
  if (plan_.machines) return;  // we are on another machine than the trials
  const auto now = steady_clock::now();
  if (company_since_ && !company) company_ += now - *std::exchange(company_since_, std::nullopt);
  if (!company_since_ && company) company_since_ = now;
}

bool Session::has_worker() const {
  return std::ranges::any_of(places_, &Place::has_worker);
}

bool Session::runs_trial() const {
  return state_ == State::running && std::ranges::any_of(places_, [](const Place& place) {
           return place.has_worker && place.trial.has_value();
         });
}

bool Session::finished() const {
  const auto is_over = [](const Place& place) { return !place.has_worker && !place.pending; };
  return (is_final(state_) || rests()) && !unsaved_ && std::ranges::all_of(places_, is_over);
}

Counts Session::counts() const {
  Counts sum;
  for (const Place& place : places_) sum += place.schedule->counts();
  return sum;
}

std::uint64_t Session::bytes_to_come() const {
  if (is_final(state_)) return 0;
  const Counts counts = this->counts();
  const std::uint64_t done = std::min(counts.finished(), counts.total);
  const std::uint64_t stored = store_.bytes_of_experiment(experiment_.id);
  const std::uint64_t of_plan = std::min<std::uint64_t>(stored, experiment_.plan.size());
  return (counts.total - done) * (done == 0 ? protocol::kept_output : (stored - of_plan) / done);
}

Session::Progress Session::progress() const {
  const Place& place = places_.front();
  Progress progress{
      .builds_done = place.next_build,
      .builds = place.builds.slots.size(),
      .builds_cached = static_cast<std::size_t>(std::ranges::count(
          std::span(place.builds.slots).first(place.next_build), true, &BuildSlot::cached)),
      .activity = "",
      .look = last_look_,
      .changes = last_changes_,
      .fewest = plan::fewest_trials(plan_),
      .left = std::nullopt};
  const Counts counts = this->counts();
  const std::uint64_t done_now = counts.finished() - finished_then_;
  if (state_ == State::building && place.next_build < place.builds.slots.size()) {
    progress.activity = fmt::format(
        "building {}", plan_.benchmarks[place.builds.slots[place.next_build].benchmark].name);
    progress.left = builds_left(place);
  }
  if (heap_tests_ && state_ == State::building)
    progress.activity = fmt::format("test runs of {}, with random heap blocks and without them",
                                    plan_.benchmarks[heap_tests_->test().benchmark].name);
  if (state_ == State::building && plan_.machines && has_several())
    progress.activity = activity_of_all();
  else if (state_ == State::building && plan_.machines && place.node.node.empty())
    progress.activity = "waiting for a node of the cluster";
  if (state_ != State::running) return progress;
  if (done_now > 0) {
    const auto needed_for = [&](std::uint64_t trials) {
      const std::uint64_t left = trials - std::min(trials, counts.finished());
      return std::chrono::duration_cast<nanoseconds>(
          (steady_clock::now() - trials_since_) *
          (static_cast<double>(left) / static_cast<double>(done_now)));
    };
    progress.left = needed_for(counts.total);
    // When the plan's time is up, the trials end, but not before the fewest blocks have ended.
    if (plan_.design.time) {
      const nanoseconds time =
          *plan_.design.time - nanoseconds(experiment_.duration_ns.value_or(0));
      progress.left = std::min(*progress.left, std::max(time, needed_for(progress.fewest)));
    }
  }
  if (busy_with<Wait>()) progress.activity = wait_words();
  if (has_several()) {
    progress.activity = activity_of_all();
    return progress;
  }
  if (!place.trial) return progress;
  progress.activity = trial_words(*place.trial);
  if (!place.node.node.empty()) progress.activity += " on node " + place.node.node;
  return progress;
}

// "sort O2, block 3"
std::string Session::trial_words(const Schedule::Step& step) const {
  const plan::Trial trial = expansion_.trials[step.position];
  std::string words = plan_.benchmarks[trial.benchmark].name;
  for (const plan::Level& level : expansion_.cells[trial.cell]) words += " " + level.name;
  if (trial.plain) words += " without random layouts";
  return words + fmt::format(", {} {}", trial.warmup ? "warm-up block" : "block", trial.block + 1);
}

// "n1: sort O2, block 3; n2: building"
std::string Session::activity_of_all() const {
  std::string words;
  for (const Place& place : places_) {
    const std::string node = !place.node.node.empty() ? place.node.node
                             : !place.home.empty()    ? place.home
                                                      : fmt::format("machine {}", place.index + 1);
    const std::string doing = place.trial                   ? trial_words(*place.trial)
                              : !place.schedule->next()     ? "finished"
                              : place.is_ready              ? "ready"
                              : place.node.node.empty()     ? "waiting for the node"
                              : maker_for(place) != nullptr ? "getting the programs"
                                                            : "building";
    words += fmt::format("{}{}: {}", words.empty() ? "" : "; ", node, doing);
  }
  return words;
}

}  // namespace stab::daemon
