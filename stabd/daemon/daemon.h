// SPDX-License-Identifier: MIT
// The daemon runs one experiment of its queue at a time and serves clients on a unix socket, all in
// one loop thread. The loop only waits and dispatches: the session and the request handler decide.
#pragma once

#include <uv.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/fd.h"
#include "cluster/slurm.h"
#include "protocol/reading.h"
#include "stabd/daemon/allocations.h"
#include "stabd/daemon/clients.h"
#include "stabd/daemon/host.h"
#include "stabd/daemon/loop.h"
#include "stabd/daemon/maintenance.h"
#include "stabd/daemon/notices.h"
#include "stabd/daemon/queue.h"
#include "stabd/daemon/readers.h"
#include "stabd/daemon/retries.h"
#include "stabd/daemon/service.h"
#include "stabd/daemon/session/session.h"
#include "stabd/daemon/workshop.h"
#include "stabd/settings.h"
#include "store/store.h"

namespace stab::daemon {

struct DaemonOptions : settings::Settings {
  // Reads the settings file and the command line again.
  std::function<Result<settings::Settings>()> read_again;
  std::string program;       // stabd's own path, for the worker
  int ready_fd = -1;         // stabd writes "ready\n" to it when clients can connect
  std::string machine_logs;  // the folder of the machine's logs (machine/quiet/quiet.h)
  std::string machine_root;  // a prefix for the /proc and /sys paths of knobs, for tests
  // The same as in workshop.h; tests have less patience.
  std::chrono::milliseconds node_silence = cluster::node_silence;
  std::chrono::milliseconds node_wait{600'000};
};

class Daemon final : private Ending::Steps, private WorkerEvents, private ReadersSurroundings {
 public:
  // Opens the store, ends the processes that an earlier daemon left running, and listens. No trial
  // runs before run().
  static Result<std::unique_ptr<Daemon>> open(DaemonOptions options, service::Manager manager);
  ~Daemon();
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;

  // Serves until SIGTERM or SIGINT. The next daemon repeats the trial that runs at that moment,
  // unless the settings say to finish it first.
  void run();

  // For the request handler.
  [[nodiscard]] const LoopTime& loop_time() const { return loop_->time(); }
  store::Store& store() { return *store_; }
  [[nodiscard]] const DaemonOptions& options() const { return options_; }
  [[nodiscard]] const Session* session() const { return session_.get(); }
  [[nodiscard]] const Queue& queue() const { return queue_; }
  // Answers the client when a reader has read its plan. `line` is a request that may submit one.
  void read_submission(Connection& client, const std::string& line);
  // Sends progress to the clients that watch an experiment (requests.cc).
  void publish_soon();
  // The row as clients see it, which may differ from the stored row.
  [[nodiscard]] store::Experiment shown(store::Experiment row) const;
  // Answers the client when a reader is done. `request` does not name the database yet.
  void read_for(Connection& client, protocol::ReadRequest request);
  [[nodiscard]] bool is_brief(const protocol::ReadRequest& request) const;

  // Whether plans of this user may change settings of the machine.
  [[nodiscard]] Result<void> may_quiesce(std::uint32_t uid, bool moves_processes) const;

  // Fails if the plan wants its trials cut off from the machine's network and stabd can't do that
  // here.
  [[nodiscard]] Result<void> has_its_network(const plan::Plan& plan) const;
  // Whether this user may add an experiment with a plan of this size.
  [[nodiscard]] Result<void> has_room(std::uint32_t uid, std::size_t plan_bytes) const;
  // Whether this user may store `more` bytes in addition.
  [[nodiscard]] Result<void> may_store(std::uint32_t uid, std::uint64_t more) const;
  // The same for rows of an import, which leaves room for the rest of the user's running
  // experiment.
  [[nodiscard]] Result<void> may_import(std::uint32_t uid, std::uint64_t more) const;
  // Whether the user's running experiment may store another trial. Unfinished imports and removals
  // never keep it from that.
  [[nodiscard]] Result<void> may_run_on(std::uint32_t uid) const;

  // The requests of users about experiments (daemon.cc). The caller has checked that the user
  // may act on the experiment: its owner, root and the daemon's own user may.
  Result<store::Id> submit(store::Experiment experiment);
  Result<void> cancel(store::Id id);
  Result<void> hold(store::Id id, std::uint32_t uid);
  Result<void> let_go(store::Id id, std::uint32_t uid);
  Result<void> hold_queue(bool held, std::uint32_t uid);
  // Only for an experiment that has ended: nobody sees it any more after this call.
  Result<void> remove(const store::Experiment& experiment, std::uint32_t uid);
  [[nodiscard]] Result<void> may_be_removed(const store::Experiment& experiment);
  // The client gets its answer later (retries.h).
  Result<void> retry(Connection& client, const store::Experiment& experiment);
  // Takes one piece of an archive (requests.cc). Returns nothing after the last piece: the client
  // gets that answer later.
  Result<std::optional<protocol::ImportReply>> import(Connection& client,
                                                      const protocol::ImportRequest& request);

 private:
  class Around;  // Surroundings of the session (daemon.cc)

  Daemon(DaemonOptions options, service::Manager manager, std::unique_ptr<store::Store> store,
         std::unique_ptr<Loop> loop);
  Result<void> prepare();
  Result<void> open_loop();
  [[nodiscard]] Submitter submitter(std::uint32_t uid) const;
  // Whether the user's limit permits so many bytes, and those that the running experiment is still
  // to store.
  [[nodiscard]] Result<void> within_limit(std::uint32_t uid, std::uint64_t bytes,
                                          std::uint64_t to_come = 0) const;
  // The daemon as a service.
  Result<void> listen();
  Result<void> make_socket();
  Result<void> use_socket(Fd passed);
  void watch_signals();
  void read_settings_again();
  void use_settings();
  void tell_status();
  // The stages of its end (service.h).
  std::optional<std::chrono::nanoseconds> begin_to_stop() override;
  bool stop_worker() override;
  [[nodiscard]] bool owes_notices() const override;
  [[nodiscard]] bool owes_allocations() const override;
  void wait_to_leave() override;
  void stop_loop() override;
  // The running experiment's workers.
  void worker_said(const std::string& line, std::size_t place) override;
  void worker_silent(const std::string& how, std::size_t place) override;
  void worker_ended(const std::string& how, std::size_t place) override;
  void load_queue();
  void run_next();
  void submitted(Connection& client, const Result<Fd>& answer);
  [[nodiscard]] Result<store::Id> take_submission(const Peer& peer, const Result<Fd>& answer);
  void look_again_later();
  void retry_storage();
  void after_session_step();
  void publish_progress();
  // Requests to readers (requests.cc).
  [[nodiscard]] bool is_trusted(std::uint32_t account) const override;
  [[nodiscard]] bool reader_may_begin(std::uint32_t uid) const override;
  [[nodiscard]] std::string readers_must_end() override;
  void readers_changed() override;
  void read_for_session(protocol::ReadRequest request,
                        std::function<void(Result<std::string>)> done);
  void forget_session_reading();
  void verify_trials();
  void heed_damage(const std::vector<store::Damage>& damage);
  // Archives that clients send (requests.cc).
  void verify_import(Connection& client, std::string name);
  Result<void> begin_import(Connection& client);
  void tell_company();
  void allow_readers();
  [[nodiscard]] std::string database() const;
  Result<void> change_waiting(store::Id id, Event event,
                              const std::function<void(store::Experiment&)>& change);

  std::unique_ptr<Loop> loop_;
  std::unique_ptr<store::Store> store_;
  DaemonOptions options_;
  // The settings as last read, except those that can't change before a restart.
  settings::Settings wanted_;
  Workshop workshop_;
  Allocations allocations_;
  Queue queue_;
  MachineTurn turn_;
  std::unique_ptr<Session> session_;
  std::unique_ptr<Readers> readers_;
  RoomForReaders room_;
  Accounts accounts_;
  Notices notices_;
  Readers::Ticket session_reading_ = 0;
  Retries retries_;
  Maintenance maintenance_;
  Leavings leavings_;  // takes over the spools of clients, so it must be there as long as they are
  Clients clients_;
  QuietLook look_;  // for a session that waits for a quiet machine
  Supervision supervision_;
  Ending ending_;
  std::unique_ptr<Surroundings> around_;
  std::unique_ptr<Timer> storage_retry_;
  std::unique_ptr<Timer> progress_;  // publishes slowly enough for people, while a client watches

  uv_pipe_t server_{};
};

}  // namespace stab::daemon
