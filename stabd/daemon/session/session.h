// SPDX-License-Identifier: MIT
// One experiment on its way from the queue to its end: drives the worker, stores what it answers,
// and moves through the state table. No event loop in here; the daemon calls in and gives the means
// to act.
//
// Invariants
//  E1  The next trial is asked for only after the row of the last one is stored.
//  E2  A row that could not be stored for lack of space is kept, and stored first when there is
//      room.
//  E3  A state is final only after the worker has ended, so that nothing of an ended experiment is
//      alive.
//  E4  What the plan's stopping rule is asked, and what it decides, depends on stored trials alone:
//      where no reader answers, the experiment waits.
//  E7  The plan's time is compared with experiment_.duration_ns, which is stored: it goes on from
//      there after a restart, and a pause is no part of it.
//  E5  Only in `quiescing` and `running` is anything of the machine changed: whatever else follows,
//      it is put back first.
//  E8  A session that gives the machine away before a block has measured a trial before, so that turns
//      lead to an end however short they are. A block that is abandoned runs again from its first
//      trial, but only once: from then on it is split between two trials, which stand.
//  E6  Waiting for a quiet machine changes neither which trials run nor their order, and what it
//      knows is not stored: who goes on waits anew.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "design/expand.h"
#include "machine/quality/calm.h"
#include "machine/quiet/doctor.h"
#include "machine/quiet/quiet.h"
#include "machine/topology.h"
#include "plan/plan.h"
#include "protocol/reading.h"
#include "protocol/work.h"
#include "stabd/daemon/session/builds.h"
#include "stabd/daemon/session/schedule.h"
#include "stabd/daemon/session/state.h"
#include "store/store.h"

namespace stab::daemon {

// Whether it is a warm-up, and which of them.
using BlockId = std::pair<bool, std::uint32_t>;
// Why an experiment rests in the queue that gave the machine away.
inline constexpr std::string_view turn_is_over =
    "it is another user's turn; this experiment continues at its next turn";

// What the daemon does for a session.
struct SessionPorts {
  std::function<Result<void>()> start_worker;  // a fresh one; the session has none when it asks
  // A line to the worker, which must answer within the time; worker_silent() follows if it does not.
  std::function<void(std::string, std::chrono::nanoseconds)> send;
  // Before the line of a trial: the kernel bounds what the worker uses from now on. Neither of the two need be there.
  std::function<void(const protocol::RunRequest&)> bound{};
  std::function<std::string()> passed{};  // which of these bounds has been reached since; "": none
  std::function<void()> stop_worker;      // politely, then by force; worker_ended() follows
  // Run on these from now on; `shared`: there are no others than those of the trials.
  std::function<void(const std::vector<unsigned>& cpus, bool shared)> stay_off_trials;
  // Makes the machine quiet, and says what became of each knob. An error: it is as it was.
  using Outcomes = Result<std::vector<machine::Outcome>>;
  std::function<Outcomes(std::span<const machine::Knob* const>, const machine::CpuChoice&)> quiesce;
  std::function<std::vector<machine::Outcome>()> disturbed;  // what is not quiet any more, once
  std::function<Result<std::vector<machine::Finding>>()> examine;  // what the machine is like now
  std::function<Outcomes()> restore;  // puts back what that has changed
  // Looks at the machine for a moment, in which no trial runs. `done` is called later, with
  // what was not quiet, "" if nothing was, and with what of the bounds cannot be known here.
  using OnLook =
      std::function<void(const std::string& loud, const std::vector<std::string>& missing)>;
  std::function<void(const machine::CpuSet& trial, const machine::CalmBounds&, OnLook done)> look;
  std::function<void()> stop_looking;  // `done` is not called then
  // Whether the experiment's user may store more; an error says what to do.
  std::function<Result<void>()> may_store;
  // Has a reader answer (protocol/reading.h; the database is the daemon's business), one at a time.
  // `done` is called later, with the answer's line.
  std::function<void(protocol::ReadRequest, std::function<void(Result<std::string>)> done)> read;
  std::function<void()> stop_reading;  // `done` and `go_on` are not called then
  // Nothing runs now. If readers wait for that, true: `go_on` is called when they had their time. Within a block trials
  // wait only for those that have waited for long themselves.
  std::function<bool(std::function<void()> go_on, bool within_block)> let_readers_run;
  std::function<bool()> readers_are_due;  // those have
  std::function<bool()>
      turn_is_over;  // it had the machine for limits.turn, and another user is next
  // The block that an earlier session of this experiment had to abandon (E8).
  std::optional<BlockId> abandoned_block{};
  std::function<void()> call_again;   // calls continue_work() soon
  std::function<void()> retry_later;  // calls retry_storage() in a while
  // The folder for its builds; the worker can write there.
  std::function<std::string(const store::Experiment&)> cache;
  std::uint64_t cache_limit = 0;  // bytes; 0: none
  // Something that somebody should look at has happened; called once for each kind of trouble.
  std::function<void(std::string_view trouble, const std::string& reason)> tell;
};

// "paused by user 1000"
std::string held_reason(std::uint32_t uid);
// Of one that has ended. Root's hold stays: nobody gets rid of it by ending an experiment.
void forget_holder(store::Experiment& experiment);

class Session {
 public:
  Session(store::Store& store, store::Experiment experiment, plan::Plan plan, SessionPorts ports);

  // Its turn has come. Afterwards state() tells.
  void start();
  void worker_said(const std::string& line);
  void worker_ended(const std::string& how);
  // It gave no answer in the time that was set with its request, and is being killed.
  void worker_silent(const std::string& how);
  // Before the daemon stops: what must not be lost is stored.
  void rest();
  void continue_work();
  void retry_storage();
  void cancel();
  // The daemon is to stop: the trial under way is the last one.
  void ask_for_no_more() { last_ = true; }
  [[nodiscard]] bool runs_trial() const {
    return state_ == State::running && trial_under_way() && has_worker_;
  }
  // From now on, or no longer, something is done beside trials that else waits for their end; rows say for how long.
  void has_company(bool company);
  // Its turn is over: it rests in the queue. The block under way is abandoned.
  void give_way();
  [[nodiscard]] std::optional<BlockId> abandoned_block() const { return abandoned_; }
  // This user pauses it: the trial under way is measured again when it goes on.
  Result<void> hold(std::uint32_t uid);

  [[nodiscard]] State state() const { return state_; }
  // Its turn is over: it has ended, or somebody holds it.
  [[nodiscard]] bool finished() const {
    return (is_final(state_) || rests()) && !has_worker_ && !unsaved_ && !pending_;
  }
  [[nodiscard]] const store::Experiment& experiment() const { return experiment_; }
  // As it is shown: it has not ended, and nobody can let it go on, while something of it may be alive.
  [[nodiscard]] store::Experiment shown() const;
  // Its builds and trials keep root's capabilities.
  [[nodiscard]] bool privileged() const { return plan_.privileges && experiment_.uid == 0; }
  [[nodiscard]] const Counts& counts() const { return schedule_->counts(); }
  [[nodiscard]] const plan::Plan& plan() const { return plan_; }

  struct Progress {
    std::size_t builds_done = 0;
    std::size_t builds = 0;
    std::size_t builds_cached = 0;
    std::string activity;  // "sort O2, block 3"
    std::string look;      // what the stopping rule saw last
    std::vector<protocol::Change> changes{};
    std::uint64_t fewest = 0;  // trials; fewer than all if it may stop early
    // A guess: of builds, then of trials. There is none before the first.
    std::optional<std::chrono::nanoseconds> left;
  };
  [[nodiscard]] Progress progress() const;

 private:
  // What it is busy with in its state. Stored trials are read, those before this position are:
  struct Loading {
    std::uint32_t before = 0;
  };
  struct Reading {};             // a reader answers, or all of them have their time
  struct Wait {                  // for a quiet machine
    std::uint32_t position = 0;  // that is next
    std::chrono::steady_clock::time_point since{};
    std::string loud{};  // what the last look saw; "" before the first one
  };
  // The step is a trial, until its row is stored. Where the worker builds, nothing is under way here.
  using Activity = std::variant<std::monostate, Loading, Reading, Wait, Schedule::Step>;
  template <class Kind>
  [[nodiscard]] const Kind* busy_with() const {
    return std::get_if<Kind>(&activity_);
  }
  [[nodiscard]] const Schedule::Step* trial_under_way() const {
    return busy_with<Schedule::Step>();
  }
  void idle() { activity_ = std::monostate{}; }

  [[nodiscard]] bool is_held() const { return experiment_.held_by.has_value(); }
  [[nodiscard]] bool gave_way() const { return gave_way_ && state_ == State::queued; }
  [[nodiscard]] bool rests() const { return is_held() || gave_way(); }
  [[nodiscard]] bool gives_way_before(const Schedule::Step& step);
  [[nodiscard]] BlockId block_at(std::uint32_t position) const;
  [[nodiscard]] std::optional<std::pair<std::uint32_t, std::uint32_t>> positions_of_block(
      std::uint32_t position) const;
  void give_way_for(const std::string& why);
  void apply(Event event, const std::string& reason);
  void save_state();
  void add_duration();
  bool stored(const store::Outcome<void>& outcome);
  void wait_for_storage(const std::string& why, std::string_view what_follows);
  void load_builds();
  void load_trials();
  void start_worker();
  void set_up(const protocol::SetupReply& reply);
  void ask(const protocol::WorkRequest& request, std::chrono::nanoseconds within);
  void ask_for_build();
  void built(const protocol::BuildReply& reply);
  bool same_as_before(const protocol::BuildReply& reply);
  [[nodiscard]] std::string known_key(const BuildSlot& slot) const;
  [[nodiscard]] std::optional<std::chrono::nanoseconds> builds_left() const;
  void builds_complete();
  void make_quiet();
  void note_quietness();
  void note_versions();
  void look_whether_still_quiet(std::uint32_t block);
  void note_changes(const std::string& when);
  void put_back();
  // Where a block begins nothing runs: the plan's rule is asked, and readers get their time. True:
  // this goes on later.
  bool waits_before(const Schedule::Step& step);
  [[nodiscard]] bool begins_block(const Schedule::Step& step) const;
  [[nodiscard]] bool is_looked_at(const Schedule::Step& step) const;
  void ask_rule(std::uint32_t position, unsigned attempt);
  void rule_said(const protocol::LookReply& look, std::uint32_t position);
  bool time_is_up(const Schedule::Step& step);
  bool waits_for_readers(std::uint32_t position, bool within_block = false);
  void pass(std::uint32_t position);
  using OnLine = std::function<void(const Result<std::string>& line)>;
  void ask_reader(protocol::ReadRequest request, OnLine use);
  void stop_asking();
  void no_answer(const std::string& why);
  bool waits_for_quiet(const Schedule::Step& step);
  void look_at_machine();
  void looked(const std::string& loud, const std::vector<std::string>& missing);
  void end_wait(std::chrono::nanoseconds waited, bool in_vain);
  [[nodiscard]] std::string wait_words() const;
  void ask_for_trial(const Schedule::Step& step);
  void ran(protocol::RunReply reply);
  void keep(store::Trial row);
  void analyse(unsigned attempt = 1);
  void analysed(const protocol::FindingsReply& findings);
  [[nodiscard]] store::Trial row_for(const Schedule::Step& step) const;
  void note(const std::string& kind, const std::string& text);

  store::Store& store_;
  store::Experiment experiment_;
  plan::Plan plan_;
  plan::Expansion expansion_;
  SessionPorts ports_;
  State state_ = State::queued;
  State before_ = State::queued;  // the state before this one
  std::unique_ptr<Schedule> schedule_;
  Builds builds_;
  machine::CpuChoice cpus_;
  std::string simulator_;                         // its version, where trials run under it
  bool changed_ = false;                          // something of the machine, perhaps
  std::chrono::steady_clock::time_point looked_;  // whether it is still quiet
  std::vector<store::Build> earlier_builds_;      // what the store had when this worker started
  std::size_t next_build_ = 0;
  bool has_worker_ = false;
  // What the worker has not answered yet: the place of its kind among protocol::WorkRequest.
  std::optional<std::size_t> asked_;
  bool unsaved_ = false;   // experiment_ is newer than its row
  unsigned silences_ = 0;  // of readers that were asked since the last answer
  unsigned losses_ = 0;    // of workers since the last result
  std::string stopped_;    // by the plan's rule: why
  std::string last_look_;
  std::vector<protocol::Change> last_changes_{};
  bool last_ = false;  // no further trial is asked for
  bool gave_way_ = false;
  std::optional<BlockId> abandoned_;
  std::uint64_t measured_ = 0;    // trials, by this session
  bool told_of_storage_ = false;  // since a trial could be stored
  bool told_of_limit_ = false;
  Activity activity_;
  std::chrono::nanoseconds stored_wall_{0};  // of the trials that were read
  std::uint64_t question_ = 0;               // answers to earlier ones are of no use
  std::optional<std::uint32_t> passed_;      // the position that waits_before() has dealt with
  // The block that is not waited for again as long as this worker lives: whether it is a warm-up, and
  // which.
  std::optional<std::pair<bool, std::uint32_t>> quiet_block_;
  std::vector<counters::Reading> waited_;  // readings of the next trial
  bool told_of_missing_ = false;
  std::optional<std::chrono::steady_clock::time_point> company_since_;
  std::chrono::nanoseconds company_{0};  // that the trial under way had until then
  std::optional<store::Trial> pending_;  // E2
  // What storing the last trial took; a reading of the next one.
  std::chrono::nanoseconds last_commit_{0};
  std::chrono::steady_clock::time_point since_;  // experiment_.duration_ns is up to here
  // The measured block that began last.
  struct Begun {
    std::uint32_t position = 0;
    std::chrono::nanoseconds driven{};  // experiment_.duration_ns then
  };
  std::optional<Begun> begun_;
  std::chrono::steady_clock::time_point builds_since_;
  std::chrono::steady_clock::time_point trials_since_;
  std::uint64_t finished_then_ = 0;
};

}  // namespace stab::daemon
