// SPDX-License-Identifier: MIT
// The queue of what is read of many trials: reports, exports, stopping rules, verification. Each
// is one reader process; the loop itself never reads a trial for anybody.
//
// Invariants
//  R1  At most most_readers run for clients, at most one of them for a user. What the running
//      experiment asks for itself starts at once.
//  R7  Plans that are submitted are read beside trials, at most most_plans at once and one of a user; who has waited for the
//      longest is next, and of one user the plans come as they were submitted.
//  R2  A reader runs on none of the trials' CPUs, if there are others. One of a client runs only while allow() says so:
//      not while trials run that use all CPUs or whose plan asks for a quiet machine, unless it has waited for long. At
//      other times it is stopped.
//  R3  A reader that has run for the limit is killed. The time in which it is stopped does not
//      count.
//  R4  Nothing is called back from within a call: a session that asks or forgets is not called
//      before it has returned.
//  R5  What is read of one moment keeps the store's log from beginning anew. Where the log would take
//      more than half of the room that there is, the readers of clients are killed.
//  R6  Of a client whose user may not be answered now (may_begin) none starts, and trials wait for none.
#pragma once

#include <uv.h>

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "stabd/daemon/children/reader_process.h"

namespace stab::daemon {

inline constexpr std::size_t most_readers = 2;
inline constexpr std::size_t most_plans = 2;
// Of nobody: it takes no user's turn.
inline constexpr std::uint32_t no_user = ~0U;

struct ReadersOptions {
  std::string program;
  std::string folder;
  std::chrono::nanoseconds limit{0};
};

class Readers {
 public:
  Readers(uv_loop_t* loop, ReadersOptions options);
  ~Readers();  // kills those that run; nothing is reported any more
  Readers(const Readers&) = delete;
  Readers& operator=(const Readers&) = delete;

  using Ticket = std::uint64_t;  // never 0
  using Done = std::function<void(Result<Fd> answer)>;
  // Of a client: it waits for its turn. `done` is called once, never from within this call.
  Ticket ask(std::uint32_t uid, std::string line, Done done);
  // Of a client who submits a plan; `line` has two.
  Ticket ask_of_plan(std::uint32_t uid, std::string line, Done done);
  // Of the experiment that runs.
  Ticket ask_at_once(std::string line, Done done);
  // It is not wanted any more: ended if it runs, and `done` is not called. 0 is nobody's.
  void forget(Ticket ticket);

  // Where readers may run from now on.
  void use_cpus(std::vector<unsigned> cpus);
  void use_limit(std::chrono::nanoseconds limit) { options_.limit = limit; }
  // R2: whether those of clients may run now.
  void allow(bool allowed);
  // Those that there are, and that come before the next allow(false), run like any other process, also where trials leave
  // no CPU idle.
  void hurry();
  // Whether any client waits for one that may run.
  [[nodiscard]] bool wanted() const;
  // The same, without what nobody waits for (no_user).
  [[nodiscard]] bool asked() const;
  // Calls this from the loop whenever one has ended or is not wanted any more.
  std::function<void()> on_change;
  // R6: whether one may start for this user.
  std::function<bool(std::uint32_t uid)> may_begin;
  // R5: asked while readers run: why those of clients are killed now; "": they are not.
  std::function<std::string()> must_end;

 private:
  struct Job {
    Ticket ticket = 0;
    std::uint32_t uid = 0;
    bool at_once = false;
    bool of_plan = false;
    std::string line;
    Done done;
    std::shared_ptr<ReaderProcess> process{};
    std::chrono::milliseconds ran{0};
    std::string failure{};  // why it could not be started; reported at the next turn of the loop
  };
  using Place = std::list<Job>::iterator;
  Ticket add(Job job);
  void start_some();
  [[nodiscard]] bool may_start(const Job& job) const;
  // Whether it waits for its turn among those of other clients, and stands still where trials forbid them (R2).
  static bool takes_turns(const Job& job) { return !job.at_once && !job.of_plan; }
  void start(Job& job);
  void ended(Ticket ticket, Result<Fd> answer);
  void wake();  // tick() at the next turn of the loop
  void tick();
  void report_failures();
  Place find(Ticket ticket);

  uv_loop_t* loop_;
  ReadersOptions options_;
  std::vector<unsigned> cpus_;
  bool allowed_ = true;
  bool hurry_ = false;
  Ticket last_ = 0;
  std::list<Job> jobs_;   // in the order in which they were asked for
  bool changed_ = false;  // on_change is to be called
  uv_timer_t* clock_;     // runs while there are jobs; the loop frees it
  std::uint64_t ticked_ms_ = 0;
};

}  // namespace stab::daemon
