// SPDX-License-Identifier: MIT
// What the daemon asks of a worker and what the worker answers, as values with their JSON.
// The worker answers each request with one reply of the same kind. Anything that arrives while it
// builds or runs, and the end of the stream, means: stop.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "design/expand.h"
#include "design/resolve.h"
#include "plan/plan.h"
#include "store/records.h"

namespace stab::wire {

// A build's output and a trial's, JSON-escaped, stay far below this.
inline constexpr std::size_t max_work_line = std::size_t{8} << 20;
inline constexpr std::size_t kept_output =
    16384;  // bytes of a build's output or a trial's stderr that are stored

struct SetupRequest {
  std::uint32_t cpus = 1;
};
struct SetupReply {
  std::string error{};                 // "" if the worker is ready
  std::vector<unsigned> other_cpus{};  // for everything that is no trial
  std::string trial_cpus{};            // "1" or "2-3"
  std::vector<std::string> notes{};
  store::Machine machine{};
};

struct BuildRequest {
  std::string command{};               // still holds ${OUT}, ${DIR}, ${SRC}
  std::string directory{};             // the plan's
  std::vector<std::string> sources{};  // relative to it; empty: all of it
  std::string cache{};                 // folder of all builds
  bool keep_tree = false;              // the trials use ${DIR}
  // Of an earlier build for this experiment; used as it is if it is still there.
  std::string known_key{};
  std::chrono::nanoseconds timeout{0};
};
struct BuildReply {
  store::BuildStatus status = store::BuildStatus::failed;
  std::string key{};
  std::string directory{};  // what ${DIR} stands for
  std::string out{};        // what ${OUT} stands for
  std::string binary_sha256{};
  std::string output{};  // why it failed, or what the compiler said
  std::int64_t duration_ns = 0;
};

struct RunRequest {
  std::vector<std::string> argv{};
  plan::Variables env{};
  std::uint64_t env_bytes = 0;
  std::string directory{};
  std::string stdin_path{};
  bool aslr = false;
  std::chrono::nanoseconds timeout{0};
  std::uint64_t output_limit = 0;
  plan::Check check{};
  plan::Variables options{};  // of the runtime that szc links in, as in plan::Task
  plan::Needs needs = plan::Needs::nothing;
  std::string response{};  // of the analysis: it must have been measured
};
// The fields of the trial's row that the run decides; the daemon knows the others.
using RunReply = store::Trial;

std::string encode(const SetupRequest& request);
std::string encode(const BuildRequest& request);
std::string encode(const RunRequest& request);
std::string encode(const SetupReply& reply);
std::string encode(const BuildReply& reply);
std::string encode_run(const RunReply& reply);

// "setup", "build" or "run"; "" if it is none of ours.
std::string kind_of(std::string_view line);

// An error if the line is not such a message. Never throws.
Result<SetupRequest> decode_setup(std::string_view line);
Result<BuildRequest> decode_build(std::string_view line);
Result<RunRequest> decode_run(std::string_view line);
Result<SetupReply> decode_setup_reply(std::string_view line);
Result<BuildReply> decode_build_reply(std::string_view line);
Result<RunReply> decode_run_reply(std::string_view line);

}  // namespace stab::wire
