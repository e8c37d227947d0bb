// SPDX-License-Identifier: MIT
// The folders in which `stabctl run` keeps its databases: where the same command finds its folder
// again, and how such a database answers requests without a daemon.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/fd.h"
#include "client/exit_code.h"
#include "protocol/document.h"
#include "protocol/messages.h"
#include "report/model.h"
#include "results/trials.h"
#include "store/reader.h"

namespace stab::client {

struct RunFolder {
  std::string path;
  Fd claim;  // while it is open, no other call considers the run interrupted
};

struct RunOf {
  std::string experiment;  // the experiment's name
  std::string plan;        // the plan's text
  std::string directory;   // the plan's folder
};

// Returns `wanted` unless it is empty. Otherwise, unless `again` is set, returns the user's newest
// folder in which a run of this very plan was interrupted and which no process uses. Otherwise
// creates a folder.
Result<RunFolder> choose_folder(const std::string& wanted, const RunOf& run, bool again);

// The folder that contains the folders of runs, except runs for which the user names a folder.
std::string folder_of_runs();

// Whether the same command would continue the run in this folder, if no process uses it.
bool is_unfinished(const std::string& folder, const RunOf& run);

// The file in a run's folder that says how `stabctl ab` began the run; removed when the run ends.
inline constexpr const char* ab_mark = "ab.json";

// Whether a stabd works in the folder now.
bool is_in_use(const std::string& folder);

// Folders below folder_of_runs() whose run was interrupted and that no process uses, newest first.
std::vector<std::string> interrupted_runs();

// Records that the run in the folder has ended, so that the same command begins a new one.
void mark_ended(const RunFolder& folder);

// Tells the user how to see the full report of a run without measuring again.
void tell_how_to_report(const std::string& folder, store::Id id);

// A database that `stabctl run` left. Another process may be writing it meanwhile; the functions
// below never change it.
struct Stored {
  std::string path;  // absolute
  std::unique_ptr<store::Reader> reader;
};

// Whether the file exists. The error says how to find folders that have a database.
Result<void> is_there(const std::string& database);
// Opens the database in a folder. The error says how to find folders that have one.
Result<Stored> open_stored(const std::string& folder);
// The numbers of the experiments in a database, with those of damaged rows: a user who asks for one
// learns what is wrong with it.
Result<std::vector<store::Id>> ids_in(store::Reader& reader);
// The error for a number that is not one of `ids`, which are the numbers in the database.
std::unexpected<Error> no_experiment(store::Id wanted, const std::string& database,
                                     const std::vector<store::Id>& ids);
// Returns the number of the experiment in the folder, which must be this one unless `id` is 0.
Result<store::Id> experiment_in(const std::string& folder, store::Id id);

// An experiment with its report, which is analysed once and can be shown in several forms.
struct Analysed {
  Stored stored;
  store::Experiment experiment;
  report::Document document;

  [[nodiscard]] Result<protocol::ReportReply> as(const protocol::ReportRequest& form) const;
  [[nodiscard]] Ending ending() const;
};
Result<Analysed> analyse_stored(const std::string& folder, store::Id id,
                                const results::Asked& asked = {});

// Answer requests as the daemon of that folder would. An id of 0, or an empty list of ids, stands
// for the only experiment in the folder.
Result<protocol::ReportReply> answer_stored(const std::string& folder,
                                            const protocol::ReportRequest& request);
Result<protocol::ReportReply> answer_stored(const std::string& folder,
                                            const protocol::CompareRequest& request);
Result<protocol::ResultsReply> answer_stored(const std::string& folder,
                                             const protocol::ResultsRequest& request);
Result<protocol::ExportReply> answer_stored(const std::string& folder,
                                            const protocol::ExportRequest& request);
// Assumes that the builds are in the user's default cache, as those of 'stabctl run' are.
Result<protocol::ReplayReply> answer_stored(const std::string& folder,
                                            const protocol::ReplayRequest& request);
Result<protocol::ProfileReply> answer_stored(const std::string& folder,
                                             const protocol::ProfileRequest& request);
Result<protocol::LogsReply> answer_stored(const std::string& folder,
                                          const protocol::LogsRequest& request);

}  // namespace stab::client
