// SPDX-License-Identifier: MIT
// The queue of work that reads many trials: reports, exports, stopping rules, verification. Each
// job is one reader process; the loop itself never reads trials for a request.
//
// Invariants
//  R1  At most most_readers readers run for clients, at most one for each account. The next turn
//      goes to the account that readers have worked for least. If that account waits, a reader that
//      has used up its turn is stopped. Each account has at most one long and one brief reader in
//      memory, and its brief reader runs first. At most most_begun long readers are in memory, and
//      at most twice as many readers in all. Readers of trusted users take no turn from other
//      users, and don't wait for other users' readers. A reader for the running experiment itself
//      starts at once.
//  R2  A reader stays off the trials' CPUs, if there are others. A client's reader runs only while
//      allow() permits it, and is stopped at other times. While trials run that use all CPUs or
//      whose plan asks for a quiet machine, it is permitted only after a long wait. It yields to
//      all other processes of the machine, but a brief reader does so for half a second only.
//  R3  A reader that has run longer than the limit is killed. Time while it is stopped does not
//      count.
//  R4  No callback runs inside a call: a session that asks or forgets is called back only after
//      that call has returned.
//  R5  A reader sees one state of the database, and until it ends, the store's log can't begin
//      anew. If the log takes more than half of the available space, clients' readers are killed.
//  R6  While a client's user may not be answered (reader_may_begin), none of that user's readers
//      starts, and trials don't wait for them.
//  R7  Submitted plans are read beside trials, at most most_plans at once and one for each account.
//      The account that readers have worked for least is next; an account's plans are read in the
//      order of submission. A plan that is being read is never interrupted.
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

#include "stabd/daemon/children.h"
#include "stabd/daemon/part.h"

namespace stab::daemon {

inline constexpr std::size_t most_readers = 2;
inline constexpr std::size_t most_plans = 2;
inline constexpr std::size_t most_begun = 6;
// The account of readers that no client waits for; they take no user's turn.
inline constexpr std::uint32_t no_user = ~0U;

struct ReadersOptions {
  std::string program;
  std::string folder;
  std::chrono::nanoseconds limit{0};
};

// The daemon, as its readers see it.
class ReadersSurroundings {
 public:
  // R1: whether this account's readers don't wait for others.
  [[nodiscard]] virtual bool is_trusted(std::uint32_t account) const = 0;
  // R6: whether a reader may start for this user.
  [[nodiscard]] virtual bool reader_may_begin(std::uint32_t uid) const = 0;
  // R5: called while there are jobs. Returns why clients' readers must be killed now, or "".
  [[nodiscard]] virtual std::string readers_must_end() = 0;
  // Called from the loop whenever a reader has ended or was forgotten.
  virtual void readers_changed() = 0;

 protected:
  ~ReadersSurroundings() = default;
};

// The readers that clients wait for, as RoomForReaders sees them.
class ClientsReaders {
 public:
  // R2: whether clients' readers may run now.
  virtual void allow(bool allowed) = 0;
  // Lets all readers, and new ones until the next allow(false), run like any other process, even if
  // trials leave no CPU idle.
  virtual void hurry() = 0;
  // Whether there is any job that takes turns and may begin (R6).
  [[nodiscard]] virtual bool wanted() const = 0;
  // The same, but only jobs that a client waits for.
  [[nodiscard]] virtual bool asked() const = 0;

 protected:
  ~ClientsReaders() = default;
};

class Readers final : public ClientsReaders {
 public:
  Readers(Clock& clock, uv_loop_t* loop, ReadersOptions options, ReadersSurroundings& around);
  ~Readers();  // kills running readers without a callback
  Readers(const Readers&) = delete;
  Readers& operator=(const Readers&) = delete;

  using Ticket = std::uint64_t;  // never 0
  using Done = std::function<void(Result<Fd> answer)>;
  // Asks for a client of this account; the reader waits for its turn. `done` is called once (R4).
  Ticket ask(std::uint32_t account, std::string line, Done done);
  // The same for an answer that takes little time.
  Ticket ask_briefly(std::uint32_t account, std::string line, Done done);
  // Asks for a client who submits a plan. `line` has two lines: our request and the client's.
  Ticket ask_of_plan(std::uint32_t account, std::string line, Done done);
  // Asks for the running experiment itself.
  Ticket ask_at_once(std::string line, Done done);
  // Drops a job: its reader is killed and `done` is not called. No job has ticket 0.
  void forget(Ticket ticket);

  // Moves all readers, and later ones, to these CPUs.
  void use_cpus(std::vector<unsigned> cpus);
  void use_limit(std::chrono::nanoseconds limit) { options_.limit = limit; }
  void allow(bool allowed) override;
  void hurry() override;
  [[nodiscard]] bool wanted() const override;
  [[nodiscard]] bool asked() const override;

 private:
  enum class Kind {
    at_once,
    plan,
    brief,
    any
  };  // the kinds that take turns come last, the long one at the very end
  using Milliseconds = std::chrono::milliseconds;
  struct Job {
    Ticket ticket = 0;
    std::uint32_t account = 0;
    Kind kind = Kind::any;
    std::string line;
    Done done;
    std::shared_ptr<ReaderProcess> process{};
    bool stands = false;    // it is stopped until its next turn
    Milliseconds since{0};  // when its running time was last counted
    Milliseconds ran{0};
    Milliseconds turn{0};   // how long it has run since its turn came
    std::string failure{};  // why it could not be started; reported at the next turn of the loop
  };
  using Place = std::list<Job>::iterator;
  Ticket add(Job job);
  void start_some();
  [[nodiscard]] bool is_trusted(const Job& job) const;
  // Whether the job takes turns with other clients' readers and is stopped when trials forbid them
  // (R2).
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

  Clock& clock_;
  uv_loop_t* loop_;
  ReadersOptions options_;
  ReadersSurroundings& around_;
  std::vector<unsigned> cpus_;
  bool allowed_ = true;
  bool hurry_ = false;
  Ticket last_ = 0;
  std::list<Job> jobs_;  // in the order of the requests
  // How long readers have worked for each account that has jobs or is ahead of least_worked_, the
  // least of all accounts with jobs: an account that asked for nothing meanwhile is not owed that
  // time.
  std::map<std::uint32_t, Milliseconds> worked_;
  Milliseconds least_worked_{0};
  bool changed_ = false;          // readers_changed() must be called
  std::unique_ptr<Timer> timer_;  // runs while there are jobs
};

// Makes room for clients' readers beside an experiment whose trials they would disturb. A reader
// first waits for the end of a block. After a while trials make room for it between any two of
// them, and after another while it runs beside them.
class RoomForReaders {
 public:
  // `changed` is called whenever readers_run_beside() may have changed.
  RoomForReaders(Clock& clock, ClientsReaders& readers, std::function<void()> changed);

  // Whether trials run on all CPUs, so that readers have none of their own.
  void share_cpus(bool shared) { shared_ = shared; }
  // Call this whenever trials may have begun or ended. `quiet` says whether their plan wants a
  // quiet machine. Readers disturb such trials even on other CPUs: all CPUs share caches.
  void trials_run(bool run, bool quiet);
  // Call this when readers have come or gone.
  void readers_changed();
  // Call this while no trial runs, but the next one may begin. If readers want that time, returns
  // true and calls `go_on` from the loop when they have had it. Within a block, trials wait only
  // for readers that have waited long themselves.
  bool let_run(std::function<void()> go_on, bool within_block);
  // After this, `go_on` is not called.
  void forget() { go_on_ = nullptr; }

  // Whether readers have waited so long that trials make room for them within a block.
  [[nodiscard]] bool readers_are_due() const { return waited_ != Waited::little; }
  [[nodiscard]] bool readers_run_beside() const { return waited_ == Waited::for_trials; }

 private:
  [[nodiscard]] bool disturb() const { return shared_ || quiet_; }
  enum class Waited { little, for_blocks, for_trials };
  void allow();
  void trials_go_on();
  void wait_no_longer();

  ClientsReaders& readers_;
  std::function<void()> changed_;
  bool trials_run_ = false;
  bool shared_ = false;
  bool quiet_ = false;
  std::function<void()> go_on_;  // set while trials wait for readers
  Waited waited_ = Waited::little;
  std::unique_ptr<Timer> between_timer_;  // ends the time that readers have between two trials
  std::unique_ptr<Timer> overdue_timer_;  // runs while readers wait for trials
};

}  // namespace stab::daemon
