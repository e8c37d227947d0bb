// SPDX-License-Identifier: MIT
#include "stats/causal/coz.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <map>
#include <utility>
#include <vector>

#include "base/text.h"

namespace stab::stats::causal {
namespace {

constexpr std::size_t most_experiments = 2'000'000;
constexpr std::size_t most_names = 500'000;
constexpr std::size_t most_points = 1'000;
constexpr std::size_t longest_name = 4'096;
constexpr std::uint64_t most_ns = std::uint64_t{1} << 60;

// One record: its type and fields, which are views of the text.
class Record {
 public:
  Record(std::string_view line, std::size_t number) : number_(number) {
    const std::size_t end = line.find('\t');
    type_ = line.substr(0, end);
    rest_ = end == std::string_view::npos ? "" : line.substr(end + 1);
  }

  [[nodiscard]] std::string_view type() const { return type_; }

  [[nodiscard]] Result<std::string_view> text(std::string_view key) const {
    for (std::string_view rest = rest_; !rest.empty();) {
      const std::size_t end = rest.find('\t');
      const std::string_view field = rest.substr(0, end);
      if (field.size() > key.size() && field[key.size()] == '=' && field.starts_with(key))
        return field.substr(key.size() + 1);
      rest = end == std::string_view::npos ? "" : rest.substr(end + 1);
    }
    return wrong(fmt::format("the record '{}' has no field '{}='", one_line(type_, 40), key));
  }

  [[nodiscard]] Result<std::string> name(std::string_view key) const {
    const auto found = text(key);
    if (!found) return std::unexpected(found.error());
    if (found->empty() || found->size() > longest_name)
      return wrong(fmt::format("the field '{}=' needs a name of 1 to {} bytes", key, longest_name));
    return std::string(*found);
  }

  [[nodiscard]] Result<std::uint64_t> count(std::string_view key) const {
    const auto found = text(key);
    if (!found) return std::unexpected(found.error());
    std::uint64_t value = 0;
    const char* end = found->data() + found->size();
    const auto [at, error] = std::from_chars(found->data(), end, value);
    if (found->empty() || at != end || error != std::errc{} || value > most_ns)
      return wrong(
          fmt::format("{}={} is not a whole number up to 2^60", key, one_line(*found, 40)));
    return value;
  }

  // Coz computes without signs, so it may write a negative number as 2^64 minus its size.
  [[nodiscard]] bool is_below_0(std::string_view key) const {
    const std::string_view found = text(key).value_or("");
    const bool has_sign = found.starts_with('-');
    const std::string_view digits = found.substr(has_sign ? 1 : 0);
    std::uint64_t value = 0;
    const char* end = digits.data() + digits.size();
    const auto [at, error] = std::from_chars(digits.data(), end, value);
    if (digits.empty() || at != end || error != std::errc{}) return false;
    return has_sign ? value > 0 : value > INT64_MAX;
  }

  [[nodiscard]] Result<double> number(std::string_view key) const {
    const auto found = text(key);
    if (!found) return std::unexpected(found.error());
    double value = 0;
    const char* end = found->data() + found->size();
    const auto [at, error] = std::from_chars(found->data(), end, value);
    if (found->empty() || at != end || error != std::errc{} || !std::isfinite(value) ||
        std::fabs(value) > 1e18)
      return wrong(fmt::format("{}={} is not a number", key, one_line(*found, 40)));
    return value;
  }

  [[nodiscard]] std::unexpected<Error> wrong(const std::string& why) const {
    return fail(fmt::format("line {}: {}", number_, why));
  }

 private:
  std::string_view type_;
  std::string_view rest_;
  std::size_t number_;
};

class CozReader {
 public:
  explicit CozReader(Profile profile) : made_(std::move(profile)) {
    for (std::size_t i = 0; i < made_.lines.size(); ++i) lines_.emplace(made_.lines[i], i);
    for (std::size_t i = 0; i < made_.points.size(); ++i)
      points_.emplace(std::pair(made_.points[i].name, made_.points[i].kind), i);
  }

  Result<void> take(const Record& record) {
    const std::string_view type = record.type();
    if (type == "startup") return startup(record);
    if (type == "experiment") return experiment(record);
    if (type == "throughput-point" || type == "progress-point") return throughput(record);
    if (type == "latency-point") return latency(record);
    if (type == "samples") return samples(record);
    if (type == "runtime") return runtime(record);
    return {};
  }

  // The number of experiments of this text that were left out.
  [[nodiscard]] std::size_t left_out() const { return left_out_; }
  [[nodiscard]] bool has_only_left_out() const {
    return left_out_ != 0 && left_out_ == experiments_;
  }

  Profile end() {
    leave_run();
    made_.left_out += left_out_;
    return std::move(made_);
  }

 private:
  Result<void> startup(const Record& record) {
    leave_run();
    // The time is only for people, so a clock since 1970 that does not fit is not an error.
    begin_run(record.count("time").value_or(0));
    return {};
  }

  void begin_run(std::uint64_t started_ns) {
    made_.runs.push_back({.started_ns = started_ns});
    is_in_run_ = true;
    is_left_out_ = false;
  }

  // Returns the current run, or a new one for records without a run: files may have lost their
  // beginning.
  Run& run() {
    if (!is_in_run_) begin_run(0);
    return made_.runs.back();
  }

  void leave_run() {
    for (const auto& [line, count] : samples_)
      made_.runs.back().samples.push_back({.line = line, .count = count});
    samples_.clear();
    is_in_run_ = false;
  }

  static Result<std::uint64_t> count_or_0(const Record& record, const char* key) {
    return record.text(key) ? record.count(key) : Result<std::uint64_t>(std::uint64_t{0});
  }

  // Coz does not say how long an experiment paused; as_coz() does.
  Result<void> experiment(const Record& record) {
    const auto line = record.name("selected");
    if (!line) return std::unexpected(line.error());
    const auto speedup = record.number("speedup");
    if (!speedup) return std::unexpected(speedup.error());
    if (*speedup < 0 || *speedup > 1)
      return record.wrong(fmt::format("speedup={} is not between 0 and 1", *speedup));
    if (++experiments_ > most_experiments)
      return record.wrong(fmt::format("there are more than {} experiments", most_experiments));
    run();
    is_left_out_ = record.is_below_0("duration");
    if (is_left_out_) {
      ++left_out_;
      return {};
    }
    const auto duration = record.count("duration");
    if (!duration) return std::unexpected(duration.error());
    const auto count = count_or_0(record, "selected-samples");
    if (!count) return std::unexpected(count.error());
    const auto paused = count_or_0(record, "paused");
    if (!paused) return std::unexpected(paused.error());
    const auto index = line_of(record, *line);
    if (!index) return std::unexpected(index.error());
    run().experiments.push_back({.line = *index,
                                 .speedup = static_cast<unsigned>(std::lround(*speedup * 1000)),
                                 .effective_ns = *duration,
                                 .paused_ns = *paused,
                                 .line_samples = *count});
    return {};
  }

  Result<void> throughput(const Record& record) {
    const auto delta = record.count("delta");
    if (!delta) return std::unexpected(delta.error());
    return visits(record, PointKind::throughput, {.count = *delta});
  }

  Result<void> latency(const Record& record) {
    const auto arrivals = record.count("arrivals");
    if (!arrivals) return std::unexpected(arrivals.error());
    const auto departures = record.count("departures");
    if (!departures) return std::unexpected(departures.error());
    const auto inside = record.number("difference");
    if (!inside) return std::unexpected(inside.error());
    return visits(
        record, PointKind::latency,
        {.count = *arrivals, .departures = *departures, .inside = std::max(0.0, *inside)});
  }

  Result<void> visits(const Record& record, PointKind kind, Visits made) {
    const auto name = record.name("name");
    if (!name) return std::unexpected(name.error());
    if (is_left_out_) return {};
    if (!is_in_run_ || made_.runs.back().experiments.empty())
      return record.wrong("a progress point comes before the first experiment of its run");
    const auto [at, is_new] = points_.try_emplace(std::pair(*name, kind), made_.points.size());
    if (is_new) {
      if (made_.points.size() >= most_points)
        return record.wrong(fmt::format("there are more than {} progress points", most_points));
      made_.points.push_back({.name = *name, .kind = kind});
    }
    made.point = at->second;
    auto& of = made_.runs.back().experiments.back().visits;
    if (of.size() >= most_points)
      return record.wrong(
          fmt::format("an experiment has more than {} progress points", most_points));
    of.push_back(made);
    return {};
  }

  Result<void> samples(const Record& record) {
    const auto name = record.name("location");
    if (!name) return std::unexpected(name.error());
    const auto count = record.count("count");
    if (!count) return std::unexpected(count.error());
    const auto line = line_of(record, *name);
    if (!line) return std::unexpected(line.error());
    run();
    samples_[*line] = *count;
    return {};
  }

  Result<void> runtime(const Record& record) {
    const auto time = record.count("time");
    if (!time) return std::unexpected(time.error());
    run().effective_ns = *time;
    return {};
  }

  Result<std::size_t> line_of(const Record& record, const std::string& name) {
    const auto [at, is_new] = lines_.try_emplace(name, made_.lines.size());
    if (is_new) {
      if (made_.lines.size() >= most_names)
        return record.wrong(fmt::format("there are more than {} source lines", most_names));
      made_.lines.push_back(name);
    }
    return at->second;
  }

  Profile made_;
  std::map<std::string, std::size_t> lines_;
  std::map<std::pair<std::string, PointKind>, std::size_t> points_;
  std::map<std::size_t, std::uint64_t> samples_;  // of the current run
  std::size_t experiments_ = 0;
  std::size_t left_out_ = 0;
  bool is_in_run_ = false;
  bool is_left_out_ = false;  // the current experiment is left out
};

std::string field(std::string_view name) {
  return one_line(name, longest_name);
}

// The format has no arrival points, so a progress point of the same name needs another name.
std::string throughput_name(const Point& point) {
  constexpr std::string_view arrivals = " (arrivals)";
  if (!point.is_arrival) return field(point.name);
  return one_line(point.name, longest_name - arrivals.size()).append(arrivals);
}

void write_visits(const Profile& profile, const Visits& each, std::string& text) {
  const Point& point = profile.points[each.point];
  const auto out = std::back_inserter(text);
  if (point.kind == PointKind::throughput) {
    fmt::format_to(out, "throughput-point\tname={}\tdelta={}\n", throughput_name(point),
                   each.count);
  } else {
    fmt::format_to(out, "latency-point\tname={}\tarrivals={}\tdepartures={}\tdifference={}\n",
                   field(point.name), each.count, each.departures, each.inside);
  }
}

// Sorts samples by the names of lines, because the numbers of lines depend on where they first
// appear in the text.
std::vector<std::pair<std::string_view, std::uint64_t>> samples_by_name(const Profile& profile,
                                                                        const Run& run) {
  std::vector<std::pair<std::string_view, std::uint64_t>> samples;
  for (const LineSamples& each : run.samples)
    samples.emplace_back(profile.lines[each.line], each.count);
  std::ranges::sort(samples);
  return samples;
}

}  // namespace

Result<void> read_coz(std::string_view text, Profile& profile) {
  if (text.size() > most_coz_bytes)
    return fail(fmt::format("the profile is longer than {}", format_bytes(most_coz_bytes)));
  CozReader reader(profile);
  std::size_t number = 0;
  bool has_record = false;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text = end == std::string_view::npos ? "" : text.substr(end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    ++number;
    if (line.empty()) continue;
    if (!line.contains('\t'))
      return fail(fmt::format("line {}: '{}' is not a record of a coz profile", number,
                              one_line(line, 60)));
    if (auto taken = reader.take(Record(line, number)); !taken) return taken;
    has_record = true;
  }
  if (!has_record) return fail("it is empty");
  if (reader.has_only_left_out())
    return fail(fmt::format(
        "the profile has no usable experiment: the duration is below 0 in {} experiment{}",
        reader.left_out(), reader.left_out() == 1 ? "" : "s"));
  profile = reader.end();
  return {};
}

std::string as_coz(const Profile& profile) {
  std::string text;
  const auto out = std::back_inserter(text);
  for (const Run& run : profile.runs) {
    fmt::format_to(out, "startup\ttime={}\n", run.started_ns);
    for (const Experiment& each : run.experiments) {
      fmt::format_to(
          out, "experiment\tselected={}\tspeedup={}\tduration={}\tselected-samples={}\tpaused={}\n",
          field(profile.lines[each.line]), each.speedup / 1000.0, each.effective_ns,
          each.line_samples, each.paused_ns);
      for (const Visits& visits : each.visits) write_visits(profile, visits, text);
    }
    for (const auto& [name, count] : samples_by_name(profile, run))
      fmt::format_to(out, "samples\tlocation={}\tcount={}\n", field(name), count);
    fmt::format_to(out, "runtime\ttime={}\n", run.effective_ns);
  }
  return text;
}

}  // namespace stab::stats::causal
