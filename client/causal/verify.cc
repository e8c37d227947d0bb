// SPDX-License-Identifier: MIT
#include "client/causal/verify.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "client/causal/causal.h"
#include "client/client.h"
#include "client/output.h"
#include "client/plan_file.h"
#include "client/run/run.h"
#include "client/stored.h"
#include "protocol/messages.h"

namespace stab::client::causal {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr std::string_view way_out =
    "run the program for longer or more often, or ask about another line";

struct Prediction {
  std::string point;
  std::string line;
  bool is_latency = false;
  double speedup = 0;
  Share gain;
};

struct Measured {
  std::string response;
  std::string level;     // "version=new"
  std::string baseline;  // too
  Share gain;
};

Result<json> parsed(const Result<protocol::ReportReply>& reply) {
  if (!reply) return std::unexpected(reply.error());
  json report = json::parse(reply->text, nullptr, false);
  if (!report.is_object()) return fail("the report cannot be read");
  return report;
}

Result<json> report_of(const Common& common, std::int64_t id) {
  const protocol::ReportRequest request{.id = id, .format = "json"};
  if (!common.state.empty()) return parsed(answer_stored(common.state, request));
  auto client = Client::connect(common.sockets);
  if (!client) return std::unexpected(client.error());
  return parsed(client->ask(request));
}

Result<json> cell_of(const json& report, const VerifyOptions& options) {
  if (!report.contains("causal") || !report["causal"].is_array())
    return fail(
        fmt::format("experiment {} is not a causal profile: its plan has no design.kind = "
                    "\"causal\"",
                    options.id));
  std::string names;
  for (const json& cell : report["causal"]) {
    const std::string name = cell.at("cell");
    if (name == options.cell || (options.cell.empty() && report["causal"].size() == 1)) {
      if (!cell.contains("points")) return fail(cell.value("reason", "it has no profile"));
      return cell;
    }
    names += (names.empty() ? "'" : ", '") + one_line(name, 200) + "'";
  }
  if (names.empty()) return fail(fmt::format("experiment {} has no profile", options.id));
  return fail("several cells have a profile; choose one with --cell: " + names);
}

Share gain_in(const json& value) {
  return {.value = value.at("value"), .low = value.at("low"), .high = value.at("high")};
}

// Between the steps of the curve that are next to it; before the first of them from no gain on.
Result<Share> gain_at(const json& line, double speedup) {
  constexpr double at_quarter = 0.25;
  if (std::fabs(speedup - at_quarter) < 1e-9) return gain_in(line.at("at_quarter"));
  Share before;
  double from = 0;
  for (const json& step : line.at("steps")) {
    const double to = step.at("speedup");
    if (!step.contains("near"))
      return fail("the daemon is too old: its profiles only say what 25 % would give");
    const Share gain = gain_in(step.at("near"));
    if (to >= speedup) {
      const double part = to > from ? (speedup - from) / (to - from) : 1;
      const auto between = [&](double a, double b) { return a + part * (b - a); };
      return Share{.value = between(before.value, gain.value),
                   .low = between(before.low, gain.low),
                   .high = between(before.high, gain.high)};
    }
    before = gain;
    from = to;
  }
  return fail(fmt::format(
      "no experiment made the line that much faster: the profile ends at {:.0f} %", 100 * from));
}

bool is_meant(const std::string& name, const std::string& wanted) {
  if (wanted.empty() || name == wanted) return true;
  return name.ends_with("/" + wanted);
}

Result<Prediction> predict(const json& report, const VerifyOptions& options) {
  const auto percent = read_speedup(options.speedup);
  if (!percent) return std::unexpected(percent.error());
  const double speedup = *percent / 100;
  const auto cell = cell_of(report, options);
  if (!cell) return std::unexpected(cell.error());
  for (const json& point : cell->at("points"))
    for (const json& line : point.at("lines")) {
      const std::string finding = line.at("finding");
      if (!is_meant(line.at("line"), options.line)) continue;
      if (options.line.empty() ? finding != "helps" : finding == "too few") continue;
      const auto gain = gain_at(line, speedup);
      if (!gain) return std::unexpected(gain.error());
      return Prediction{.point = point.at("name"),
                        .line = line.at("line"),
                        .is_latency = point.at("kind") == "latency",
                        .speedup = speedup,
                        .gain = *gain};
    }
  if (options.line.empty())
    return fail(fmt::format("the profile contains no line that helps: {}", way_out));
  return fail(
      fmt::format("the profile has no result for {}: {}", one_line(options.line, 200), way_out));
}

Result<Measured> measured_in(const json& report) {
  const json* only = nullptr;
  std::size_t count = 0;
  for (const json& effect : report.at("effects")) {
    if (effect.value("control", false)) continue;
    only = &effect;
    ++count;
  }
  if (count != 1)
    return fail(
        fmt::format("the plan makes {} comparisons, but needs exactly one: use one benchmark, and "
                    "a factor with the program before and after the change",
                    count));
  for (const char* key : {"ratio", "low", "high"})
    if (!only->at(key).is_number())
      return fail("the plan's result contains no change with an interval: see 'stabctl report'");
  const std::string treatment = only->at("treatment");
  return Measured{.response = report.at("analysis").at("response"),
                  .level = treatment + "=" + only->at("level").get<std::string>(),
                  .baseline = treatment + "=" + only->at("baseline").get<std::string>(),
                  .gain = {.value = 1 - only->at("ratio").get<double>(),
                           .low = 1 - only->at("high").get<double>(),
                           .high = 1 - only->at("low").get<double>()}};
}

std::string words(const Share& share) {
  return fmt::format("{:.1f} % [{:.1f}, {:.1f}]", 100 * share.value, 100 * share.low,
                     100 * share.high);
}

bool agrees(const Share& apart) {
  return apart.low <= 0 && apart.high >= 0;
}

std::string sentence(const Prediction& predicted, const Measured& measured, const Share& apart) {
  return fmt::format(
      "Predicted for {:.4g} % less time in {}: {} less {}; measured, {} against {}: {} less {}: {} "
      "(difference {}).\n",
      100 * predicted.speedup, one_line(predicted.line, 500), words(predicted.gain),
      predicted.is_latency ? "latency" : "time per visit", one_line(measured.level, 200),
      one_line(measured.baseline, 200), words(measured.gain), one_line(measured.response, 200),
      agrees(apart) ? "the change gave what was predicted, as far as these measurements can tell"
                    : "the change gave something other than what was predicted",
      words(apart));
}

ordered_json object(const Share& share) {
  return {{"value", share.value}, {"low", share.low}, {"high", share.high}};
}

std::string as_json(const Prediction& predicted, const Measured& measured, const Share& apart) {
  const ordered_json root{{"line", predicted.line},        {"point", predicted.point},
                          {"speedup", predicted.speedup},  {"predicted", object(predicted.gain)},
                          {"response", measured.response}, {"level", measured.level},
                          {"baseline", measured.baseline}, {"measured", object(measured.gain)},
                          {"difference", object(apart)},   {"agrees", agrees(apart)}};
  return root.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace

Share difference(const Share& predicted, const Share& measured) {
  const double value = measured.value - predicted.value;
  const double half =
      std::hypot((predicted.high - predicted.low) / 2, (measured.high - measured.low) / 2);
  return {.value = value, .low = value - half, .high = value + half};
}

Result<int> verify(const Common& common, const VerifyOptions& options) {
  const auto file = read_plan_file(options.plan);
  if (!file) return std::unexpected(file.error());
  const auto profile = report_of(common, options.id);
  if (!profile) return std::unexpected(profile.error());
  // Before anything is measured: whether there is something to compare it with.
  const auto predicted = predict(*profile, options);
  if (!predicted) return std::unexpected(predicted.error());
  RunOptions how;
  how.plan_path = options.plan;
  const auto ran = run_to_end(*file, how);
  if (!ran) return std::unexpected(ran.error());
  if (ran->signal != 0) {
    tell("paused; run the same command to continue");
    return exit_interrupted + ran->signal;
  }
  const auto report =
      parsed(answer_stored(ran->state, protocol::ReportRequest{.id = ran->id, .format = "json"}));
  if (!report) return std::unexpected(report.error());
  const auto measured = measured_in(*report);
  if (!measured) return std::unexpected(measured.error());
  const Share apart = difference(predicted->gain, measured->gain);
  if (auto written = write_output(common.json ? as_json(*predicted, *measured, apart)
                                              : sentence(*predicted, *measured, apart),
                                  "", Colours::none);
      !written)
    return std::unexpected(written.error());
  tell(fmt::format("the database is {}/stabd.db", ran->state));
  return exit_ok;
}

}  // namespace stab::client::causal
