// SPDX-License-Identifier: MIT
#include "causal/run/session_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cstring>
#include <map>
#include <utility>

#include "base/shown_files.h"
#include "base/text.h"

namespace stab::causal {

Layout layout_of(const LineMap& map, std::uint32_t experiments, std::uint32_t visits) {
  std::uint64_t ranges = 0;
  for (const ObjectLines& each : map.objects) ranges += each.ranges.size();
  Layout made;
  made.lines = static_cast<std::uint32_t>(map.lines.size());
  made.experiment_capacity = experiments;
  made.visit_capacity = visits;
  made.objects = sizeof(Head);
  made.ranges = made.objects + map.objects.size() * sizeof(Object);
  made.line_counts = made.ranges + ranges * sizeof(Range);
  made.counters = made.line_counts + made.lines * sizeof(LineCount);
  made.experiments = made.counters + most_counters * sizeof(Counter);
  made.visits = made.experiments + std::uint64_t{experiments} * sizeof(Experiment);
  made.size = made.visits + std::uint64_t{visits} * sizeof(Visits);
  return made;
}

static_assert(sizeof(Head) % 8 == 0 && sizeof(Object) % 8 == 0 && sizeof(Range) % 8 == 0 &&
              sizeof(LineCount) % 8 == 0 && sizeof(Counter) % 8 == 0 &&
              sizeof(Experiment) % 8 == 0);

Result<SessionFile> SessionFile::make(const LineMap& map, const Settings& settings) {
  SessionFile made;
  made.layout_ = layout_of(map);
  made.fd_ = Fd(memfd_create("causal", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!made.fd_ || ftruncate(made.fd_.get(), static_cast<off_t>(made.layout_.size)) != 0 ||
      fcntl(made.fd_.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
    return fail_errno("cannot make the file that the program shares with its profiler");
  void* memory =
      mmap(nullptr, made.layout_.size, PROT_READ | PROT_WRITE, MAP_SHARED, made.fd_.get(), 0);
  if (memory == MAP_FAILED)
    return fail_errno("cannot map the file that the program shares with its profiler");
  made.start_ = static_cast<std::byte*>(memory);
  made.fill(map, settings);
  return made;
}

SessionFile::SessionFile(SessionFile&& other) noexcept
    : layout_(other.layout_),
      fd_(std::move(other.fd_)),
      start_(std::exchange(other.start_, nullptr)) {}

SessionFile::~SessionFile() {
  if (start_ != nullptr) munmap(start_, layout_.size);
}

std::string SessionFile::path() const {
  return path_for_others(fd_.get());
}

void SessionFile::fill(const LineMap& map, const Settings& settings) {
  auto& head = *reinterpret_cast<Head*>(start_);
  auto* objects = reinterpret_cast<Object*>(start_ + layout_.objects);
  auto* ranges = reinterpret_cast<Range*>(start_ + layout_.ranges);
  std::uint32_t object = 0;
  std::uint32_t range = 0;
  for (const ObjectLines& each : map.objects) {
    struct stat status{};
    // Skip a file that has disappeared in the meantime.
    if (stat(each.path.c_str(), &status) != 0) continue;
    objects[object++] = {status.st_dev, status.st_ino, range,
                         static_cast<std::uint32_t>(each.ranges.size())};
    for (const LineRange& of : each.ranges) ranges[range++] = {of.start, of.size, of.line};
  }
  head.size = layout_.size;
  head.seed = settings.seed;
  head.sample_ns = settings.sample_ns;
  head.experiment_ns = settings.experiment_ns;
  head.cooldown_ns = std::max<std::uint64_t>(settings.experiment_ns / 50, 5'000'000);
  head.least_visits = 5;
  head.arrival_ns = settings.arrival_ns;
  head.fixed_line = settings.fixed_line;
  head.fixed_speedup = settings.fixed_speedup;
  head.is_end_to_end = settings.is_end_to_end ? 1 : 0;
  head.objects = layout_.objects;
  head.ranges = layout_.ranges;
  head.names = layout_.line_counts;
  head.line_counts = layout_.line_counts;
  head.counters = layout_.counters;
  head.experiment_list = layout_.experiments;
  head.visit_list = layout_.visits;
  head.object_count = object;
  head.range_count = range;
  head.line_count = layout_.lines;
  head.experiment_capacity = layout_.experiment_capacity;
  head.visit_capacity = layout_.visit_capacity;
  head.chosen = no_line;
  auto* counters = reinterpret_cast<Counter*>(start_ + layout_.counters);
  for (const std::uint32_t line : settings.sampled) {
    if (head.counter_count == most_counters) break;
    Counter& counter = counters[head.counter_count++];
    const std::string& name = map.lines[line];
    // If a name is too long, its end is kept, as for other points.
    const std::size_t from =
        name.size() - std::min<std::size_t>(name.size(), counter_name_bytes - 1);
    std::memcpy(counter.name, name.data() + from, name.size() - from);
    counter.kind = sampled;
    counter.line = line;
  }
  head.magic = magic;
}

namespace {

using stats::causal::PointKind;
using stats::causal::Profile;

constexpr std::uint64_t most_ns = std::uint64_t{1} << 59;

// Returns how many visits were inside on average, over the effective time. Each visit adds its end
// to the sum and takes its beginning from it, by its thread's clock. The sums wrap, but the result
// does not.
double mean_inside(const Experiment& each, const Visits& in, const Visits& out) {
  const std::uint64_t start = each.start_ns - each.owed_ns;
  const std::uint64_t length = each.duration_ns - each.paused_ns;
  const std::uint64_t sum = (in.after - out.after) * (start + length) -
                            (in.before - out.before) * start - (in.ns_after - in.ns_before) +
                            (out.ns_after - out.ns_before);
  return std::max(0.0, static_cast<double>(static_cast<std::int64_t>(sum))) /
         static_cast<double>(length);
}

class SessionReader {
 public:
  SessionReader(const Layout& layout, const std::vector<std::string>& lines,
                std::span<const std::byte> bytes, Profile& profile)
      : layout_(layout), lines_(lines), bytes_(bytes), profile_(profile), head_(at<Head>(0, 0)) {
    assert(bytes.size() == layout.size && lines.size() == layout.lines);
    for (std::size_t i = 0; i < profile.lines.size(); ++i) known_.emplace(profile.lines[i], i);
  }

  Seen read(bool is_end_to_end, const RunEnd& ended) {
    seen_.has_begun = head_.started_ns != 0;
    seen_.samples = head_.samples;
    seen_.samples_outside = std::min(head_.samples_outside, head_.samples);
    seen_.period_ns = head_.samples == 0 ? 0 : head_.sampled_ns / head_.samples;
    seen_.lost = head_.lost_experiments;
    seen_.unwound_short = head_.unwound_short;
    seen_.sampled_by = head_.sampled_by;
    const bool has_end = ended.by_itself && head_.ended_ns > head_.started_ns && seen_.has_begun;
    seen_.duration_ns =
        std::min(has_end ? head_.ended_ns - head_.started_ns : ended.passed_ns, most_ns);
    run_.started_ns = std::min(head_.started_ns, most_ns);
    run_.effective_ns = seen_.duration_ns > head_.owed_ns ? seen_.duration_ns - head_.owed_ns : 0;
    read_counters();
    read_arrivals();
    if (is_end_to_end) end_to_end_ = point("end to end", PointKind::throughput);
    const std::uint32_t count = std::min(head_.experiments, layout_.experiment_capacity);
    if (count != head_.experiments) ++seen_.damaged;
    for (std::uint32_t i = 0; i < count; ++i) take(at<Experiment>(layout_.experiments, i));
    read_samples();
    run_.sampling = {.samples = std::min(seen_.samples, most_ns),
                     .outside = std::min(seen_.samples_outside, most_ns),
                     .unwound_short = seen_.unwound_short,
                     .sampled_ns = std::min(head_.sampled_ns, most_ns),
                     .lost = seen_.lost,
                     .is_by_timer = seen_.sampled_by == cpu_timer,
                     .is_of_user_code = seen_.sampled_by == perf_event_user};
    seen_.experiments = run_.experiments.size();
    profile_.runs.push_back(std::move(run_));
    return seen_;
  }

 private:
  // Reads each word once, so that a checked word is the one that is used, whoever writes there
  // meanwhile.
  template <class T>
  T at(std::uint64_t offset, std::uint64_t index) const {
    std::array<std::uint64_t, sizeof(T) / sizeof(std::uint64_t)> words{};
    static_assert(sizeof words == sizeof(T));
    assert(offset + (index + 1) * sizeof(T) <= bytes_.size());
    const auto* from =
        reinterpret_cast<const std::uint64_t*>(bytes_.data() + offset + index * sizeof(T));
    for (std::uint64_t& word : words) word = __atomic_load_n(from++, __ATOMIC_ACQUIRE);
    return std::bit_cast<T>(words);
  }

  void read_counters() {
    const std::uint32_t count = std::min(head_.counter_count, most_counters);
    for (std::uint32_t i = 0; i < count; ++i) {
      counters_.push_back(at<Counter>(layout_.counters, i));
      Counter& counter = counters_.back();
      counter.name[counter_name_bytes - 1] = '\0';
      if (counter.kind == 0 || counter.kind > sampled) continue;
      ++seen_.points;
      seen_.visits += std::min(counter.count, most_ns);
      seen_.has_arrived = seen_.has_arrived || (counter.kind == arrival && counter.count != 0);
    }
  }

  void read_arrivals() {
    for (const Arrivals& each : head_.arrivals)
      if (each.gaps != 0 && each.ns != 0 && each.gaps <= most_ns && each.ns <= most_ns)
        seen_.arrivals.push_back(each);
  }

  std::string name_of(const Counter& counter) const {
    const std::string name = one_line(counter.name, counter_name_bytes);
    return name.empty() ? "unnamed" : name;
  }

  std::size_t point(const std::string& name, PointKind kind, bool is_arrival = false) {
    const stats::causal::Point wanted{.name = name, .kind = kind, .is_arrival = is_arrival};
    const auto found = std::ranges::find(profile_.points, wanted);
    if (found != profile_.points.end())
      return static_cast<std::size_t>(found - profile_.points.begin());
    profile_.points.push_back(wanted);
    return profile_.points.size() - 1;
  }

  std::size_t line(std::uint32_t index) {
    const auto [found, is_new] = known_.try_emplace(lines_[index], profile_.lines.size());
    if (is_new) profile_.lines.push_back(lines_[index]);
    return found->second;
  }

  void take(const Experiment& each) {
    if (each.duration_ns != 0 && each.paused_ns >= each.duration_ns && each.paused_ns <= most_ns)
      ++seen_.timeless;
    else if (!add(each))
      ++seen_.damaged;
  }

  bool add(const Experiment& each) {
    if (each.line >= layout_.lines || each.speedup > 1000 || each.duration_ns > most_ns ||
        each.paused_ns >= each.duration_ns || each.line_samples > most_ns ||
        each.visits_count > most_counters || each.first_visits > layout_.visit_capacity ||
        each.visits_count > layout_.visit_capacity - each.first_visits)
      return false;
    stats::causal::Experiment made{.speedup = each.speedup,
                                   .effective_ns = each.duration_ns - each.paused_ns,
                                   .paused_ns = each.paused_ns,
                                   .line_samples = each.line_samples};
    std::vector<Visits> visits;
    for (std::uint32_t i = 0; i < each.visits_count; ++i) {
      visits.push_back(at<Visits>(layout_.visits, std::uint64_t{each.first_visits} + i));
      const Visits& of = visits.back();
      if (of.counter >= counters_.size() || of.after < of.before || of.after > most_ns)
        return false;
    }
    made.line = line(each.line);
    for (const Visits& of : visits) add_visits(each, of, visits, made);
    if (end_to_end_) made.visits.push_back({.point = *end_to_end_, .count = 1});
    run_.experiments.push_back(std::move(made));
    return true;
  }

  void add_visits(const Experiment& each, const Visits& of, const std::vector<Visits>& all,
                  stats::causal::Experiment& made) {
    const Counter& counter = counters_[of.counter];
    const std::string name = name_of(counter);
    const std::uint64_t count = of.after - of.before;
    switch (counter.kind) {
      case arrival:
        made.arrivals += count;
        [[fallthrough]];
      case throughput:
      case sampled:
        made.visits.push_back(
            {.point = point(name, PointKind::throughput, counter.kind == arrival), .count = count});
        return;
      case begin:
        break;
      default:
        return;
    }
    for (const Visits& other : all) {
      const Counter& left = counters_[other.counter];
      if (left.kind != end || name_of(left) != name) continue;
      const auto inside = [](std::uint64_t in, std::uint64_t out) {
        return in > out ? static_cast<double>(in - out) : 0.0;
      };
      made.visits.push_back(
          {.point = point(name, PointKind::latency),
           .count = count,
           .departures = other.after - other.before,
           .inside = of.has_ns != 0 && other.has_ns != 0
                         ? mean_inside(each, of, other)
                         : (inside(of.before, other.before) + inside(of.after, other.after)) / 2});
      return;
    }
  }

  void read_samples() {
    for (std::uint32_t i = 0; i < layout_.lines; ++i) {
      const std::uint64_t count = at<LineCount>(layout_.line_counts, i).samples;
      if (count == 0) continue;
      // A line cannot have more samples than the whole run.
      if (count > head_.samples || count > most_ns) {
        ++seen_.damaged;
        continue;
      }
      run_.samples.push_back({.line = line(i), .count = count});
    }
  }

  const Layout& layout_;
  const std::vector<std::string>& lines_;
  std::span<const std::byte> bytes_;
  Profile& profile_;
  const Head head_;
  std::map<std::string, std::size_t> known_;
  std::vector<Counter> counters_;
  std::optional<std::size_t> end_to_end_;
  stats::causal::Run run_;
  Seen seen_;
};

}  // namespace

Seen add_run(const Layout& layout, const std::vector<std::string>& lines, bool is_end_to_end,
             std::span<const std::byte> bytes, const RunEnd& ended, Profile& profile) {
  return SessionReader(layout, lines, bytes, profile).read(is_end_to_end, ended);
}

}  // namespace stab::causal
