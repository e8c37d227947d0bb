// SPDX-License-Identifier: MIT
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/text.h"
#include "plan/reading/reader.h"
#include "stabd/client/calibrations.h"
#include "stabd/client/client.h"
#include "stabd/client/embedded.h"
#include "stabd/client/follow.h"
#include "stabd/client/output.h"
#include "stabd/client/plan_file.h"
#include "stabd/client/verbs.h"
#include "stabd/paths.h"
#include "toml/problems.h"

namespace stab::client {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

std::string file_name(const std::string& name) {
  std::string safe;
  for (const char c : name)
    safe += std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '-' || c == '_'
                ? c
                : '-';
  return safe;
}

Result<std::string> make_state_directory(const RunOptions& options, const std::string& experiment) {
  std::error_code error;
  std::string path = options.state_directory;
  if (path.empty()) {
    const std::string stem = fmt::format("{}/runs/{}-{:%Y%m%d-%H%M%S}", default_state_directory(),
                                         file_name(experiment), fmt::localtime(std::time(nullptr)));
    path = stem;
    for (int i = 2; fs::exists(path, error); ++i) path = fmt::format("{}-{}", stem, i);
  }
  fs::create_directories(path, error);
  if (error) return fail(fmt::format("cannot create {}: {}", path, error.message()));
  return fs::absolute(path).string();
}

bool is_final(const std::string& state) {
  return state == "done" || state == "failed" || state == "cancelled";
}

// The experiment that an earlier run left unfinished there; it must be of the same plan.
Result<std::optional<std::int64_t>> unfinished(Client& client, const PlanFile& plan) {
  const auto answer = client.ask({{"verb", "list"}});
  if (!answer) return std::unexpected(answer.error());
  for (const json& row : answer->at("experiments")) {
    if (is_final(row.value("state", ""))) continue;
    const auto id = row.at("id").get<std::int64_t>();
    const auto status = client.ask({{"verb", "status"}, {"id", id}});
    if (!status) return std::unexpected(status.error());
    if (status->value("plan", "") == plan.text) return id;
    return fail(
        fmt::format("the folder holds an unfinished experiment of another plan, '{}': run that "
                    "plan, or name another folder "
                    "with --state",
                    row.value("name", "")));
  }
  return std::nullopt;
}

Result<std::int64_t> submit_or_resume(Client& client, const PlanFile& plan) {
  const auto earlier = unfinished(client, plan);
  if (!earlier) return std::unexpected(earlier.error());
  if (*earlier) {
    fmt::print(stderr, "experiment {} goes on where it was interrupted\n", **earlier);
    return **earlier;
  }
  const auto answer = client.ask({{"verb", "submit"},
                                  {"plan", plan.text},
                                  {"directory", plan.directory},
                                  {"file", plan.path}});
  if (!answer) return std::unexpected(answer.error());
  return answer->at("id").get<std::int64_t>();
}

}  // namespace

Result<int> run(const RunOptions& options) {
  const auto file = read_plan_file(options.plan_path);
  if (!file) return std::unexpected(file.error());
  const auto plan = plan::read_plan(file->text);
  if (!plan) return fail(toml::describe(plan.error(), file->path));
  const auto state = make_state_directory(options, plan->name);
  if (!state) return std::unexpected(state.error());

  const SignalFd signals;
  const auto daemon = EmbeddedDaemon::start(*state);
  if (!daemon) return std::unexpected(daemon.error());
  auto client = Client::connect(daemon->socket_path());
  if (!client) return std::unexpected(client.error());
  const std::string known =
      options.calibrations.empty() ? calibrations_file() : options.calibrations;
  if (auto told = tell_calibrations(*client, known); !told)
    fmt::print(stderr, "earlier calibrations are not quoted: {}\n", told.error().message);
  const auto id = submit_or_resume(*client, *file);
  if (!id) return std::unexpected(id.error());
  const auto followed = follow(daemon->socket_path(), *id, OnInterrupt::cancel, signals);
  if (!followed) return std::unexpected(followed.error());

  const auto answer = client->ask({{"verb", "report"},
                                   {"id", *id},
                                   {"format", options.format},
                                   {"full", options.full},
                                   {"colour", wants_colour()}});
  if (!answer) return std::unexpected(answer.error());
  if (auto written = write_output(answer->value("text", ""), ""); !written)
    return std::unexpected(written.error());
  if (plan->design.kind == plan::DesignKind::calibration)
    if (auto kept = keep_calibrations(*client, known); !kept)
      fmt::print(stderr, "later runs will not quote this calibration: {}\n", kept.error().message);
  fmt::print(stderr, "the database is {}/stabd.db\n", *state);
  return exit_code(ending_of(*answer), options.fail_on);
}

}  // namespace stab::client
