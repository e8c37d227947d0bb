// SPDX-License-Identifier: MIT
// The part of a session that has readers evaluate its trials, for the stopping rule and at the end.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/text.h"
#include "base/time.h"
#include "design/expand.h"
#include "plan/texts.h"
#include "results/stopping.h"
#include "stabd/daemon/session/session.h"

namespace stab::daemon {
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

// Asked once after so many measured blocks. Assumes that the next round of blocks takes as long as
// the last one, or, if that is unknown, as the mean round.
bool Session::time_is_up(std::uint32_t blocks) {
  const auto& time = plan_.design.time;
  if (!time) return false;
  add_duration();
  const std::chrono::nanoseconds driven(*experiment_.duration_ns);
  const auto rounds = blocks / static_cast<std::uint32_t>(places_.size());
  const auto before = std::exchange(driven_then_, driven);
  const auto next = before ? driven - *before : driven / std::max(1U, rounds);
  if (blocks < plan_.design.fewest_blocks() || driven + next <= *time) return false;
  stopped_ = fmt::format("the time of {} ran out after {} of {} blocks", format_duration(*time),
                         blocks, expansion_.blocks);
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
  last_look_ = fmt::format("after {} blocks {}", blocks, look.words);
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
  apply(Event::analysed, stopped_);
}

}  // namespace stab::daemon
