// SPDX-License-Identifier: MIT
#include "stats/causal/run_text.h"

#include <cassert>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "base/json.h"

namespace stab::stats::causal {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::uint64_t most_run_ns = std::uint64_t{1} << 60;
constexpr const char* latency = "latency";
constexpr const char* throughput = "throughput";
constexpr const char* arrival = "arrival";

Json point_json(const Point& of) {
  Json made = Json::array({of.name, of.kind == PointKind::latency ? latency : throughput});
  if (of.is_arrival) made.push_back(arrival);
  return made;
}

Json visits_json(const Profile& profile, const Visits& each) {
  Json made = Json::array({each.point, each.count});
  if (profile.points[each.point].kind == PointKind::latency) {
    made.push_back(each.departures);
    made.push_back(each.inside);
  }
  return made;
}

// Reads a run. If any value is invalid, the whole text is not a profile.
class RunReader {
 public:
  std::optional<Profile> read(const Json& root) {
    if (!root.is_object()) return std::nullopt;
    for (const char* key :
         {"started_ns", "effective_ns", "lines", "points", "experiments", "samples"})
      if (!root.contains(key)) return std::nullopt;
    for (const Json& each : list(root["lines"])) add_line(each);
    for (const Json& each : list(root["points"])) add_point(each);
    Run run{.started_ns = number(root["started_ns"]), .effective_ns = number(root["effective_ns"])};
    for (const Json& each : list(root["experiments"])) add_experiment(each, run);
    for (const Json& each : list(root["samples"]))
      if (has(each, 2))
        run.samples.push_back({.line = index(each[0], made_.lines), .count = number(each[1])});
    if (root.contains("sampling")) add_sampling(root["sampling"], run);
    if (!good_) return std::nullopt;
    made_.runs.push_back(std::move(run));
    return std::move(made_);
  }

 private:
  const Json& list(const Json& value) {
    static const Json none = Json::array();
    good_ = good_ && value.is_array();
    return good_ ? value : none;
  }

  bool has(const Json& value, std::size_t size) {
    good_ = good_ && value.is_array() && value.size() == size;
    return good_;
  }

  std::uint64_t number(const Json& value) {
    good_ = good_ && value.is_number_unsigned() && value.get<std::uint64_t>() < most_run_ns;
    return good_ ? value.get<std::uint64_t>() : 0;
  }

  template <class T>
  std::size_t index(const Json& value, const std::vector<T>& in) {
    const std::uint64_t at = number(value);
    good_ = good_ && at < in.size();
    return good_ ? at : 0;
  }

  void add_sampling(const Json& value, Run& run) {
    if (!has(value, 7)) return;
    good_ = value[5].is_boolean() && value[6].is_boolean();
    if (!good_) return;
    run.sampling = {.samples = number(value[0]),
                    .outside = number(value[1]),
                    .unwound_short = number(value[2]),
                    .sampled_ns = number(value[3]),
                    .lost = number(value[4]),
                    .is_by_timer = value[5].get<bool>(),
                    .is_of_user_code = value[6].get<bool>()};
  }

  void add_line(const Json& name) {
    good_ = good_ && name.is_string();
    if (good_) made_.lines.push_back(name.get<std::string>());
  }

  void add_point(const Json& value) {
    const bool is_arrival = value.is_array() && value.size() == 3;
    if (!has(value, is_arrival ? 3 : 2)) return;
    good_ = value[0].is_string() && (value[1] == throughput || value[1] == latency) &&
            (!is_arrival || (value[1] == throughput && value[2] == arrival));
    if (good_)
      made_.points.push_back(
          {.name = value[0].get<std::string>(),
           .kind = value[1] == latency ? PointKind::latency : PointKind::throughput,
           .is_arrival = is_arrival});
  }

  void add_experiment(const Json& value, Run& run) {
    if (!has(value, 6)) return;
    const std::uint64_t speedup = number(value[1]);
    good_ = good_ && speedup <= 1000;
    Experiment made{.line = index(value[0], made_.lines),
                    .speedup = static_cast<unsigned>(speedup),
                    .effective_ns = number(value[2]),
                    .paused_ns = number(value[3]),
                    .line_samples = number(value[4])};
    for (const Json& each : list(value[5])) add_visits(each, made);
    run.experiments.push_back(std::move(made));
  }

  void add_visits(const Json& value, Experiment& to) {
    const std::size_t size = value.is_array() && value.size() == 4 ? 4 : 2;
    if (!has(value, size)) return;
    Visits made{.point = index(value[0], made_.points), .count = number(value[1])};
    good_ = good_ && (made_.points[made.point].kind == PointKind::latency) == (size == 4);
    if (good_ && size == 4) {
      made.departures = number(value[2]);
      made.inside = value[3].is_number() ? value[3].get<double>() : -1;
      good_ = good_ && std::isfinite(made.inside) && made.inside >= 0;
    }
    if (good_ && made_.points[made.point].is_arrival) to.arrivals += made.count;
    to.visits.push_back(made);
  }

  Profile made_;
  bool good_ = true;
};

// Returns the index in `all` of each of `names`; new names are appended to `all`.
template <class T, class Key>
std::vector<std::size_t> places_of(std::vector<T> names, std::vector<T>& all, Key key) {
  std::map<decltype(key(all.front())), std::size_t> known;
  for (std::size_t i = 0; i < all.size(); ++i) known.emplace(key(all[i]), i);
  std::vector<std::size_t> places;
  for (T& each : names) {
    const auto [place, is_new] = known.try_emplace(key(each), all.size());
    places.push_back(place->second);
    if (is_new) all.push_back(std::move(each));
  }
  return places;
}

void add(Profile from, Profile& to) {
  const auto lines =
      places_of(std::move(from.lines), to.lines, [](const std::string& line) { return line; });
  const auto points = places_of(std::move(from.points), to.points, [](const Point& of) {
    return std::tuple(of.name, of.kind, of.is_arrival);
  });
  Run run = std::move(from.runs.front());
  for (Experiment& each : run.experiments) {
    each.line = lines[each.line];
    for (Visits& visits : each.visits) visits.point = points[visits.point];
  }
  for (LineSamples& each : run.samples) each.line = lines[each.line];
  to.runs.push_back(std::move(run));
}

}  // namespace

std::string run_text(const Profile& profile) {
  assert(profile.runs.size() == 1);
  const Run& run = profile.runs.front();
  Json points = Json::array();
  for (const Point& each : profile.points) points.push_back(point_json(each));
  Json experiments = Json::array();
  for (const Experiment& each : run.experiments) {
    Json visits = Json::array();
    for (const Visits& of : each.visits) visits.push_back(visits_json(profile, of));
    experiments.push_back(Json::array({each.line, each.speedup, each.effective_ns, each.paused_ns,
                                       each.line_samples, std::move(visits)}));
  }
  Json samples = Json::array();
  for (const LineSamples& each : run.samples)
    samples.push_back(Json::array({each.line, each.count}));
  Json made{{"started_ns", run.started_ns},
            {"effective_ns", run.effective_ns},
            {"lines", profile.lines},
            {"points", std::move(points)},
            {"experiments", std::move(experiments)},
            {"samples", std::move(samples)}};
  if (const auto& of = run.sampling)
    made["sampling"] = Json::array({of->samples, of->outside, of->unwound_short, of->sampled_ns,
                                    of->lost, of->is_by_timer, of->is_of_user_code});
  return json_text(made);
}

Result<void> read_run(std::string_view text, Profile& profile) {
  auto read = RunReader().read(Json::parse(text, nullptr, false));
  if (!read) return fail("the causal profile does not have the form that stabd writes");
  add(*std::move(read), profile);
  return {};
}

}  // namespace stab::stats::causal
