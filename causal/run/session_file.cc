// SPDX-License-Identifier: MIT
#include "causal/run/session_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/shown_files.h"

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

}  // namespace stab::causal
