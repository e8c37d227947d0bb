// SPDX-License-Identifier: MIT
// Answers the requests of clients, which doc/protocol.md lists.
#pragma once

#include <string>

namespace stab::daemon {

class Connection;
class Daemon;

// Answers one request line with one line, {"ok":true,...} or {"ok":false,"error":...}, now or
// later; progress lines follow the answer to `watch`. `line` may be any bytes. Users see and change
// only their own experiments; root and the daemon's own user see all.
void handle_request(Daemon& daemon, Connection& connection, const std::string& line);

}  // namespace stab::daemon
