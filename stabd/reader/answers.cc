// SPDX-License-Identifier: MIT
#include "stabd/reader/answers.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "base/fd.h"
#include "plan/reading/reader.h"
#include "protocol/document.h"
#include "protocol/json.h"
#include "results/answers.h"
#include "results/calibrations.h"
#include "results/document.h"
#include "results/export.h"
#include "results/profiles.h"
#include "results/report_page.h"
#include "results/run_request.h"

namespace stab::reader {
namespace {

constexpr std::size_t enough = std::size_t{1} << 18;
constexpr std::size_t max_request = std::size_t{16} << 20;

}  // namespace

Result<std::string> AnswerFile::request() {
  std::string text;
  std::array<char, 65536> buffer;
  for (;;) {
    const ssize_t n = pread(file_, buffer.data(), buffer.size(), static_cast<off_t>(text.size()));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno("cannot read the request");
    if (n == 0) break;
    text.append(buffer.data(), static_cast<std::size_t>(n));
    if (text.size() > max_request) return fail("the request is too long");
  }
  if (!text.ends_with('\n')) return fail("the request is not complete");
  text.pop_back();
  return text;
}

Result<void> AnswerFile::begin() {
  waiting_.clear();
  if (ftruncate(file_, 0) != 0 || lseek(file_, 0, SEEK_SET) != 0)
    return fail_errno("cannot empty the answer's file");
  return {};
}

Result<void> AnswerFile::add(std::string_view piece) {
  waiting_ += piece;
  return waiting_.size() < enough ? Result<void>() : flush();
}

Result<void> AnswerFile::add_around(std::string_view message,
                                    const std::function<Result<void>()>& inside) {
  const std::size_t place = message.rfind('"');
  if (auto added = add(message.substr(0, place)); !added) return added;
  if (auto added = inside(); !added) return added;
  return add(message.substr(place));
}

Result<void> AnswerFile::end() {
  waiting_ += '\n';
  return flush();
}

Result<void> AnswerFile::flush() {
  if (auto written = write_all(file_, waiting_); !written)
    return fail("the answer cannot be stored: " + written.error().message +
                "; free some space where stabd keeps its state");
  waiting_.clear();
  return {};
}

namespace {

using protocol::Reading;
using protocol::ReadRequest;

// The client's request for a report or a comparison, without the ids.
template <class Request>
Request asked_in(const ReadRequest& request) {
  return {.format = request.format,
          .colour = request.colour,
          .full = request.full,
          .response = request.response,
          .better = request.better,
          .width = request.width};
}

Result<void> report(store::Reader& store, const ReadRequest& request, AnswerFile& file) {
  const auto reply =
      results::answer_any_report(store, request.experiments.front(), request.database,
                                 asked_in<protocol::ReportRequest>(request));
  return reply ? file.add(protocol::encode(*reply)) : std::unexpected(reply.error());
}

Result<void> compare(store::Reader& store, const ReadRequest& request, AnswerFile& file) {
  const auto reply = results::answer_compare(store, request.experiments,
                                             asked_in<protocol::CompareRequest>(request));
  return reply ? file.add(protocol::encode(*reply)) : std::unexpected(reply.error());
}

Result<void> document(store::Reader& store, const ReadRequest& request, AnswerFile& file) {
  auto made = results::make_document(
      store, request.experiments.front(), request.database,
      {.response = request.response, .machines_as_one = request.machines_as_one});
  if (!made) return std::unexpected(made.error());
  return file.add(protocol::encode(protocol::ResultsReply{.document = std::move(*made)}));
}

// Writes an ExportReply piece by piece, because all of it may be larger than the memory.
Result<void> write_export(store::Reader& store, const ReadRequest& request, AnswerFile& file) {
  const auto add = [&](std::string_view piece) {
    const std::string quoted = protocol::dump(piece);
    return file.add(std::string_view(quoted).substr(1, quoted.size() - 2));
  };
  return file.add_around(protocol::encode(protocol::ExportReply()), [&] {
    return results::write_export(store, request.experiments.front(),
                                 {.format = request.format, .cell = request.cell}, add);
  });
}

Result<void> replay(store::Reader& store, const ReadRequest& request, AnswerFile& file) {
  const auto reply =
      results::answer_replay(store, request.experiments.front(), request.cache,
                             {.position = request.position, .attempt = request.attempt});
  return reply ? file.add(protocol::encode(*reply)) : std::unexpected(reply.error());
}

Result<void> profile(store::Reader& store, const ReadRequest& request, AnswerFile& file) {
  if (!request.profile) return fail("the request names no profile");
  const auto reply = results::answer_profile(store, request.experiments.front(), *request.profile);
  return reply ? file.add(protocol::encode(*reply)) : std::unexpected(reply.error());
}

Result<void> logs(store::Reader& store, const ReadRequest& request, AnswerFile& file) {
  const auto reply = results::answer_logs(store, request.experiments.front(), request.after);
  return reply ? file.add(protocol::encode(*reply)) : std::unexpected(reply.error());
}

protocol::LookReply look(store::Reader& store, const ReadRequest& request) {
  const store::Experiment& experiment = request.experiments.front();
  const auto plan = plan::read_plan(experiment.plan);
  if (!plan || !plan->design.stop) return {.error = "the plan has no stopping rule"};
  const auto look = results::look_at_trials(store, experiment, *plan, request.blocks);
  if (!look) return {.error = look.error().message, .temporary = look.error().temporary};
  return {.stop = look->stop, .words = look->words, .changes = look->changes};
}

protocol::FindingsReply failed(const store::StoreError& error) {
  return {.error = error.message, .temporary = error.temporary};
}

protocol::FindingsReply verify(store::Reader& store, std::optional<store::Id> experiment) {
  auto damage = store.verify(experiment);
  if (!damage) return failed(damage.error());
  protocol::FindingsReply reply{.damaged = damage->size()};
  damage->resize(std::min(damage->size(), protocol::most_damage_shown));
  reply.damage = std::move(*damage);
  return reply;
}

// Empty if the experiment has no report; asking for that one says why.
std::vector<protocol::SlowNode> slow_nodes_of(store::Reader& store,
                                              const store::Experiment& experiment) {
  const auto plan = plan::read_plan(experiment.plan);
  if (!plan || plan->machine_count() == 1) return {};
  const auto document = results::make_document(store, experiment, "", {});
  std::vector<protocol::SlowNode> nodes;
  if (document)
    for (const stats::SlowMachine& each : document->analysis.slow_machines)
      nodes.push_back({.name = each.name, .times = each.times});
  return nodes;
}

protocol::FindingsReply finish(store::Reader& store, const store::Experiment& experiment) {
  protocol::FindingsReply reply = verify(store, experiment.id);
  if (!reply.error.empty() || reply.damaged > 0) return reply;
  auto rows = results::calibration_of(store, experiment);
  if (!rows) return failed(rows.error());
  reply.calibrations = std::move(*rows);
  reply.slow_nodes = slow_nodes_of(store, experiment);
  return reply;
}

}  // namespace

Result<void> answer(store::Reader& store, const ReadRequest& request, AnswerFile& file) {
  if (request.reading == Reading::verify)
    return file.add(protocol::encode(verify(store, std::nullopt)));
  if (request.experiments.empty()) return fail("the request names no experiment");
  for (const store::Experiment& each : request.experiments)
    if (const auto found = store.experiment(each.id); found && !*found)
      return fail(fmt::format("experiment {} was removed meanwhile", each.id));
  switch (request.reading) {
    case Reading::report:
      return report(store, request, file);
    case Reading::compare:
      return compare(store, request, file);
    case Reading::results:
      return document(store, request, file);
    case Reading::replay:
      return replay(store, request, file);
    case Reading::profile:
      return profile(store, request, file);
    case Reading::logs:
      return logs(store, request, file);
    case Reading::look:
      return file.add(protocol::encode(look(store, request)));
    case Reading::finish:
      return file.add(protocol::encode(finish(store, request.experiments.front())));
    default:
      return write_export(store, request, file);
  }
}

}  // namespace stab::reader
