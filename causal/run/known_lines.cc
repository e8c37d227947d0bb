// SPDX-License-Identifier: MIT
#include "causal/run/known_lines.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "causal/lines/file_state.h"

namespace stab::causal {
namespace {

// File systems count time in steps of 10 ms at most. A file that changes twice in one step may
// have the same state both times.
constexpr std::int64_t settled_ns = 100'000'000;

bool is_current(const LineMap& map) {
  return std::ranges::all_of(
      map.files, [](const FileRead& each) { return state_of(each.path) == each.state; });
}

// Whether any later change gives a file another state than this.
bool is_settled(const LineMap& map, std::int64_t at_ns) {
  return !map.files.empty() && std::ranges::all_of(map.files, [&](const FileRead& each) {
    return each.state.changed_ns < at_ns - settled_ns;
  });
}

std::size_t records_of(const LineMap& map) {
  std::size_t sum = map.lines.size() + map.files.size();
  for (const ObjectLines& each : map.objects) sum += 1 + each.ranges.size();
  return sum;
}

}  // namespace

Result<std::shared_ptr<const LineMap>> KnownLines::find(
    const std::vector<std::string>& key, const std::function<Result<LineMap>()>& read) {
  const auto found = std::ranges::find(entries_, key, &Entry::key);
  if (found != entries_.end()) {
    if (is_current(*found->map)) {
      entries_.splice(entries_.end(), entries_, found);
      return entries_.back().map;
    }
    records_ -= records_of(*found->map);
    entries_.erase(found);
  }
  const std::int64_t began = wall_clock_ns();
  auto made = read();
  if (!made) return std::unexpected(made.error());
  auto map = std::make_shared<const LineMap>(*std::move(made));
  if (is_settled(*map, began)) keep({.key = key, .map = map}, records_of(*map));
  return map;
}

void KnownLines::keep(Entry entry, std::size_t records) {
  if (records > limits_.records || limits_.maps == 0) return;
  while (entries_.size() >= limits_.maps || records_ + records > limits_.records) {
    records_ -= records_of(*entries_.front().map);
    entries_.pop_front();
  }
  records_ += records;
  entries_.push_back(std::move(entry));
}

}  // namespace stab::causal
