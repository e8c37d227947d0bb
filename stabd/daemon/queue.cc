// SPDX-License-Identifier: MIT
#include "stabd/daemon/queue.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "base/text.h"

namespace stab::daemon {
namespace {

auto with_id(store::Id id) {
  return [id](const Waiting& each) { return each.id == id; };
}

}  // namespace

void Queue::add(const Waiting& experiment) {
  waiting_.push_back(experiment);
}

bool Queue::remove(store::Id id) {
  return std::erase_if(waiting_, with_id(id)) != 0;
}

void Queue::had_turn(std::uint32_t uid, std::int64_t began_ns) {
  std::int64_t& last = turns_[uid];
  last = std::max(last, began_ns);
}

// Q1
std::vector<Waiting>::const_iterator Queue::next(const std::vector<Waiting>& waiting,
                                                 const Turns& turns) {
  return std::ranges::min_element(waiting, {}, [&](const Waiting& each) {
    const auto turn = turns.find(each.uid);
    return std::tuple(each.held, -each.priority, !each.begun,
                      turn == turns.end() ? 0 : turn->second, each.id);
  });
}

std::optional<Waiting> Queue::take() {
  const auto first = next(waiting_, turns_);
  if (first == waiting_.end() || first->held) return std::nullopt;
  const Waiting taken = *first;
  waiting_.erase(first);
  return taken;
}

const Waiting* Queue::find(store::Id id) const {
  const auto found = std::ranges::find_if(waiting_, with_id(id));
  return found == waiting_.end() ? nullptr : &*found;
}

// As if each ended at once.
std::vector<store::Id> Queue::order() const {
  std::vector<Waiting> rest = waiting_;
  Turns turns = turns_;
  std::int64_t latest = 0;
  for (const auto& [uid, began] : turns) latest = std::max(latest, began);
  std::vector<store::Id> order;
  while (!rest.empty()) {
    const auto first = next(rest, turns);
    order.push_back(first->id);
    turns[first->uid] = ++latest;
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
    return fail(fmt::format("you have {} experiments in the queue already: cancel some or wait",
                            limits_.waiting_of_user));
  if (bytes > limits_.plan_bytes_of_user)
    return fail(
        fmt::format("the plans that you have in the queue would have more than {}: "
                    "cancel some or wait",
                    format_bytes(limits_.plan_bytes_of_user)));
  if (all >= limits_.waiting)
    return fail(
        fmt::format("the queue is full ({} experiments): try again later", limits_.waiting));
  return {};
}

}  // namespace stab::daemon
