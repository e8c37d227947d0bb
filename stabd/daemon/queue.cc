// SPDX-License-Identifier: MIT

#include "stabd/daemon/queue.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "base/time.h"

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
                                                 const TurnsByUser& turns) {
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
  TurnsByUser turns = turns_;
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

using std::chrono::nanoseconds;

MachineTurn::MachineTurn(Clock& clock, Queue& queue, nanoseconds limit,
                         std::function<void()> cut_short)
    : clock_(clock),
      queue_(queue),
      limit_(limit),
      cut_short_(std::move(cut_short)),
      timer_(clock.timer([this] { ring(); })) {}

nanoseconds MachineTurn::longest_of(std::uint32_t uid) const {
  return queue_.is_trusted(uid) ? nanoseconds(0) : limit_;
}

std::optional<BlockId> MachineTurn::abandoned_block(store::Id id) const {
  const auto found = abandoned_blocks_.find(id);
  return found == abandoned_blocks_.end() ? std::nullopt : std::optional(found->second);
}

void MachineTurn::begin(store::Id id, std::uint32_t uid) {
  running_ = {.id = id, .uid = uid, .charged = clock_.now()};
}

void MachineTurn::charge() {
  const auto now = clock_.now();
  const nanoseconds since = now - std::exchange(running_->charged, now);
  running_->had += since;
  queue_.charge(since);
}

void MachineTurn::end(std::optional<BlockId> abandoned) {
  charge();
  queue_.end_turn();
  timer_->stop();
  if (abandoned)
    abandoned_blocks_[running_->id] = *abandoned;
  else
    abandoned_blocks_.erase(running_->id);
  running_.reset();
}

bool MachineTurn::is_over() {
  charge();
  return limit_.count() > 0 && running_->had >= limit_ && queue_.another_user_is_next();
}

void MachineTurn::watch() {
  if (!running_ || longest_of(running_->uid).count() == 0 || timer_->runs()) return;
  charge();
  if (!queue_.another_user_waits()) return;
  timer_->start_from_now(
      std::chrono::ceil<std::chrono::milliseconds>(std::max(limit_, 2 * limit_ - running_->had)));
}

void MachineTurn::ring() {
  if (running_ && is_over()) {
    spdlog::info("experiment {} has used the machine for {} and now gives way to another user",
                 running_->id, format_duration(running_->had));
    cut_short_();
  }
  watch();
}

}  // namespace stab::daemon
