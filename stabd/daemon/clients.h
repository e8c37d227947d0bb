// SPDX-License-Identifier: MIT
// The connected clients. Users share the connections. Root and the daemon's own user, who could end
// the daemon anyway, are never refused.
#pragma once

#include <uv.h>

#include <chrono>
#include <functional>
#include <memory>
#include <set>

#include "base/error.h"
#include "stabd/daemon/clock.h"
#include "stabd/daemon/connection.h"
#include "stabd/daemon/host/accounts.h"
#include "stabd/settings/settings.h"

namespace stab::daemon {

class Clients {
 public:
  // All users of one account share the limits of one user.
  Clients(Clock& clock, const settings::Limits& limits, std::chrono::nanoseconds idle_limit,
          Accounts& accounts);

  // From now on clients come from `server`, which calls accept() for each of them.
  void serve(uv_stream_t* server, Connection::OnLine on_line);
  void accept();
  // Applies to clients that connect from now on.
  void use_limits(const settings::Limits& limits) { limits_ = limits; }
  void close_all();
  // Connections that have been idle for this long are closed, except those of trusted users; 0 means
  // no limit.
  void use_idle_limit(std::chrono::nanoseconds limit);

  [[nodiscard]] bool anyone_watches() const;
  // Whether this client may send `bytes` more of an archive.
  [[nodiscard]] Result<void> may_send(const Connection& client, std::size_t bytes) const;
  // Whether a reader may write another answer for this user: not if too much waits unread in files.
  [[nodiscard]] bool may_be_answered(std::uint32_t uid) const;
  // `visit` may close the connection.
  void for_each_watcher(const std::function<void(Connection&)>& visit);

 private:
  void accept_one();
  void end_idle_in_time();
  void end_idle();
  void refuse_if_too_many(Connection& client) const;
  // Whether `bytes` more may wait for this client, counting everything that waits for its user.
  [[nodiscard]] bool may_wait(const Connection& client, std::size_t bytes) const;

  [[nodiscard]] bool is_same(const Connection& client, std::uint32_t uid) const {
    return accounts_.is_same(client.peer().uid, uid);
  }

  settings::Limits limits_;
  std::chrono::milliseconds idle_limit_;
  Accounts& accounts_;
  std::set<Connection*> connected_;
  uv_stream_t* server_ = nullptr;
  Connection::OnLine on_line_;
  int accepted_ = 0;  // clients accepted since the loop last served everybody else
  std::unique_ptr<Timer> accept_timer_;  // runs while many clients connect at once
  std::unique_ptr<Timer> idle_timer_;    // runs while there are clients
};

}  // namespace stab::daemon
