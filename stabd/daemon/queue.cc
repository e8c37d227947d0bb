// SPDX-License-Identifier: MIT
#include "stabd/daemon/queue.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <tuple>

#include "base/text.h"

namespace stab::daemon {
namespace {

auto with_id(store::Id id) {
  return [id](const Waiting& each) { return each.id == id; };
}

}  // namespace

Waiting waiting_from(const store::Experiment& experiment, std::uint32_t account) {
  return {.id = experiment.id,
          .uid = account,
          .priority = experiment.priority,
          .held = experiment.held_by.has_value(),
          .begun = experiment.started_ns != 0 && experiment.state != "queued",
          .plan_bytes = experiment.plan.size()};
}

void Queue::add(const Waiting& experiment) {
  do_not_save_up(experiment.uid);
  waiting_.push_back(experiment);
}

// Q3
void Queue::do_not_save_up(std::uint32_t uid) {
  std::optional<std::chrono::nanoseconds> least;
  const auto look_at = [&](const Waiting& each) {
    const auto turn = turns_.find(each.uid);
    const auto had = turn == turns_.end() ? std::chrono::nanoseconds(0) : turn->second.had;
    least = std::min(least.value_or(had), had);
  };
  if (running_) look_at(*running_);
  for (const Waiting& each : waiting_)
    if (!each.held) look_at(each);
  if (least) turns_[uid].had = std::max(turns_[uid].had, *least);
}

bool Queue::remove(store::Id id) {
  return std::erase_if(waiting_, with_id(id)) != 0;
}

void Queue::had_turn(std::uint32_t uid, std::int64_t began_ns) {
  std::int64_t& last = turns_[uid].began_ns;
  last = std::max(last, began_ns);
}

void Queue::charge(std::chrono::nanoseconds time) {
  if (running_) turns_[running_->uid].had += time;
}

// Q1
std::vector<Waiting>::const_iterator Queue::next(const std::vector<Waiting>& waiting,
                                                 const Turns& turns) {
  return std::ranges::min_element(waiting, {}, [&](const Waiting& each) {
    const auto turn = turns.find(each.uid);
    return std::tuple(each.held, -each.priority, !each.begun,
                      turn == turns.end() ? Turn() : turn->second, each.id);
  });
}

std::optional<Waiting> Queue::take() {
  if (held_) return std::nullopt;
  const auto first = next(waiting_, turns_);
  if (first == waiting_.end() || first->held) return std::nullopt;
  const Waiting taken = *first;
  waiting_.erase(first);
  running_ = taken;
  return taken;
}

bool Queue::another_user_is_next() const {
  if (!running_ || held_) return false;
  std::vector<Waiting> all{*running_};
  all.front().begun = all.front().held = false;
  std::ranges::copy_if(waiting_, std::back_inserter(all),
                       [this](const Waiting& each) { return each.uid != running_->uid; });
  return next(all, turns_)->id != running_->id;
}

bool Queue::another_user_waits() const {
  return running_ && std::ranges::any_of(waiting_, [this](const Waiting& each) {
           return !each.held && each.uid != running_->uid;
         });
}

const Waiting* Queue::find(store::Id id) const {
  const auto found = std::ranges::find_if(waiting_, with_id(id));
  return found == waiting_.end() ? nullptr : &*found;
}

// Predicts the order by letting each experiment take exactly one turn.
std::vector<store::Id> Queue::order() const {
  std::vector<Waiting> rest = waiting_;
  Turns turns = turns_;
  constexpr std::chrono::nanoseconds usual = std::chrono::hours(1);
  const auto one_turn = limits_.turn.count() > 0 ? limits_.turn : usual;
  std::int64_t latest = 0;
  for (const auto& [uid, turn] : turns) latest = std::max(latest, turn.began_ns);
  std::vector<store::Id> order;
  while (!rest.empty()) {
    const auto first = next(rest, turns);
    order.push_back(first->id);
    Turn& turn = turns[first->uid];
    turn = {.had = turn.had + one_turn, .began_ns = ++latest};
    rest.erase(first);
  }
  return order;
}

Result<void> Queue::has_room(std::uint32_t uid, std::size_t plan_bytes) const {
  if (is_trusted(uid)) return {};
  std::size_t all = 0;
  std::size_t own = 0;
  std::size_t bytes = plan_bytes;
  for (const Waiting& each : waiting_) {
    if (!is_trusted(each.uid)) ++all;
    if (each.uid != uid) continue;
    ++own;
    bytes += each.plan_bytes;
  }
  if (own >= limits_.waiting_of_user)
    return fail(fmt::format(
        "you already have {} experiments in the queue: end some with 'stabctl cancel', or wait",
        limits_.waiting_of_user));
  if (bytes > limits_.plan_bytes_of_user)
    return fail(fmt::format(
        "your plans in the queue would exceed {}: end some with 'stabctl cancel', or wait",
        format_bytes(limits_.plan_bytes_of_user)));
  if (all >= limits_.waiting)
    return fail(
        fmt::format("the queue is full ({} experiments): try again later", limits_.waiting));
  return {};
}

}  // namespace stab::daemon
