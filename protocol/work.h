// SPDX-License-Identifier: MIT
// What the daemon asks of a worker and what the worker answers. The worker answers each request
// with one reply of the same kind. Anything that arrives while it builds or runs, and the end of
// the stream, means: stop.
#pragma once

#include <boost/describe.hpp>
#include <chrono>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/error.h"
#include "plan/plan.h"
#include "protocol/field.h"
#include "protocol/messages.h"
#include "protocol/run.h"
#include "store/records.h"

namespace stab::counters {
BOOST_DESCRIBE_STRUCT(Samples, (), (measure, subject, unit, values, reason))
BOOST_DESCRIBE_STRUCT(ProfiledFunction, (), (name, object, samples, weight))
BOOST_DESCRIBE_STRUCT(Profile, (), (event, unit, hz, reason, lost, functions))
}  // namespace stab::counters

namespace stab::store {
// Of a trial, what its run decides; the daemon knows the rest.
BOOST_DESCRIBE_STRUCT(Trial, (),
                      (status, reason, exit_code, signal, started_ns, wall_ns, user_ns, system_ns,
                       max_rss_bytes, stdout_sha256, stderr_tail, layout, readings, samples,
                       profile, causal))
}  // namespace stab::store

namespace stab::protocol {

// A build's output and a trial's, JSON-escaped, stay far below this.
inline constexpr std::size_t max_work_line = std::size_t{8} << 20;
inline constexpr std::size_t kept_output =
    16384;  // bytes of a build's output or a trial's stderr that are stored

// What both sides look at first; no version may change it.
struct SetupVersion {
  static constexpr Tag tag{.key = "kind", .value = "setup"};
  std::uint32_t protocol = 1;
};
BOOST_DESCRIBE_STRUCT(SetupVersion, (), (protocol))
// The first version says nothing of it.
template <>
inline constexpr Field field<&SetupVersion::protocol>{.may_lack = true};

struct SetupRequest {
  static constexpr Tag tag{.key = "kind", .value = "setup"};
  std::uint32_t protocol = version;
  std::uint32_t cpus = 1;
  std::vector<unsigned> wanted_cpus{};   // that the plan names; none: any
  std::vector<unsigned> earlier_cpus{};  // on which the experiment's trials ran at first; or none
  // That each trial counts, in groups.
  std::vector<std::vector<std::string>> counters{};
  std::vector<std::vector<std::string>> rotated{};  // of these sets each trial counts one, too
  std::string profile{};                            // an event that each trial is sampled by, or ""
  std::uint32_t profile_hz = 0;
  bool refuse_absent = false;
  std::vector<std::string> needed{};  // of them, those that the response is computed of
  bool simulate = false;              // all trials run under a simulator
  bool causal = false;                // all trials are runs of a causal profile
};
BOOST_DESCRIBE_STRUCT(SetupRequest, (),
                      (protocol, cpus, wanted_cpus, earlier_cpus, counters, rotated, profile,
                       profile_hz, refuse_absent, needed, simulate, causal))
struct SetupReply {
  static constexpr Tag tag{.key = "kind", .value = "setup"};
  std::uint32_t protocol = version;
  std::string error{};                 // "" if the worker is ready
  std::vector<unsigned> other_cpus{};  // for everything that is no trial
  std::string trial_cpus{};            // "1" or "2-3"
  std::vector<std::string> notes{};
  std::string machine_key{};
  std::string machine_host{};
  std::string machine_facts{};
  std::string simulator{};  // its version, where trials run under it
};
BOOST_DESCRIBE_STRUCT(SetupReply, (),
                      (protocol, error, other_cpus, trial_cpus, notes, machine_key, machine_host,
                       machine_facts, simulator))

// A build of the same plan and in the same cache that the daemon will ask for later.
struct NextBuild {
  std::string command{};
  std::vector<std::string> sources{};
  std::string revision{};
  bool keep_tree = false;
  std::string known_key{};
  std::chrono::nanoseconds timeout{0};
  bool operator==(const NextBuild&) const = default;
};
BOOST_DESCRIBE_STRUCT(NextBuild, (), (command, sources, revision, keep_tree, known_key, timeout))
template <>
inline constexpr Field field<&NextBuild::timeout>{.name = "timeout_ns", .least = 0};

struct BuildRequest {
  static constexpr Tag tag{.key = "kind", .value = "build"};
  std::string command{};               // still holds ${OUT}, ${DIR}, ${SRC}
  std::string directory{};             // the plan's
  std::vector<std::string> sources{};  // relative to it; empty: all of it
  std::string revision{};  // of git: whose files are built; "": those that are there now
  std::string cache{};     // folder of all builds
  bool keep_tree = false;  // the trials use ${DIR}
  // Of an earlier build for this experiment; used as it is if it is still there.
  std::string known_key{};
  std::chrono::nanoseconds timeout{0};
  // Bytes to which the cache is cut after this build, the experiment's last one; 0: none.
  std::uint64_t cache_limit = 0;
  std::vector<NextBuild> next{};  // may be begun at the same time, in their order
};
BOOST_DESCRIBE_STRUCT(BuildRequest, (),
                      (command, directory, sources, revision, cache, keep_tree, known_key, timeout,
                       cache_limit, next))
template <>
inline constexpr Field field<&BuildRequest::timeout>{.name = "timeout_ns", .least = 0};

struct BuildReply {
  static constexpr Tag tag{.key = "kind", .value = "build"};
  store::BuildStatus status = store::BuildStatus::failed;
  std::string key{};
  std::string directory{};  // what ${DIR} stands for
  std::string out{};        // what ${OUT} stands for
  std::string binary_sha256{};
  std::string compilers{};  // of it
  std::string in_place{};   // why its functions cannot move, whatever the plan asks for
  std::string output{};     // why it failed, or what the compiler said
  std::int64_t duration_ns = 0;
  std::string tidied{};  // what had to go for cache_limit; "" if nothing had to
  bool no_room = false;  // it failed because the machine has no room for it
  std::vector<counters::Reading> readings{};  // that each trial of it has
};
BOOST_DESCRIBE_STRUCT(BuildReply, (),
                      (status, key, directory, out, binary_sha256, compilers, in_place, output,
                       duration_ns, tidied, no_room, readings))

using RunReply = store::Trial;
template <>
inline constexpr Tag tag<RunReply>{.key = "kind", .value = "run"};

using WorkRequest = std::variant<SetupRequest, BuildRequest, RunRequest>;
using WorkReply = std::variant<SetupReply, BuildReply, RunReply>;

// Where a worker's first request is among them.
inline constexpr std::size_t setup_index = 0;
static_assert(std::is_same_v<std::variant_alternative_t<setup_index, WorkRequest>, SetupRequest>);

// The reason of a worker and a daemon that do not speak the same protocol.
std::string worker_mismatch();

Result<WorkRequest> decode_work(std::string_view line);
Result<WorkReply> decode_work_reply(std::string_view line);

}  // namespace stab::protocol
