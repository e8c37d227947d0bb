// SPDX-License-Identifier: MIT
// The connected clients. Users share the connections. Root and the daemon's own user, who could end
// the daemon anyway, are never refused.
#pragma once

#include <uv.h>

#include <chrono>
#include <functional>
#include <set>

#include "base/error.h"
#include "stabd/daemon/connection.h"
#include "stabd/daemon/host/accounts.h"
#include "stabd/settings/settings.h"

namespace stab::daemon {

class Clients {
 public:
  // All users of one account share the limits of one user.
  Clients(const settings::Limits& limits, Accounts& accounts)
      : limits_(limits), accounts_(accounts) {}

  void accept(uv_stream_t* server, Connection::OnLine on_line);
  // Applies to clients that connect from now on.
  void use_limits(const settings::Limits& limits) { limits_ = limits; }
  void close_all();
  // Closes connections that have been idle for this long, except those of trusted users.
  void end_idle(std::chrono::milliseconds limit);

  [[nodiscard]] bool empty() const { return connected_.empty(); }
  [[nodiscard]] bool anyone_watches() const;
  // Whether this client may send `bytes` more of an archive.
  [[nodiscard]] Result<void> may_send(const Connection& client, std::size_t bytes) const;
  // Whether a reader may write another answer for this user: not if too much waits unread in files.
  [[nodiscard]] bool may_be_answered(std::uint32_t uid) const;
  // `visit` may close the connection.
  void for_each_watcher(const std::function<void(Connection&)>& visit);

 private:
  void refuse_if_too_many(Connection& client) const;
  // Whether `bytes` more may wait for this client, counting everything that waits for its user.
  [[nodiscard]] bool may_wait(const Connection& client, std::size_t bytes) const;

  [[nodiscard]] bool is_same(const Connection& client, std::uint32_t uid) const {
    return accounts_.is_same(client.peer().uid, uid);
  }

  settings::Limits limits_;
  Accounts& accounts_;
  std::set<Connection*> connected_;
};

}  // namespace stab::daemon
