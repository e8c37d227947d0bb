// SPDX-License-Identifier: MIT
// The daemon: a queue of experiments of which one runs, clients on a unix socket, one loop thread.
// The loop only waits and passes on; what things mean is decided by the session and the request
// handler.
#pragma once

#include <uv.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/fd.h"
#include "machine/processes.h"
#include "stabd/daemon/connection.h"
#include "stabd/daemon/session.h"
#include "stabd/daemon/worker_process.h"
#include "store/store.h"

namespace stab::daemon {

struct DaemonOptions {
  std::string state_directory;
  std::string socket_path;
  std::string cache_directory;  // of builds; a folder a user inside
  std::string program;          // stabd's own path, for the worker
  unsigned socket_mode = 0600;
  int ready_fd = -1;    // gets "ready\n" when clients can connect
  bool isolate = true;  // use pid namespaces where they are allowed
};

// Of users that are neither root nor the daemon's own.
inline constexpr std::size_t max_clients = 256;
inline constexpr std::size_t max_clients_of_user = 16;
inline constexpr std::size_t max_queue = 1000;

class Daemon {
 public:
  // Opens the store, ends what an earlier daemon left running, listens. Nothing is measured before
  // run().
  static Result<std::unique_ptr<Daemon>> open(DaemonOptions options);
  ~Daemon();
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;

  // Serves until SIGTERM or SIGINT. What runs then is taken up by the next daemon.
  void run();

  // For the request handler.
  store::Store& store() { return *store_; }
  [[nodiscard]] const DaemonOptions& options() const { return options_; }
  [[nodiscard]] const Session* session() const { return session_.get(); }
  // Whether one more may be submitted.
  [[nodiscard]] Result<void> has_room() const;
  Result<store::Id> submit(const store::Experiment& experiment);
  Result<void> cancel(store::Id id);

 private:
  explicit Daemon(DaemonOptions options);
  Result<void> prepare();
  Result<void> listen();
  void watch_signals();
  void stop();
  void accept();
  void load_queue();
  void run_next();
  void after_session_step();
  SessionPorts ports();
  Result<void> start_worker();
  [[nodiscard]] std::string cache_of(const store::Experiment& experiment) const;
  void publish_progress();

  DaemonOptions options_;
  std::vector<unsigned> allowed_cpus_;  // when we were started
  machine::Containment containment_ = machine::Containment::process_tree;
  std::string token_;
  std::unique_ptr<store::Store> store_;
  std::deque<store::Id> queue_;
  std::unique_ptr<Session> session_;
  std::shared_ptr<WorkerProcess> worker_;
  std::set<Connection*> clients_;
  bool stopping_ = false;

  uv_loop_t loop_{};
  uv_pipe_t server_{};
  uv_signal_t on_term_{};
  uv_signal_t on_int_{};
  uv_idle_t again_{};  // active while the session asked to be called again
  uv_timer_t storage_retry_{};
  uv_timer_t progress_{};  // publishes at a human pace
  bool loop_open_ = false;
};

}  // namespace stab::daemon
