// SPDX-License-Identifier: MIT
// For tests: messages of daemon and worker in which every field has an awkward value if it can.
#pragma once

#include <gtest/gtest.h>

#include <boost/describe.hpp>
#include <boost/mp11.hpp>
#include <chrono>
#include <concepts>
#include <functional>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "protocol/work.h"

namespace stab::protocol {

inline const std::string awkward = std::string("\0\n\r\t\"\\", 6) + "\x1b \xc3\xa4 \xe2\x82\xac";

inline BuildRequest full_build() {
  return {.command = "cc -o ${OUT} 'x y.c'\n" + awkward,
          .directory = "/home/ada/plan",
          .sources = {"x y.c", "lib"},
          .cache = "/var/cache",
          .keep_tree = true,
          .known_key = "k0",
          .timeout = std::chrono::seconds(1800),
          .cache_limit = std::uint64_t{1} << 40,
          .next = {{.command = awkward,
                    .sources = {"lib"},
                    .revision = "r",
                    .keep_tree = true,
                    .known_key = "k1",
                    .timeout = std::chrono::seconds(1)},
                   {}}};
}

inline BuildReply full_build_reply() {
  return {.status = store::BuildStatus::cached,
          .key = "k1",
          .directory = "/c/k1/tree",
          .out = "/c/k1/out",
          .binary_sha256 = "e3b0",
          .compilers = "clang 19",
          .in_place = "it is linked statically",
          .output = awkward,
          .error = awkward,
          .duration_ns = std::numeric_limits<std::int64_t>::max(),
          .tidied = "3 builds",
          .no_room = true,
          .readings = {counters::counted("code-size", "bytes", 5),
                       counters::absent("compile-time", "ns", awkward)}};
}

inline RunRequest full_run() {
  return {
      .argv = {"./a b", "", awkward},
      .env = {{"A", "1"}, {"B", awkward}},
      .env_bytes = std::numeric_limits<std::uint64_t>::max(),
      .directory = "/d",
      .stdin_path = "/d/in",
      .aslr = true,
      .timeout = std::chrono::milliseconds(1500),
      .output_limit = 1 << 20,
      .check = {.exit = 3,
                .other_exits = {0, 4},
                .stdout_sha256 = "ab",
                .stdout_file = "out",
                .command = "grep x"},
      .options = {{"code", "1"}, {"seed", "5"}},
      .by_default = {"code"},
      .needs = plan::Needs::randomized,
      .response = "region",
      .outputs = {{.name = "ops",
                   .unit = "1/s",
                   .regex = awkward,
                   .pick = plan::Pick::sum,
                   .from_stderr = true},
                  {.name = "time", .json = "/a/0"},
                  {.name = "each", .google_benchmark = "cpu_time", .pick = plan::Pick::samples}},
      .derived = {{.name = "ipc", .formula = "'a' / b"}},
      .built = {counters::counted("code-size", "bytes", 5)},
      .causal = CausalRequest{.seed = std::numeric_limits<std::uint64_t>::max(),
                              .scope = {awkward, "b"},
                              .binaries = {"/c/out"},
                              .progress = {"a.c:3"},
                              .line = "b.c:4",
                              .experiment = std::chrono::milliseconds(20),
                              .sample_period = std::chrono::milliseconds(2),
                              .arrival_speedup = std::chrono::microseconds(3),
                              .speedup = 250,
                              .end_to_end = true,
                              .tree = "/c/tree"},
      .token = std::numeric_limits<std::int64_t>::min()};
}

inline SetupReply full_setup_reply() {
  return {.error = awkward,
          .trial_cpus = "2-3",
          .notes = {"one", awkward},
          .machine_facts = R"({"cpu":"x"})",
          .simulator = "valgrind-3.19.0"};
}

// Sets only the fields that a run decides.
inline RunReply full_run_reply() {
  RunReply reply;
  reply.token = std::numeric_limits<std::int64_t>::max();
  static_cast<store::Trial&>(reply) = {
      .status = store::TrialStatus::check_failed,
      .reason = awkward,
      .exit_code = -1,
      .signal = 9,
      .started_ns = 1'700'000'000'000'000'001,
      .wall_ns = 0,
      .user_ns = 1,
      .system_ns = std::numeric_limits<std::int64_t>::max(),
      .max_rss_bytes = 4096,
      .stdout_sha256 = "e3b0",
      .stderr_tail = awkward,
      .layout = {.randomized = false,
                 .kind = "code once",
                 .note = awkward,
                 .seed = std::numeric_limits<std::uint64_t>::max(),
                 .epochs = 1,
                 .given_up = 9,
                 .epochs_ns = 10,
                 .longest_pause_ns = 11,
                 .functions = 2,
                 .moved_functions = 3,
                 .text_bytes = 4,
                 .moved_bytes = 5,
                 .setup_ns = 6,
                 .main_to_exit_ns = 7,
                 .region_ns = 8,
                 .regions = std::numeric_limits<std::int64_t>::max(),
                 .heap_operations = 12,
                 .heap_bytes = 13,
                 .heap_fixed_bytes = 14,
                 .random_code = true,
                 .random_stack = false,
                 .random_heap = true,
                 .repeated = false},
      .readings = {{.name = "a",
                    .unit = "ns",
                    .status = counters::Status::counted,
                    .value = std::numeric_limits<std::int64_t>::min()},
                   {.name = "r", .status = counters::Status::counted, .value = 3.0},
                   {.name = "s", .status = counters::Status::counted, .value = 1.0 / 3},
                   {.name = "b", .status = counters::Status::scaled, .value = 1, .coverage = .3},
                   {.name = "c", .coverage = 0, .reason = awkward}},
      .samples = {{.measure = "m", .subject = awkward, .unit = "ns", .values = {1.0 / 3, 2}},
                  {.measure = "m", .reason = awkward}},
      .profile = {.event = "cycles",
                  .unit = "ns",
                  .hz = 7,
                  .reason = awkward,
                  .lost = std::numeric_limits<std::uint64_t>::max(),
                  .functions = {{awkward, "o", 3, std::numeric_limits<std::uint64_t>::max()}}},
      .causal = awkward};
  return reply;
}

inline FetchReply full_fetch_reply() {
  return {.error = awkward,
          .size = std::numeric_limits<std::uint64_t>::max(),
          .mode = 0755,
          .complete = {.binary_sha256 = "e3b0", .duration_ns = 5, .cpu_ns = 4},
          .bytes = "AAECAw=="};
}

inline KeepRequest full_keep() {
  return {.cache = "/c",
          .key = "k1",
          .binary_sha256 = "e3b0",
          .size = 4,
          .mode = 0755,
          .complete = {.binary_sha256 = "e3b0", .duration_ns = 5, .cpu_ns = {}},
          .offset = 1,
          .bytes = "AAECAw=="};
}

// Compares all described members, so that no member is forgotten.
template <class T>
void expect_equal(const T& a, const T& b) {
  using Members = boost::describe::describe_members<T, boost::describe::mod_public>;
  boost::mp11::mp_for_each<Members>([&](auto member) {
    using Value = std::remove_cvref_t<decltype(a.*member.pointer)>;
    SCOPED_TRACE(member.name);
    if constexpr (std::equality_comparable<Value>)
      EXPECT_EQ(a.*member.pointer, b.*member.pointer);
    else
      expect_equal(a.*member.pointer, b.*member.pointer);
  });
}

// One of the ten messages: a valid line, and a function that tells whether a line decodes as this
// message.
struct Message {
  std::string kind;
  std::string line;
  std::function<bool(std::string_view)> reads;
};

inline std::vector<Message> messages() {
  return {
      {"setup", encode(SetupRequest{.cpus = 2}),
       [](auto line) { return !!decode<SetupRequest>(line); }},
      {"setup", encode(full_setup_reply()), [](auto line) { return !!decode<SetupReply>(line); }},
      {"build", encode(full_build()), [](auto line) { return !!decode<BuildRequest>(line); }},
      {"build", encode(full_build_reply()), [](auto line) { return !!decode<BuildReply>(line); }},
      {"run", encode(full_run()), [](auto line) { return !!decode<RunRequest>(line); }},
      {"run", encode(full_run_reply()), [](auto line) { return !!decode<RunReply>(line); }},
      {"fetch", encode(FetchRequest{.cache = "/c", .key = "k1", .offset = 7}),
       [](auto line) { return !!decode<FetchRequest>(line); }},
      {"fetch", encode(full_fetch_reply()), [](auto line) { return !!decode<FetchReply>(line); }},
      {"keep", encode(full_keep()), [](auto line) { return !!decode<KeepRequest>(line); }},
      {"keep", encode(KeepReply{.error = awkward, .is_there = true, .arrived = 9}),
       [](auto line) { return !!decode<KeepReply>(line); }},
  };
}

}  // namespace stab::protocol
