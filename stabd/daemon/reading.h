// SPDX-License-Identifier: MIT
// What of the requests of clients readers answer.
#pragma once

#include <string>

#include "base/error.h"
#include "base/fd.h"
#include "protocol/messages.h"
#include "protocol/reading.h"

namespace stab::daemon {

// What a reader is asked for, but for the experiments and the database. Refuses formats that there
// are not.
Result<protocol::ReadRequest> reading_of(const protocol::ReportRequest& request);
Result<protocol::ReadRequest> reading_of(const protocol::CompareRequest& request);
Result<protocol::ReadRequest> reading_of(const protocol::ResultsRequest& request);
Result<protocol::ReadRequest> reading_of(const protocol::ExportRequest& request);
Result<protocol::ReadRequest> reading_of(const protocol::ReplayRequest& request);
Result<protocol::ReadRequest> reading_of(const protocol::ProfileRequest& request);
Result<protocol::ReadRequest> reading_of(const protocol::LogsRequest& request);

// The only line of a reader's answer.
Result<std::string> line_in(const Fd& file);

// What stands in it up to this place; an error if there is more.
Result<std::string> text_in(const Fd& file, std::size_t most);

// The answer of a reader that verifies.
Result<protocol::FindingsReply> findings_in(const Result<Fd>& answer);

}  // namespace stab::daemon
