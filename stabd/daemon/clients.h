// SPDX-License-Identifier: MIT
// Who is connected. Users share the connections; whoever can end the daemon anyway is never kept
// out: root and the daemon's own user.
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
  // Users of one account share what a user may have.
  Clients(const settings::Limits& limits, Accounts& accounts)
      : limits_(limits), accounts_(accounts) {}

  void accept(uv_stream_t* server, Connection::OnLine on_line);
  // Of those that come from now on.
  void use_limits(const settings::Limits& limits) { limits_ = limits; }
  void close_all();
  // Ends those that have been idle for this long and are not trusted.
  void end_idle(std::chrono::milliseconds limit);

  [[nodiscard]] bool empty() const { return connected_.empty(); }
  [[nodiscard]] bool anyone_watches() const;
  // Whether this client may send so many bytes more of an archive.
  [[nodiscard]] Result<void> may_send(const Connection& client, std::size_t bytes) const;
  // Whether another answer of this user's may come into a file: what waits in theirs is not too much.
  [[nodiscard]] bool may_be_answered(std::uint32_t uid) const;
  // Each may close while it is visited.
  void for_each_watcher(const std::function<void(Connection&)>& visit);

 private:
  void refuse_if_too_many(Connection& client) const;
  // All that waits for a user together.
  [[nodiscard]] bool may_wait(const Connection& client, std::size_t bytes) const;

  [[nodiscard]] bool is_same(const Connection& client, std::uint32_t uid) const {
    return accounts_.is_same(client.peer().uid, uid);
  }

  settings::Limits limits_;
  Accounts& accounts_;
  std::set<Connection*> connected_;
};

}  // namespace stab::daemon
