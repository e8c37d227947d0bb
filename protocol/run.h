// SPDX-License-Identifier: MIT
// The request by which a worker runs a trial, and the requests of clients that profile or repeat
// one.
#pragma once

#include <boost/describe.hpp>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "counters/readings.h"
#include "design/resolve.h"
#include "plan/plan.h"
#include "protocol/field.h"

namespace stab::counters {
BOOST_DESCRIBE_STRUCT(Reading, (), (name, unit, status, value, coverage, reason))
}  // namespace stab::counters

namespace stab::plan {
BOOST_DESCRIBE_STRUCT(Check, (), (exit, other_exits, stdout_sha256, stdout_file, command))
BOOST_DESCRIBE_STRUCT(OutputMeasure, (),
                      (name, unit, regex, json, google_benchmark, pick, from_stderr))
BOOST_DESCRIBE_STRUCT(DerivedMeasure, (), (name, formula))
}  // namespace stab::plan

namespace stab::protocol {

// How the causal profiler of a trial works.
struct CausalRequest {
  std::uint64_t seed = 0;  // the seed of its random choices
  std::vector<std::string> scope{};
  std::vector<std::string> binaries{};
  std::vector<std::string> progress{};
  std::string line{};
  std::chrono::nanoseconds experiment{0};
  std::chrono::nanoseconds sample_period{0};
  std::chrono::nanoseconds arrival_speedup{0};
  std::optional<std::uint32_t> speedup{};  // permille; nullopt: a random speedup
  bool end_to_end = false;
  // The folder of the program's build, which the names of lines leave out; or "".
  std::string tree{};

  bool operator==(const CausalRequest&) const = default;
};
BOOST_DESCRIBE_STRUCT(CausalRequest, (),
                      (seed, scope, binaries, progress, line, experiment, sample_period,
                       arrival_speedup, speedup, end_to_end, tree))
template <>
inline constexpr Field field<&CausalRequest::experiment>{.name = "experiment_ns", .least = 0};
template <>
inline constexpr Field field<&CausalRequest::sample_period>{.name = "sample_period_ns", .least = 0};
template <>
inline constexpr Field field<&CausalRequest::arrival_speedup>{.name = "arrival_speedup_ns",
                                                              .least = 0};
template <>
inline constexpr Field field<&CausalRequest::speedup>{.most = 1000};

struct RunRequest {
  static constexpr Tag tag{.key = "kind", .value = "run"};
  std::vector<std::string> argv{};
  plan::Variables env{};
  std::uint64_t env_bytes = 0;
  std::string directory{};
  std::string stdin_path{};
  std::vector<std::string> beside{};  // the command beside the program; empty: none
  plan::Variables beside_env{};
  std::string prepare{};  // a command for /bin/sh, before the trial; "": nothing to do
  std::string cleanup{};  // a command for /bin/sh, after the trial
  bool aslr = false;
  std::chrono::nanoseconds timeout{0};
  std::uint64_t output_limit = 0;
  // The limits of machine/measured_run.h.
  std::uint64_t memory_limit = 0;
  std::chrono::nanoseconds cpu_limit{0};
  std::uint32_t process_limit = 0;
  std::uint64_t file_limit = 0;
  plan::Check check{};
  plan::Variables options{};              // options of szc's runtime, as in plan::Task
  std::vector<std::string> by_default{};  // options that the program may ignore
  plan::Needs needs = plan::Needs::nothing;
  std::string response{};  // the response of the analysis, which must have been measured
  std::optional<std::uint32_t> set{};  // the index of its set in SetupRequest::rotated
  bool simulate = false;               // run it under a simulator
  // The benchmark's measures, and the derived measures that this trial can have.
  std::vector<plan::OutputMeasure> outputs{};
  std::vector<plan::DerivedMeasure> derived{};
  // Readings of the program's build, which are readings of the trial, too.
  std::vector<counters::Reading> built{};
  std::optional<CausalRequest> causal{};  // if the trial is a run of a causal profile
  // No other request of the experiment has it, whichever daemon sends it. The answer has it, too.
  std::int64_t token = 0;
};
BOOST_DESCRIBE_STRUCT(RunRequest, (),
                      (argv, env, env_bytes, directory, stdin_path, beside, beside_env, prepare,
                       cleanup, aslr, timeout, output_limit, memory_limit, cpu_limit, process_limit,
                       file_limit, check, options, by_default, needs, response, set, simulate,
                       outputs, derived, built, causal, token))
template <>
inline constexpr Field field<&RunRequest::stdin_path>{.name = "stdin"};
template <>
inline constexpr Field field<&RunRequest::timeout>{.name = "timeout_ns", .least = 0};
template <>
inline constexpr Field field<&RunRequest::cpu_limit>{.name = "cpu_limit_ns", .least = 0};

// A profile of a trial, or the difference between two cells' profiles.
struct ProfileReply {
  static constexpr Tag tag{.key = "ok", .value = ""};
  std::string text{};
};
BOOST_DESCRIBE_STRUCT(ProfileReply, (), (text))
template <>
inline constexpr Field field<&ProfileReply::text>{.most = std::uint64_t{64} << 20};

struct ProfileRequest {
  using Reply = ProfileReply;
  static constexpr Tag tag{.key = "verb", .value = "profile"};
  std::int64_t id = 0;
  std::optional<std::uint32_t> position{};  // the trial; absent: `cells` are compared instead
  std::optional<std::uint32_t> attempt{};   // absent: the trial's last attempt
  std::vector<std::string> cells{};         // two cells, as reports name them: "sort opt=O2"
  std::string format = "text";              // or "json"
  bool colour = false;
};
BOOST_DESCRIBE_STRUCT(ProfileRequest, (), (id, position, attempt, cells, format, colour))
template <>
inline constexpr Field field<&ProfileRequest::id>{.least = 1};
template <>
inline constexpr Field field<&ProfileRequest::position>{.may_lack = true};
template <>
inline constexpr Field field<&ProfileRequest::attempt>{.may_lack = true};
template <>
inline constexpr Field field<&ProfileRequest::cells>{.most = 2, .may_lack = true};

// How an attempt at a trial was run, and its result.
struct ReplayReply {
  static constexpr Tag tag{.key = "ok", .value = ""};
  std::int64_t id = 0;
  std::uint32_t position = 0;
  std::uint32_t attempt = 0;
  std::uint32_t block = 0;
  bool warmup = false;
  std::string benchmark{};
  plan::Variables levels{};
  std::string seed{};
  std::uint32_t uid = 0;    // who ran it
  bool privileged = false;  // with root's rights
  std::string status{};
  std::optional<std::int64_t> wall_ns{};
  std::string stdout_sha256{};
  std::string build{};          // the build's key; "" if nothing was built
  std::string out{};            // the path that ${OUT} stood for
  std::string binary_sha256{};  // the digest of the file `out`
  RunRequest run{};
  bool marked = false;  // its environment has a marker (containment.h)
};
BOOST_DESCRIBE_STRUCT(ReplayReply, (),
                      (id, position, attempt, block, warmup, benchmark, levels, seed, uid,
                       privileged, status, wall_ns, stdout_sha256, build, out, binary_sha256, run,
                       marked))
template <>
inline constexpr Field field<&ReplayReply::marked>{.may_lack = true};

struct ReplayRequest {
  using Reply = ReplayReply;
  static constexpr Tag tag{.key = "verb", .value = "replay"};
  std::int64_t id = 0;
  std::uint32_t position = 0;
  std::optional<std::uint32_t> attempt{};  // nullopt: the last attempt
};
BOOST_DESCRIBE_STRUCT(ReplayRequest, (), (id, position, attempt))
template <>
inline constexpr Field field<&ReplayRequest::id>{.least = 1};
template <>
inline constexpr Field field<&ReplayRequest::attempt>{.may_lack = true};

}  // namespace stab::protocol
