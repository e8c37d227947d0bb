// SPDX-License-Identifier: MIT
#include "stabd/daemon/readers.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/duration.h"

namespace stab::daemon {
namespace {

constexpr std::chrono::milliseconds step{100};

}  // namespace

Readers::Readers(uv_loop_t* loop, ReadersOptions options)
    : loop_(loop), options_(std::move(options)), clock_(new uv_timer_t) {
  uv_timer_init(loop, clock_);
  clock_->data = this;
}

Readers::~Readers() {
  for (Job& job : jobs_)
    if (job.process) job.process->end();
  uv_close(reinterpret_cast<uv_handle_t*>(clock_),
           [](uv_handle_t* handle) { delete reinterpret_cast<uv_timer_t*>(handle); });
}

Readers::Ticket Readers::ask(std::uint32_t uid, std::string line, Done done) {
  return add({.uid = uid, .at_once = false, .line = std::move(line), .done = std::move(done)});
}

Readers::Ticket Readers::ask_of_plan(std::uint32_t uid, std::string line, Done done) {
  return add({.uid = uid, .of_plan = true, .line = std::move(line), .done = std::move(done)});
}

Readers::Ticket Readers::ask_at_once(std::string line, Done done) {
  return add({.uid = 0, .at_once = true, .line = std::move(line), .done = std::move(done)});
}

Readers::Ticket Readers::add(Job job) {
  job.ticket = ++last_;
  jobs_.push_back(std::move(job));
  wake();
  return last_;
}

void Readers::wake() {
  if (uv_is_active(reinterpret_cast<uv_handle_t*>(clock_)) == 0) ticked_ms_ = uv_now(loop_);
  uv_timer_start(
      clock_, [](uv_timer_t* handle) { static_cast<Readers*>(handle->data)->tick(); }, 0,
      static_cast<std::uint64_t>(step.count()));
}

Readers::Place Readers::find(Ticket ticket) {
  return std::ranges::find(jobs_, ticket, &Job::ticket);
}

void Readers::forget(Ticket ticket) {
  const Place job = find(ticket);
  if (job == jobs_.end()) return;
  if (job->process) job->process->abandon();
  jobs_.erase(job);
  changed_ = true;
  wake();
}

bool Readers::may_start(const Job& job) const {
  if (job.process || !job.failure.empty()) return false;
  if (job.at_once) return true;
  if (takes_turns(job) && (!allowed_ || (may_begin && !may_begin(job.uid)))) return false;
  const auto runs = [&](const Job& each) {
    return each.process && !each.at_once && each.of_plan == job.of_plan;
  };
  const auto same = [&](const Job& each) { return runs(each) && each.uid == job.uid; };
  return std::cmp_less(std::ranges::count_if(jobs_, runs),
                       job.of_plan ? most_plans : most_readers) &&
         std::ranges::none_of(jobs_, same);
}

void Readers::start_some() {
  for (;;) {
    const Place next = std::ranges::find_if(jobs_, [&](const Job& job) { return may_start(job); });
    if (next == jobs_.end()) return;
    start(*next);
  }
}

void Readers::start(Job& job) {
  const Ticket ticket = job.ticket;
  auto process =
      ReaderProcess::start(loop_,
                           {.program = options_.program,
                            .folder = options_.folder,
                            .line = job.line,
                            .cpus = cpus_,
                            .idle = takes_turns(job) && !hurry_},
                           [this, ticket](Result<Fd> answer) { ended(ticket, std::move(answer)); });
  if (process) {
    job.process = *process;
    return;
  }
  job.failure = process.error().message;
  wake();
}

void Readers::ended(Ticket ticket, Result<Fd> answer) {
  const Place job = find(ticket);
  if (job == jobs_.end()) return;
  const Done done = std::move(job->done);
  jobs_.erase(job);
  if (jobs_.empty()) uv_timer_stop(clock_);
  done(std::move(answer));
  start_some();
  if (on_change) on_change();
}

// What is called may ask and forget.
void Readers::report_failures() {
  for (;;) {
    const auto failed =
        std::ranges::find_if(jobs_, [](const Job& job) { return !job.failure.empty(); });
    if (failed == jobs_.end()) return;
    ended(failed->ticket, fail(std::string(failed->failure)));
  }
}

void Readers::tick() {
  const std::uint64_t now = uv_now(loop_);
  const std::chrono::milliseconds passed(now - std::exchange(ticked_ms_, now));
  const std::string why = must_end ? must_end() : "";
  for (Job& job : jobs_) {
    if (job.process && takes_turns(job) && !why.empty()) job.process->kill(why);
    if (!job.process || (!allowed_ && takes_turns(job))) continue;
    job.ran += passed;
    if (job.ran > options_.limit)
      job.process->kill(fmt::format(
          "reading took longer than {} and was stopped: start stabd with a larger --read-limit",
          format_duration(options_.limit)));
  }
  report_failures();
  start_some();
  if (std::exchange(changed_, false) && on_change) on_change();
  if (jobs_.empty()) uv_timer_stop(clock_);
}

void Readers::use_cpus(std::vector<unsigned> cpus) {
  cpus_ = std::move(cpus);
  for (const Job& job : jobs_)
    if (job.process) job.process->move_to(cpus_);
}

void Readers::allow(bool allowed) {
  if (!allowed) hurry_ = false;
  if (std::exchange(allowed_, allowed) == allowed) return;
  for (const Job& job : jobs_) {
    if (!job.process || !takes_turns(job)) continue;
    if (allowed)
      job.process->go_on();
    else
      job.process->stop_running();
  }
  if (allowed) start_some();
}

void Readers::hurry() {
  hurry_ = true;
  for (const Job& job : jobs_)
    if (job.process) job.process->hurry();
}

bool Readers::asked() const {
  return std::ranges::any_of(jobs_, [this](const Job& job) {
    return takes_turns(job) && job.uid != no_user &&
           (job.process || !may_begin || may_begin(job.uid));
  });
}

bool Readers::wanted() const {
  return std::ranges::any_of(jobs_, [this](const Job& job) {
    return takes_turns(job) && (job.process || !may_begin || may_begin(job.uid));
  });
}

}  // namespace stab::daemon
