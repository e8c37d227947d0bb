// SPDX-License-Identifier: MIT
// The queue of what is read of many trials: reports, exports, stopping rules, verification. Each
// is one reader process; the loop itself never reads a trial for anybody.
//
// Invariants
//  R1  At most most_readers readers run for clients, at most one for each account. The next turn goes to the account
//      that readers have worked for least. If that account waits, a reader that has used up its turn is stopped. Each
//      account has at most one long and one brief reader in memory, and its brief reader runs first. At most most_begun
//      long readers are in memory, and at most twice as many readers in all. Readers of trusted users take no turn from
//      other users, and don't wait for other users' readers. A reader for the running experiment itself starts at once.
//  R2  A reader runs on none of the trials' CPUs, if there are others. One of a client runs only while allow() says so:
//      not while trials run that use all CPUs or whose plan asks for a quiet machine, unless it has waited for long. At
//      other times it is stopped. It gives way to all other processes of the machine, but a brief one does so for half
//      a second only.
//  R3  A reader that has run for the limit is killed. The time in which it is stopped does not
//      count.
//  R4  Nothing is called back from within a call: a session that asks or forgets is not called
//      before it has returned.
//  R5  What is read of one moment keeps the store's log from beginning anew. Where the log would take
//      more than half of the room that there is, the readers of clients are killed.
//  R6  Of a client whose user may not be answered now (may_begin) none starts, and trials wait for none.
//  R7  Plans that are submitted are read beside trials, at most most_plans at once and one of an account. The account
//      that readers have worked for least is next; an account's plans are read in the order of submission. A plan that
//      is being read is never interrupted.
#pragma once

#include <uv.h>

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "stabd/daemon/children/reader_process.h"

namespace stab::daemon {

inline constexpr std::size_t most_readers = 2;
inline constexpr std::size_t most_plans = 2;
inline constexpr std::size_t most_begun = 6;
// Of nobody: it takes no user's turn.
inline constexpr std::uint32_t no_user = ~0U;

struct ReadersOptions {
  std::string program;
  std::string folder;
  std::chrono::nanoseconds limit{0};
  // Whether this account waits for no other one (R1).
  std::function<bool(std::uint32_t account)> is_trusted;
};

class Readers {
 public:
  Readers(uv_loop_t* loop, ReadersOptions options);
  ~Readers();  // kills those that run; nothing is reported any more
  Readers(const Readers&) = delete;
  Readers& operator=(const Readers&) = delete;

  using Ticket = std::uint64_t;  // never 0
  using Done = std::function<void(Result<Fd> answer)>;
  // For a client of this account: it waits for its turn. `done` is called once, never from within this call.
  Ticket ask(std::uint32_t account, std::string line, Done done);
  // The same, for an answer that takes little time.
  Ticket ask_briefly(std::uint32_t account, std::string line, Done done);
  // For a client who submits a plan; `line` has two lines.
  Ticket ask_of_plan(std::uint32_t account, std::string line, Done done);
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
  enum class Kind {
    at_once,
    plan,
    brief,
    any
  };  // those that take turns last, the longest one last of all
  using Milliseconds = std::chrono::milliseconds;
  struct Job {
    Ticket ticket = 0;
    std::uint32_t account = 0;
    Kind kind = Kind::any;
    std::string line;
    Done done;
    std::shared_ptr<ReaderProcess> process{};
    bool stands = false;     // until its next turn
    std::uint64_t since{0};  // when the time that it runs was last counted
    Milliseconds ran{0};
    Milliseconds turn{0};   // how long it has run since its turn came
    std::string failure{};  // why it could not be started; reported at the next turn of the loop
  };
  using Place = std::list<Job>::iterator;
  Ticket add(Job job);
  void start_some();
  [[nodiscard]] bool is_trusted(const Job& job) const;
  // Whether it waits for its turn among those of other clients, and stands still where trials forbid them (R2).
  static bool takes_turns(const Job& job) {
    return job.kind == Kind::any || job.kind == Kind::brief;
  }
  [[nodiscard]] bool runs(const Job& job) const;
  [[nodiscard]] bool waits(const Job& job) const;
  [[nodiscard]] bool goes_before(const Job& one, const Job& other) const;
  Place next_of(bool plans);
  bool begin_turn(Place next);
  void let_run(Job& job);
  void stand_still(Job& job);
  void start(Job& job);
  void count_time(Job& job);
  void forget_accounts();
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
  std::list<Job> jobs_;  // in the order in which they were asked for
  // How long readers have worked for each account that has jobs or is ahead of least_worked_, the least of all accounts
  // with jobs: whoever asked for nothing meanwhile is not owed that time.
  std::map<std::uint32_t, Milliseconds> worked_;
  Milliseconds least_worked_{0};
  bool changed_ = false;  // on_change is to be called
  uv_timer_t* clock_;     // runs while there are jobs; the loop frees it
};

}  // namespace stab::daemon
