// SPDX-License-Identifier: MIT
// What clients ask for. doc/protocol.md lists the requests and their answers.
#pragma once

#include <string>

namespace stab::daemon {

class Connection;
class Daemon;

// Answers one request line with one line, {"ok":true,...} or {"ok":false,"error":...}; `watch` is
// followed by progress lines. Any bytes are an acceptable request. Users see and cancel their own
// experiments; root and the daemon's own user see all.
void handle_request(Daemon& daemon, Connection& connection, const std::string& line);

}  // namespace stab::daemon
