// SPDX-License-Identifier: MIT
#include "report/words/causal.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iterator>
#include <ratio>
#include <string>
#include <string_view>

#include "base/duration.h"
#include "base/text.h"
#include "report/words/quantity.h"

namespace stab::report {
namespace {

using stats::causal::Analysis;
using stats::causal::Finding;
using stats::causal::Gain;
using stats::causal::Line;
using stats::causal::Point;
using stats::causal::PointKind;
using stats::causal::PointResult;
using stats::causal::Profile;

constexpr std::size_t longest_name = 48;
constexpr std::size_t most_shown = 40;
constexpr std::size_t bar_width = 20;

std::string percent(double share) {
  const double value = 100 * share;
  return fmt::format("{:.1f}", std::fabs(value) < 0.05 ? 0.0 : value);
}

}  // namespace

std::string causal_gain(const Gain& gain) {
  return fmt::format("{} % [{}, {}]", percent(gain.value), percent(gain.interval.low),
                     percent(gain.interval.high));
}

std::string short_line(const std::string& name) {
  const std::string line = one_line(name, 4096);
  return line.size() <= longest_name ? line : "..." + line.substr(line.size() - (longest_name - 3));
}

namespace {

// Names the first line that helps, or explains why no line is known to help.
std::string answer_at(const Profile& profile, const PointResult& point) {
  const bool is_latency = profile.points[point.point].kind == PointKind::latency;
  const char* less = is_latency ? "latency" : "time per visit";
  for (const Line& line : point.lines)
    if (line.finding == Finding::helps)
      return fmt::format("make {} faster: 25 % less time there would give {} less {}.",
                         short_line(profile.lines[line.line]), causal_gain(line.at_quarter), less);
  const auto has = [&](Finding finding) {
    return std::ranges::find(point.lines, finding, &Line::finding) != point.lines.end();
  };
  if (has(Finding::contention))
    return "no line is known to help; making a line marked 'contention' faster makes the program "
           "slower.";
  if (has(Finding::unclear))
    return "no line can be told from a line that changes nothing; the last column shows how far "
           "one more hour would narrow the intervals.";
  return "too few experiments to say anything about any line; run the program longer or more "
         "often, or use a shorter --experiment.";
}

class Text {
 public:
  Text(const Profile& profile, const Analysis& analysis, double alpha)
      : profile_(profile), analysis_(analysis), alpha_(alpha) {}

  std::string text() {
    for (const PointResult& point : analysis_.points) write(point);
    remarks();
    return std::move(text_);
  }

 private:
  template <class... Values>
  void add(fmt::format_string<Values...> format, Values&&... values) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Values>(values)...);
  }

  void write(const PointResult& point) {
    const Point& named = profile_.points[point.point];
    const bool is_latency = named.kind == PointKind::latency;
    add("{} {}: {}\n", is_latency ? "Latency" : "Progress point", one_line(named.name, 200),
        answer_at(profile_, point));
    if (point.base)
      add("{} at speedup 0: {:.4g} us, {} {} in experiments.\n",
          is_latency ? "Latency" : "Time per visit", *point.base / 1000, point.visits,
          is_latency ? "arrivals" : "visits");
    if (!point.is_steady)
      add("{} arrivals, {} departures: Little's law gives no valid latency if arrivals and "
          "departures differ much.\n",
          point.visits, point.departures);
    add("\n");
    table(point);
    add("\n");
  }

  void table(const PointResult& point) {
    double most = 0;
    std::size_t width = 4;
    for (const Line& line : point.lines) {
      most = std::max(most, std::fabs(line.at_quarter.value));
      width = std::max(width, short_line(profile_.lines[line.line]).size());
    }
    add("{:<{}}  {:>8}  {:<{}}  {:>24}  {:<11}{:>9}  {:>7}\n", "line", width, "samples", "",
        bar_width, "if it took 25 % less", "finding", "p", "+1 hour");
    std::size_t shown = 0;
    std::size_t too_few = 0;
    for (const Line& line : point.lines) {
      const std::string name = short_line(profile_.lines[line.line]);
      if (line.finding == Finding::too_few) ++too_few;
      if (shown == most_shown) continue;
      ++shown;
      if (line.finding == Finding::too_few) {
        add("{:<{}}  {:>8}  too few to say: {}\n", name, width, line.samples, line.too_few);
        continue;
      }
      add("{:<{}}  {:>8}  {:<{}}  {:>24}  {:<11}{:>9}  {:>7}\n", name, width, line.samples,
          bar(line.at_quarter.value, most), bar_width, causal_gain(line.at_quarter),
          finding_word(line.finding), p_text(line.adjusted_p),
          fmt::format("+-{}", percent(line.half_after_hour)));
    }
    if (shown < point.lines.size())
      add("{} more lines (see --json); {} lines in all have too few experiments to say.\n",
          point.lines.size() - shown, too_few);
  }

  static std::string bar(double value, double most) {
    if (!(most > 0)) return "";
    const auto length = static_cast<std::size_t>(std::lround(std::fabs(value) / most * bar_width));
    return std::string(length, value < 0 ? '<' : '#');
  }

  void remarks() {
    // An imported profile may claim any number of hours.
    const std::chrono::duration<double, std::ratio<3600>> hours(std::min(analysis_.hours, 1e6));
    add("{} experiments in {} run{}, {} without pauses. Intervals are {} intervals; p is corrected "
        "for all lines (Holm).\n",
        analysis_.experiments, analysis_.runs, analysis_.runs == 1 ? "" : "s",
        format_duration(std::chrono::duration_cast<std::chrono::nanoseconds>(hours)),
        level_text(alpha_));
    if (profile_.left_out != 0)
      add("{} {} left out: {} below 0, which coz writes when the pauses took longer than the "
          "experiment.\n",
          profile_.left_out, profile_.left_out == 1 ? "more experiment is" : "more experiments are",
          profile_.left_out == 1 ? "its duration is" : "their durations are");
    if (!analysis_.runs_are_clusters)
      add("Fewer than {} runs: the intervals come from parts of these runs and do not include "
          "differences between runs.\n",
          stats::causal::least_runs);
    if (!analysis_.is_phase_known)
      add("Samples of whole runs are not known, so gains count only the time in which a line "
          "runs.\n");
  }

  const Profile& profile_;
  const Analysis& analysis_;
  double alpha_;
  std::string text_;
};

}  // namespace

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

std::string causal_answer(const Profile& profile, const Analysis& analysis) {
  return answer_at(profile, analysis.points.front());
}

std::string causal_text(const Profile& profile, const Analysis& analysis, double alpha) {
  return Text(profile, analysis, alpha).text();
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
  if (period > 2 * wanted || all.is_by_timer)
    said.push_back(fmt::format(
        "A sample stands for {:.1f} ms of CPU time instead of {:.1f} ms, because samples are taken "
        "by {}.",
        period / 1e6, wanted / 1e6,
        all.is_by_timer
            ? "a timer, because perf events are not permitted (kernel.perf_event_paranoid)"
            : "perf events"));
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
    said.push_back(
        fmt::format("{} experiments were lost because there was no room for them: make experiments "
                    "longer with {}.",
                    all.lost, keys.experiment));
  return said;
}

}  // namespace stab::report
