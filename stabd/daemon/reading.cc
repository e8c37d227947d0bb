// SPDX-License-Identifier: MIT
#include "stabd/daemon/reading.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <utility>

#include "base/text.h"
#include "results/answers.h"
#include "results/export.h"
#include "stabd/daemon/daemon.h"
#include "stabd/daemon/folders.h"

namespace stab::daemon {
namespace {

constexpr std::size_t most_line = std::size_t{64} << 20;
// A few thousand trials take so many bytes, and a report of them takes less than a second.
constexpr std::uint64_t most_brief = std::uint64_t{4} << 20;

// R5 of readers.h. Without readers the log stays below `least`.
bool log_is_too_large(const std::string& database) {
  constexpr std::uintmax_t least = std::uintmax_t{8} << 20;
  std::error_code error;
  const std::uintmax_t log = std::filesystem::file_size(database + "-wal", error);
  if (error || log <= least) return false;
  const auto room = std::filesystem::space(database, error);
  return !error && room.available < log;
}

// The fields that requests for a report and for a comparison share.
template <class Request>
protocol::ReadRequest reading_as(protocol::Reading reading, const Request& request) {
  return {.reading = reading,
          .format = request.format,
          .colour = request.colour,
          .full = request.full,
          .response = request.response,
          .better = request.better,
          .width = request.width};
}

}  // namespace

Result<std::string> text_in(const Fd& file, std::size_t most) {
  std::string text;
  std::array<char, 65536> buffer;
  for (;;) {
    const ssize_t n =
        pread(file.get(), buffer.data(), buffer.size(), static_cast<off_t>(text.size()));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno("cannot read the answer");
    if (n == 0) break;
    text.append(buffer.data(), static_cast<std::size_t>(n));
    if (text.size() > most) return fail("the answer is too long");
  }
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

Result<std::string> line_in(const Fd& file) {
  return text_in(file, most_line);
}

Result<protocol::FindingsReply> findings_in(const Result<Fd>& answer) {
  const auto line = answer ? line_in(*answer) : fail(answer.error().message);
  if (!line) return std::unexpected(line.error());
  auto found = protocol::decode_reply<protocol::FindingsReply>(*line);
  if (found && !found->error.empty()) return fail(found->error);
  return found;
}

Result<protocol::ReadRequest> reading_of(const protocol::ReportRequest& request) {
  if (auto known = results::check_report_format(request.format); !known)
    return std::unexpected(known.error());
  return reading_as(protocol::Reading::report, request);
}

Result<protocol::ReadRequest> reading_of(const protocol::CompareRequest& request) {
  if (request.ids.empty() || request.ids.size() > 2)
    return fail("'compare' takes one or two experiments");
  return reading_as(protocol::Reading::compare, request);
}

Result<protocol::ReadRequest> reading_of(const protocol::ResultsRequest& request) {
  return protocol::ReadRequest{.reading = protocol::Reading::results,
                               .response = request.response,
                               .machines_as_one = request.machines_as_one};
}

Result<protocol::ReadRequest> reading_of(const protocol::ExportRequest& request) {
  using protocol::Reading;
  if (request.format == "archive") return protocol::ReadRequest{.reading = Reading::archive};
  if (auto known = results::check_export({.format = request.format, .cell = request.cell}); !known)
    return std::unexpected(known.error());
  return protocol::ReadRequest{
      .reading = Reading::rows, .format = request.format, .cell = request.cell};
}

Result<protocol::ReadRequest> reading_of(const protocol::ReplayRequest& request) {
  return protocol::ReadRequest{.reading = protocol::Reading::replay,
                               .position = request.position,
                               .attempt = request.attempt};
}

Result<protocol::ReadRequest> reading_of(const protocol::ProfileRequest& request) {
  if (request.format != "text" && request.format != "json")
    return fail(fmt::format("there is no profile format '{}': use text or json",
                            one_line(request.format, 50)));
  return protocol::ReadRequest{.reading = protocol::Reading::profile, .profile = request};
}

Result<protocol::ReadRequest> reading_of(const protocol::LogsRequest& request) {
  return protocol::ReadRequest{.reading = protocol::Reading::logs, .after = request.after};
}

std::string Daemon::database() const {
  return database_in(options_.state_directory);
}

void Daemon::start_readers() {
  readers_->use_cpus(workshop_.allowed_cpus());
  readers_->must_end = [this] {
    return log_is_too_large(database()) ? std::string(
                                              "the disk has no room for the data that stabd stores "
                                              "while it answers: free some space and ask again")
                                        : std::string();
  };
  readers_->may_begin = [this](std::uint32_t uid) { return clients_.may_be_answered(uid); };
  readers_->on_change = [this] { room_.readers_changed(); };
}

// An answer to `logs` is a piece of bounded size, and `replay` reads a single trial.
bool Daemon::is_brief(const protocol::ReadRequest& request) const {
  using protocol::Reading;
  if (request.reading == Reading::logs || request.reading == Reading::replay) return true;
  std::uint64_t bytes = 0;
  for (const store::Experiment& each : request.experiments)
    bytes += store_->bytes_of_experiment(each.id);
  return bytes <= most_brief;
}

void Daemon::read_for(Connection& client, protocol::ReadRequest request) {
  request.database = database();
  request.cache = workshop_.cache_of(request.experiments.front());
  std::shared_ptr<archive::Spool> spool;
  if (request.reading == protocol::Reading::archive) {
    auto made = archive::Spool::make(options_.state_directory);
    if (!made) return client.send(protocol::encode_refusal(made.error().message));
    spool = std::move(*made);
    request.file = spool->file();
  }
  const std::uint32_t account = accounts_.of(client.peer().uid);
  auto done = [this, &client, spool](Result<Fd> answer) {
    if (answer)
      client.answer(std::move(*answer));
    else
      client.answer(protocol::encode_refusal(answer.error().message));
    after_session_step();
  };
  const auto ticket =
      is_brief(request) ? readers_->ask_briefly(account, protocol::encode(request), std::move(done))
                        : readers_->ask(account, protocol::encode(request), std::move(done));
  client.await_answer([this, ticket] { readers_->forget(ticket); });
}

void Daemon::read_for_session(protocol::ReadRequest request,
                              std::function<void(Result<std::string>)> done) {
  forget_session_reading();
  request.database = database();
  session_reading_ = readers_->ask_at_once(
      protocol::encode(request), [this, done = std::move(done)](Result<Fd> answer) {
        session_reading_ = 0;
        done(answer ? line_in(*answer) : fail(answer.error().message));
        after_session_step();
      });
}

void Daemon::forget_session_reading() {
  readers_->forget(std::exchange(session_reading_, 0));
  room_.forget();
}

// Nobody waits for this reader.
void Daemon::verify_trials() {
  protocol::ReadRequest request{.reading = protocol::Reading::verify};
  request.database = database();
  readers_->ask(no_user, protocol::encode(request), [this](const Result<Fd>& answer) {
    const auto found = findings_in(answer);
    if (!found) {
      spdlog::error("cannot verify the stored trials: {}", found.error().message);
      return;
    }
    heed_damage(found->damage);
    if (found->damaged > found->damage.size())
      spdlog::error("in total, {} stored rows have changed since they were written",
                    found->damaged);
    spdlog::debug("all stored rows are verified");
  });
}

// A damaged row makes only its experiment unusable. If the structure of the file is damaged, no
// more changes are stored (S6 of the store): a running experiment ends when it next stores
// something, and its row stays as it is.
void Daemon::heed_damage(const std::vector<store::Damage>& damage) {
  for (const store::Damage& each : damage) {
    if (!each.is_of_structure()) {
      spdlog::error("row {} of table {} has changed since it was written, so it will not be used",
                    each.row, each.table);
    } else if (store_->refusal().empty()) {
      store_->refuse_changes(store::structure_refusal(each.problem));
      spdlog::error("{}", store_->refusal());
    }
  }
}

void Daemon::allow_readers() {
  const bool trials_run =
      session_ && session_->state() == State::running && !ending_.waits_for_notices();
  const plan::Plan* const plan = session_ ? &session_->plan() : nullptr;
  room_.trials_run(
      trials_run, plan != nullptr && (plan->quiesce != plan::Quiesce::off || plan->wait_for_quiet));
}

void Daemon::tell_company() {
  if (session_)
    session_->has_company(room_.readers_run_beside() || maintenance_.import_runs_beside());
}

}  // namespace stab::daemon
