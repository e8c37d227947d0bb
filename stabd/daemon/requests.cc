// SPDX-License-Identifier: MIT
#include "stabd/daemon/requests.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "design/expand.h"
#include "plan/reading/reader.h"
#include "report/json.h"
#include "report/text.h"
#include "stabd/daemon/connection.h"
#include "stabd/daemon/daemon.h"
#include "stabd/daemon/progress.h"
#include "stabd/results/compare.h"
#include "stabd/results/document.h"
#include "stabd/results/export.h"
#include "stabd/wire/calibration.h"
#include "toml/problems.h"

namespace stab::daemon {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

struct Request {
  Daemon& daemon;
  Connection& connection;
  const json& body;

  [[nodiscard]] std::string text(const char* key) const { return body.at(key).get<std::string>(); }
  [[nodiscard]] std::string text_or(const char* key, const char* otherwise) const {
    return body.contains(key) ? text(key) : std::string(otherwise);
  }
  [[nodiscard]] store::Id id() const { return body.at("id").get<store::Id>(); }
};

bool may_see(const Request& request, const store::Experiment& experiment) {
  const std::uint32_t uid = request.connection.peer().uid;
  return uid == 0 || uid == geteuid() || uid == experiment.uid;
}

Result<store::Experiment> find(const Request& request, store::Id id) {
  const Session* session = request.daemon.session();
  auto found = request.daemon.store().experiment(id);
  if (!found) return fail(found.error().message);
  // An experiment of somebody else is answered as one that does not exist.
  if (!*found || !may_see(request, **found))
    return fail(fmt::format("there is no experiment {}: see 'stabctl list'", id));
  return session != nullptr && session->experiment().id == id ? session->experiment() : **found;
}

Result<store::Experiment> find(const Request& request) {
  return find(request, request.id());
}

Result<ordered_json> version(const Request& request) {
  return ordered_json{{"version", STAB_VERSION},
                      {"pid", getpid()},
                      {"state", request.daemon.options().state_directory}};
}

Result<ordered_json> submit(const Request& request) {
  const Peer& peer = request.connection.peer();
  const std::string text = request.text("plan");
  const std::string file = request.text_or("file", "plan");
  const std::string directory = request.text("directory");
  if (!directory.starts_with('/')) return fail("the plan's directory must be an absolute path");
  const auto plan = plan::read_plan(text);
  if (!plan) return fail(toml::describe(plan.error(), one_line(file, 500)));
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto id = request.daemon.submit(
      {.name = plan->name,
       .plan = text,
       .directory = directory,
       .uid = peer.uid,
       .gid = peer.gid,
       .state = "queued",
       .submitted_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(now).count(),
       .trials = plan::expand(*plan).trials.size()});
  if (!id) return std::unexpected(id.error());
  return ordered_json{{"id", *id}};
}

Result<ordered_json> list(const Request& request) {
  const auto experiments = request.daemon.store().experiments();
  if (!experiments) return fail(experiments.error().message);
  ordered_json rows = ordered_json::array();
  for (const store::Experiment& experiment : *experiments)
    if (may_see(request, experiment)) rows.push_back(summary_json(experiment));
  return ordered_json{{"experiments", std::move(rows)}};
}

Result<ordered_json> status(const Request& request) {
  const auto experiment = find(request);
  if (!experiment) return std::unexpected(experiment.error());
  const Session* session = request.daemon.session();
  const bool current = session != nullptr && session->experiment().id == experiment->id;
  ordered_json answer{
      {"experiment", summary_json(*experiment)},
      {"progress", ordered_json::parse(progress_line(*experiment, current ? session : nullptr))}};
  const auto events = request.daemon.store().events(experiment->id);
  if (!events) return fail(events.error().message);
  answer["events"] = ordered_json::array();
  for (const store::Event& event : *events)
    answer["events"].push_back(
        {{"at_ns", event.at_ns}, {"kind", event.kind}, {"text", event.text}});
  return answer;
}

Result<ordered_json> watch(const Request& request) {
  const auto experiment = find(request);
  if (!experiment) return std::unexpected(experiment.error());
  request.connection.watched = experiment->id;
  return ordered_json{{"experiment", summary_json(*experiment)}};
}

Result<ordered_json> cancel(const Request& request) {
  const auto experiment = find(request);
  if (!experiment) return std::unexpected(experiment.error());
  if (auto cancelled = request.daemon.cancel(experiment->id); !cancelled)
    return std::unexpected(cancelled.error());
  return ordered_json{{"id", experiment->id}};
}

// What exit codes are made of (stabd/client/exit_code.h).
ordered_json ending(bool complete, std::uint64_t failed, const stats::Findings& findings) {
  return {{"complete", complete},
          {"failed", failed},
          {"regressed", findings.regressed},
          {"unsure", findings.unsure}};
}

report::TextOptions text_options(const Request& request) {
  return {.colour = request.body.value("colour", false), .full = request.body.value("full", false)};
}

Result<ordered_json> report(const Request& request) {
  const auto experiment = find(request);
  if (!experiment) return std::unexpected(experiment.error());
  const auto document = results::make_document(
      request.daemon.store(), *experiment, request.daemon.options().state_directory + "/stabd.db");
  if (!document) return std::unexpected(document.error());
  const std::string format = request.text_or("format", "text");
  ordered_json answer =
      ending(experiment->state == to_string(State::done),
             document->trials.failed + document->trials.skipped, document->findings());
  if (format == "text")
    answer["text"] = report::text(*document, text_options(request));
  else if (format == "json")
    answer["text"] = report::json(*document);
  else
    return fail(fmt::format("there is no report format '{}': text and json are there",
                            one_line(format, 50)));
  return answer;
}

Result<ordered_json> compare(const Request& request) {
  std::vector<store::Experiment> experiments;
  for (const json& id : request.body.at("ids")) {
    auto found = find(request, id.get<store::Id>());
    if (!found) return std::unexpected(found.error());
    experiments.push_back(std::move(*found));
  }
  const auto comparison = results::compare(request.daemon.store(), experiments);
  if (!comparison) return std::unexpected(comparison.error());
  ordered_json answer = ending(comparison->complete, comparison->failed, comparison->findings);
  if (request.text_or("format", "text") == "json")
    answer["text"] = report::analysis_json(comparison->title, comparison->analysis);
  else
    answer["text"] =
        report::analysis_text(comparison->title, comparison->analysis, text_options(request));
  return answer;
}

Result<ordered_json> export_rows(const Request& request) {
  const auto experiment = find(request);
  if (!experiment) return std::unexpected(experiment.error());
  const std::string format = request.text_or("format", "csv");
  if (format != "csv" && format != "json")
    return fail(fmt::format("there is no export format '{}': csv and json are there",
                            one_line(format, 50)));
  const auto text = format == "csv" ? results::export_csv(request.daemon.store(), *experiment)
                                    : results::export_json(request.daemon.store(), *experiment);
  if (!text) return std::unexpected(text.error());
  return ordered_json{{"text", *text}};
}

// Calibrations say nothing of anybody's programs but their names.
Result<ordered_json> calibrations(const Request& request) {
  store::Store& store = request.daemon.store();
  const auto ids = store.calibrated_machines();
  if (!ids) return fail(ids.error().message);
  std::vector<wire::KnownMachine> machines;
  for (const store::Id id : *ids) {
    const auto machine = store.machine(id);
    if (!machine) return fail(machine.error().message);
    const auto found = store.calibrations(id);
    if (!found) return fail(found.error().message);
    if (*machine) machines.push_back({.machine = **machine, .calibrations = *found});
  }
  return ordered_json{{"machines", wire::to_json(machines)}};
}

// From another database of the daemon's own user; what others say of the machine is not believed.
Result<ordered_json> learn(const Request& request) {
  const std::uint32_t uid = request.connection.peer().uid;
  if (uid != 0 && uid != geteuid())
    return fail("only root and the user of stabd may bring calibrations from elsewhere");
  const auto machines = wire::read_machines(request.body.at("machines"));
  if (!machines) return std::unexpected(machines.error());
  store::Store& store = request.daemon.store();
  std::size_t count = 0;
  for (const wire::KnownMachine& known : *machines) {
    const auto id = store.add_machine(known.machine);
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
  return ordered_json{{"learned", count}};
}

using Handler = Result<ordered_json> (*)(const Request&);

const std::map<std::string, Handler, std::less<>>& handlers() {
  static const std::map<std::string, Handler, std::less<>> table{
      {"version", version}, {"submit", submit},
      {"list", list},       {"status", status},
      {"watch", watch},     {"cancel", cancel},
      {"report", report},   {"export", export_rows},
      {"compare", compare}, {"calibrations", calibrations},
      {"learn", learn}};
  return table;
}

Result<ordered_json> answer_to(Daemon& daemon, Connection& connection, const std::string& line) {
  try {
    const json body = json::parse(line);
    const std::string verb = body.at("verb").get<std::string>();
    const auto handler = handlers().find(verb);
    if (handler == handlers().end())
      return fail(fmt::format("stabd does not know the request '{}'", one_line(verb, 50)));
    return handler->second({daemon, connection, body});
  } catch (const json::exception& error) {
    return fail(fmt::format("not a request: {}", one_line(error.what(), 200)));
  } catch (const std::exception& error) {
    return fail(fmt::format("stabd cannot answer this: {}", one_line(error.what(), 200)));
  }
}

}  // namespace

void handle_request(Daemon& daemon, Connection& connection, const std::string& line) {
  auto answer = answer_to(daemon, connection, line);
  ordered_json reply =
      answer ? std::move(*answer) : ordered_json{{"error", answer.error().message}};
  reply["ok"] = answer.has_value();
  connection.send(reply.dump(-1, ' ', false, ordered_json::error_handler_t::replace));
}

}  // namespace stab::daemon
