// SPDX-License-Identifier: MIT
#include "stabd/client/verbs.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/fd.h"
#include "base/text.h"
#include "stabd/client/client.h"
#include "stabd/client/follow.h"
#include "stabd/client/output.h"
#include "stabd/client/plan_file.h"
#include "stabd/client/progress.h"

namespace stab::client {
namespace {

using nlohmann::json;

Result<json> ask(const Common& common, const json& request) {
  auto client = Client::connect(common.socket_path);
  if (!client) return std::unexpected(client.error());
  return client->ask(request);
}

std::string local_time(std::int64_t ns) {
  if (ns == 0) return "";
  return fmt::format("{:%Y-%m-%d %H:%M:%S}",
                     fmt::localtime(static_cast<std::time_t>(ns / 1'000'000'000)));
}

Result<int> exit_code_of(const Common& common, std::int64_t id) {
  const auto report = ask(common, {{"verb", "report"}, {"id", id}, {"format", "json"}});
  if (!report) return std::unexpected(report.error());
  return exit_code(ending_of(*report), common.fail_on);
}

}  // namespace

Result<int> submit(const Common& common, const std::string& plan_path, bool wait) {
  const auto plan = read_plan_file(plan_path);
  if (!plan) return std::unexpected(plan.error());
  const auto answer = ask(common, {{"verb", "submit"},
                                   {"plan", plan->text},
                                   {"directory", plan->directory},
                                   {"file", plan->path}});
  if (!answer) return std::unexpected(answer.error());
  const std::int64_t id = answer->value("id", std::int64_t{0});
  if (common.json)
    fmt::print("{}\n", json{{"id", id}}.dump());
  else
    fmt::print("experiment {} is queued; follow it with 'stabctl watch {}'\n", id, id);
  std::fflush(stdout);
  return wait ? watch(common, id) : exit_ok;
}

Result<int> list(const Common& common) {
  const auto answer = ask(common, {{"verb", "list"}});
  if (!answer) return std::unexpected(answer.error());
  const json& experiments = answer->at("experiments");
  if (common.json) {
    fmt::print("{}\n", experiments.dump(2));
    return exit_ok;
  }
  if (experiments.empty())
    fmt::print("there are no experiments: submit a plan with 'stabctl submit plan.toml'\n");
  for (const json& row : experiments)
    fmt::print("{:>5}  {:<10} {:>8} trials  {}  {}{}\n", row.value("id", 0), row.value("state", ""),
               row.value("trials", 0), local_time(row.value("submitted_ns", std::int64_t{0})),
               row.value("name", ""),
               row.value("reason", "").empty()
                   ? ""
                   : "  (" + one_line(row.value("reason", ""), 100) + ")");
  return exit_ok;
}

Result<int> status(const Common& common, std::int64_t id) {
  const auto answer = ask(common, {{"verb", "status"}, {"id", id}});
  if (!answer) return std::unexpected(answer.error());
  if (common.json) {
    fmt::print("{}\n", answer->dump(2));
    return exit_ok;
  }
  const json& experiment = answer->at("experiment");
  fmt::print("experiment {}: {}\n", id, experiment.value("name", ""));
  fmt::print("{}\n", progress_text(answer->at("progress"), 1000));
  for (const json& event : answer->at("events"))
    fmt::print("{}  {:<8} {}\n", local_time(event.value("at_ns", std::int64_t{0})),
               event.value("kind", ""), event.value("text", ""));
  return exit_ok;
}

Result<int> watch(const Common& common, std::int64_t id) {
  const SignalFd signals;
  const auto followed = follow(common.socket_path, id, OnInterrupt::leave, signals);
  if (!followed) return std::unexpected(followed.error());
  if (followed->interrupted) {
    fmt::print(stderr, "experiment {} goes on\n", id);
    return exit_ok;
  }
  if (common.json)
    fmt::print("{}\n", followed->progress.dump());
  else
    fmt::print("experiment {}: {}\n", id, progress_text(followed->progress, 1000));
  return exit_code_of(common, id);
}

Result<int> cancel(const Common& common, std::int64_t id) {
  const auto answer = ask(common, {{"verb", "cancel"}, {"id", id}});
  if (!answer) return std::unexpected(answer.error());
  fmt::print("experiment {} is cancelled; what was measured is kept\n", id);
  return exit_ok;
}

Result<int> report(const Common& common, std::int64_t id, const std::string& format,
                   const std::string& output) {
  const std::string wanted = common.json ? "json" : format;
  const auto answer = ask(common, {{"verb", "report"},
                                   {"id", id},
                                   {"format", wanted},
                                   {"full", common.full},
                                   {"colour", output.empty() && wants_colour()}});
  if (!answer) return std::unexpected(answer.error());
  if (auto written = write_output(answer->value("text", ""), output); !written)
    return std::unexpected(written.error());
  return exit_ok;
}

Result<int> compare(const Common& common, const std::vector<std::int64_t>& ids) {
  const auto answer = ask(common, {{"verb", "compare"},
                                   {"ids", ids},
                                   {"format", common.json ? "json" : "text"},
                                   {"full", common.full},
                                   {"colour", wants_colour()}});
  if (!answer) return std::unexpected(answer.error());
  if (auto written = write_output(answer->value("text", ""), ""); !written)
    return std::unexpected(written.error());
  return exit_code(ending_of(*answer), common.fail_on);
}

Result<int> export_rows(const Common& common, std::int64_t id, const std::string& format,
                        const std::string& output) {
  const auto answer =
      ask(common, {{"verb", "export"}, {"id", id}, {"format", common.json ? "json" : format}});
  if (!answer) return std::unexpected(answer.error());
  if (auto written = write_output(answer->value("text", ""), output); !written)
    return std::unexpected(written.error());
  return exit_ok;
}

}  // namespace stab::client
