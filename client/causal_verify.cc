// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/text.h"
#include "client/causal.h"
#include "client/client.h"
#include "client/plan_file.h"
#include "client/run.h"
#include "client/run_folder.h"
#include "client/streams.h"
#include "protocol/document.h"
#include "protocol/messages.h"
#include "report/json.h"
#include "report/model.h"
#include "report/words/causal_words.h"
#include "stats/verdicts/decide.h"

namespace stab::client::causal {
namespace {

using nlohmann::ordered_json;
using report::causal_gain_json;
using stats::causal::Finding;
using stats::causal::Gain;

constexpr std::string_view way_out =
    "run the program for longer or more often, or ask about another line";

struct Prediction {
  std::string point;
  std::string line;
  bool is_latency = false;
  double speedup = 0;
  Gain gain;
};

Result<protocol::ResultsReply> results_of(const Common& common, std::int64_t id) {
  const protocol::ResultsRequest request{.id = id};
  if (!common.state.empty()) return answer_stored(common.state, request);
  auto client = Client::connect(common.sockets);
  if (!client) return std::unexpected(client.error());
  return client->ask(request);
}

// The cell that the user chose, or the only one. Fails if it has no analysis.
Result<const report::CausalCell*> cell_of(const report::Document& profile,
                                          const VerifyOptions& options) {
  if (!profile.causal)
    return fail(
        fmt::format("experiment {} is not a causal profile: its plan has no design.kind = "
                    "\"causal\"",
                    options.id));
  std::string names;
  for (const report::CausalCell& cell : *profile.causal) {
    if (cell.name == options.cell || (options.cell.empty() && profile.causal->size() == 1)) {
      if (!cell.analysis) return fail(cell.reason.empty() ? "it has no profile" : cell.reason);
      return &cell;
    }
    names += (names.empty() ? "'" : ", '") + one_line(cell.name, 200) + "'";
  }
  if (names.empty()) return fail(fmt::format("experiment {} has no profile", options.id));
  return wrong_call("several cells have a profile; choose one with --cell: " + names);
}

// Interpolates between the neighbouring steps of the curve, which starts at no gain for no speedup.
Result<Gain> gain_at(const stats::causal::Line& line, double speedup) {
  if (std::fabs(speedup - stats::causal::ranked_speedup) < 1e-9) return line.at_quarter;
  Gain before;
  double from = 0;
  for (const stats::causal::Step& step : line.steps) {
    const Gain& gain = step.near;
    if (step.speedup >= speedup) {
      const double part = step.speedup > from ? (speedup - from) / (step.speedup - from) : 1;
      const auto between = [&](double a, double b) { return a + part * (b - a); };
      return Gain{.value = between(before.value, gain.value),
                  .interval = {.low = between(before.interval.low, gain.interval.low),
                               .high = between(before.interval.high, gain.interval.high)}};
    }
    before = gain;
    from = step.speedup;
  }
  return fail(fmt::format(
      "no experiment made the line {:.4g} % faster: the largest speedup in the profile is {:.0f} %",
      100 * speedup, 100 * from));
}

bool is_meant(const std::string& name, const std::string& wanted) {
  if (wanted.empty() || name == wanted) return true;
  return name.ends_with("/" + wanted);
}

Result<Prediction> predict(const report::Document& profile, const VerifyOptions& options) {
  const auto percent = read_speedup(options.speedup);
  if (!percent) return std::unexpected(percent.error());
  const double speedup = *percent / 100;
  const auto found = cell_of(profile, options);
  if (!found) return std::unexpected(found.error());
  const report::CausalCell& cell = **found;
  for (const stats::causal::PointResult& result : cell.analysis->points)
    for (const stats::causal::Line& line : result.lines) {
      const std::string& name = cell.profile.lines.at(line.line);
      if (!is_meant(name, options.line)) continue;
      if (options.line.empty() ? line.finding != Finding::helps : line.finding == Finding::too_few)
        continue;
      const auto gain = gain_at(line, speedup);
      if (!gain) return std::unexpected(gain.error());
      const stats::causal::Point& point = cell.profile.points.at(result.point);
      return Prediction{.point = point.name,
                        .line = name,
                        .is_latency = point.kind == stats::causal::PointKind::latency,
                        .speedup = speedup,
                        .gain = *gain};
    }
  if (options.line.empty())
    return fail(fmt::format("the profile shows no line that is worth optimizing: {}", way_out));
  return fail(
      fmt::format("the profile has no result for {}: {}", one_line(options.line, 200), way_out));
}

}  // namespace

Result<MeasuredChange> measured_in(const stats::Analysis& analysis) {
  const stats::Effect* only = nullptr;
  std::size_t count = 0;
  for (const stats::Effect& effect : analysis.effects) {
    if (stats::is_control(effect, analysis.spec)) continue;
    only = &effect;
    ++count;
  }
  if (count != 1)
    return fail(fmt::format(
        "the plan makes {} comparisons, but it must make exactly one. Use one benchmark, and one "
        "factor with two levels: the program before the change and the program after the change",
        count));
  // The interval says nothing about lost trials.
  const bool has_lost = std::ranges::any_of(
      analysis.means, [](const stats::CellMean& each) { return each.lost > 0; });
  if (stats::is_withheld(*only) && has_lost)
    return fail(fmt::format(
        "the experiment gives no verdict on the change: {}; see 'stabctl report'", only->reason));
  const bool is_inverse = analysis.spec.higher_is_better;
  const auto is_known = [&](std::optional<double> value) {
    return value && std::isfinite(*value) && (!is_inverse || *value > 0);
  };
  if (!is_known(only->ratio) || !is_known(only->low) || !is_known(only->high))
    return fail(
        "the experiment has no finite confidence interval for its change: see 'stabctl report'");
  const auto saved = [&](double ratio) { return 1 - (is_inverse ? 1 / ratio : ratio); };
  const double worst = is_inverse ? *only->low : *only->high;
  const double best = is_inverse ? *only->high : *only->low;
  return MeasuredChange{.response = analysis.spec.response,
                        .is_inverse = is_inverse,
                        .level = only->treatment + "=" + only->level,
                        .baseline = only->treatment + "=" + only->baseline,
                        .gain = {.value = saved(*only->ratio),
                                 .interval = {.low = saved(worst), .high = saved(best)}}};
}

namespace {

bool agrees(const Gain& apart) {
  return apart.interval.low <= 0 && apart.interval.high >= 0;
}

std::string sentence(const Prediction& predicted, const MeasuredChange& measured,
                     const Gain& apart) {
  return fmt::format(
      "Prediction: {:.4g} % less time in {} would save {} of the {}. Measurement: with {} instead "
      "of {}, the program saved {} of {}{}. Conclusion: {} (measurement minus prediction: {}).\n",
      100 * predicted.speedup, one_line(predicted.line, 500), report::causal_gain(predicted.gain),
      predicted.is_latency ? "latency" : "time per visit", one_line(measured.level, 200),
      one_line(measured.baseline, 200), report::causal_gain(measured.gain),
      measured.is_inverse ? "1 / " : "", one_line(measured.response, 200),
      agrees(apart) ? "the change had the predicted effect, as far as these measurements can tell"
                    : "the change had a different effect than predicted",
      report::causal_gain(apart));
}

std::string as_json(const Prediction& predicted, const MeasuredChange& measured,
                    const Gain& apart) {
  const ordered_json root{{"line", predicted.line},
                          {"point", predicted.point},
                          {"speedup", predicted.speedup},
                          {"predicted", causal_gain_json(predicted.gain)},
                          {"response", measured.response},
                          {"level", measured.level},
                          {"baseline", measured.baseline},
                          {"measured", causal_gain_json(measured.gain)},
                          {"difference", causal_gain_json(apart)},
                          {"agrees", agrees(apart)}};
  return json_text(root, 2) + "\n";
}

}  // namespace

Gain difference(const Gain& predicted, const Gain& measured) {
  const double value = measured.value - predicted.value;
  const auto half = [](const stats::Interval& each) { return (each.high - each.low) / 2; };
  const double both = std::hypot(half(predicted.interval), half(measured.interval));
  return {.value = value, .interval = {.low = value - both, .high = value + both}};
}

Result<int> verify(const Common& common, const VerifyOptions& options) {
  const auto file = read_plan_file(options.plan);
  if (!file) return std::unexpected(file.error());
  const auto profile = results_of(common, options.id);
  if (!profile) return std::unexpected(profile.error());
  // The prediction comes first, so that nothing is measured without something to compare it with.
  const auto predicted = predict(profile->document, options);
  if (!predicted) return std::unexpected(predicted.error());
  RunOptions how;
  how.plan_path = options.plan;
  const auto ran = run_to_end(*file, how);
  if (!ran) return std::unexpected(ran.error());
  if (ran->signal != 0) {
    tell("the experiment is paused; to continue, run the same command again");
    return exit_interrupted + ran->signal;
  }
  const auto change = analyse_stored(ran->state, ran->id);
  if (!change) return std::unexpected(change.error());
  const std::string place = fmt::format("the database is {}/stabd.db", ran->state);
  const auto measured = measured_in(change->document.analysis);
  if (!measured) {
    tell(place);
    return std::unexpected(measured.error());
  }
  const Gain apart = difference(predicted->gain, measured->gain);
  if (auto written = write_output(common.json ? as_json(*predicted, *measured, apart)
                                              : sentence(*predicted, *measured, apart),
                                  "", Colours::none);
      !written)
    return std::unexpected(written.error());
  tell(place);
  return exit_ok;
}

}  // namespace stab::client::causal
