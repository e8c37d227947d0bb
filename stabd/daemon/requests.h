// SPDX-License-Identifier: MIT
// Answers the requests of clients, which doc/protocol.md lists. Turns some of them into requests to
// readers, and reads the readers' answers.
#pragma once

#include <string>

#include "base/error.h"
#include "base/fd.h"
#include "protocol/messages.h"
#include "protocol/reading.h"

namespace stab::daemon {

class Connection;
class Daemon;

// The reader's request without the experiments and the database. Refuses unknown formats.
Result<protocol::ReadRequest> reading_of(const protocol::ReportRequest& request);
Result<protocol::ReadRequest> reading_of(const protocol::CompareRequest& request);
Result<protocol::ReadRequest> reading_of(const protocol::ResultsRequest& request);
Result<protocol::ReadRequest> reading_of(const protocol::ExportRequest& request);
Result<protocol::ReadRequest> reading_of(const protocol::ReplayRequest& request);
Result<protocol::ReadRequest> reading_of(const protocol::ProfileRequest& request);
Result<protocol::ReadRequest> reading_of(const protocol::LogsRequest& request);

// A reader's answer, which is a single line.
Result<std::string> line_in(const Fd& file);

// The file's text; an error if it is longer than `most` bytes.
Result<std::string> text_in(const Fd& file, std::size_t most);

// The answer of a reader that verifies trials or an archive.
Result<protocol::FindingsReply> findings_in(const Result<Fd>& answer);

// Answers one request line with one line, {"ok":true,...} or {"ok":false,"error":...}, now or
// later; progress lines follow the answer to `watch`. `line` may be any bytes. Users see and change
// only their own experiments; root and the daemon's own user see all.
void handle_request(Daemon& daemon, Connection& connection, const std::string& line);

}  // namespace stab::daemon
