// SPDX-License-Identifier: MIT
// The daemon: a queue of experiments of which one runs, clients on a unix socket, one loop thread.
// The loop only waits and passes on; what things mean is decided by the session and the request
// handler.
#pragma once

#include <uv.h>

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/fd.h"
#include "base/turns.h"
#include "machine/processes.h"
#include "machine/quality/calm.h"
#include "machine/quiet/doctor.h"
#include "machine/quiet/keeper.h"
#include "machine/trial_group.h"
#include "protocol/reading.h"
#include "stabd/archive/intake.h"
#include "stabd/archive/spool.h"
#include "stabd/daemon/children/notifier.h"
#include "stabd/daemon/clients.h"
#include "stabd/daemon/host/accounts.h"
#include "stabd/daemon/host/quieting.h"
#include "stabd/daemon/loop_time.h"
#include "stabd/daemon/queue.h"
#include "stabd/daemon/readers.h"
#include "stabd/daemon/session/session.h"
#include "stabd/daemon/worker_process.h"
#include "stabd/service/manager.h"
#include "stabd/settings/settings.h"
#include "stabd/upkeep/retry.h"
#include "stabd/upkeep/upkeep.h"
#include "store/store.h"

namespace stab::daemon {

struct DaemonOptions : settings::Settings {
  // What the file and the command line say now.
  std::function<Result<settings::Settings>()> read_again;
  std::string program;       // stabd's own path, for the worker
  int ready_fd = -1;         // gets "ready\n" when clients can connect
  std::string machine_logs;  // folder of the machine's logs, see machine/quiet/keeper.h
  std::string machine_root;  // stands before /proc and /sys of knobs, for tests
};

class Daemon {
 public:
  // Opens the store, ends what an earlier daemon left running, listens. Nothing is measured before
  // run().
  static Result<std::unique_ptr<Daemon>> open(DaemonOptions options, service::Manager manager);
  ~Daemon();
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;

  // Serves until SIGTERM or SIGINT. The trial that runs then is measured again by the next daemon,
  // or finished first if the settings say so.
  void run();

  // For the request handler.
  [[nodiscard]] const LoopTime& loop_time() const { return loop_time_; }
  store::Store& store() { return *store_; }
  [[nodiscard]] const DaemonOptions& options() const { return options_; }
  [[nodiscard]] const Session* session() const { return session_.get(); }
  [[nodiscard]] const Queue& queue() const { return queue_; }
  // No further experiment begins.
  [[nodiscard]] bool queue_held() const { return queue_held_; }
  // The client gets the answer when its plan has been read: this line submits one, perhaps.
  void read_submission(Connection& client, const std::string& line);
  // In progress.cc. Those who watch an experiment hear of it.
  void publish_soon();
  // As clients see it, whatever its row says of it.
  [[nodiscard]] store::Experiment shown(store::Experiment row) const;
  // The client gets the answer when a reader has it; `request` lacks the database.
  void read_for(Connection& client, protocol::ReadRequest request);
  [[nodiscard]] bool is_brief(const protocol::ReadRequest& request) const;

  // Whether plans of this user may change settings of the machine.
  [[nodiscard]] Result<void> may_quiesce(std::uint32_t uid, bool moves_processes) const;

  // Whether its trials can do without the machine's network if it wants that.
  [[nodiscard]] Result<void> has_its_network(const plan::Plan& plan) const;
  // Whether each trial of this user's plan ends within a turn (limits.turn).
  [[nodiscard]] Result<void> fits_a_turn(std::uint32_t uid, const plan::Plan& plan) const;
  // Whether this user may add an experiment with a plan of this size.
  [[nodiscard]] Result<void> has_room(std::uint32_t uid, std::size_t plan_bytes) const;
  // Whether so many bytes more may be stored of this user's.
  [[nodiscard]] Result<void> may_store(std::uint32_t uid, std::uint64_t more) const;
  [[nodiscard]] std::uint64_t bytes_of_account(std::uint32_t uid) const;

  // What users may do with experiments, in daemon_queue.cc. Who asks may do it to this one.
  Result<store::Id> submit(const store::Experiment& experiment, const std::string& source);
  Result<void> cancel(store::Id id);
  Result<void> hold(store::Id id, std::uint32_t uid);
  Result<void> let_go(store::Id id, std::uint32_t uid);
  Result<void> hold_queue(bool held, std::uint32_t uid);
  // An experiment that has ended: nobody sees it from here on.
  Result<void> remove(const store::Experiment& experiment, std::uint32_t uid);
  [[nodiscard]] Result<void> may_be_removed(const store::Experiment& experiment);
  // In retries.cc. The client gets its answer later.
  Result<void> retry(Connection& client, const store::Experiment& experiment);
  // In archives.cc. A piece of an archive: nothing if it was the last one and the client gets its
  // answer later.
  Result<std::optional<protocol::ImportReply>> import(Connection& client,
                                                      const protocol::ImportRequest& request);

 private:
  Daemon(DaemonOptions options, service::Manager manager);
  Result<void> prepare();
  // Its user is the account that owns it.
  [[nodiscard]] Waiting waiting_from(const store::Experiment& experiment) const;
  Result<void> open_loop();
  [[nodiscard]] Submitter submitter(std::uint32_t uid) const;
  Result<std::vector<machine::Finding>> examine_machine();
  // In serving.cc.
  Result<void> listen();
  Result<void> make_socket();
  Result<void> use_socket(Fd passed);
  void watch_signals();
  void feed_watchdog();
  void read_settings_again();
  void use_settings();
  void end_idle_in_time();
  void tell_status();
  void stop();
  void abandon();
  void leave();
  // Of an experiment that has ended or is in trouble, in notices.cc. `event`: its last state, or the
  // trouble.
  Notifier& notifier_of(const Notice& notice);
  void note_unsent(store::Id id, const std::string& why);
  [[nodiscard]] bool owes_notices() const;
  void tell(const store::Experiment& row, const plan::Plan* plan, std::string_view event,
            const std::string& reason, const std::optional<Counts>& counts);
  void send(std::vector<Notice> notices, const nlohmann::ordered_json& json);
  void accept();
  void accept_one();
  void end_idle_clients();
  void load_queue();
  void run_next();
  // The turn of the user whose experiment runs, in turns.cc.
  [[nodiscard]] std::chrono::nanoseconds turn_of(std::uint32_t uid) const;
  void submitted(Connection& client, const Result<Fd>& answer);
  [[nodiscard]] Result<store::Id> take_submission(const Peer& peer, const Result<Fd>& answer);
  void begin_turn();
  void charge_turn();
  void end_turn(const store::Experiment& experiment);
  [[nodiscard]] bool turn_is_over();
  [[nodiscard]] std::optional<BlockId> abandoned_block(store::Id id) const;
  void watch_turn();
  void cut_turn_short();
  void look_again_later();
  void after_session_step();
  SessionPorts ports(store::Id experiment);
  Result<void> start_worker();
  void prepare_groups();
  [[nodiscard]] std::uint64_t cache_limit() const;
  void bound_trial(const protocol::RunRequest& run);
  [[nodiscard]] std::string cache_of(const store::Experiment& experiment) const;
  void publish_progress();
  // What readers do for us, in reading.cc.
  void start_readers();
  void read_for_session(protocol::ReadRequest request,
                        std::function<void(Result<std::string>)> done);
  void forget_session_reading();
  void verify_trials();
  void heed_damage(const std::vector<store::Damage>& damage);
  // Experiments that enter, in archives.cc.
  struct Import {
    Connection* client;  // which keeps the parts
    archive::Intake intake;
  };
  archive::Spool::Leave leave_in_pieces();
  void free_some();
  void verify_import(Connection& client, std::string name);
  Result<void> begin_import(Connection& client);
  void end_import(Connection& client, std::string answer);
  void give_up_import(const Connection& client);
  store::Id forget_import(const Connection& client);
  store::Outcome<void> go_on_with_import();
  // Experiments that go on with what did not succeed, in retries.cc.
  struct Retrying {
    Connection* client = nullptr;  // that waits for it, if one does
    std::uint32_t uid = no_user;   // whose
    upkeep::Retry retry;
  };
  [[nodiscard]] bool is_retried(store::Id id);
  Result<void> may_retry(const store::Experiment& experiment, std::uint32_t uid);
  void load_retry(store::Id id);
  void allow_retries();
  void go_on_with_retries_in(std::uint64_t ms);
  void go_on_with_retries();
  void end_retry(const Retrying& ended, const Result<void>& done);
  void look_at_machine(const machine::CpuSet& trial, const machine::CalmBounds& bounds,
                       SessionPorts::OnLook done);
  void looked_at_machine();
  [[nodiscard]] bool readers_wait() const;
  bool let_readers_run(std::function<void()> go_on, bool within_block);
  void wait_no_longer();
  void tell_company();
  void trials_go_on();
  void allow_readers();
  [[nodiscard]] std::string database() const;
  // What leaves the database does so while no trial runs.
  void start_upkeep();
  void look_for_old();
  [[nodiscard]] bool has_upkeep() const;
  void allow_upkeep();
  void keep_up();
  Result<void> change_waiting(store::Id id, Event event,
                              const std::function<void(store::Experiment&)>& change);

  DaemonOptions options_;
  settings::Settings wanted_;  // as they were read last, but for what cannot change
  service::Manager manager_;
  std::vector<unsigned> allowed_cpus_;  // when we were started
  machine::Containment containment_ = machine::Containment::process_tree;
  std::string token_;
  std::string no_groups_;                       // why trials have no cgroup; "": they have
  std::unique_ptr<machine::TrialGroup> group_;  // of the worker
  std::unique_ptr<store::Store> store_;
  std::unique_ptr<upkeep::Upkeep> upkeep_;
  Turns<Import> imports_;
  std::deque<Fd> leavings_;  // files without a name, of which a piece after another is freed
  Turns<Retrying> retries_;
  bool import_was_last_ = false;  // of what enters and what leaves the database
  machine::Keeper keeper_;
  std::optional<machine::Topology> topology_;  // with the first worker
  Queue queue_;
  bool queue_held_ = false;
  std::unique_ptr<Session> session_;
  // Of the session's user: when it was last charged, and how long it has been.
  std::chrono::steady_clock::time_point charged_;
  std::chrono::nanoseconds turn_{0};
  std::map<store::Id, BlockId> abandoned_blocks_;  // of experiments that gave the machine away
  std::shared_ptr<WorkerProcess> worker_;
  std::unique_ptr<Readers> readers_;
  // Those of a user's experiments wait for each other, and for nobody else's: by user, with whether
  // the command is ours.
  std::map<std::pair<std::uint32_t, bool>, std::unique_ptr<Notifier>> notifiers_;
  std::multiset<store::Id> awaiting_verdict_;  // experiments with notices that are sent with it
  std::vector<unsigned> other_cpus_;           // that trials do not use, as far as we know
  Readers::Ticket session_reading_ = 0;
  bool shared_cpus_ = false;              // trials run on all CPUs that there are
  std::function<void()> between_blocks_;  // set while trials wait for readers
  // How long what clients wait for has waited for trials.
  enum class Waited { little, long_enough_between, long_enough_beside };
  Waited readers_waited_ = Waited::little;
  bool import_beside_ = false;  // one has waited so long that it goes on beside trials
  struct Looking {
    machine::Calm calm;
    std::chrono::steady_clock::time_point since;
    SessionPorts::OnLook done;
  };
  std::optional<Looking> looking_;  // while the session waits for a quiet machine
  Accounts accounts_;
  Clients clients_;
  bool stopping_ = false;
  bool abandoned_ = false;  // and what ran is not waited for
  bool leaving_ = false;    // and only notices are
  // What the manager was told of the session last.
  std::pair<store::Id, std::optional<State>> told_{-1, std::nullopt};

  uv_loop_t loop_{};
  LoopTime loop_time_;
  uv_pipe_t server_{};
  uv_signal_t on_term_{};
  uv_signal_t on_int_{};
  uv_signal_t on_hup_{};  // read the settings again
  uv_idle_t again_{};     // active while the session asked to be called again
  uv_timer_t storage_retry_{};
  uv_timer_t progress_{};  // publishes at a human pace while somebody watches
  uv_timer_t idle_{};      // while there are clients
  uv_timer_t between_timer_{};
  uv_timer_t overdue_timer_{};  // while readers wait for trials
  uv_timer_t import_timer_{};   // while an import does
  uv_timer_t look_timer_{};
  uv_timer_t accept_timer_{};  // while many connect at once
  int accepted_ = 0;           // without a pause
  uv_timer_t turn_timer_{};    // while another user waits for the end of a turn
  uv_timer_t stop_timer_{};
  std::uint64_t upkeep_not_before_ = 0;  // by the loop's clock
  uv_timer_t upkeep_timer_{};            // while there is something to remove and no trial runs
  uv_timer_t retry_timer_{};             // until nothing is being retried
  uv_timer_t leavings_timer_{};          // until there are none
  uv_timer_t old_timer_{};               // looks for what is too old
  uv_timer_t watchdog_{};                // while a manager wants to hear of us
  bool loop_open_ = false;
};

}  // namespace stab::daemon
