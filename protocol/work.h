// SPDX-License-Identifier: MIT
// The daemon's requests to a worker, and the worker's replies. The worker answers each request with
// one reply of the same kind. If anything arrives while the worker builds or runs, or if the stream
// ends, the worker must stop. This header also names the folders where a worker stores builds and
// the users of builds find them.
#pragma once

#include <boost/describe.hpp>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/error.h"
#include "plan/plan.h"
#include "protocol/field.h"
#include "protocol/messages.h"
#include "protocol/run.h"
#include "store/records.h"

namespace stab::protocol {

// The paths that ${OUT} and ${DIR} stand for in the trials of the build with this key.
inline std::string build_output(const std::string& cache, const std::string& key) {
  return cache + "/" + key + "/out";
}
inline std::string build_tree(const std::string& cache, const std::string& key) {
  return cache + "/" + key + "/tree";
}

// KEY/complete, the last file of a build.
struct Complete {
  std::string binary_sha256{};
  std::int64_t duration_ns = 0;
  std::optional<std::int64_t> cpu_ns{};  // absent in builds of earlier versions
};
BOOST_DESCRIBE_STRUCT(Complete, (), (binary_sha256, duration_ns, cpu_ns))
template <>
inline constexpr Field field<&Complete::cpu_ns>{.may_lack = true};

}  // namespace stab::protocol

namespace stab::counters {
BOOST_DESCRIBE_STRUCT(Samples, (), (measure, subject, unit, values, reason))
BOOST_DESCRIBE_STRUCT(ProfiledFunction, (), (name, object, samples, weight))
BOOST_DESCRIBE_STRUCT(Profile, (), (event, unit, hz, reason, lost, functions))
}  // namespace stab::counters

namespace stab::store {
// The members of a trial that its run decides; the daemon knows the others.
BOOST_DESCRIBE_STRUCT(Trial, (),
                      (status, reason, exit_code, signal, started_ns, wall_ns, user_ns, system_ns,
                       max_rss_bytes, stdout_sha256, stderr_tail, layout, readings, samples,
                       profile, causal))
}  // namespace stab::store

namespace stab::protocol {

// The JSON-escaped output of a build or a trial is much shorter than this.
inline constexpr std::size_t max_work_line = std::size_t{8} << 20;
// The number of stored bytes of a build's output or a trial's stderr.
inline constexpr std::size_t kept_output = 16384;

// Both sides read this part of a setup message first, so it must stay the same in all versions.
struct SetupVersion {
  static constexpr Tag tag{.key = "kind", .value = "setup"};
  std::uint32_t protocol = 1;
};
BOOST_DESCRIBE_STRUCT(SetupVersion, (), (protocol))
// Version 1 did not send this field.
template <>
inline constexpr Field field<&SetupVersion::protocol>{.may_lack = true};

struct SetupRequest {
  static constexpr Tag tag{.key = "kind", .value = "setup"};
  std::uint32_t protocol = version;
  std::uint32_t cpus = 1;
  std::vector<unsigned> wanted_cpus{};   // the plan's CPUs; empty: any CPUs
  std::vector<unsigned> earlier_cpus{};  // CPUs of the first trials on this machine; or empty
  // Events that each trial counts, in groups.
  std::vector<std::vector<std::string>> counters{};
  // Sets of events, of which each trial counts one, too.
  std::vector<std::vector<std::string>> rotated{};
  std::string profile{};  // the event that trials are sampled by, or ""
  std::uint32_t profile_hz = 0;
  bool refuse_absent = false;
  std::vector<std::string> needed{};  // events from which the response is computed
  bool simulate = false;              // all trials run under a simulator
  bool causal = false;                // all trials are runs of a causal profile
  // On a node of a cluster, whose settings the daemon can't see: the worker examines the machine,
  // and for `check_knobs` also says which of these knobs are not quiet (none named: the standard
  // ones).
  bool examine = false;
  bool check_knobs = false;
  std::vector<std::string> knobs{};
};
BOOST_DESCRIBE_STRUCT(SetupRequest, (),
                      (protocol, cpus, wanted_cpus, earlier_cpus, counters, rotated, profile,
                       profile_hz, refuse_absent, needed, simulate, causal, examine, check_knobs,
                       knobs))
struct SetupReply {
  static constexpr Tag tag{.key = "kind", .value = "setup"};
  std::uint32_t protocol = version;
  std::string error{};       // "" if the worker is ready
  std::string trial_cpus{};  // "1" or "2-3"
  std::vector<std::string> notes{};
  // The facts about a node of a cluster. "" on the daemon's machine, whose facts it reads itself.
  std::string machine_facts{};
  std::string simulator{};  // the simulator's version, if trials run under it
  // The answers to `examine` and to `check_knobs`.
  std::string grade{};     // "good", "fair" or "poor"
  std::string examined{};  // as machine::summary() words it
  std::string loud{};      // as machine::to_text() words it; "" if all knobs are quiet
};
BOOST_DESCRIBE_STRUCT(SetupReply, (),
                      (protocol, error, trial_cpus, notes, machine_facts, simulator, grade,
                       examined, loud))

// A build that the daemon will ask for later, for the same plan and in the same cache.
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
  std::string command{};               // with ${OUT}, ${DIR} and ${SRC} not replaced yet
  std::string directory{};             // the plan's directory
  std::vector<std::string> sources{};  // relative to `directory`; empty: everything in it
  std::string revision{};              // the git revision to build; "": the files as they are now
  std::string cache{};                 // the folder of all builds
  bool keep_tree = false;              // the trials use ${DIR}
  // The key of an earlier build for this experiment, which is used as it is if it still exists.
  std::string known_key{};
  std::chrono::nanoseconds timeout{0};
  // This is the experiment's last build, after which the cache is cut to this many bytes; 0: it is
  // not cut.
  std::uint64_t cache_limit = 0;
  std::vector<NextBuild> next{};  // builds that may start at the same time, in this order
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
  std::string directory{};  // the path that ${DIR} stands for
  std::string out{};        // the path that ${OUT} stands for
  std::string binary_sha256{};
  std::string compilers{};  // the compilers that made the binary
  std::string in_place{};   // why its functions can't move, whatever the plan says; or ""
  std::string output{};     // the reason of a failure, or the compiler's output
  std::string error{};      // the line of it that says why the build failed; "" if it did not
  std::int64_t duration_ns = 0;
  std::string tidied{};                       // what was deleted for cache_limit; "" if nothing was
  bool no_room = false;                       // it failed because the machine has no room for it
  std::vector<counters::Reading> readings{};  // readings that each trial of this build gets
};
BOOST_DESCRIBE_STRUCT(BuildReply, (),
                      (status, key, directory, out, binary_sha256, compilers, in_place, output,
                       error, duration_ns, tidied, no_room, readings))

// A program that one node of a cluster has built travels to nodes of the same kind, whose caches have
// the same path. The daemon passes it on in pieces, and never looks at it.

// Asks the worker that has made the build for a piece.
struct FetchRequest {
  static constexpr Tag tag{.key = "kind", .value = "fetch"};
  std::string cache{};
  std::string key{};  // of a build that this worker has made or found
  std::uint64_t offset = 0;
};
BOOST_DESCRIBE_STRUCT(FetchRequest, (), (cache, key, offset))
struct FetchReply {
  static constexpr Tag tag{.key = "kind", .value = "fetch"};
  std::string error{};     // why the build can't travel; "" if it can
  std::uint64_t size = 0;  // of the file ${OUT}
  std::uint32_t mode = 0;  // its permissions
  Complete complete{};
  std::string bytes{};  // from the offset on, in base64
};
BOOST_DESCRIBE_STRUCT(FetchReply, (), (error, size, mode, complete, bytes))

// Gives another worker a piece. The pieces come in their order. Without bytes, the request only asks
// whether the build is in the cache already.
struct KeepRequest {
  static constexpr Tag tag{.key = "kind", .value = "keep"};
  std::string cache{};
  std::string key{};
  std::string binary_sha256{};  // of BuildReply
  std::uint64_t size = 0;
  std::uint32_t mode = 0;
  Complete complete{};
  std::uint64_t offset = 0;
  std::string bytes{};
};
BOOST_DESCRIBE_STRUCT(KeepRequest, (),
                      (cache, key, binary_sha256, size, mode, complete, offset, bytes))
struct KeepReply {
  static constexpr Tag tag{.key = "kind", .value = "keep"};
  std::string error{};        // why the build is not kept
  bool is_there = false;      // it is in the cache, and has the digest
  std::uint64_t arrived = 0;  // bytes, if it is not there yet
};
BOOST_DESCRIBE_STRUCT(KeepReply, (), (error, is_there, arrived))
// The bytes of a piece before they are encoded. A piece fits into the buffers between the daemon and
// the node, so the daemon does not wait for the network.
inline constexpr std::size_t most_of_piece = std::size_t{96} << 10;

// A worker on a node of a cluster says where it is before it answers its first request.
struct NodeReply {
  static constexpr Tag tag{.key = "kind", .value = "node"};
  std::string version{};  // the version of stabd on the node
  std::string node{};     // the cluster's name for it
  std::string job{};      // the allocation, as the cluster names it
  std::string cache{};    // the folder for builds on that node
  // When the node sent this, by its own clock, and when it arrived, by the clock of the daemon's
  // machine; since 1970.
  std::optional<std::int64_t> sent_ns{};
  std::optional<std::int64_t> heard_ns{};
};
BOOST_DESCRIBE_STRUCT(NodeReply, (), (version, node, job, cache, sent_ns, heard_ns))
template <>
inline constexpr Field field<&NodeReply::sent_ns>{.least = 0, .may_lack = true};
template <>
inline constexpr Field field<&NodeReply::heard_ns>{.least = 0, .may_lack = true};

// Why a worker on a node of a cluster is lost. Only `worker` may be the program's fault.
enum class Loss {
  worker,           // the worker itself ended
  cannot_start,     // the cluster refuses the allocation or the step
  no_node,          // no node was free in time
  controller_away,  // the cluster does not answer
  node_lost,
  preempted,
  requeued,
  time_limit,  // of the allocation
  cancelled,   // by somebody else
  old_step,    // an earlier step of the same user has not ended, so no other one can start
  silent,      // the node gave no sign of life
  step_lost    // for any other reason
};
std::string_view to_string(Loss loss);   // "node-lost"
Loss loss_named(std::string_view text);  // an unknown one is step_lost

// The last line about a worker that is lost.
struct LostReply {
  static constexpr Tag tag{.key = "kind", .value = "lost"};
  std::string loss{};    // as to_string() says
  std::string reason{};  // for people
};
BOOST_DESCRIBE_STRUCT(LostReply, (), (loss, reason))

// The members of the trial that its run decides.
struct RunReply : store::Trial {
  static constexpr Tag tag{.key = "kind", .value = "run"};
  std::int64_t token = 0;  // the request's

  bool operator==(const RunReply&) const = default;
};
BOOST_DESCRIBE_STRUCT(RunReply, (store::Trial), (token))

using WorkRequest = std::variant<SetupRequest, BuildRequest, RunRequest, FetchRequest, KeepRequest>;
// The last two answer no request.
using WorkReply =
    std::variant<SetupReply, BuildReply, RunReply, FetchReply, KeepReply, NodeReply, LostReply>;

// The indexes of two requests in WorkRequest. A worker's first request is a SetupRequest.
inline constexpr std::size_t setup_index = 0;
inline constexpr std::size_t build_index = 1;
static_assert(std::is_same_v<std::variant_alternative_t<setup_index, WorkRequest>, SetupRequest>);
static_assert(std::is_same_v<std::variant_alternative_t<build_index, WorkRequest>, BuildRequest>);

// The error of a worker whose daemon speaks another version of the protocol.
std::string worker_mismatch();

Result<WorkRequest> decode_work(std::string_view line);
Result<WorkReply> decode_work_reply(std::string_view line);

}  // namespace stab::protocol
