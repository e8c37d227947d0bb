// SPDX-License-Identifier: MIT
#include "stabd/daemon/notices.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/time.h"
#include "cluster/slurm.h"
#include "protocol/lines.h"
#include "protocol/messages.h"
#include "stabd/daemon/requests.h"
#include "stabd/daemon/session/state.h"

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

Notices::Notices(Clock& clock, uv_loop_t* loop, store::Store& store, Readers& readers,
                 const Accounts& accounts, NoticesOptions options, const settings::Notify& own,
                 std::function<void()> sent)
    : clock_(clock),
      loop_(loop),
      store_(store),
      readers_(readers),
      accounts_(accounts),
      options_(std::move(options)),
      own_(own),
      sent_(std::move(sent)) {}

void Notices::use_settings(const settings::Notify& own) {
  own_ = own;
  for (const auto& [user, notifier] : notifiers_) notifier->use_limit(own_.time_limit);
}

void Notices::use_cpus(const std::vector<unsigned>& cpus) {
  cpus_ = cpus;
  for (const auto& [user, notifier] : notifiers_) notifier->use_cpus(cpus_);
}

void Notices::end() {
  for (const store::Id id : awaiting_reader_) notice_failed(id, notice_cut_short);
  // All notifiers share one deadline, even if several of their processes are traced and do not end.
  const auto until = std::chrono::steady_clock::now() + LoopChild::killing;
  for (const auto& [user, notifier] : notifiers_) notifier->end(until);
  notifiers_.clear();
}

Notifier& Notices::notifier_of(const Notice& notice) {
  auto& notifier = notifiers_[{accounts_.of(notice.of), notice.ours}];
  if (notifier) return *notifier;
  notifier.reset(
      new Notifier(clock_, loop_, options_.containment, options_.program, own_.time_limit, *this));
  notifier->use_cpus(cpus_);
  return *notifier;
}

void Notices::notice_failed(store::Id id, const std::string& why) {
  spdlog::warn("experiment {}: {}", id, why);
  const auto added =
      store_.add_event({.experiment = id, .at_ns = wall_clock_ns(), .kind = "notify", .text = why});
  if (!added) spdlog::warn("experiment {}: {}", id, added.error().message);
}

void Notices::notifier_rests() {
  sent_();
}

bool Notices::owed() const {
  return !awaiting_reader_.empty() ||
         std::ranges::any_of(notifiers_, [](const auto& each) { return each.second->busy(); });
}

void Notices::tell(const store::Experiment& row, const plan::Plan* plan, std::string_view event,
                   const std::string& reason, const std::optional<Counts>& counts) {
  std::vector<Notice> notices;
  if (!own_.command.empty() && (own_.when == settings::Notices::always || is_trouble(event)))
    notices.push_back({.experiment = row.id,
                       .of = row.uid,
                       .command = own_.command,
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
  request.database = options_.database;
  const auto place = awaiting_reader_.insert(row.id);
  readers_.ask(accounts_.of(row.uid), protocol::encode(request),
               [this, place, notices = std::move(notices),
                json = std::move(json)](const Result<Fd>& answer) mutable {
                 const auto line = answer ? line_in(*answer) : fail(answer.error().message);
                 const auto reply = line ? protocol::decode_reply<protocol::ReportReply>(*line)
                                         : Result<protocol::ReportReply>(fail(""));
                 awaiting_reader_.erase(place);
                 if (reply) json["verdict"] = verdict_of(*reply);
                 send(std::move(notices), json);
               });
}

void Notices::tell_unread(const store::Experiment& row, std::string_view event,
                          const std::string& reason) {
  tell(row, nullptr, event, reason, std::nullopt);
  // A key may contain escape sequences.
  if (!row.plan.contains("notify") && !row.plan.contains('\\')) return;
  const protocol::ReadRequest request{
      .reading = protocol::Reading::notice, .uid = row.uid, .gid = row.gid};
  Notice notice{.experiment = row.id,
                .of = row.uid,
                .directory = row.directory,
                .uid = row.uid,
                .gid = row.gid,
                .ours = false};
  const auto place = awaiting_reader_.insert(row.id);
  readers_.ask_of_plan(
      accounts_.of(row.uid), protocol::encode(request) + "\n" + row.plan,
      [this, place, notice = std::move(notice),
       json = describe(row, event, reason, std::nullopt)](const Result<Fd>& answer) mutable {
        awaiting_reader_.erase(place);
        const auto line =
            answer ? text_in(*answer, protocol::most_decoded) : fail(answer.error().message);
        if (!line)
          notice_failed(notice.experiment, "the notice is not sent: " + line.error().message);
        // The plan may have taken over its reader, but it could name any command anyway.
        const auto reply = line ? protocol::decode_reply<protocol::NoticeReply>(*line)
                                : Result<protocol::NoticeReply>(fail(""));
        if (!reply || reply->command.empty()) return sent_();
        notice.command = reply->command;
        send({std::move(notice)}, json);
      });
}

void Notices::drain(const store::Experiment& row, const std::string& node,
                    const std::string& reason) {
  // Slurm's programs find their settings by this variable.
  const char* settings = std::getenv("SLURM_CONF");
  std::vector<std::string> command{"env"};
  if (settings != nullptr) command.push_back(fmt::format("SLURM_CONF={}", settings));
  for (const std::string& word : cluster::drain_command(node, reason)) command.push_back(word);
  send({{.experiment = row.id,
         .of = row.uid,
         .command = std::move(command),
         .uid = geteuid(),
         .gid = getegid(),
         .ours = true}},
       {});
}

void Notices::send(std::vector<Notice> notices, const nlohmann::ordered_json& json) {
  for (Notice& notice : notices) {
    notice.json = json_text(json);
    notifier_of(notice).send(std::move(notice));
  }
  sent_();
}

}  // namespace stab::daemon
