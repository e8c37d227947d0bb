// SPDX-License-Identifier: MIT
// What a database that `stabctl run` left answers, without a daemon. Another process may be writing
// it meanwhile; nothing in here changes it.
#pragma once

#include <memory>
#include <string>

#include "base/error.h"
#include "client/exit_code.h"
#include "protocol/document.h"
#include "protocol/messages.h"
#include "report/model.h"
#include "store/reader.h"

namespace stab::client {

struct Stored {
  std::string path;  // absolute
  std::unique_ptr<store::Reader> reader;
};

// The database in a folder. The error says which folders have one.
Result<Stored> open_stored(const std::string& folder);

// An experiment whose report is analysed once, in however many forms it is shown.
struct Analysed {
  Stored stored;
  store::Experiment experiment;
  report::Document document;

  [[nodiscard]] Result<protocol::ReportReply> as(const protocol::ReportRequest& form) const;
  [[nodiscard]] Ending ending() const;
};
// Of this response; "": the plan's.
Result<Analysed> analyse_stored(const std::string& folder, store::Id id,
                                const std::string& response = "");

// As the daemon of that folder would answer. An id of 0, or no ids: the only experiment there is.
Result<protocol::ReportReply> answer_stored(const std::string& folder,
                                            const protocol::ReportRequest& request);
Result<protocol::ReportReply> answer_stored(const std::string& folder,
                                            const protocol::CompareRequest& request);
Result<protocol::ResultsReply> answer_stored(const std::string& folder,
                                             const protocol::ResultsRequest& request);
Result<protocol::ExportReply> answer_stored(const std::string& folder,
                                            const protocol::ExportRequest& request);
// Runs by 'stabctl run' have their builds where the user's own are.
Result<protocol::ReplayReply> answer_stored(const std::string& folder,
                                            const protocol::ReplayRequest& request);
Result<protocol::ProfileReply> answer_stored(const std::string& folder,
                                             const protocol::ProfileRequest& request);
Result<protocol::LogsReply> answer_stored(const std::string& folder,
                                          const protocol::LogsRequest& request);

}  // namespace stab::client
