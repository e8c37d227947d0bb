// SPDX-License-Identifier: MIT
// Notices about experiments that have ended or are in trouble.
#include <spdlog/spdlog.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "protocol/messages.h"
#include "stabd/daemon/daemon.h"
#include "stabd/daemon/reading.h"

namespace stab::daemon {
namespace {

using nlohmann::ordered_json;

bool is_trouble(std::string_view event) {
  return event != to_string(State::done) && event != to_string(State::cancelled);
}

ordered_json describe(const store::Experiment& row, std::string_view event,
                      const std::string& reason, const std::optional<Counts>& counts) {
  ordered_json json{{"event", event},     {"id", row.id},      {"name", row.name},
                    {"state", row.state}, {"reason", reason},  {"user", row.uid},
                    {"trials", nullptr},  {"verdict", nullptr}};
  if (counts)
    json["trials"] = {{"total", counts->total},
                      {"ok", counts->ok},
                      {"failed", counts->failed},
                      {"skipped", counts->skipped},
                      {"disturbed", counts->disturbed}};
  return json;
}

std::string_view verdict_of(const protocol::ReportReply& answer) {
  return answer.regressed ? "regressed" : answer.unsure ? "unsure" : "same or improved";
}

}  // namespace

Notifier& Daemon::notifier_of(const Notice& notice) {
  auto& notifier = notifiers_[{notice.of, notice.ours}];
  if (notifier) return *notifier;
  notifier = std::make_unique<Notifier>(
      loop_->get(), containment_, options_.program, options_.notify.time_limit,
      [this](store::Id id, const std::string& why) { note_unsent(id, why); },
      [this] {
        if (leaving_) leave();
      });
  notifier->use_cpus(other_cpus_);
  return *notifier;
}

void Daemon::note_unsent(store::Id id, const std::string& why) {
  spdlog::warn("experiment {}: {}", id, why);
  const auto added = store_->add_event(
      {.experiment = id, .at_ns = wall_clock_ns(), .kind = "notify", .text = why});
  if (!added) spdlog::warn("experiment {}: {}", id, added.error().message);
}

bool Daemon::owes_notices() const {
  return !awaiting_verdict_.empty() ||
         std::ranges::any_of(notifiers_, [](const auto& each) { return each.second->busy(); });
}

void Daemon::tell(const store::Experiment& row, const plan::Plan* plan, std::string_view event,
                  const std::string& reason, const std::optional<Counts>& counts) {
  const settings::Notify& own = options_.notify;
  std::vector<Notice> notices;
  if (!own.command.empty() && (own.when == settings::Notices::always || is_trouble(event)))
    notices.push_back({.experiment = row.id,
                       .of = row.uid,
                       .command = own.command,
                       .uid = geteuid(),
                       .gid = getegid(),
                       .ours = true});
  if (plan != nullptr && !plan->notify.empty())
    notices.push_back({.experiment = row.id,
                       .of = row.uid,
                       .command = plan->notify,
                       .directory = row.directory,
                       .uid = row.uid,
                       .gid = row.gid,
                       .ours = false});
  if (notices.empty()) return;
  auto json = describe(row, event, reason, counts);
  const bool measured = counts && counts->ok > 0 && plan != nullptr &&
                        std::ranges::any_of(plan->factors, &plan::Factor::is_treatment);
  if (event != to_string(State::done) || !measured) return send(std::move(notices), json);
  protocol::ReadRequest request{
      .reading = protocol::Reading::compare, .experiments = {row}, .format = "text"};
  request.database = database();
  const auto place = awaiting_verdict_.insert(row.id);
  readers_->ask(row.uid, protocol::encode(request),
                [this, place, notices = std::move(notices),
                 json = std::move(json)](const Result<Fd>& answer) mutable {
                  const auto line = answer ? line_in(*answer) : fail(answer.error().message);
                  const auto reply = line ? protocol::decode_reply<protocol::ReportReply>(*line)
                                          : Result<protocol::ReportReply>(fail(""));
                  awaiting_verdict_.erase(place);
                  if (reply) json["verdict"] = verdict_of(*reply);
                  send(std::move(notices), json);
                });
}

void Daemon::send(std::vector<Notice> notices, const nlohmann::ordered_json& json) {
  for (Notice& notice : notices) {
    notice.json = json.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
    notifier_of(notice).send(std::move(notice));
  }
  if (leaving_) leave();
}

}  // namespace stab::daemon
