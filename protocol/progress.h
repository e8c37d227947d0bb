// SPDX-License-Identifier: MIT
// An experiment as clients see it, and its progress.
#pragma once

#include <boost/describe.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "protocol/field.h"
#include "store/records.h"

namespace stab::protocol {

// An experiment's row as clients see it.
struct Summary {
  std::int64_t id = 0;
  std::string name{};
  std::string state{};
  std::string reason{};
  std::string directory{};
  std::uint32_t uid = 0;
  std::uint64_t trials = 0;
  std::int64_t submitted_ns = 0;
  std::optional<std::int64_t> started_ns{};
  std::optional<std::int64_t> ended_ns{};
  std::optional<std::int64_t> duration_ns{};  // by the monotonic clock
  std::int64_t priority = 0;
  std::optional<std::uint32_t> held_by{};  // the user who paused it
  std::optional<std::uint64_t> place{};    // in the queue: 1 is next
  std::optional<std::uint64_t> bytes{};    // in lists: roughly the size of its stored data
  // The cause that ended its trials before the last planned one.
  std::optional<store::StopCause> stopped_by{};
  std::string trial_cpus{};  // "2-3": where its first trials ran; "" before it starts
};
BOOST_DESCRIBE_STRUCT(Summary, (),
                      (id, name, state, reason, directory, uid, trials, submitted_ns, started_ns,
                       ended_ns, duration_ns, priority, held_by, place, bytes, stopped_by,
                       trial_cpus))

// A comparison at the last look of the plan's stopping rule. The interval holds at all looks and
// for all comparisons together.
struct Change {
  std::string benchmark{};
  std::string baseline{};
  std::string level{};
  std::optional<double> ratio{};  // response at `level` / response at `baseline`
  std::optional<double> low{};
  std::optional<double> high{};
  std::string verdict{};  // "faster", "slower", "same" or "unsure"
  bool control = false;   // the level is a copy of the baseline
};
BOOST_DESCRIBE_STRUCT(Change, (), (benchmark, baseline, level, ratio, low, high, verdict, control))
// A message has only the first changes.
inline constexpr std::size_t most_changes = 100;

// Optional fields are absent if no session runs the experiment.
struct Progress {
  static constexpr Tag tag{.key = "kind", .value = "progress"};
  std::int64_t id = 0;
  std::string state{};
  std::string reason{};
  bool final = false;  // this is the last line
  std::optional<std::uint64_t> total{};
  std::optional<std::uint64_t> done{};
  std::optional<std::uint64_t> ok{};
  std::optional<std::uint64_t> failed{};
  std::optional<std::uint64_t> skipped{};
  std::optional<std::uint64_t> disturbed{};
  std::optional<std::uint64_t> builds{};
  std::optional<std::uint64_t> builds_done{};
  std::optional<std::uint64_t> builds_cached{};  // builds that were in the cache
  std::optional<std::string> activity{};         // "sort O2, block 3"
  // The fewest trials that will run: fewer than `total` if the experiment may stop early.
  std::optional<std::uint64_t> fewest{};
  std::optional<std::string> look{};      // the stopping rule's last look, in words
  std::optional<std::int64_t> left_ns{};  // an estimate
  std::vector<Change> changes{};          // the comparisons of that look
};
BOOST_DESCRIBE_STRUCT(Progress, (),
                      (id, state, reason, final, total, done, ok, failed, skipped, disturbed,
                       builds, builds_done, builds_cached, activity, fewest, look, left_ns,
                       changes))

template <>
inline constexpr Field field<&Progress::total>{.may_lack = true};
template <>
inline constexpr Field field<&Progress::done>{.may_lack = true};
template <>
inline constexpr Field field<&Progress::ok>{.may_lack = true};
template <>
inline constexpr Field field<&Progress::failed>{.may_lack = true};
template <>
inline constexpr Field field<&Progress::skipped>{.may_lack = true};
template <>
inline constexpr Field field<&Progress::disturbed>{.may_lack = true};
template <>
inline constexpr Field field<&Progress::builds>{.may_lack = true};
template <>
inline constexpr Field field<&Progress::builds_done>{.may_lack = true};
template <>
inline constexpr Field field<&Progress::builds_cached>{.may_lack = true};
template <>
inline constexpr Field field<&Progress::activity>{.may_lack = true};
template <>
inline constexpr Field field<&Progress::fewest>{.may_lack = true};
template <>
inline constexpr Field field<&Progress::look>{.may_lack = true};
template <>
inline constexpr Field field<&Progress::left_ns>{.may_lack = true};
template <>
inline constexpr Field field<&Progress::changes>{.most = most_changes, .may_lack = true};

}  // namespace stab::protocol
