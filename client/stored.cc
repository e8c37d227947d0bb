// SPDX-License-Identifier: MIT
#include "client/stored.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <vector>

#include "client/run_folder.h"
#include "protocol/paths.h"
#include "results/answers.h"
#include "results/document.h"
#include "results/export.h"
#include "results/profiles.h"
#include "results/report_page.h"
#include "results/run_request.h"

namespace stab::client {
namespace {

namespace fs = std::filesystem;

// Includes damaged rows: a user who asks for one learns what is wrong with it.
Result<std::vector<store::Id>> ids_in(const Stored& stored) {
  const auto found = stored.reader->experiments();
  if (!found) return fail(found.error().message);
  std::vector<store::Id> ids;
  for (const store::Experiment& each : found->intact) ids.push_back(each.id);
  for (const store::Damage& each : found->damaged) ids.push_back(each.row);
  std::ranges::sort(ids);
  return ids;
}

Result<store::Experiment> find(const Stored& stored, store::Id id) {
  const auto ids = ids_in(stored);
  if (!ids) return std::unexpected(ids.error());
  if (ids->empty())
    return fail(fmt::format("{} holds no experiment: the run ended before the experiment began",
                            stored.path));
  if (id == 0 && ids->size() > 1)
    return fail(
        fmt::format("{} holds the experiments {}: choose one", stored.path, fmt::join(*ids, ", ")));
  const store::Id wanted = id == 0 ? ids->front() : id;
  auto found = stored.reader->experiment(wanted);
  if (!found) return fail(found.error().message);
  if (!*found)
    return fail(fmt::format("there is no experiment {} in {}: choose one of {}", wanted,
                            stored.path, fmt::join(*ids, ", ")));
  return std::move(**found);
}

}  // namespace

Result<void> is_there(const std::string& database) {
  std::error_code error;
  if (fs::is_regular_file(database, error)) return {};
  return fail(fmt::format(
      "there is no database {}: name the folder of a 'stabctl run' ('stabctl runs' lists these "
      "folders)",
      database));
}

Result<Stored> open_stored(const std::string& folder) {
  std::error_code error;
  const std::string path = (fs::absolute(folder, error) / "stabd.db").lexically_normal().string();
  if (auto there = is_there(path); !there) return std::unexpected(there.error());
  auto reader = store::Reader::open(path);
  if (!reader) return fail(reader.error().message);
  return Stored{.path = path, .reader = std::move(*reader)};
}

Result<store::Id> experiment_in(const std::string& folder, store::Id id) {
  const auto stored = open_stored(folder);
  if (!stored) return std::unexpected(stored.error());
  const auto found = find(*stored, id);
  if (!found) return std::unexpected(found.error());
  return found->id;
}

Result<Analysed> analyse_stored(const std::string& folder, store::Id id,
                                const results::Asked& asked) {
  auto stored = open_stored(folder);
  if (!stored) return std::unexpected(stored.error());
  auto experiment = find(*stored, id);
  if (!experiment) return std::unexpected(experiment.error());
  auto document = results::make_document(*stored->reader, *experiment, stored->path, asked);
  if (!document) return std::unexpected(document.error());
  // The row of an experiment whose stabd was interrupted has the state of that moment.
  const bool was_busy = experiment->state == "building" || experiment->state == "quiescing" ||
                        experiment->state == "running" || experiment->state == "analysing";
  if (was_busy && !is_in_use(folder)) document->state = "interrupted";
  return Analysed{.stored = std::move(*stored),
                  .experiment = std::move(*experiment),
                  .document = std::move(*document)};
}

Result<protocol::ReportReply> Analysed::as(const protocol::ReportRequest& form) const {
  return results::show_any_report(*stored.reader, experiment, document, form);
}

Ending Analysed::ending() const {
  return ending_of(results::reply_with("", experiment, document));
}

Result<protocol::ReportReply> answer_stored(const std::string& folder,
                                            const protocol::ReportRequest& request) {
  const auto analysed =
      analyse_stored(folder, request.id, {.response = request.response, .better = request.better});
  return analysed ? analysed->as(request) : std::unexpected(analysed.error());
}

Result<protocol::ReportReply> answer_stored(const std::string& folder,
                                            const protocol::CompareRequest& request) {
  const auto stored = open_stored(folder);
  if (!stored) return std::unexpected(stored.error());
  std::vector<store::Id> ids = request.ids;
  if (ids.empty()) ids.push_back(0);
  std::vector<store::Experiment> experiments;
  for (const store::Id id : ids) {
    auto found = find(*stored, id);
    if (!found) return std::unexpected(found.error());
    experiments.push_back(std::move(*found));
  }
  return results::answer_compare(*stored->reader, experiments, request);
}

Result<protocol::ResultsReply> answer_stored(const std::string& folder,
                                             const protocol::ResultsRequest& request) {
  auto analysed =
      analyse_stored(folder, request.id,
                     {.response = request.response, .machines_as_one = request.machines_as_one});
  if (!analysed) return std::unexpected(analysed.error());
  return protocol::ResultsReply{.document = std::move(analysed->document)};
}

Result<protocol::ExportReply> answer_stored(const std::string& folder,
                                            const protocol::ExportRequest& request) {
  const auto stored = open_stored(folder);
  if (!stored) return std::unexpected(stored.error());
  const auto experiment = find(*stored, request.id);
  if (!experiment) return std::unexpected(experiment.error());
  std::string text;
  const auto add = [&](std::string_view piece) -> Result<void> {
    text += piece;
    return {};
  };
  const auto written = results::write_export(*stored->reader, *experiment,
                                             {.format = request.format, .cell = request.cell}, add);
  if (!written) return std::unexpected(written.error());
  return protocol::ExportReply{.text = std::move(text)};
}

Result<protocol::ReplayReply> answer_stored(const std::string& folder,
                                            const protocol::ReplayRequest& request) {
  const auto stored = open_stored(folder);
  if (!stored) return std::unexpected(stored.error());
  const auto experiment = find(*stored, request.id);
  if (!experiment) return std::unexpected(experiment.error());
  return results::answer_replay(
      *stored->reader, *experiment,
      fmt::format("{}/builds/{}", default_cache_directory(), experiment->uid),
      {.position = request.position, .attempt = request.attempt});
}

Result<protocol::ProfileReply> answer_stored(const std::string& folder,
                                             const protocol::ProfileRequest& request) {
  const auto stored = open_stored(folder);
  if (!stored) return std::unexpected(stored.error());
  const auto experiment = find(*stored, request.id);
  if (!experiment) return std::unexpected(experiment.error());
  return results::answer_profile(*stored->reader, *experiment, request);
}

Result<protocol::LogsReply> answer_stored(const std::string& folder,
                                          const protocol::LogsRequest& request) {
  const auto stored = open_stored(folder);
  if (!stored) return std::unexpected(stored.error());
  const auto experiment = find(*stored, request.id);
  if (!experiment) return std::unexpected(experiment.error());
  return results::answer_logs(*stored->reader, *experiment, request.after);
}

}  // namespace stab::client
