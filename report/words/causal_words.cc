// SPDX-License-Identifier: MIT
#include "report/words/causal_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <string>

#include "base/text.h"
#include "base/time.h"

namespace stab::report {
namespace {

using stats::causal::Finding;
using stats::causal::Gain;
using stats::causal::Line;
using stats::causal::Point;
using stats::causal::PointKind;
using stats::causal::PointResult;
using stats::causal::Profile;

constexpr std::size_t longest_name = 48;

}  // namespace

std::string causal_percent(double share) {
  const double value = 100 * share;
  return fmt::format("{:.1f}", std::fabs(value) < 0.05 ? 0.0 : value);
}

std::string causal_gain(const Gain& gain) {
  return fmt::format("{} % [{}, {}]", causal_percent(gain.value), causal_percent(gain.interval.low),
                     causal_percent(gain.interval.high));
}

std::string short_line(const std::string& name) {
  const std::string line = one_line(name, 4096);
  return line.size() <= longest_name ? line : "..." + line.substr(line.size() - (longest_name - 3));
}

std::string causal_answer(const Profile& profile, const PointResult& point) {
  const bool is_latency = profile.points[point.point].kind == PointKind::latency;
  const char* less = is_latency ? "latency" : "time per visit";
  for (const Line& line : point.lines)
    if (line.finding == Finding::helps)
      return fmt::format(
          "make {} faster: if it took 25 % less time, the program would save {} of the {}.",
          short_line(profile.lines[line.line]), causal_gain(line.at_quarter), less);
  const auto has = [&](Finding finding) {
    return std::ranges::find(point.lines, finding, &Line::finding) != point.lines.end();
  };
  if (has(Finding::contention))
    return "no line is known to make the program faster; if a line marked 'contention' gets "
           "faster, the program gets slower.";
  if (has(Finding::unclear))
    return "no line has an effect that can be distinguished from 0; the last column shows how "
           "narrow the intervals would be after one more hour.";
  return "too few experiments to say anything about any line; run the program longer or more "
         "often, or use a shorter --experiment.";
}

const char* finding_word(Finding finding) {
  switch (finding) {
    case Finding::helps:
      return "helps";
    case Finding::contention:
      return "contention";
    case Finding::unclear:
      return "unclear";
    case Finding::too_few:
      break;
  }
  return "too few";
}

std::string causal_answer(const Profile& profile, const stats::causal::Analysis& analysis) {
  return causal_answer(profile, analysis.points.front());
}

std::vector<std::string> sampling_remarks(const Profile& profile, std::chrono::nanoseconds asked,
                                          const SamplingKeys& keys) {
  stats::causal::Sampling all;
  bool is_known = false;
  for (const auto& run : profile.runs) {
    if (!run.sampling) continue;
    is_known = true;
    all.samples += run.sampling->samples;
    all.outside += run.sampling->outside;
    all.unwound_short += run.sampling->unwound_short;
    all.sampled_ns += run.sampling->sampled_ns;
    all.lost += run.sampling->lost;
    all.is_by_timer = all.is_by_timer || run.sampling->is_by_timer;
    all.is_of_user_code = all.is_of_user_code || run.sampling->is_of_user_code;
  }
  std::vector<std::string> said;
  if (!is_known) return said;
  if (all.samples == 0)
    return {"No samples were taken, because the program used hardly any CPU time."};
  const double samples = static_cast<double>(all.samples);
  const double period = static_cast<double>(all.sampled_ns) / samples;
  const auto wanted = static_cast<double>(asked.count());
  const char* by = all.is_by_timer
                       ? "a timer (kernel.perf_event_paranoid does not permit perf events)"
                       : "perf events";
  if (period > 2 * wanted)
    said.push_back(fmt::format(
        "On average, a sample represents {:.1f} ms of CPU time instead of {:.1f} ms, because "
        "samples are taken by {}.",
        period / 1e6, wanted / 1e6, by));
  else if (all.is_by_timer)
    said.push_back(fmt::format("Samples are taken by {}.", by));
  if (all.is_of_user_code)
    said.emplace_back(
        "Only user code is sampled (kernel.perf_event_paranoid is above 1), so no source line "
        "includes kernel time.");
  if (const double percent = 100 * static_cast<double>(all.outside) / samples; percent > 20)
    said.push_back(fmt::format("{:.0f} % of {} samples are outside the scope; see {}.", percent,
                               all.samples, keys.scope));
  if (100 * static_cast<double>(all.unwound_short) / samples > 5)
    said.push_back(fmt::format("The callers of {} samples could not be found.", all.unwound_short));
  if (all.lost != 0)
    said.push_back(fmt::format(
        "{} experiments were lost because there was no room to store them: make experiments "
        "longer with {}.",
        all.lost, keys.experiment));
  return said;
}

std::string load_name(const stats::causal::Load& load) {
  return load.asked > 0 ? fmt::format("{}x", load.asked)
                        : format_duration(std::chrono::nanoseconds(load.speedup_ns));
}

std::string measured_words(const stats::causal::Measured& measured, double unit) {
  if (!measured.interval) return fmt::format("{:.4g}", measured.value / unit);
  return fmt::format("{:.4g} [{:.4g}, {:.4g}]", measured.value / unit,
                     measured.interval->low / unit, measured.interval->high / unit);
}

}  // namespace stab::report
