// SPDX-License-Identifier: MIT
#include "stabd/daemon/readers.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "base/time.h"

namespace stab::daemon {
namespace {

constexpr std::chrono::milliseconds step{100};
constexpr std::chrono::milliseconds reader_turn{300};
// A brief reader that runs longer than this gets no CPU, because other processes of the machine
// leave none idle.
constexpr std::chrono::milliseconds patience{500};
// Starting a process costs about this much, however little it reads.
constexpr std::chrono::milliseconds reader_start{5};

}  // namespace

Readers::Readers(Clock& clock, uv_loop_t* loop, ReadersOptions options, ReadersSurroundings& around)
    : clock_(clock),
      loop_(loop),
      options_(std::move(options)),
      around_(around),
      timer_(clock.timer([this] { tick(); })) {}

Readers::~Readers() {
  for (Job& job : jobs_)
    if (job.process) job.process->end();
}

Readers::Ticket Readers::ask(std::uint32_t account, std::string line, Done done) {
  return add({.account = account, .line = std::move(line), .done = std::move(done)});
}

Readers::Ticket Readers::ask_briefly(std::uint32_t account, std::string line, Done done) {
  return add(
      {.account = account, .kind = Kind::brief, .line = std::move(line), .done = std::move(done)});
}

Readers::Ticket Readers::ask_of_plan(std::uint32_t account, std::string line, Done done) {
  return add(
      {.account = account, .kind = Kind::plan, .line = std::move(line), .done = std::move(done)});
}

Readers::Ticket Readers::ask_at_once(std::string line, Done done) {
  return add({.kind = Kind::at_once, .line = std::move(line), .done = std::move(done)});
}

Readers::Ticket Readers::add(Job job) {
  job.ticket = ++last_;
  if (job.kind != Kind::at_once) {
    Milliseconds& worked = worked_[job.account];
    worked = std::max(worked, least_worked_);
  }
  jobs_.push_back(std::move(job));
  wake();
  return last_;
}

void Readers::wake() {
  timer_->start(Milliseconds(0), step);
}

Readers::Place Readers::find(Ticket ticket) {
  return std::ranges::find(jobs_, ticket, &Job::ticket);
}

void Readers::forget(Ticket ticket) {
  const Place job = find(ticket);
  if (job == jobs_.end()) return;
  if (job->process) {
    count_time(*job);
    job->process->abandon();
  }
  jobs_.erase(job);
  changed_ = true;
  wake();
}

bool Readers::is_trusted(const Job& job) const {
  return around_.is_trusted(job.account);
}

bool Readers::runs(const Job& job) const {
  return job.process && !job.stands;
}

// Whether the job may have the next free turn.
bool Readers::waits(const Job& job) const {
  if (runs(job) || !job.failure.empty() || job.kind == Kind::at_once) return false;
  if (takes_turns(job) && !allowed_) return false;
  const auto same = [&](const Job& each) {
    return each.kind != Kind::at_once && each.account == job.account && each.process &&
           takes_turns(each) == takes_turns(job);
  };
  // Within an account, only a brief reader interrupts, and it interrupts only a long one.
  if (std::ranges::any_of(jobs_, [&](const Job& each) {
        return same(each) && runs(each) && (job.kind != Kind::brief || each.kind == Kind::brief);
      }))
    return false;
  if (job.stands || job.kind == Kind::plan) return true;
  if (!around_.reader_may_begin(job.account)) return false;
  if (std::ranges::any_of(jobs_,
                          [&](const Job& each) { return same(each) && each.kind == job.kind; }))
    return false;
  if (is_trusted(job)) return true;
  const auto begun = [&](const Job& each) {
    return each.process && takes_turns(each) && each.kind >= job.kind && !is_trusted(each);
  };
  return std::cmp_less(std::ranges::count_if(jobs_, begun),
                       job.kind == Kind::brief ? 2 * most_begun : most_begun);
}

bool Readers::goes_before(const Job& one, const Job& other) const {
  const auto key = [this](const Job& job) {
    return std::tuple(!is_trusted(job), worked_.at(job.account), job.kind != Kind::brief,
                      job.ticket);
  };
  return key(one) < key(other);
}

Readers::Place Readers::next_of(bool plans) {
  Place next = jobs_.end();
  for (Place each = jobs_.begin(); each != jobs_.end(); ++each)
    if ((each->kind == Kind::plan) == plans && waits(*each) &&
        (next == jobs_.end() || goes_before(*each, *next)))
      next = each;
  return next;
}

// R1, R7. Returns false if all turns are taken.
bool Readers::begin_turn(Place next) {
  const auto beside = [&](const Job& each) {
    return runs(each) && each.kind != Kind::at_once && takes_turns(each) == takes_turns(*next);
  };
  const auto own = std::ranges::find_if(
      jobs_, [&](const Job& each) { return beside(each) && each.account == next->account; });
  if (own != jobs_.end()) {
    stand_still(*own);
  } else if (!is_trusted(*next)) {
    const auto others = [&](const Job& each) { return beside(each) && !is_trusted(each); };
    if (!std::cmp_less(std::ranges::count_if(jobs_, others),
                       takes_turns(*next) ? most_readers : most_plans)) {
      Place last = jobs_.end();
      for (Place each = jobs_.begin(); each != jobs_.end(); ++each)
        if (others(*each) && takes_turns(*each) && each->turn >= reader_turn &&
            worked_.at(each->account) > worked_.at(next->account) &&
            (last == jobs_.end() || worked_.at(each->account) > worked_.at(last->account)))
          last = each;
      if (last == jobs_.end()) return false;
      stand_still(*last);
    }
  }
  let_run(*next);
  return true;
}

void Readers::start_some() {
  for (Job& job : jobs_)
    if (job.kind == Kind::at_once && !job.process && job.failure.empty()) start(job);
  for (const bool plans : {true, false})
    for (;;) {
      const Place next = next_of(plans);
      if (next == jobs_.end() || !begin_turn(next)) break;
    }
}

void Readers::let_run(Job& job) {
  job.turn = Milliseconds(0);
  if (!std::exchange(job.stands, false)) return start(job);
  job.since = clock_.turn_began();
  job.process->go_on();
}

void Readers::stand_still(Job& job) {
  count_time(job);
  job.stands = true;
  job.process->stop_running();
}

// A reader that trials forbid is stopped, and that time does not count (R3).
void Readers::count_time(Job& job) {
  const Milliseconds now = clock_.turn_began();
  const Milliseconds passed = now - std::exchange(job.since, now);
  if (!runs(job) || (!allowed_ && takes_turns(job))) return;
  job.ran += passed;
  job.turn += passed;
  if (job.kind != Kind::at_once) worked_[job.account] += passed;
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
    job.since = clock_.turn_began();
    if (job.kind != Kind::at_once) worked_[job.account] += reader_start;
    return;
  }
  job.failure = process.error().message;
  wake();
}

void Readers::ended(Ticket ticket, Result<Fd> answer) {
  const Place job = find(ticket);
  if (job == jobs_.end()) return;
  count_time(*job);
  const Done done = std::move(job->done);
  jobs_.erase(job);
  if (jobs_.empty()) timer_->stop();
  done(std::move(answer));
  start_some();
  around_.readers_changed();
}

// The callbacks may ask and forget, so each pass searches jobs_ again.
void Readers::report_failures() {
  for (;;) {
    const auto failed =
        std::ranges::find_if(jobs_, [](const Job& job) { return !job.failure.empty(); });
    if (failed == jobs_.end()) return;
    ended(failed->ticket, fail(std::string(failed->failure)));
  }
}

void Readers::tick() {
  const std::string why = around_.readers_must_end();
  for (Job& job : jobs_) {
    if (!job.process) continue;
    if (takes_turns(job) && !why.empty()) job.process->kill(why);
    count_time(job);
    if (job.kind == Kind::brief && job.ran > patience) job.process->hurry();
    if (job.ran > options_.limit)
      job.process->kill(fmt::format(
          "reading took longer than {} and was stopped: start stabd with a larger --read-limit",
          format_duration(options_.limit)));
  }
  forget_accounts();
  report_failures();
  start_some();
  if (std::exchange(changed_, false)) around_.readers_changed();
  if (jobs_.empty()) timer_->stop();
}

void Readers::forget_accounts() {
  const auto has_jobs = [this](std::uint32_t account) {
    return std::ranges::any_of(
        jobs_, [&](const Job& job) { return job.account == account && job.kind != Kind::at_once; });
  };
  std::optional<Milliseconds> least;
  for (const auto& [account, worked] : worked_)
    if (has_jobs(account)) least = std::min(worked, least.value_or(worked));
  if (least) least_worked_ = std::max(least_worked_, *least);
  std::erase_if(worked_, [&](const auto& each) {
    return each.second <= least_worked_ && !has_jobs(each.first);
  });
}

void Readers::use_cpus(std::vector<unsigned> cpus) {
  cpus_ = std::move(cpus);
  for (const Job& job : jobs_)
    if (job.process) job.process->move_to(cpus_);
}

void Readers::allow(bool allowed) {
  if (!allowed) hurry_ = false;
  if (allowed_ == allowed) return;
  for (Job& job : jobs_)
    if (job.process) count_time(job);
  allowed_ = allowed;
  for (const Job& job : jobs_) {
    if (!job.process || !takes_turns(job) || job.stands) continue;
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
    return takes_turns(job) && job.account != no_user &&
           (job.process || around_.reader_may_begin(job.account));
  });
}

bool Readers::wanted() const {
  return std::ranges::any_of(jobs_, [this](const Job& job) {
    return takes_turns(job) && (job.process || around_.reader_may_begin(job.account));
  });
}

namespace {

using std::chrono::milliseconds;

constexpr milliseconds longest_wait_for_readers{10'000};
// A client is to be answered within 10 s, so these two leave its reader some seconds.
constexpr milliseconds readers_wait_for_block{3'000};
constexpr milliseconds readers_wait_for_trial{4'000};

}  // namespace

RoomForReaders::RoomForReaders(Clock& clock, ClientsReaders& readers, std::function<void()> changed)
    : readers_(readers),
      changed_(std::move(changed)),
      between_timer_(clock.timer([this] { trials_go_on(); })),
      overdue_timer_(clock.timer([this] { wait_no_longer(); })) {}

void RoomForReaders::trials_run(bool run, bool quiet) {
  trials_run_ = run;
  quiet_ = quiet;
  allow();
}

void RoomForReaders::readers_changed() {
  if (!readers_.wanted()) trials_go_on();
  allow();
}

bool RoomForReaders::let_run(std::function<void()> go_on, bool within_block) {
  if (!disturb() || !readers_.wanted()) return false;
  if (within_block && waited_ == Waited::little) return false;
  go_on_ = std::move(go_on);
  allow();
  between_timer_->start(longest_wait_for_readers);
  return true;
}

void RoomForReaders::trials_go_on() {
  if (!go_on_) return;
  between_timer_->stop();
  const auto go_on = std::exchange(go_on_, nullptr);
  allow();
  go_on();
}

void RoomForReaders::allow() {
  const bool wait = trials_run_ && !go_on_ && disturb();
  if (!wait || !readers_.asked()) {
    overdue_timer_->stop();
    waited_ = Waited::little;
  } else if (waited_ == Waited::little && !overdue_timer_->runs()) {
    overdue_timer_->start_from_now(readers_wait_for_block, readers_wait_for_trial);
  }
  readers_.allow(!wait || waited_ == Waited::for_trials);
  changed_();
}

void RoomForReaders::wait_no_longer() {
  const bool for_block = waited_ == Waited::little;
  waited_ = for_block ? Waited::for_blocks : Waited::for_trials;
  if (!for_block) {
    overdue_timer_->stop();
    readers_.hurry();
  }
  allow();
}

}  // namespace stab::daemon
