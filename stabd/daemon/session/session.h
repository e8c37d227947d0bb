// SPDX-License-Identifier: MIT
// Runs one experiment from the queue to its end: drives the worker, stores the worker's results,
// and moves through the state table. There is no event loop in here: the daemon calls the session
// and implements the interface through which the session acts, Surroundings.
//
// Invariants
//  E1  The next trial is requested only after the last one's row is stored.
//  E2  A row that could not be stored for lack of space is kept in memory. When there is room
//      again, it is stored before anything else.
//  E3  An experiment counts as ended only after its worker has ended, so that no process of an
//      ended experiment is alive.
//  E4  The stopping rule's questions and decisions depend on stored trials alone. If no reader
//      answers, the experiment waits.
//  E5  Settings of the machine are changed only in `quiescing` and `running`. They are put back
//      before any other state begins.
//  E6  Waiting for a quiet machine changes neither which trials run nor their order. The wait is
//      not stored: a session that continues the experiment waits again.
//  E7  The plan's time is compared with experiment_.duration_ns, which is stored and continues
//      after a restart. Pauses don't count.
//  E8  A session gives the machine away before a block only after it has measured a trial, so that
//      even short turns make progress. An abandoned block runs again from its first trial, but only
//      once: after that the block is split between two trials, and no trial is repeated. A block of
//      more than 1,000 trials, or one in which a retry fills gaps, is split at once.
//  E9  On a node of a cluster, each worker begins at the start of a block, so that one worker
//      measures all of a block: an incomplete block runs again from its first trial. Exceptions are
//      blocks of more than 1,000 trials, blocks in which a retry fills gaps, and blocks with a
//      trial that has ended its workers since this session began. Once a trial is stored, later
//      workers are on the node of the first one. If a worker is lost that did not end by itself, no
//      trial counts as failed.
//  E10 With several machines, each place has the blocks that design/trial_list.h deals out to it,
//      and one node. Its worker is lost and started again without the other places' knowledge, and
//      later workers keep to the CPUs of the node's first trials, if they can. No trial runs before
//      all places are ready, and the analysis begins when all have finished. The stopping rule and
//      the plan's time are asked when all places have run as many blocks: a place that has waits
//      for the others. The rows of trials that end at different places within one turn of the loop
//      are stored in one transaction, before any of these places gets its next trial.
//  E11 Each request for a trial has a token that no other request of the experiment has, whichever
//      daemon sends it. An answer with another token comes from an attempt that was given up, or
//      comes twice: it is never stored, and an event counts it.
//  E12 Before the first trial, one place of each kind of machine makes the builds, and the others get
//      its programs. A program that is not all of its build, or that does not arrive, is built at
//      each place. No place builds for another one while trials run.
//  E13 If the plan leaves the heap layer to test runs, they come after the builds and before the
//      first trial. The decision about a benchmark is stored before the test runs of the next one,
//      and no later session makes it anew. If a test run or its worker ends too early, the decision
//      is against the layer, so that the experiment goes on without it.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "design/trial_list.h"
#include "machine/facts.h"
#include "machine/observer.h"
#include "machine/quiet/doctor.h"
#include "machine/quiet/quiet.h"
#include "machine/topology.h"
#include "plan/plan.h"
#include "protocol/reading.h"
#include "protocol/work.h"
#include "report/model.h"
#include "results/heap_layer.h"
#include "stabd/daemon/session/schedule.h"
#include "stabd/daemon/session/state.h"
#include "store/store.h"

namespace stab::daemon {

// Whether the block is a warm-up block, and its number among those.
using BlockId = std::pair<bool, std::uint32_t>;

// A build that comes to a place from another one (E12).
struct Arrival {
  std::uint64_t offset = 0;  // of the next piece
  std::uint64_t least = 0;   // so many bytes must have arrived when the place answers
  bool wants_piece = false;  // nobody has been asked for it yet
};

// A place where trials of an experiment run: our own machine, or a node of a cluster. Everything
// that belongs to its worker is here, so that a session can have several places.
struct Place {
  std::size_t index = 0;               // among the session's places
  std::unique_ptr<Schedule> schedule;  // the trials that run here
  Builds builds;                       // as they are here
  std::size_t next_build = 0;
  // E12. Nodes with the same kind can run each other's programs; "": no other node can.
  std::string kind;
  std::optional<Arrival> arrival;      // of the next build
  std::string arrived;                 // the key of the next build, if it has arrived; or ""
  std::optional<std::size_t> serves;   // the place for which this one was asked for a piece
  std::set<std::size_t> makes_itself;  // builds that can't come from elsewhere
  std::chrono::steady_clock::time_point builds_since{};
  machine::CpuChoice cpus;
  std::string simulator;  // the simulator's version if trials run under one

  bool has_worker = false;
  bool has_been_up = false;  // a worker of this experiment was on a node
  bool is_ready = false;     // everything is built, or nothing is left to do here
  // The unanswered request to the worker, as its index in protocol::WorkRequest.
  std::optional<std::size_t> asked;
  std::optional<Schedule::Step> trial;      // under way until its row is stored
  std::optional<std::uint32_t> passed;      // the position that waits_before() is done with
  std::optional<store::Trial> pending;      // not stored yet (E2, E10)
  std::chrono::nanoseconds last_commit{0};  // how long it took to store the last trial, which
                                            // becomes a reading of the next one

  // The node of a cluster where the worker is, what the worker says about the node's settings
  // (protocol::SetupReply), and why the worker is lost; empty on our own machine.
  protocol::NodeReply node;
  std::chrono::nanoseconds clock_ahead{0};  // of ours, if that is too much to be ignored
  bool clock_is_noted = false;
  std::int64_t asked_ns = 0;  // when the trial was requested, by our clock
  std::int64_t token = 0;     // of that request (E11)
  std::string grade;
  std::string examined;
  std::string loud;
  std::optional<protocol::LostReply> lost;
  unsigned losses = 0;       // workers lost since the last result
  unsigned node_losses = 0;  // nodes lost in this block
  std::optional<BlockId> lost_block;
  std::optional<std::uint32_t> lost_position;  // the trial that lost its worker last
  std::string noted_loss;
  std::string home;    // with several machines: the node of its stored trials, or the plan's name
  bool waits = false;  // with several machines: another worker starts later
  // Since when no worker could start here although the cluster's controller answers.
  std::optional<std::chrono::steady_clock::time_point> waits_since;
  bool has_whole_blocks = false;  // E9: the incomplete block was looked for
};

// E13: the test runs that are under way.
struct HeapTests {
  std::vector<HeapTest> all{};
  std::vector<report::HeapLayer> decided{};  // also by earlier sessions
  std::size_t at = 0;                        // all[at] is under way
  std::size_t run = 0;                       // the number of its runs that have ended
  std::vector<results::HeapPairs> pairs{};   // of each version
  std::chrono::steady_clock::time_point since{};

  [[nodiscard]] const HeapTest& test() const { return all[at]; }
  // The functions below are about the next run.
  [[nodiscard]] std::size_t runs_in_pair() const { return 2 * test().versions.size(); }
  [[nodiscard]] std::size_t pair() const { return run / runs_in_pair(); }
  [[nodiscard]] std::size_t version() const { return run % test().versions.size(); }
  // The first run has the layer, so that problems with it show early.
  [[nodiscard]] bool has_layer() const {
    return (run / test().versions.size() % 2 == 0) == (pair() % 2 == 0);
  }
};

// The reason shown for a queued experiment that gave the machine away.
inline constexpr std::string_view turn_is_over =
    "it is another user's turn; this experiment continues at its next turn";

// The node of a cluster that a worker must be on, or "", and nodes that it must not be on.
struct WantedNode {
  std::string name{};
  std::vector<std::string> others{};
};

// A session acts through this interface. The daemon implements it, and tests implement it, too.
class Surroundings {
 public:
  using Outcomes = Result<std::vector<machine::Outcome>>;
  // `loud` says what was not quiet, or is "", and `missing` lists the bounds that can't be checked
  // here.
  using OnLook =
      std::function<void(const std::string& loud, const std::vector<std::string>& missing)>;
  using OnAnswer = std::function<void(Result<std::string> line)>;

  Surroundings() = default;
  virtual ~Surroundings() = default;
  Surroundings(const Surroundings&) = delete;
  Surroundings& operator=(const Surroundings&) = delete;

  // Starts a worker for a place that has none. Without [machines] there is only place 0.
  virtual Result<void> start_worker(std::size_t place, const WantedNode& node) = 0;
  // Sends a line to the place's worker. If it does not answer within the given time,
  // worker_silent() follows.
  virtual void send(std::size_t place, const std::string& line,
                    std::chrono::nanoseconds within) = 0;
  // Called before a trial is sent: the kernel limits the worker from now on.
  virtual void bound(const protocol::RunRequest& run) = 0;
  virtual std::string passed() = 0;  // which of these limits has been reached since, or ""
  // Asks, then kills; worker_ended() follows.
  virtual void stop_worker(std::size_t place) = 0;
  // If the plan names machines: how long a worker on a node may take to answer its first request.
  virtual std::chrono::nanoseconds node_patience() = 0;
  // The same: how long after the node's last sign of life the line may come that says why the node
  // is lost.
  virtual std::chrono::nanoseconds loss_patience() = 0;

  // The facts about our own machine, as we read them.
  virtual Result<machine::Facts> facts() = 0;
  // Our own machine's CPUs if trials run on these ones. Fails if it has no such CPUs for us.
  virtual Result<machine::CpuChoice> cpus_beside(const machine::CpuSet& trial) = 0;
  // Moves the daemon and its children to these CPUs. `shared`: they are also the trials' CPUs,
  // because there are no others.
  virtual void stay_off_trials(const std::vector<unsigned>& cpus, bool shared) = 0;
  // Makes the machine quiet and returns the outcome for each knob. On an error the machine is
  // unchanged.
  virtual Outcomes quiesce(std::span<const machine::Knob* const> knobs,
                           const machine::CpuChoice& cpus) = 0;
  // Changed knobs that somebody else has changed since; each is reported once.
  virtual std::vector<machine::Outcome> disturbed() = 0;
  virtual Result<std::vector<machine::Finding>> examine() = 0;  // the machine's findings now
  virtual Outcomes restore() = 0;                               // puts back the changes of quiesce
  // Watches the machine for a moment while no trial runs. `done` is called later.
  virtual void look(const machine::CpuSet& trial, const machine::CalmBounds& bounds,
                    OnLook done) = 0;
  virtual void stop_looking() = 0;  // after this, `done` is not called

  // Asks a reader (protocol/reading.h), one question at a time; the daemon adds the database.
  // `done` is called later.
  virtual void read(protocol::ReadRequest request, OnAnswer done) = 0;
  virtual void stop_reading() = 0;  // after this, neither `done` nor `go_on` is called
  // Called while no trial runs. Returns true if readers wait for that: then `go_on` is called after
  // they had their time. Within a block, trials wait only for readers that have waited long
  // themselves.
  virtual bool let_readers_run(std::function<void()> go_on, bool within_block) = 0;
  virtual bool readers_are_due() = 0;  // whether readers have waited long enough for that

  // Whether the experiment has had the machine for limits.turn and another user is next.
  virtual bool turn_is_over() = 0;
  // The block that an earlier session of this experiment abandoned (E8).
  virtual std::optional<BlockId> abandoned_block(store::Id experiment) = 0;
  virtual void call_again() = 0;   // makes the daemon call continue_work() soon
  virtual void retry_later() = 0;  // makes the daemon call retry_storage() after a while

  // Fails if the user's limit does not let the experiment store another trial; the error says what
  // to do.
  virtual Result<void> may_store() = 0;
  // The folder for the experiment's builds, which the worker can write.
  virtual std::string cache(const store::Experiment& experiment) = 0;
  virtual std::uint64_t cache_limit() = 0;  // in bytes; 0 means no limit
  // Reports trouble that a person should look at; called once for each kind of trouble.
  virtual void tell(std::string_view trouble, const std::string& reason) = 0;
  // Takes the node away from the cluster. If that fails, an event of the experiment says why.
  virtual void drain(const std::string& node, const std::string& reason) = 0;
};

// The kind of the event that a worker on a node of a cluster was lost.
inline constexpr std::string_view lost_event = "lost";
// The kind of the event that an answer was refused by E11.
inline constexpr std::string_view late_event = "late";

// "paused by user 1000"
std::string held_reason(std::uint32_t uid);
// Clears the holder of an ended experiment, but not root: nobody gets rid of root's hold by ending
// an experiment.
void forget_holder(store::Experiment& experiment);

class Session {
 public:
  Session(store::Store& store, store::Experiment experiment, plan::Plan plan, Surroundings& around);

  // Starts or continues the experiment, whose turn has come. state() says what came of it.
  void start();
  void worker_said(const std::string& line, std::size_t place = 0);
  void worker_ended(const std::string& how, std::size_t place = 0);
  // The same while stabd stops and another place still has its worker: no other worker starts.
  void worker_left(std::size_t place);
  // The worker did not answer its request in time and is being killed.
  void worker_silent(const std::string& how, std::size_t place = 0);
  // Call this before the daemon stops: it puts the machine back and stores the experiment's
  // duration.
  void rest();
  void continue_work();
  void retry_storage();
  void cancel();
  // The daemon is about to stop: the running trial is the last one.
  void ask_for_no_more() { last_ = true; }
  [[nodiscard]] bool runs_trial() const;
  // Says whether readers or an import now run beside trials that they would normally wait for.
  // Trials' rows record for how long.
  void has_company(bool company);
  // Ends the experiment's turn: it returns to the queue, and abandons the running block (E8).
  void give_way();
  [[nodiscard]] std::optional<BlockId> abandoned_block() const { return abandoned_; }
  // Pauses the experiment for this user. The running trial is repeated when the experiment
  // continues. If the pause cannot be stored, the experiment is still paused, but the error says
  // so, because a restarted daemon would continue it.
  Result<void> hold(std::uint32_t uid);

  [[nodiscard]] State state() const { return state_; }
  // Whether the session is over, because the experiment has ended, is held or gave the machine
  // away, and nothing of it is alive or unsaved.
  [[nodiscard]] bool finished() const;
  [[nodiscard]] const store::Experiment& experiment() const { return experiment_; }
  // The row as clients see it. While the session is not finished(), an experiment that is ending or
  // being paused still shows its state before that.
  [[nodiscard]] store::Experiment shown() const;
  // Whether its builds and trials keep root's capabilities.
  [[nodiscard]] bool privileged() const { return plan_.privileges && experiment_.uid == 0; }
  [[nodiscard]] Counts counts() const;
  // About how many bytes the remaining trials will take in the store, as many for each as the ones
  // before took on average. Before the first one, each counts as much as the longest output.
  [[nodiscard]] std::uint64_t bytes_to_come() const;
  [[nodiscard]] const plan::Plan& plan() const { return plan_; }

  struct Progress {
    std::size_t builds_done = 0;
    std::size_t builds = 0;
    std::size_t builds_cached = 0;
    std::string activity;  // "sort O2, block 3"
    std::string look;      // the stopping rule's last answer
    std::vector<protocol::Change> changes{};
    // The least number of trials; smaller than all if the experiment may stop early.
    std::uint64_t fewest = 0;
    // An estimate of the time left for builds or for trials; empty before the first of them has
    // ended.
    std::optional<std::chrono::nanoseconds> left;
  };
  [[nodiscard]] Progress progress() const;

 private:
  // The session's own activities within a state; its places build and run trials. Loading reads
  // stored trials in pieces; it has read the positions below `before`.
  struct Loading {
    std::uint32_t before = 0;
  };
  struct Reading {};             // one reader works for us, or trials wait for clients' readers
  struct Wait {                  // we wait for a quiet machine
    std::uint32_t position = 0;  // the next position
    std::chrono::steady_clock::time_point since{};
    std::string loud{};  // why the machine was not quiet at the last look; "" before the first one
  };
  using Activity = std::variant<std::monostate, Loading, Reading, Wait>;
  template <class Kind>
  [[nodiscard]] const Kind* busy_with() const {
    return std::get_if<Kind>(&activity_);
  }
  void idle() { activity_ = std::monostate{}; }

  [[nodiscard]] bool has_worker() const;
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
  void begin_loading();
  void load_trials();
  [[nodiscard]] std::unique_ptr<Schedule> schedule_for(const Place& place) const;
  void settle_at_home(Place& place, const store::Store::Progress& progress) const;
  bool reopen_incomplete(Place& place, bool& has_reopened);
  void start_again(Place& place, const std::string& why);
  bool reload(Place& place);
  void wait_for_node(Place& place, const std::string& why, bool may_end);
  void refuse(const std::string& why);
  [[nodiscard]] std::string trial_words(const Schedule::Step& step) const;
  [[nodiscard]] std::string activity_of_all() const;
  [[nodiscard]] bool has_several() const { return places_.size() > 1; }
  void start_worker(Place& place);
  [[nodiscard]] bool has_trials(const Place& place) const;
  [[nodiscard]] store::Outcome<std::string> earlier_node(const Place& place);
  [[nodiscard]] machine::CpuSet earlier_cpus(const Place& place) const;
  void came_up_on(Place& place, const protocol::NodeReply& node);
  void compare_clocks(Place& place);
  void note_clock(Place& place);
  [[nodiscard]] std::int64_t started_by_our_clock(Place& place, std::int64_t started_ns);
  void lost_node(Place& place, const std::string& how);
  [[nodiscard]] std::optional<std::pair<std::uint32_t, std::uint32_t>> incomplete_block(
      Place& place);
  void set_up(Place& place, const protocol::SetupReply& reply);
  void ask(Place& place, const protocol::WorkRequest& request, std::chrono::nanoseconds within);
  void ask_for_build(Place& place);
  void built(Place& place, const protocol::BuildReply& reply);
  // E12
  bool comes_from_elsewhere(Place& place);
  [[nodiscard]] const Place* maker_for(const Place& place) const;
  void fetched(Place& from, const protocol::FetchReply& reply);
  void kept(Place& place, const protocol::KeepReply& reply);
  void build_itself(Place& place, const std::string& why);
  void go_on_with_builds();
  void hand_over(Place& place);
  bool same_as_elsewhere(const Place& place, const protocol::BuildReply& reply);
  bool same_as_before(const Place& place, const protocol::BuildReply& reply);
  [[nodiscard]] std::string known_key(const BuildSlot& slot) const;
  [[nodiscard]] static std::optional<std::chrono::nanoseconds> builds_left(const Place& place);
  void builds_complete(Place& place);
  void begin_when_ready(Place& place);
  void test_heaps(Place& place);
  void next_heap_test(Place& place);
  void ask_for_heap_run(Place& place);
  void heap_tested(Place& place, const protocol::RunReply& reply);
  void decide_heap(Place& place, report::HeapLayer layer);
  bool keep_heap(report::HeapLayer layer);
  void begin_trials(Place& place);
  void make_quiet(const Place& place);
  // Whether trials may begin on these nodes of a cluster, although some settings may not be quiet;
  // ends the experiment if they may not.
  bool may_be_loud(std::span<const Place> places);
  void note_quietness();
  void note_versions(const Place& place);
  void look_whether_still_quiet(std::uint32_t block);
  void note_changes(const std::string& when);
  void put_back();
  // At the start of a block no trial runs, so the stopping rule is asked and readers get their
  // time. Returns true if the session continues later.
  bool waits_before(Place& place, const Schedule::Step& step);
  [[nodiscard]] bool begins_block(const Schedule::Step& step) const;
  [[nodiscard]] std::uint32_t blocks_before(const Schedule::Step& step) const;
  [[nodiscard]] bool has_gone_on(const Schedule::Step& step) const;
  [[nodiscard]] bool is_looked_at(const Schedule::Step& step) const;
  [[nodiscard]] bool waits_for_others(const Schedule::Step& step) const;
  bool ends_before(Place& place, const Schedule::Step& step);
  void ask_rule(Place& place, const Schedule::Step& step, unsigned attempt);
  void rule_said(Place& place, const protocol::LookReply& look, const Schedule::Step& step);
  [[nodiscard]] std::chrono::nanoseconds longer_by_trials(std::chrono::nanoseconds last,
                                                          std::uint32_t blocks) const;
  bool time_is_up(std::uint32_t blocks);
  bool waits_for_readers(Place& place, std::uint32_t position, bool within_block = false);
  void pass(Place& place, std::uint32_t position);
  using OnLine = std::function<void(const Result<std::string>& line)>;
  void ask_reader(protocol::ReadRequest request, OnLine use);
  void stop_asking();
  void no_answer(const std::string& why);
  bool waits_for_quiet(const Schedule::Step& step);
  void look_at_machine();
  void looked(const std::string& loud, const std::vector<std::string>& missing);
  void end_wait(std::chrono::nanoseconds waited, bool in_vain);
  [[nodiscard]] std::string wait_words() const;
  void continue_at(Place& place);
  // Whether the experiment's user may store more; ends the experiment if not.
  bool has_room();
  void end_trials(const std::string& why);
  [[nodiscard]] protocol::RunRequest request_for(const Place& place, std::uint32_t position) const;
  void ask_to_run(Place& place, protocol::RunRequest request);
  void ask_for_trial(Place& place, const Schedule::Step& step);
  void note_late(const Place& place);
  void ran(Place& place, protocol::RunReply reply);
  void keep(Place& place, store::Trial row);
  bool store_rows();
  void was_stored(Place& place, const store::Trial& row, std::chrono::nanoseconds took);
  void analyse(unsigned attempt = 1);
  void analysed(const protocol::FindingsReply& findings);
  [[nodiscard]] store::Trial row_for(const Place& place, const Schedule::Step& step) const;
  void note(const std::string& kind, const std::string& text);

  store::Store& store_;
  store::Experiment experiment_;
  plan::Plan plan_;
  plan::Expansion expansion_;
  Surroundings& around_;
  State state_ = State::queued;
  State before_ = State::queued;                 // the state before this one
  std::vector<Place> places_;                    // never empty, and never of another size
  std::map<std::string, std::size_t> makers_{};  // E12: by the kind of machine
  // The place of each position; empty without several places.
  std::shared_ptr<const std::vector<std::uint8_t>> machine_of_;
  std::optional<HeapTests> heap_tests_;
  bool changed_ = false;  // settings of the machine may have been changed
  // When we last checked that the machine is still quiet.
  std::chrono::steady_clock::time_point looked_;
  std::vector<store::Build> earlier_builds_;  // the stored builds when this worker started
  bool unsaved_ = false;                      // experiment_ is newer than its row
  std::string unsaved_why_{};                 // why the last state was not stored; "" if it was
  unsigned silences_ = 0;  // questions without an answer from any reader, since the last answer
  std::string stopped_;    // why the stopping rule or the plan's time ended the experiment
  std::string last_look_;
  std::vector<protocol::Change> last_changes_{};
  bool last_ = false;  // no further trial is requested
  bool gave_way_ = false;
  std::optional<BlockId> abandoned_;
  // Blocks with a trial that ends its workers: no worker can run such a block as a whole (E9).
  std::set<BlockId> never_whole_{};
  std::int64_t last_token_ = 0;
  std::uint64_t late_ = 0;        // answers refused by E11
  std::uint64_t measured_ = 0;    // trials that this session has measured
  bool told_of_storage_ = false;  // a notice was sent since a trial could last be stored
  bool told_of_limit_ = false;
  Activity activity_;
  // The total time of the trials that were read, for each place.
  std::vector<std::chrono::nanoseconds> stored_wall_{};
  std::uint64_t question_ = 0;  // number of the last question; answers to earlier ones are dropped
  // The block for which we don't wait for a quiet machine again, as a BlockId; stop_asking() clears
  // it.
  std::optional<std::pair<bool, std::uint32_t>> quiet_block_;
  std::vector<counters::Reading> waited_;  // readings of the next trial
  bool told_of_missing_ = false;
  std::optional<std::chrono::steady_clock::time_point> company_since_;
  // How long the running trial has had company, up to company_since_.
  std::chrono::nanoseconds company_{0};
  std::chrono::steady_clock::time_point since_;  // experiment_.duration_ns counts up to this time
  // The number of measured blocks after which the time and the stopping rule last let the
  // experiment go on.
  std::optional<std::uint32_t> goes_on_after_;
  // experiment_.duration_ns at the last start of a measured block, or of one on each machine.
  std::optional<std::chrono::nanoseconds> driven_then_;
  std::chrono::steady_clock::time_point trials_since_;
  std::uint64_t finished_then_ = 0;
};

}  // namespace stab::daemon
