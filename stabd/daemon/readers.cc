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

Readers::Ticket Readers::ask_at_once(std::string line, Done done) {
  return add({.uid = 0, .at_once = true, .line = std::move(line), .done = std::move(done)});
}

// What can start does so at the next turn of the loop.
Readers::Ticket Readers::add(Job job) {
  job.ticket = ++last_;
  jobs_.push_back(std::move(job));
  uv_timer_start(
      clock_, [](uv_timer_t* handle) { static_cast<Readers*>(handle->data)->tick(); }, 0,
      static_cast<std::uint64_t>(step.count()));
  return last_;
}

Readers::Place Readers::find(Ticket ticket) {
  return std::ranges::find(jobs_, ticket, &Job::ticket);
}

void Readers::forget(Ticket ticket) {
  const Place job = find(ticket);
  if (job == jobs_.end()) return;
  if (job->process) job->process->abandon();
  jobs_.erase(job);
  start_some();
}

bool Readers::may_start(const Job& job) const {
  if (job.process) return false;
  if (job.at_once) return true;
  if (!allowed_) return false;
  const auto runs = [](const Job& each) { return each.process && !each.at_once; };
  const auto same = [&](const Job& each) { return runs(each) && each.uid == job.uid; };
  return std::cmp_less(std::ranges::count_if(jobs_, runs), most_readers) &&
         std::ranges::none_of(jobs_, same);
}

// A start that fails reports so, and what is called then may ask and forget.
void Readers::start_some() {
  for (;;) {
    const Place next = std::ranges::find_if(jobs_, [&](const Job& job) { return may_start(job); });
    if (next == jobs_.end()) return;
    start(*next);
  }
}

void Readers::start(Job& job) {
  const Ticket ticket = job.ticket;
  auto process = ReaderProcess::start(
      loop_,
      {.program = options_.program, .folder = options_.folder, .line = job.line, .cpus = cpus_},
      [this, ticket](Result<Fd> answer) { ended(ticket, std::move(answer)); });
  if (!process) return ended(ticket, fail(process.error().message));
  job.process = *process;
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

void Readers::tick() {
  start_some();
  for (Job& job : jobs_) {
    if (!job.process || (!allowed_ && !job.at_once)) continue;
    job.ran += step;
    if (job.ran > options_.limit)
      job.process->kill(fmt::format(
          "reading took longer than {} and was ended: start stabd with a larger --read-limit",
          format_duration(options_.limit)));
  }
}

void Readers::use_cpus(std::vector<unsigned> cpus) {
  cpus_ = std::move(cpus);
  for (const Job& job : jobs_)
    if (job.process) job.process->move_to(cpus_);
}

void Readers::allow(bool allowed) {
  if (std::exchange(allowed_, allowed) == allowed) return;
  for (const Job& job : jobs_) {
    if (!job.process || job.at_once) continue;
    if (allowed)
      job.process->go_on();
    else
      job.process->stop_running();
  }
  if (allowed) start_some();
}

bool Readers::wanted() const {
  return std::ranges::any_of(jobs_, [](const Job& job) { return !job.at_once; });
}

}  // namespace stab::daemon
