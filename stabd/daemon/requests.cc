// SPDX-License-Identifier: MIT

#include "stabd/daemon/requests.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <concepts>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <utility>

#include "base/base64.h"
#include "base/text.h"
#include "base/time.h"
#include "design/trial_list.h"
#include "machine/processes.h"
#include "protocol/lines.h"
#include "protocol/messages.h"
#include "results/answers.h"
#include "results/export.h"
#include "stabd/daemon/clients.h"
#include "stabd/daemon/daemon.h"
#include "stabd/daemon/host.h"
#include "stabd/daemon/session/session.h"
#include "store/records.h"
#include "store/summaries.h"

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
    return fail("'compare' takes one or two experiments, for example 'stabctl compare 1 2'");
  return reading_as(protocol::Reading::compare, request);
}

Result<protocol::ReadRequest> reading_of(const protocol::ResultsRequest& request) {
  return protocol::ReadRequest{.reading = protocol::Reading::results,
                               .response = request.response,
                               .better = request.better,
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

bool Daemon::is_trusted(std::uint32_t account) const {
  return queue_.is_trusted(account);
}

bool Daemon::reader_may_begin(std::uint32_t uid) const {
  return clients_.may_be_answered(uid);
}

std::string Daemon::readers_must_end() {
  if (!log_is_too_large(database())) return "";
  return "the disk has no room for the data that stabd stores while it answers: free some space "
         "and ask again";
}

void Daemon::readers_changed() {
  room_.readers_changed();
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
  request.marked = workshop_.containment() == machine::Containment::process_tree;
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
  const bool trials_run = session_ && session_->state() == State::running && !ending_.is_leaving();
  const plan::Plan* const plan = session_ ? &session_->plan() : nullptr;
  room_.trials_run(trials_run, plan != nullptr && !plan->machines &&
                                   (plan->quiesce != plan::Quiesce::off || plan->wait_for_quiet));
}

void Daemon::tell_company() {
  if (session_)
    session_->has_company(room_.readers_run_beside() || maintenance_.import_runs_beside());
}

namespace {

// The functions until Daemon::publish_progress() are about an experiment as clients see it.

constexpr std::chrono::milliseconds progress_pace(100);

std::optional<std::int64_t> unless_0(std::int64_t ns) {
  return ns == 0 ? std::nullopt : std::optional(ns);
}

// The summary of a stored row.
protocol::Summary summary_of(const store::Experiment& experiment) {
  return {.id = experiment.id,
          .name = experiment.name,
          .state = experiment.state,
          .reason = experiment.reason,
          .directory = experiment.directory,
          .uid = experiment.uid,
          .trials = experiment.trials,
          .submitted_ns = experiment.submitted_ns,
          .started_ns = unless_0(experiment.started_ns),
          .ended_ns = unless_0(experiment.ended_ns),
          .duration_ns = experiment.duration_ns,
          .priority = experiment.priority,
          .held_by = experiment.held_by,
          .stopped_by = experiment.stopped_by,
          .trial_cpus = experiment.trial_cpus};
}

// Without a session the result has only what is in the row.
protocol::Progress progress_of(const store::Experiment& experiment, const Session* session) {
  const auto state = state_from(experiment.state);
  const bool ended = !state || is_final(*state);
  protocol::Progress line{
      .id = experiment.id, .state = experiment.state, .reason = experiment.reason, .final = ended};
  if (session == nullptr) return line;
  const Counts& counts = session->counts();
  const Session::Progress progress = session->progress();
  line.total = counts.total;
  line.done = counts.finished();
  line.ok = counts.ok;
  line.failed = counts.failed;
  line.skipped = counts.skipped;
  line.disturbed = counts.disturbed;
  line.builds = progress.builds;
  line.builds_done = progress.builds_done;
  line.builds_cached = progress.builds_cached;
  line.activity = progress.activity;
  line.fewest = progress.fewest;
  line.look = progress.look;
  line.changes = progress.changes;
  if (progress.left) line.left_ns = progress.left->count();
  return line;
}

}  // namespace

store::Experiment Daemon::shown(store::Experiment row) const {
  if (session_ && session_->experiment().id == row.id) return session_->shown();
  if (row.state == store::being_retried) row.state = to_string(State::queued);
  const auto state = state_from(row.state);
  if (state && !is_final(*state) && !store_->refusal().empty()) row.reason = store_->refusal();
  return row;
}

void Daemon::publish_soon() {
  if (!progress_->runs()) progress_->start(std::chrono::milliseconds(0), progress_pace);
}

void Daemon::publish_progress() {
  const auto all = store_->summaries();
  clients_.for_each_watcher([&](Connection& client) {
    if (client.awaits_answer()) return;
    const bool current = session_ && session_->experiment().id == client.watched;
    if (!current && !store_->refusal().empty()) {
      // The experiment can't continue, so the end that the client waits for would never come.
      client.send(protocol::encode_refusal(store_->refusal()));
      client.watched = 0;
      return;
    }
    const store::Summary* const watched = all ? (*all)->find(client.watched) : nullptr;
    const auto row = shown(watched == nullptr ? store::Experiment() : watched->experiment);
    client.send(protocol::encode(progress_of(row, current ? session_.get() : nullptr)));
    const auto state = state_from(row.state);
    if (!state || is_final(*state)) client.watched = 0;
  });
  if (!clients_.anyone_watches()) progress_->stop();
}

namespace {

// The two ends of a request.
struct Context {
  Daemon& daemon;
  Connection& connection;
};

bool may_see(const Context& context, const store::Experiment& experiment) {
  const std::uint32_t uid = context.connection.peer().uid;
  return uid == 0 || uid == geteuid() || uid == experiment.uid;
}

Result<store::Experiment> find(const Context& context, store::Id id) {
  auto found = context.daemon.store().experiment(id);
  if (!found) return fail(found.error().message);
  // Another user's experiment gets the same answer as one that doesn't exist.
  if (!*found || !may_see(context, **found))
    return fail(fmt::format("there is no experiment {}: see 'stabctl list'", id));
  return context.daemon.shown(std::move(**found));
}

// The first line of every connection. Its format never changes, so that clients of any version
// understand it.
Result<protocol::HelloReply> answer(const Context& context, const protocol::HelloRequest& request) {
  if (request.protocol != protocol::version)
    return fail(fmt::format(
        "this is stabd {}, which speaks protocol {}, but stabctl {} speaks {}: use the stabctl of "
        "the same release as stabd, or start the newer stabd",
        STAB_VERSION, protocol::version, one_line(request.version, 50), request.protocol));
  context.connection.greeted = true;
  return protocol::HelloReply{.protocol = protocol::version, .version = STAB_VERSION};
}

Result<protocol::VersionReply> answer(const Context& context, const protocol::VersionRequest&) {
  const LoopTime& loop = context.daemon.loop_time();
  constexpr unsigned most = 999;
  return protocol::VersionReply{.version = STAB_VERSION,
                                .pid = getpid(),
                                .state = context.daemon.options().state_directory,
                                .loop_turns = loop.computing().count(),
                                .loop_computes = loop.computing().below(most),
                                .loop_computes_longest = loop.computing().longest(),
                                .loop_waits = loop.waiting().below(most),
                                .loop_waits_longest = loop.waiting().longest()};
}

// 1 is next; a held experiment has no place.
std::map<store::Id, std::uint64_t> places_of(const Queue& queue) {
  std::map<store::Id, std::uint64_t> places;
  for (const store::Id id : queue.order())
    if (!queue.find(id)->held) places[id] = places.size() + 1;
  return places;
}

Result<protocol::ListReply> answer(const Context& context, const protocol::ListRequest&) {
  const auto all = context.daemon.store().summaries();
  if (!all) return fail(all.error().message);
  protocol::ListReply reply;
  const auto places = places_of(context.daemon.queue());
  for (const auto& [id, row] : (*all)->intact()) {
    if (!may_see(context, row.experiment)) continue;
    reply.experiments.push_back(summary_of(context.daemon.shown(row.experiment)));
    reply.experiments.back().bytes = context.daemon.store().bytes_of_experiment(id);
    if (const auto place = places.find(id); place != places.end())
      reply.experiments.back().place = place->second;
  }
  // A damaged row doesn't say reliably whose it is, so everybody sees that it exists.
  for (const auto& [id, row] : (*all)->damaged())
    reply.experiments.push_back(
        {.id = row.row,
         .state = "damaged",
         .reason = fmt::format("row {} of table {}: {}", row.row, row.table, row.problem)});
  std::ranges::sort(reply.experiments, {}, &protocol::Summary::id);
  reply.queue_paused = context.daemon.queue().is_held();
  return reply;
}

Result<protocol::StatusReply> answer(const Context& context,
                                     const protocol::StatusRequest& request) {
  const auto experiment = find(context, request.id);
  if (!experiment) return std::unexpected(experiment.error());
  const Session* session = context.daemon.session();
  const bool current = session != nullptr && session->experiment().id == experiment->id;
  auto events = context.daemon.store().events(experiment->id);
  if (!events) return fail(events.error().message);
  return protocol::StatusReply{.experiment = summary_of(*experiment),
                               .plan = experiment->plan,
                               .progress = progress_of(*experiment, current ? session : nullptr),
                               .events = std::move(*events)};
}

Result<protocol::WatchReply> answer(const Context& context, const protocol::WatchRequest& request) {
  const auto experiment = find(context, request.id);
  if (!experiment) return std::unexpected(experiment.error());
  context.connection.watched = experiment->id;
  context.daemon.publish_soon();
  return protocol::WatchReply{.experiment = summary_of(*experiment)};
}

Result<protocol::CancelReply> answer(const Context& context,
                                     const protocol::CancelRequest& request) {
  const auto experiment = find(context, request.id);
  if (!experiment) return std::unexpected(experiment.error());
  if (auto cancelled = context.daemon.cancel(experiment->id); !cancelled)
    return std::unexpected(cancelled.error());
  return protocol::CancelReply{.id = experiment->id};
}

template <class Request>
Result<protocol::PauseReply> hold_or_let_go(const Context& context, const Request& request) {
  constexpr bool hold = std::is_same_v<Request, protocol::PauseRequest>;
  const std::uint32_t uid = context.connection.peer().uid;
  Daemon& daemon = context.daemon;
  if (!request.id) {
    if (auto done = daemon.hold_queue(hold, uid); !done) return std::unexpected(done.error());
    return protocol::PauseReply{};
  }
  const auto experiment = find(context, *request.id);
  if (!experiment) return std::unexpected(experiment.error());
  if (auto done = hold ? daemon.hold(*request.id, uid) : daemon.let_go(*request.id, uid); !done)
    return std::unexpected(done.error());
  return protocol::PauseReply{.id = request.id};
}

Result<protocol::PauseReply> answer(const Context& context, const protocol::PauseRequest& request) {
  return hold_or_let_go(context, request);
}

Result<protocol::PauseReply> answer(const Context& context,
                                    const protocol::ResumeRequest& request) {
  return hold_or_let_go(context, request);
}

Result<protocol::RemoveReply> answer(const Context& context,
                                     const protocol::RemoveRequest& request) {
  const auto experiment = find(context, request.id);
  if (!experiment) return std::unexpected(experiment.error());
  Daemon& daemon = context.daemon;
  if (auto may = daemon.may_be_removed(*experiment); !may) return std::unexpected(may.error());
  const auto content = daemon.store().content(experiment->id);
  if (!content) return fail(content.error().message);
  if (!request.dry) {
    auto removed = daemon.remove(*experiment, context.connection.peer().uid);
    if (!removed) return std::unexpected(removed.error());
  }
  return protocol::RemoveReply{.id = experiment->id,
                               .name = experiment->name,
                               .trials = content->trials,
                               .builds = content->builds,
                               .events = content->events};
}

// Everybody may see calibrations: they reveal only the names of programs.
Result<protocol::CalibrationsReply> answer(const Context& context,
                                           const protocol::CalibrationsRequest&) {
  store::Store& store = context.daemon.store();
  const auto ids = store.calibrated_machines();
  if (!ids) return fail(ids.error().message);
  protocol::CalibrationsReply reply;
  for (const store::Id id : *ids) {
    const auto machine = store.machine(id);
    if (!machine) return fail(machine.error().message);
    auto found = store.calibrations(id);
    if (!found) return fail(found.error().message);
    if (*machine)
      reply.machines.push_back({.key = (*machine)->key,
                                .host = (*machine)->host,
                                .facts = (*machine)->facts,
                                .calibrations = std::move(*found)});
  }
  return reply;
}

// Takes calibrations from another database. Only trusted users may send them, because we believe
// what they say about the machine.
Result<protocol::LearnReply> answer(const Context& context, const protocol::LearnRequest& request) {
  const std::uint32_t uid = context.connection.peer().uid;
  if (uid != 0 && uid != geteuid())
    return fail(
        "only root and stabd's own user may add calibrations that this stabd did not measure");
  store::Store& store = context.daemon.store();
  std::size_t count = 0;
  for (const protocol::KnownMachine& known : request.machines) {
    const auto id = store.add_machine({.key = known.key, .host = known.host, .facts = known.facts});
    if (!id) return fail(id.error().message);
    const auto mine = store.calibrations(*id);
    if (!mine) return fail(mine.error().message);
    std::vector<store::Calibration> fresh;
    for (store::Calibration each : known.calibrations) {
      each.machine = *id;
      const bool is_known = std::ranges::any_of(*mine, [&](const store::Calibration& own) {
        return own.at_ns == each.at_ns && own.name == each.name && own.scope == each.scope &&
               own.benchmark == each.benchmark;
      });
      if (!is_known) fresh.push_back(std::move(each));
    }
    if (auto added = store.add_calibrations(fresh); !added) return fail(added.error().message);
    count += fresh.size();
  }
  return protocol::LearnReply{.learned = count};
}

// A request that only readers can answer (reading_of()).
template <class Request>
concept NeedsReader =
    std::same_as<Request, protocol::ReportRequest> ||
    std::same_as<Request, protocol::CompareRequest> ||
    std::same_as<Request, protocol::ResultsRequest> ||
    std::same_as<Request, protocol::ExportRequest> ||
    std::same_as<Request, protocol::ReplayRequest> ||
    std::same_as<Request, protocol::ProfileRequest> || std::same_as<Request, protocol::LogsRequest>;

std::vector<store::Id> ids_of(const protocol::CompareRequest& request) {
  return request.ids;
}
template <class Request>
std::vector<store::Id> ids_of(const Request& request) {
  return {request.id};
}

template <NeedsReader Request>
Result<void> pass_on(const Context& context, const Request& request) {
  auto reading = reading_of(request);
  if (!reading) return std::unexpected(reading.error());
  for (const store::Id id : ids_of(request)) {
    auto found = find(context, id);
    if (!found) return std::unexpected(found.error());
    reading->experiments.push_back(std::move(*found));
  }
  context.daemon.read_for(context.connection, std::move(*reading));
  return {};
}

Result<void> pass_on(const Context& context, const protocol::RetryRequest& request) {
  const auto experiment = find(context, request.id);
  if (!experiment) return std::unexpected(experiment.error());
  if (auto room = context.daemon.has_room(context.connection.peer().uid, experiment->plan.size());
      !room)
    return room;
  return context.daemon.retry(context.connection, *experiment);
}

Result<void> may_ask(const Context& context, bool greets) {
  if (context.connection.greeted || greets) return {};
  return fail(
      fmt::format("stabd {} answers only clients that first send a greeting in protocol {}: use "
                  "the stabctl of the same release",
                  STAB_VERSION, protocol::version));
}

// Returns nothing if the answer comes later.
template <class Request>
std::optional<std::string> reply_to(const Context& context, const Request& request,
                                    const std::string& line) {
  if (auto may = may_ask(context, std::same_as<Request, protocol::HelloRequest>); !may)
    return protocol::encode_refusal(may.error().message);
  try {
    if constexpr (std::same_as<Request, protocol::SubmitRequest>) {
      const auto room = context.daemon.has_room(context.connection.peer().uid, request.plan.size());
      if (!room) return protocol::encode_refusal(room.error().message);
      context.daemon.read_submission(context.connection, line);
      return std::nullopt;
    } else if constexpr (NeedsReader<Request> || std::same_as<Request, protocol::RetryRequest>) {
      const auto passed = pass_on(context, request);
      if (passed) return std::nullopt;
      return protocol::encode_refusal(passed.error().message);
    } else if constexpr (std::same_as<Request, protocol::ImportRequest>) {
      const auto reply = context.daemon.import(context.connection, request);
      if (!reply) return protocol::encode_refusal(reply.error().message);
      return *reply ? std::optional(protocol::encode(**reply)) : std::nullopt;
    } else {
      const auto reply = answer(context, request);
      return reply ? protocol::encode(*reply) : protocol::encode_refusal(reply.error().message);
    }
  } catch (const std::exception& error) {
    return protocol::encode_refusal(
        fmt::format("stabd cannot answer this: {}", one_line(error.what(), 200)));
  }
}

}  // namespace

void handle_request(Daemon& daemon, Connection& connection, const std::string& line) {
  const Context context{.daemon = daemon, .connection = connection};
  // Only a request with a plan may be so large; a reader decodes it.
  if (line.size() > protocol::most_decoded) {
    auto may = may_ask(context, false);
    if (may) may = daemon.has_room(connection.peer().uid, 0);
    if (!may) return connection.send(protocol::encode_refusal(may.error().message));
    return daemon.read_submission(connection, line);
  }
  const auto request = protocol::decode_request(line);
  if (!request) return connection.send(protocol::encode_refusal(request.error().message));
  auto reply =
      std::visit([&](const auto& each) { return reply_to(context, each, line); }, *request);
  if (reply) connection.send(std::move(*reply));
}

// Archives that clients send: they come in pieces, a reader verifies them and takes them apart, and
// the store takes the rows (maintenance.h).

Result<std::optional<protocol::ImportReply>> Daemon::import(
    Connection& client, const protocol::ImportRequest& request) {
  const auto piece = from_base64(request.piece);
  if (!piece) return std::unexpected(piece.error());
  if (auto may = clients_.may_send(client, piece->size()); !may) {
    client.spool.reset();
    return std::unexpected(may.error());
  }
  if (!client.spool) {
    auto made = archive::Spool::make(options_.state_directory, leavings_.take());
    if (!made) return std::unexpected(made.error());
    client.spool = std::move(*made);
  }
  if (auto kept = client.spool->add(*piece); !kept) {
    client.spool.reset();
    return std::unexpected(kept.error());
  }
  if (!request.last) return protocol::ImportReply{};
  verify_import(client, request.file);
  return std::nullopt;
}

void Daemon::verify_import(Connection& client, std::string name) {
  const Peer& peer = client.peer();
  const archive::Spool* const spool = client.spool.get();
  const protocol::ReadRequest request{.reading = protocol::Reading::import,
                                      .file = spool->file(),
                                      .parts = spool->parts(),
                                      .name = std::move(name),
                                      .uid = peer.uid,
                                      .gid = peer.gid};
  const auto ticket = readers_->ask(
      accounts_.of(peer.uid), protocol::encode(request), [this, &client](const Result<Fd>& answer) {
        const auto found = findings_in(answer);
        if (auto begun = found ? begin_import(client) : fail(found.error().message); !begun) {
          client.spool.reset();
          client.answer(protocol::encode_refusal(begun.error().message));
        }
        after_session_step();
      });
  client.await_answer([this, ticket] { readers_->forget(ticket); });
}

Result<void> Daemon::begin_import(Connection& client) {
  const Peer& peer = client.peer();
  if (auto may = may_import(peer.uid, client.spool->bytes()); !may) return may;
  return maintenance_.import(
      client, {.uid = peer.uid, .gid = peer.gid, .believed = queue_.is_trusted(peer.uid)},
      client.spool, [this, uid = peer.uid](std::uint64_t more) { return may_import(uid, more); });
}

}  // namespace stab::daemon
