// SPDX-License-Identifier: MIT
#include "report/words/loads.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <optional>
#include <utility>

#include "base/duration.h"
#include "base/text.h"
#include "report/words/causal.h"
#include "report/words/quantity.h"

namespace stab::report {
namespace {

using stats::causal::AtLoad;
using stats::causal::Change;
using stats::causal::Load;
using stats::causal::Loads;
using stats::causal::Measured;
using stats::causal::Point;
using stats::causal::PointAtLoad;
using stats::causal::PointKind;
using stats::causal::Profile;

const PointAtLoad* at_point(const AtLoad& at, std::size_t point) {
  const auto found = std::ranges::find(at.points, point, &PointAtLoad::point);
  return found == at.points.end() ? nullptr : &*found;
}

class Text {
 public:
  Text(const Profile& profile, const Loads& loads) : profile_(profile), loads_(loads) {}

  std::string text() {
    table();
    for (std::size_t point = 0; point < profile_.points.size(); ++point) write(point);
    if (profile_.loads.size() > 1) changes();
    return std::move(text_);
  }

 private:
  template <class... Values>
  void add(fmt::format_string<Values...> format, Values&&... values) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Values>(values)...);
  }

  [[nodiscard]] std::string name(std::size_t load) const { return load_name(profile_.loads[load]); }

  void table() {
    add("{:<8}{:<26}{:>10}{:>6}  {}\n", "load", "had", "a visit", "runs", "arrivals per second");
    for (const AtLoad& at : loads_.loads)
      add("{:<8}{:<26}{:>10}{:>6}  {}\n", name(at.load),
          at.had ? measured_words(*at.had) : "unknown",
          format_duration(std::chrono::nanoseconds(profile_.loads[at.load].speedup_ns)),
          at.analysis.runs, at.arrivals ? measured_words(*at.arrivals) : "unknown");
    if (loads_.loads.size() < profile_.loads.size())
      add("{} of {} loads have no experiment that can be analysed.\n",
          profile_.loads.size() - loads_.loads.size(), profile_.loads.size());
  }

  void write(std::size_t point) {
    const Point& of = profile_.points[point];
    const bool is_latency = of.kind == PointKind::latency;
    std::optional<std::size_t> saturated;
    bool is_known = false;
    for (const AtLoad& at : loads_.loads) {
      const PointAtLoad* found = at_point(at, point);
      if (found == nullptr) continue;
      if (!std::exchange(is_known, true))
        add("\n{} of {} against load\n", is_latency ? "Latency in us" : "Visits per second",
            one_line(of.name, 200));
      if (found->is_saturated && !saturated) saturated = at.load;
      add("{:<8}{}{}\n", name(at.load), measured_words(found->measured, is_latency ? 1000 : 1),
          found->is_steady
              ? ""
              : "  arrivals and departures differ much, so Little's law does not hold");
    }
    if (is_latency || !is_known || loads_.loads.size() < 2) return;
    if (saturated)
      add("The program is saturated at loads from {} up: its visits do not follow arrivals.\n",
          name(*saturated));
    else
      add("The program is not known to be saturated at any of these loads.\n");
  }

  void changes() {
    if (loads_.changes.empty()) {
      add("\nNo line has enough experiments at two loads to be compared.\n");
      return;
    }
    const auto differing = std::ranges::count(loads_.changes, true, &Change::differs);
    if (differing == 0) {
      add("\nNo line is known to matter more at one load than at another; {} were compared, each "
          "line "
          "at each point.\n",
          loads_.changes.size());
      return;
    }
    add("\nLines that matter more or less with load: the gain if they took no time, fitted by a "
        "straight line\n");
    for (const Change& each : loads_.changes) {
      if (!each.differs) continue;
      add("{}, {} {} (p {})\n", short_line(profile_.lines[each.line]),
          profile_.points[each.point].kind == PointKind::latency ? "latency" : "point",
          one_line(profile_.points[each.point].name, 200), p_text(each.adjusted_p));
      for (std::size_t i = 0; i < each.loads.size(); ++i)
        add("  {:<8}{}\n", name(each.loads[i]), causal_gain(each.slopes[i]));
    }
  }

  const Profile& profile_;
  const Loads& loads_;
  std::string text_;
};

}  // namespace

std::string load_name(const Load& load) {
  return load.asked > 0 ? fmt::format("{}x", load.asked)
                        : format_duration(std::chrono::nanoseconds(load.speedup_ns));
}

std::string measured_words(const Measured& measured, double unit) {
  if (!measured.interval) return fmt::format("{:.4g}", measured.value / unit);
  return fmt::format("{:.4g} [{:.4g}, {:.4g}]", measured.value / unit,
                     measured.interval->low / unit, measured.interval->high / unit);
}

std::string loads_text(const Profile& profile, const Loads& loads) {
  return Text(profile, loads).text();
}

}  // namespace stab::report
