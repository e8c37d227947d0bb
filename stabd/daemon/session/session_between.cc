// SPDX-License-Identifier: MIT
// The work of a session between two trials: it makes the machine quiet and puts it back, waits
// until the machine is quiet, and has readers evaluate its trials.

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

#include "base/text.h"
#include "base/time.h"
#include "design/trial_list.h"
#include "machine/quiet/quiet.h"
#include "plan/texts.h"
#include "results/document.h"
#include "results/stopping.h"
#include "stabd/daemon/session/session.h"

namespace stab::daemon {
namespace {

using machine::Outcome;

// "governor (4 files), swappiness"
std::string names(std::span<const Outcome> outcomes, Outcome::What what) {
  std::vector<std::pair<std::string, int>> found;
  for (const Outcome& outcome : outcomes) {
    if (outcome.what != what) continue;
    const auto same = std::ranges::find(found, outcome.knob, &std::pair<std::string, int>::first);
    if (same == found.end())
      found.emplace_back(outcome.knob, 1);
    else
      ++same->second;
  }
  std::string text;
  for (const auto& [knob, files] : found)
    text += fmt::format("{}{}{}", text.empty() ? "" : ", ", knob,
                        files > 1 ? fmt::format(" ({} files)", files) : "");
  return text;
}

constexpr std::string_view quiet_kind = "quiet";

}  // namespace

void Session::make_quiet(const Place& place) {
  if (last_) return;
  apply(Event::quiesce, "");
  if (state_ != State::quiescing) return;
  if (plan_.machines) {
    note_quietness();
    if (!may_be_loud(places_)) return;
    return apply(Event::quiet, "");
  }
  changed_ = true;
  const auto chosen = machine::choose_knobs(plan_.knobs);
  const auto outcomes = chosen ? around_.quiesce(*chosen, place.cpus)
                               : Surroundings::Outcomes(std::unexpected(chosen.error()));
  const std::string loud =
      outcomes ? to_text(machine::still_loud(*outcomes)) : outcomes.error().message;
  if (plan_.quiesce == plan::Quiesce::strict && !loud.empty())
    return apply(
        Event::refused,
        fmt::format("the machine cannot be made quiet: {}. The machine's settings are as before. "
                    "Fix the problem, choose other settings in 'machine.knobs', or use "
                    "machine.quiesce = \"best-effort\"; 'stabctl doctor' has more details",
                    loud));
  note_quietness();
  const std::string changed = outcomes ? names(*outcomes, Outcome::What::changed) : "";
  if (!changed.empty()) note(std::string(results::quieted_event), changed);
  if (!loud.empty()) note(std::string(results::loud_event), loud);
  apply(Event::quiet, "");
}

bool Session::may_be_loud(std::span<const Place> places) {
  std::string loud;
  for (const Place& place : places)
    if (!place.loud.empty())
      loud += fmt::format("{}node {}: {}", loud.empty() ? "" : "; ", place.node.node, place.loud);
  if (loud.empty()) return true;
  if (plan_.quiesce != plan::Quiesce::strict) {
    note(std::string(results::loud_event), loud);
    return true;
  }
  refuse(fmt::format(
      "these settings are not quiet: {}. Let Slurm run stabd's program quiet-node on the nodes "
      "(see "
      "'Quiet nodes' in doc/cluster.md), choose other settings in 'machine.knobs', or use "
      "machine.quiesce = \"best-effort\"",
      loud));
  return false;
}

// This reads files of the kernel, so it is done at most once a second, not before every short
// block.
void Session::look_whether_still_quiet(std::uint32_t block) {
  const auto now = std::chrono::steady_clock::now();
  if (!changed_ || now - looked_ < std::chrono::seconds(1)) return;
  looked_ = now;
  note_changes(fmt::format("before block {}", block + 1));
}

// Notes one change for each knob, because whoever changes one of its files usually changes all.
void Session::note_changes(const std::string& when) {
  const auto changes = around_.disturbed();
  std::map<std::string, std::size_t> files;
  for (const Outcome& outcome : changes) ++files[outcome.knob];
  for (const Outcome& outcome : changes)
    if (const std::size_t count = std::exchange(files[outcome.knob], 0); count > 0)
      note(std::string(results::loud_event),
           fmt::format("{}: {}{}; seen {}", outcome.knob, outcome.reason,
                       count > 1 ? fmt::format(" and changed {} more", count - 1) : "", when));
}

// Notes how quiet the machine is before the first trial, after its settings have been changed.
void Session::note_quietness() {
  if (plan_.machines) {
    // The worker on a node is trusted in this as it is in its readings of the trials.
    std::optional<store::Quietness> worst;
    std::string text;
    for (const Place& each : places_) {
      if (each.examined.empty()) continue;
      const auto grade = store::quietness_named(each.grade);
      if (!worst || grade > worst) worst = grade;
      text +=
          fmt::format("{}node {} is {}", text.empty() ? "" : "; ", each.node.node, each.examined);
    }
    experiment_.quietness = worst;
    return note(std::string(results::doctor_event), text.empty() ? "not known" : text);
  }
  const auto findings = around_.examine();
  experiment_.quietness.reset();
  if (!findings) {
    note(std::string(results::doctor_event), "not known: " + findings.error().message);
    return;
  }
  experiment_.quietness = store::quietness_named(to_string(machine::overall(*findings)));
  note(std::string(results::doctor_event), machine::summary(*findings));
}

// E5. Settings that can't be put back now stay in the machine's log, and the next experiment tries
// again.
void Session::put_back() {
  if (!std::exchange(changed_, false)) return;
  note_changes("at the end");
  const auto outcomes = around_.restore();
  const std::string kind(quiet_kind);
  const auto trouble = [&](const std::string& text) {
    spdlog::warn("experiment {}: {}", experiment_.id, text);
    note(kind, text);
  };
  if (!outcomes) return trouble("not put back: " + outcomes.error().message);
  if (const auto back = names(*outcomes, Outcome::What::restored); !back.empty())
    note(kind, "put back: " + back);
  for (const Outcome& outcome : *outcomes)
    if (outcome.what == Outcome::What::refused || outcome.what == Outcome::What::foreign)
      trouble(fmt::format("not put back: {}{}{}", outcome.file, outcome.file.empty() ? "" : ": ",
                          outcome.reason));
}

// The part of a session that waits until the machine is quiet, before each block and when an
// experiment continues. No trial runs meanwhile, and readers run only between two looks.

namespace {

using std::chrono::nanoseconds;
using std::chrono::steady_clock;

std::string block_words(const plan::Trial& trial) {
  return fmt::format("{} {}", trial.warmup ? "warm-up block" : "block", trial.block + 1);
}

std::string rounded(nanoseconds time) {
  constexpr std::chrono::seconds second(1);
  return time < second ? "less than 1 s" : format_duration(nanoseconds(time / second * second));
}

}  // namespace

// Returns true if the session continues later.
bool Session::waits_for_quiet(const Schedule::Step& step) {
  if (!plan_.wait_for_quiet) return false;
  const plan::Trial trial = expansion_.trials[step.position];
  if (quiet_block_ == std::pair(trial.warmup, trial.block)) return false;
  activity_ = Wait{.position = step.position, .since = steady_clock::now()};
  look_at_machine();
  return true;
}

void Session::look_at_machine() {
  around_.look(places_.front().cpus.trial,
               {.load = plan_.wait_for_quiet->load,
                .temperature_c = plan_.wait_for_quiet->temperature_c,
                .frequency_khz = plan_.wait_for_quiet->frequency_khz},
               [this, asked = ++question_](const std::string& loud,
                                           const std::vector<std::string>& missing) {
                 if (asked != question_ || last_) return;
                 looked(loud, missing);
               });
}

void Session::looked(const std::string& loud, const std::vector<std::string>& missing) {
  if (!missing.empty() && !std::exchange(told_of_missing_, true))
    note(std::string(results::wait_event),
         fmt::format("did not wait: {}", fmt::join(missing, ", ")));
  const nanoseconds waited = steady_clock::now() - busy_with<Wait>()->since;
  const bool in_vain = !loud.empty() && waited >= plan_.wait_for_quiet->most;
  if (loud.empty() || in_vain) return end_wait(waited, in_vain);
  std::get<Wait>(activity_).loud = loud;
  // Readers must not wait as long as the trials do.
  const bool waits = around_.let_readers_run(
      [this, asked = ++question_] {
        if (asked == question_) look_at_machine();
      },
      false);
  if (!waits) look_at_machine();
}

// A wait that found the machine quiet at once is not recorded. After the longest wait the block is
// measured anyway: to postpone it would make the order of blocks depend on the machine's state.
void Session::end_wait(nanoseconds waited, bool in_vain) {
  const Wait wait = std::get<Wait>(std::exchange(activity_, {}));
  const plan::Trial trial = expansion_.trials[wait.position];
  quiet_block_ = {trial.warmup, trial.block};
  if (in_vain || !wait.loud.empty()) {
    waited_ = {counters::counted(std::string(results::wait_reading), "ns", waited.count()),
               counters::counted(std::string(results::wait_in_vain_reading), "",
                                 std::int64_t{in_vain ? 1 : 0})};
    note(std::string(results::wait_event),
         fmt::format("before {}: {}{}", block_words(trial), rounded(waited),
                     in_vain ? " in vain, so the block is measured anyway: " +
                                   (wait.loud.empty() ? "the machine was not quiet" : wait.loud)
                             : ", until then " + wait.loud));
  }
  continue_work();
}

std::string Session::wait_words() const {
  const Wait& wait = std::get<Wait>(activity_);
  return fmt::format("waiting for a quiet machine ({} so far, at most {}): {}",
                     rounded(steady_clock::now() - wait.since),
                     format_duration(plan_.wait_for_quiet->most),
                     wait.loud.empty() ? "checking the machine" : wait.loud);
}

// The part of a session that has readers evaluate its trials, for the stopping rule and at the end.

namespace {

// A reader may be killed by accident, so a second one is asked. If that fails, too, the experiment
// waits.
constexpr unsigned attempts = 2;
// After so many questions without an answer, the experiment gives up and doesn't keep others
// waiting.
constexpr unsigned most_silences = 3;

}  // namespace

void Session::ask_reader(protocol::ReadRequest request, OnLine use) {
  activity_ = Reading{};
  request.experiments = {experiment_};
  around_.read(std::move(request),
               [this, asked = ++question_, use = std::move(use)](const Result<std::string>& line) {
                 if (asked != question_) return;
                 idle();
                 use(line);
               });
}

// Answers that are still due have no use in another state.
void Session::stop_asking() {
  ++question_;
  quiet_block_.reset();
  waited_.clear();
  const bool looks = busy_with<Wait>() != nullptr;
  if (!looks && !busy_with<Reading>()) return;
  idle();
  if (looks) around_.stop_looking();
  around_.stop_reading();
}

// E4: the experiment asks the same question again later.
void Session::no_answer(const std::string& why) {
  if (++silences_ < most_silences)
    return apply(Event::storage_trouble, why + "; stabd tries again");
  apply(Event::gave_up, why + "; 'stabctl retry' continues from here");
}

bool Session::begins_block(const Schedule::Step& step) const {
  if (step.position == 0) return false;
  const plan::Trial before = expansion_.trials[step.position - 1];
  const plan::Trial trial = expansion_.trials[step.position];
  return before.block != trial.block || before.warmup != trial.warmup;
}

// The number of measured blocks that have been run when all machines begin the step's round.
std::uint32_t Session::blocks_before(const Schedule::Step& step) const {
  const auto machines = static_cast<std::uint32_t>(places_.size());
  return expansion_.trials[step.position].block / machines * machines;
}

// Returns whether the time and the rule have already let trials of the step's round, or of later
// rounds, run. A retry doesn't ask them again.
bool Session::has_gone_on(const Schedule::Step& step) const {
  const std::uint32_t blocks = blocks_before(step);
  if (goes_on_after_ == blocks) return true;
  std::uint32_t first = step.position;  // of the round
  const auto is_in_round = [&](const plan::Trial& trial) {
    return !trial.warmup && trial.block >= blocks;
  };
  while (first > 0 && is_in_round(expansion_.trials[first - 1])) --first;
  return std::ranges::any_of(places_,
                             [&](const Place& each) { return each.schedule->goes_back(first); });
}

bool Session::is_looked_at(const Schedule::Step& step) const {
  const auto& stop = plan_.design.stop;
  return stop && std::ranges::binary_search(stop->looks, blocks_before(step));
}

// E10
bool Session::waits_for_others(const Schedule::Step& step) const {
  const std::uint32_t blocks = blocks_before(step);
  return std::ranges::any_of(places_, [&](const Place& each) {
    const auto next = each.schedule->next();
    if (!next) return false;
    const plan::Trial trial = expansion_.trials[next->position];
    return trial.warmup || trial.block < blocks;
  });
}

bool Session::waits_before(Place& place, const Schedule::Step& step) {
  if (place.passed == step.position) return false;
  if (gives_way_before(step)) return true;
  if (!begins_block(step))
    return around_.readers_are_due() && waits_for_readers(place, step.position, true);
  look_whether_still_quiet(expansion_.trials[step.position].block);
  return ends_before(place, step) || waits_for_readers(place, step.position);
}

// Whether the experiment has ended, or the place waits for the decision about that.
bool Session::ends_before(Place& place, const Schedule::Step& step) {
  const bool is_looked_at = this->is_looked_at(step);
  if (expansion_.trials[step.position].warmup || (!plan_.design.time && !is_looked_at) ||
      has_gone_on(step))
    return false;
  if (waits_for_others(step) || time_is_up(blocks_before(step))) return true;
  if (is_looked_at) {
    ask_rule(place, step, 1);
    return true;
  }
  goes_on_after_ = blocks_before(step);
  if (has_several()) around_.call_again();  // the others have waited for this one
  return false;
}

// E8
bool Session::gives_way_before(const Schedule::Step& step) {
  if (measured_ == 0) return false;
  const bool may = begins_block(step) || abandoned_ == block_at(step.position);
  if (!may || !around_.turn_is_over()) return false;
  give_way_for(std::string(turn_is_over));
  return true;
}

// The time of the round after so many measured blocks, if the round before it took `last`. A round
// with plain trials has more trials than others.
std::chrono::nanoseconds Session::longer_by_trials(std::chrono::nanoseconds last,
                                                   std::uint32_t blocks) const {
  const auto machines = static_cast<std::uint32_t>(places_.size());
  if (blocks < machines) return last;
  const auto trials_in = [&](std::uint32_t block) {
    return static_cast<double>(expansion_.trials.in_block(block));
  };
  const double times = std::max(1.0, trials_in(blocks) / trials_in(blocks - machines));
  return std::chrono::duration_cast<std::chrono::nanoseconds>(last * times);
}

// Asked once after so many measured blocks. Assumes that the next round of blocks takes as long as
// the last one, or longer if it has more trials. If the last round's time is unknown, it assumes a
// mean round.
bool Session::time_is_up(std::uint32_t blocks) {
  const auto& time = plan_.design.time;
  if (!time) return false;
  add_duration();
  const std::chrono::nanoseconds driven(*experiment_.duration_ns);
  const auto rounds = blocks / static_cast<std::uint32_t>(places_.size());
  const auto before = std::exchange(driven_then_, driven);
  const auto next =
      before ? longer_by_trials(driven - *before, blocks) : driven / std::max(1U, rounds);
  if (blocks < plan_.design.fewest_blocks() || driven + next <= *time) return false;
  stopped_ = fmt::format("the experiment's time limit of {} allowed only {} of {} blocks",
                         format_duration(*time), blocks, expansion_.blocks);
  experiment_.stopped_by = store::StopCause::time;
  end_trials(stopped_);
  return true;
}

bool Session::waits_for_readers(Place& place, std::uint32_t position, bool within_block) {
  const bool waits = around_.let_readers_run(
      [this, asked = ++question_, position, &place] {
        if (asked == question_) pass(place, position);
      },
      within_block);
  if (waits) activity_ = Reading{};
  return waits;
}

void Session::pass(Place& place, std::uint32_t position) {
  idle();
  place.passed = position;
  continue_work();
}

void Session::ask_rule(Place& place, const Schedule::Step& step, unsigned attempt) {
  ask_reader({.reading = protocol::Reading::look, .blocks = blocks_before(step)},
             [this, &place, step, attempt](const Result<std::string>& line) {
               const auto look = line ? protocol::decode_reply<protocol::LookReply>(*line)
                                      : Result<protocol::LookReply>(fail(line.error().message));
               if (look) {
                 silences_ = 0;
                 return rule_said(place, *look, step);
               }
               if (attempt < attempts) return ask_rule(place, step, attempt + 1);
               no_answer("the stopping rule cannot be evaluated: " + look.error().message);
             });
}

void Session::rule_said(Place& place, const protocol::LookReply& look, const Schedule::Step& step) {
  if (!look.error.empty()) {
    stored(std::unexpected(store::StoreError{look.error, look.temporary}));
    return;
  }
  const std::uint32_t blocks = blocks_before(step);
  last_look_ = fmt::format("last look after {} blocks: {}", blocks, look.words);
  last_changes_ = look.changes;
  if (look.stop) {
    stopped_ = fmt::format("stopped after {} of {} blocks: {}", blocks, plan_.design.stop->max,
                           look.words);
    experiment_.stopped_by = store::StopCause::rule;
    return end_trials(stopped_);
  }
  goes_on_after_ = blocks;
  if (!waits_for_readers(place, step.position)) pass(place, step.position);
}

void Session::analyse(unsigned attempt) {
  ask_reader(
      {.reading = protocol::Reading::finish}, [this, attempt](const Result<std::string>& line) {
        const auto findings = line ? protocol::decode_reply<protocol::FindingsReply>(*line)
                                   : Result<protocol::FindingsReply>(fail(line.error().message));
        if (findings) return analysed(*findings);
        if (attempt < attempts) return analyse(attempt + 1);
        no_answer("the trials cannot be analysed: " + findings.error().message);
      });
}

void Session::analysed(const protocol::FindingsReply& findings) {
  if (!findings.error.empty()) {
    stored(std::unexpected(store::StoreError{findings.error, findings.temporary}));
    return;
  }
  if (findings.damaged > 0 && !findings.damage.empty())
    return apply(
        Event::damaged,
        fmt::format(
            "{} stored rows have changed since they were written; the first is row {} of table {}",
            findings.damaged, findings.damage.front().row, findings.damage.front().table));
  for (const protocol::SlowNode& node : findings.slow_nodes) {
    const std::string text = fmt::format(
        "node {} is out of order: everything takes {:.2g} times as long as on the other nodes with "
        "the same hardware, so the answer does not use this node's trials",
        one_line(node.name, 64), node.times);
    note("machine", text);
    around_.tell("slow-node", text);
    if (plan_.machines && plan_.machines->drain && plan::is_node(node.name))
      around_.drain(node.name, fmt::format("stabd: {:.2g} times as slow", node.times));
  }
  std::vector<store::Calibration> rows = findings.calibrations;
  for (store::Calibration& row : rows) {
    row.machine = experiment_.machine;
    row.experiment = experiment_.id;
  }
  if (!stored(store_.add_calibrations(rows))) return;
  // They are stored together with the end, so that all later reports are about the same nodes.
  for (store::Node& node : experiment_.nodes) {
    const auto slow = std::ranges::find(findings.slow_nodes, node.name, &protocol::SlowNode::name);
    node.times.reset();
    if (findings.has_judged) node.times = slow == findings.slow_nodes.end() ? 1 : slow->times;
  }
  apply(Event::analysed, stopped_);
}

}  // namespace stab::daemon
